#!/usr/bin/env python3
"""Seconds that the truths of a leaf take: curves of every effect under random conditions.

For each scenario, and for one, two and three conditions, some regions are drawn: which features they cut, on which side and
where in the middle third of their axes. Of each region all effects of one feature are asked for at 1000 points, each in a
process of its own, whose start is counted. Prints, by scenario and number of conditions, the slowest effect and its time, and
how many curves were refused: along them the region may be all but impossible.

Usage: scripts/leaf-truths.py [--program fe-bench] [--regions 4] [--points 1000] [--seed 1] [SCENARIO ...]
"""

import argparse
import csv
import random
import subprocess
import sys
import time

EFFECTS = "pd dpd mplot ale mu sigma h-pdp h-dpdp shap shap-variance".split()
CONDITIONS = [1, 2, 3]
MOST_FEATURES = 5
REFUSED = ("cannot be told in the region", "the region is too rare")
MIDDLE = (0.35, 0.65)


def answer(program, *arguments, may_be_refused=False):
    """Rows of an answer, which fails with the program's own words; none of one that may be refused, and is."""
    done = subprocess.run([program, *arguments], capture_output=True, text=True)
    if done.returncode != 0 and may_be_refused and any(words in done.stderr for words in REFUSED):
        return None
    if done.returncode != 0:
        sys.exit(f"{program} {' '.join(arguments)}: {done.stderr.strip()}")
    return list(csv.DictReader(done.stdout.splitlines()))


def axes_of(program, scenario):
    """Ends of the axis of each of the first features."""
    axes = {}
    for row in answer(program, "truth", scenario, "--effect", "pd", "--grid", "2"):
        axes.setdefault(row["feature"], []).append(float(row["x"]))
    return dict(list(axes.items())[:MOST_FEATURES])


def region(rng, axes, count):
    """Conditions on as many features, in words."""
    conditions = []
    for feature in rng.sample(list(axes), count):
        low, high = axes[feature]
        place = low + rng.uniform(*MIDDLE) * (high - low)
        conditions.append(f"{feature} {rng.choice(['>', '<='])} {place:.4g}")
    return " and ".join(conditions)


def main():
    about = __doc__.split("\n\n")
    parser = argparse.ArgumentParser(description=about[0], epilog=about[1])
    parser.add_argument("--program", default="fe-bench")
    parser.add_argument("--regions", type=int, default=4)
    parser.add_argument("--points", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO")
    asked = parser.parse_args()
    rng = random.Random(asked.seed)
    listed = answer(asked.program, "list", "--format", "csv") if not asked.scenarios else []
    names = asked.scenarios or [row["scenario"].split("@")[0] for row in listed]
    print("| scenario | " + " | ".join(f"{count} cut" for count in CONDITIONS) + " |")
    print("|---" * (1 + len(CONDITIONS)) + "|", flush=True)
    for name in names:
        axes = axes_of(asked.program, name)
        cells = []
        for count in CONDITIONS:
            slowest, refused = (0.0, ""), 0
            for _ in range(asked.regions if count <= len(axes) else 0):
                where, feature = region(rng, axes, count), rng.choice(list(axes))
                for effect in EFFECTS:
                    start = time.perf_counter()
                    rows = answer(asked.program, "truth", name, "--effect", effect,
                                  "--feature", feature, "--grid", str(asked.points),
                                  "--where", where, may_be_refused=True)
                    refused += rows is None
                    slowest = max(slowest, (time.perf_counter() - start, f"{effect} {feature}"))
            told = f"{slowest[0]:.2f} {slowest[1]}" if slowest[1] else ""
            cells.append(told + (f", {refused} refused" if refused else ""))
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
