"""A table in the formats of data files, for the tests of fe-bench.

    python -m venv venv && venv/bin/pip install pyarrow==26.0.1
    venv/bin/python scripts/models/record_tables.py

Writes crates/fe-bench/tests/fixtures/tables/: the same rows as text, Parquet and Arrow, with a missing number, a
missing word, and a column that no feature can be.
"""

import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

FOLDER = Path(__file__).resolve().parents[2] / "crates/fe-bench/tests/fixtures/tables"
ROWS = 24

start = datetime.date(2012, 2, 20)
days = [start + datetime.timedelta(days=row) for row in range(ROWS)]
table = pa.table(
    {
        "width": pa.array([None if row == 3 else (row * 7 % 11) / 4 for row in range(ROWS)], pa.float64()),
        "count": pa.array([row * 5 % 9 for row in range(ROWS)], pa.int16()),
        "colour": pa.array([None if row == 6 else ["blue", "red", "green"][row % 3] for row in range(ROWS)]),
        "open": pa.array([row % 4 == 1 for row in range(ROWS)]),
        "day": pa.array(days, pa.date32()),
        "time": pa.array([datetime.datetime.combine(day, datetime.time()) for day in days], pa.timestamp("us")),
        "price": pa.array([(row * row) % 17 / 2 for row in range(ROWS)], pa.float32()),
    }
)
FOLDER.mkdir(parents=True, exist_ok=True)
plain = table.set_column(5, "time", table["day"])
pyarrow.csv.write_csv(plain, FOLDER / "shop.csv", pyarrow.csv.WriteOptions(quoting_style="none"))
coded = table.set_column(2, "colour", table["colour"].dictionary_encode())
listed = coded.append_column("tags", pa.array([[row] for row in range(ROWS)]))
# Several groups of rows, and batches of unequal length.
pyarrow.parquet.write_table(listed, FOLDER / "shop.parquet", row_group_size=10)
pyarrow.feather.write_feather(listed, FOLDER / "shop.feather", compression="lz4", chunksize=7)
