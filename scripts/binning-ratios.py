#!/usr/bin/env python3
"""Errors of automatic bins over those of the best number of equal or quantile bins in hindsight.

    scripts/binning-ratios.py RESULTS [--limit 2] [--csv FILE] [--means FILE]

reads RESULTS/summary.csv of a study such as scenarios/large/automatic-binning.toml and prints two tables:
geometric means over all scenarios and features, and every ratio of `penalized` above the limit (half as much
again up to 500 rows) with the larger of both ratios that the number of bins has which is best for both errors
together. All ratios go to the file of `--csv`, with the errors themselves, and the geometric means to that of
`--means`. What is estimated exactly is left out.
"""

import argparse
import collections
import csv
import math

METRICS = {"mse": "curve", "deviation_mse": "spread"}
# Errors that are rounding alone.
EXACT = 1e-20


def read(path):
    """The means of a results folder: place, metric, (binning, K) and mean."""
    with open(path + "/summary.csv", newline="") as file:
        for row in csv.DictReader(file):
            if row["mean"]:
                place = (row["scenario"], row["parameters"], row["feature"], int(row["N"]))
                binning = row["binning"].split("(")[0]
                bins = (binning, int(row["K"])) if row["estimator"] == "dale" else (binning, None)
                yield place, row["metric"], bins, float(row["mean"])


def best_for_both(values, place):
    """The least, over equal and quantile bins, of the larger ratio of both errors."""
    errors = [values[place, metric] for metric in METRICS]
    least = [min(mean for bins, mean in means.items() if bins[1]) for means in errors]
    each = ([means[bins] / max(best, EXACT) for means, best in zip(errors, least)]
            for bins in errors[0] if bins[1])
    return min(map(max, each))


def write(path, head, rows):
    with open(path, "w", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(head)
        lines.writerows(rows)


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def main(path, limit, to, means_to):
    values = collections.defaultdict(dict)
    for place, metric, bins, mean in read(path):
        values[place, metric][bins] = mean
    ratios, crowds = [], collections.defaultdict(list)
    for (place, metric), means in values.items():
        if metric not in METRICS:
            continue
        best = min((mean, bins) for bins, mean in means.items() if bins[1])
        for (binning, count), mean in means.items():
            if count is None and best[0] > EXACT:
                ratios.append((place, METRICS[metric], binning, mean / best[0], best[1], mean))
                used = values[place, "bins"][binning, None]
                most = max(bins[1] for bins in means if bins[1])
                crowds[binning, place].append((used, best[1][1], most))
    if to:
        head = ["scenario", "parameters", "feature", "N", "error", "binning", "ratio", "best", "K", "mean"]
        write(to, head, ([*place, kind, binning, f"{ratio:.4g}", *bins, f"{mean:.4g}"]
                         for place, kind, binning, ratio, bins, mean in sorted(ratios)))
    sizes = sorted({place[3] for place, *_ in ratios})
    names = sorted({binning for _, _, binning, *_ in ratios})
    print("| binning | error | " + " | ".join(f"N = {n}" for n in sizes) + " | all | worst |")
    print("|---|---|" + "--:|" * (len(sizes) + 2))
    table = []
    for binning in names:
        for kind in METRICS.values():
            mine = [r for r in ratios if r[1:3] == (kind, binning)]
            groups = [[r[3] for r in mine if r[0][3] == n] for n in sizes] + [[r[3] for r in mine]]
            means = [geometric_mean(group) for group in groups]
            table += [[binning, kind, n, f"{mean:.4g}"] for n, mean in zip([*sizes, "all"], means)]
            print(f"| {binning} | {kind} | " + " | ".join(f"{mean:.2f}" for mean in means)
                  + f" | {max(groups[-1]):.0f} |")
    print()
    if means_to:
        write(means_to, ["binning", "error", "N", "mean"], table)
    for binning in names:
        places = [map(max, zip(*pairs)) for (name, _), pairs in crowds.items() if name == binning]
        more = [best == most for used, best, most in places if used > 2 * best]
        print(f"{binning}: more than twice the bins of the best in {len(more)} of {len(places)}, where "
              f"in {sum(more)} the best is the largest number that was tried")
    print()

    def above(n):
        return limit * (1.5 if n <= 500 else 1.0)

    places = sorted({place for place, *_ in ratios})
    both = {place: best_for_both(values, place) for place in places}
    none = sum(both[place] > above(place[3]) for place in places)
    print(f"no number of bins is within the limits for both errors in {none} of {len(places)}")
    print()
    print("| effect | N | error | ratio | best in hindsight | best for both errors |")
    print("|---|--:|---|--:|---|--:|")
    for place, kind, binning, ratio, best, _ in sorted(ratios):
        if binning == "penalized" and ratio > above(place[3]):
            scenario, parameters, feature, n = place
            name = " ".join(filter(None, [scenario.split("@")[0], parameters, feature]))
            hindsight = f"{best[0]} {best[1]}"
            print(f"| {name} | {n} | {kind} | {ratio:.1f} | {hindsight} | {both[place]:.1f} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("results", help="folder with a summary.csv")
    parser.add_argument("--limit", type=float, default=2.0)
    parser.add_argument("--csv", metavar="FILE", help="all ratios, with the errors themselves")
    parser.add_argument("--means", metavar="FILE", help="geometric means")
    arguments = parser.parse_args()
    main(arguments.results, arguments.limit, arguments.csv, arguments.means)
