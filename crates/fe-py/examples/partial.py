"""An effect from rows in many Parquet files, on workers of Dask with a GiB of memory each.

    python partial.py                     # 3 million rows
    python partial.py 100_000_000         # 3.2 GB of files, in a temporary folder

Each worker reads a file and sends what it tells about the effect, some kilobytes, which are merged and finished to the
effect of all rows: files of 2**20 rows give the bits of all rows in one piece.
"""

import functools
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from distributed import Client, LocalCluster

import feature_effects_bench as fe

ROWS_OF_A_FILE = 2**20


def model(X: Any) -> Any:
    """A model of four features; any function of rows that can be sent will do."""
    return np.sin(X[:, 0]) * X[:, 1] + X[:, 2] * X[:, 3]


def write(folder: str, first: int, rows: int) -> Path:
    """One of the files; here they are made up."""
    columns = np.random.default_rng(first).uniform(-3, 3, size=(4, rows))
    path = Path(folder) / f"{first:012}.parquet"
    pl.DataFrame(dict(zip("abcd", columns, strict=True))).write_parquet(path, compression="uncompressed")
    return path


def part(path: Path, first: int) -> fe.PartialEffect:
    """What the rows of a file tell about the effect of the first feature."""
    rows = pl.read_parquet(path).to_numpy()
    return fe.partial("ale", rows, model, feature=1, first=first, axis=(-3, 3), bins=40)


def main(rows: int) -> None:
    firsts = range(0, rows, ROWS_OF_A_FILE)
    options: dict[str, Any] = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": "1GiB", "dashboard_address": "127.0.0.1:0"}
    with tempfile.TemporaryDirectory() as folder, LocalCluster(**options) as workers, Client(workers) as client:
        sizes = [min(ROWS_OF_A_FILE, rows - first) for first in firsts]
        paths = client.gather(client.map(functools.partial(write, folder), firsts, sizes))
        began = time.perf_counter()
        parts = client.gather(client.map(part, paths, firsts))
        effect = functools.reduce(fe.PartialEffect.merge, parts).finish()
        seconds = time.perf_counter() - began
        peaks = client.run(lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
        print(f"{effect}: {rows} rows in {seconds:.1f} s, at most {max(peaks.values()):.2f} GiB in a worker")
        if len(paths) < 10:
            # The same in one piece, where one machine has the memory for it.
            every = np.concatenate([pl.read_parquet(path).to_numpy() for path in paths])
            whole = fe.ale(every, model, feature=1, axis=(-3, 3), bins=40)
            print("the same bits:", bool((effect.effect == whole.effect).all()))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3_000_000)
