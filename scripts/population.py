#!/usr/bin/env python3
"""Tables of docs/population.md from the cells of scenarios/large/population.toml.

    fe-bench run scenarios/large/population.toml --out results/runs/population
    scripts/population.py results/runs/population results/population

`wins.csv`: of each two estimators and number of rows, the share of problems on which the first has the lower error,
and the median ratio of the errors. `regression.csv`: least squares of the decimal logarithm of that ratio on what
the text of a problem says of x1. `_se` are standard errors, `lower` and `upper` ends of 95 % intervals, of shares those of
Wilson (1927). Where an error
is 0, as x1 has no effect and the estimate knows, there is no ratio, and the problem does not count; in regressions
nor do those in which an error is rounding. Needs nothing but Python.
"""

import csv
import json
import math
import re
import shutil
import sys
from collections import defaultdict
from pathlib import Path

#: Half width of a 95 % interval in standard errors: with hundreds of problems, that of the normal law.
WIDTH = 1.959964

#: Mean squares below this are rounding: partial dependence is exact where x1 enters alone.
ROUNDING = 1e-18

#: What explains a ratio; correlations and counts are those of x1.
PROPERTIES = ["features", "correlation", "interactions", "jumps", "kinks", "long_tail"]


def summands(f):
    """The summands of f, whose signs are left out."""
    depth, start, found = 0, 0, []
    for place, letter in enumerate(f):
        depth += (letter == "(") - (letter == ")")
        if depth == 0 and letter in "+-" and f[place - 1 : place] == " ":
            found.append(f[start:place])
            start = place + 1
    return found + [f[start:]]


def properties(text):
    """Properties of a problem, in the order of PROPERTIES."""
    f = re.search(r'^f = "(.*)"$', text, re.M).group(1)
    laws = dict(re.findall(r'^(x\d+) = "(.*)"$', text, re.M))
    read = [(part, set(re.findall(r"x\d+", part))) for part in summands(f)]
    own = [part for part, names in read if names == {"x1"}]
    pairs = re.findall(r'\["(x\d+)", "(x\d+)", ([-\d.e]+)\]', text)
    found = [abs(float(rho)) for a, b, rho in pairs if "x1" in (a, b)]
    for name, law in laws.items():
        child = re.match(r"([-\d.e]+)\*.*?(x\d+).* \+ normal", law)
        if child and "x1" in (name, child.group(2)):
            found.append(abs(float(child.group(1))))
    return [
        len(laws),
        max(found, default=0.0),
        sum("x1" in names and len(names) > 1 for _, names in read),
        sum("if(" in part or "sign(" in part for part in own),
        sum("abs(" in part or "max(" in part or "min(" in part for part in own),
        float(laws["x1"].startswith(("gamma", "lognormal"))),
    ]


def least_squares(rows, values):
    """Coefficients with their standard errors, and R²; the first column of rows is 1."""
    n, k = len(rows), len(rows[0])
    normal = [[sum(row[i] * row[j] for row in rows) for j in range(k)] for i in range(k)]
    right = [sum(row[i] * value for row, value in zip(rows, values)) for i in range(k)]
    system = [normal[i] + [float(i == j) for j in range(k)] + [right[i]] for i in range(k)]
    for i in range(k):
        best = max(range(i, k), key=lambda row: abs(system[row][i]))
        system[i], system[best] = system[best], system[i]
        system[i] = [entry / system[i][i] for entry in system[i]]
        for j in range(k):
            if j != i:
                system[j] = [a - system[j][i] * b for a, b in zip(system[j], system[i])]
    solved = [row[-1] for row in system]
    mean = sum(values) / n
    left = [value - sum(a * b for a, b in zip(row, solved)) for row, value in zip(rows, values)]
    squares = sum(rest * rest for rest in left)
    errors = [math.sqrt(squares / (n - k) * system[i][k + i]) for i in range(k)]
    return solved, errors, 1 - squares / sum((value - mean) ** 2 for value in values)


def wilson(share, count):
    """Ends of the interval of a share of independent events (Wilson 1927): it has a width where all or none happened."""
    square = WIDTH * WIDTH / count
    middle = share + square / 2
    half = math.sqrt(square * share * (1 - share) + square * square / 4)
    return [(middle - half) / (1 + square), (middle + half) / (1 + square)]


def median(values):
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else 0.5 * (ordered[half - 1] + ordered[half])


def main(source, out):
    study = json.loads((source / "manifest.json").read_text())["studies"][0]["study"]
    texts = {name.removesuffix(".toml"): text for name, text in study["problems"].items()}
    known = {name: properties(text) for name, text in texts.items()}
    errors = defaultdict(dict)
    with open(source / "cells.csv", newline="") as cells:
        for row in csv.DictReader(cells):
            if row["metric"] == "mse" and row["status"] == "ok":
                binning = row["binning"].split("(")[0] if row["estimator"] == "rhale" else ""
                name = f"{row['estimator']} {binning}".strip()
                errors[int(row["N"]), name][row["scenario"].split("@")[0]] = float(row["value"])
    names = list(dict.fromkeys(name for _, name in errors))
    wins, regression = [], []
    for size in sorted({size for size, _ in errors}):
        for place, first in enumerate(names):
            for second in names[place + 1 :]:
                one, other = errors[size, first], errors[size, second]
                both = [p for p in one if other.get(p, 0.0) > 0.0 and one[p] > 0.0]
                logs = [0.5 * math.log10(one[p] / other[p]) for p in both]
                share = sum(log < 0 for log in logs) / len(logs)
                se = math.sqrt(share * (1 - share) / len(logs))
                key = [size, first, second]
                shares = [100 * number for number in [share, se, *wilson(share, len(logs))]]
                wins.append([*key, len(logs), *shares, 10 ** median(logs)])
                seen = [(p, log) for p, log in zip(both, logs) if min(one[p], other[p]) > ROUNDING]
                rows, ratios = [[1.0, *known[p]] for p, _ in seen], [log for _, log in seen]
                solved, of, r2 = least_squares(rows, ratios)
                for on, value, error in zip(["constant", *PROPERTIES], solved, of):
                    ends = [value - WIDTH * error, value + WIDTH * error]
                    regression.append([*key, len(seen), on, value, error, *ends, r2])
    out.mkdir(parents=True, exist_ok=True)
    shutil.copy(source / "manifest.json", out / "manifest.json")
    key = ["N", "first", "second", "problems"]
    of = lambda number: [number, f"{number}_se", "lower", "upper"]
    for file, head, rows in [
        ("wins.csv", [*key, *of("first_lower"), "median_ratio"], wins),
        ("regression.csv", [*key, "on", *of("estimate"), "r2"], regression),
    ]:
        with open(out / file, "w", newline="") as table:
            writer = csv.writer(table, lineterminator="\n")
            writer.writerow(head)
            writer.writerows([f"{x:.6g}" if isinstance(x, float) else x for x in row] for row in rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
