"""Errors of H by the number of rows: `fe-bench effect --indices` beside its truths, over scenarios.

    cargo build --release && python scripts/index_errors.py --program target/release/fe-bench

Writes results/indices/h.csv, a line for each scenario, index and number of rows, and prints it as a table:

* pairs:     of how many features or pairs (times datasets) the line is
* rmse:      root of the mean squared error from the truth
* false:     mean of the estimates whose truth is 0; empty where there are none
* coverage:  share of the 95 % intervals that hold the truth
"""

import argparse
import csv
import io
import math
import subprocess
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent
SCENARIOS = ["friedman1", "poly3", "goldstein", "general-interaction", "liu-product", "sin-indicator"]
INDICES = ["h2.pair", "h2.overall"]
ROWS = [100, 300, 1000, 3000]
COLUMNS = ["scenario", "index", "rows", "pairs", "rmse", "false", "coverage"]


def estimates(program: str, scenario: str, rows: int, seed: int) -> list[dict]:
    """The lines of one dataset."""
    command = [program, "effect", scenario, "--n", str(rows), "--seed", str(seed)]
    command += ["--indices", ",".join(INDICES), "--format", "csv"]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    return list(csv.DictReader(io.StringIO(answer.stdout)))


def line(scenario: str, index: str, rows: int, found: list[dict]) -> dict:
    """What the estimates of an index say of its error."""
    known = [f for f in found if f["name"] == index and f["value"] and f["truth"]]
    value = [float(f["value"]) for f in known]
    truth = [float(f["truth"]) for f in known]
    false = [v for v, t in zip(value, truth) if t == 0]
    held = [float(f["lower"]) <= t <= float(f["upper"]) for f, t in zip(known, truth) if f["lower"]]
    square = [(v - t) ** 2 for v, t in zip(value, truth)]
    return {
        "scenario": scenario,
        "index": index,
        "rows": rows,
        "pairs": len(known),
        "rmse": f"{math.sqrt(sum(square) / len(square)):.4f}" if square else "",
        "false": f"{sum(false) / len(false):.4f}" if false else "",
        "coverage": f"{sum(held) / len(held):.2f}" if held else "",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default="fe-bench", help="the program [default: %(default)s]")
    parser.add_argument("--datasets", type=int, default=10, help="datasets of each size [default: %(default)s]")
    arguments = parser.parse_args()
    lines = []
    for scenario in SCENARIOS:
        for rows in ROWS:
            seeds = range(1, arguments.datasets + 1)
            found = [f for seed in seeds for f in estimates(arguments.program, scenario, rows, seed)]
            lines += [line(scenario, index, rows, found) for index in INDICES]
    with open(FOLDER / "results" / "indices" / "h.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
    print("| " + " | ".join(COLUMNS) + " |\n|" + "---|" * len(COLUMNS))
    for of in sorted(lines, key=lambda of: (of["index"], of["scenario"], of["rows"])):
        print("| " + " | ".join(str(of[column]) for column in COLUMNS) + " |")


if __name__ == "__main__":
    main()
