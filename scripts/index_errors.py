"""Errors of H by the number of rows, over the pairs or features of each scenario that interact, from the study `interaction`.

    fe-bench run scenarios/papers/interaction.toml --out results/runs/interaction
    python scripts/index_errors.py results/runs/interaction      # or nothing, for results/papers/interaction

Writes results/indices/h.csv, a line for each scenario and index, and prints it as a table:

* of:        features or pairs that interact
* alone:     those that do not, and have H = 0 at any number of rows
* 100, 300…: root of the mean squared error from the truth at so many rows
* coverage:  share of the 95 % intervals that hold the truth, over all numbers of rows
* from:      the least number of rows from which that root is at most 0.05 at all that were tried; empty where it never is
"""

import csv
import math
import sys
from collections import defaultdict
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "results"
ROUNDING = 1e-20
MEANS_SOMETHING = 0.05
"""The largest error with which H, mostly between 0 and 1, says something."""


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def lines(summary: Path) -> tuple[list[str], list[dict[str, str]]]:
    """The numbers of rows, and a line for each scenario and index."""
    found: dict[tuple[str, str], dict[str, dict[str, dict[str, float]]]] = defaultdict(lambda: defaultdict(dict))
    with open(summary, newline="") as file:
        for row in csv.DictReader(file):
            if row["mean"]:
                of = found[row["scenario"].split("@")[0], row["estimator"]][f"{row['feature']}:{row['feature2']}"]
                of.setdefault(row["metric"], {})[row["N"]] = float(row["mean"])
    sizes = sorted({size for of in found.values() for one in of.values() for size in one["index_squared_error"]}, key=int)
    table = []
    for (scenario, index), all_of in sorted(found.items(), key=lambda of: (of[0][1], of[0][0])):
        some = [of for of in all_of.values() if max(of["index_squared_error"].values()) > ROUNDING]
        line = {"scenario": scenario, "index": index, "of": str(len(some)), "alone": str(len(all_of) - len(some))}
        if some:
            roots = {size: math.sqrt(mean([of["index_squared_error"][size] for of in some])) for size in sizes}
            good = [all(roots[other] <= MEANS_SOMETHING for other in sizes[place:]) for place in range(len(sizes))]
            held = [share for of in some for share in of.get("coverage", {}).values()]
            line |= {size: f"{root:.4f}" for size, root in roots.items()}
            line["coverage"] = f"{mean(held):.3f}" if held else ""
            line["from"] = next((size for size, is_good in zip(sizes, good) if is_good), "")
        table.append(line)
    return sizes, table


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER / "papers" / "interaction"
    sizes, table = lines(folder / "summary.csv")
    columns = ["scenario", "index", "of", "alone", *sizes, "coverage", "from"]
    with open(FOLDER / "indices" / "h.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, columns, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)
    print("| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
    for line in table:
        print("| " + " | ".join(line.get(column, "") for column in columns) + " |")


if __name__ == "__main__":
    main()
