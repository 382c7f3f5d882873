#!/usr/bin/env python3
"""Bias and variance of the effects of XGBoost itself, beside those of the trees here with the same settings.

    scripts/heiss-xgboost.py STUDY.toml RESULTS [--datasets 30] [--curves FILE]

fits XGBoost with the options that STUDY.toml gives `gbdt` to datasets of the same laws and the same size, drawn by
numpy, and estimates partial dependence and ALE (bins without instances: 0) on the rows of the fit, on a held-out fifth
and by five folds, as the study does. Writes RESULTS/xgboost.csv, squared bias without its noise floor and variance by
scenario, effect, split and feature, and RESULTS/ratios.csv, medians over the features of the variance that
RESULTS/summary.csv has over that of XGBoost. The truth is that of the same estimators of f on many rows. Needs numpy,
scipy and xgboost (2.1.3 was used). With --curves each dataset is appended to FILE, and what stands there is not
computed again.
"""

import argparse
import csv
import os
import statistics
import time
import tomllib

import numpy as np
import xgboost
from scipy.stats import norm

POINTS = np.linspace(1e-4, 0.9999, 100)
FEATURES = {"snc": 4, "friedman1": 7, "feynman-i29-16": 6}
SIGNAL_TO_NOISE = 5
FOLDS = 5


def placed(scenario, u):
    """Values of the features whose probabilities are u."""
    if scenario == "friedman1":
        return u
    if scenario == "snc":
        return norm.ppf(u)
    x = u.copy()
    x[:, :2] = 0.1 * 100 ** u[:, :2]
    x[:, 2:4] = 2 * np.pi * u[:, 2:4]
    return x


def draw(scenario, rows, random):
    """Rows of the law."""
    z = random.normal(size=(rows, FEATURES[scenario]))
    if scenario == "snc":
        z[:, 1] = 0.9 * z[:, 0] + np.sqrt(1 - 0.9**2) * z[:, 1]
        return z
    return placed(scenario, norm.cdf(z))


def signal(scenario, x):
    """f at rows."""
    a, b = x[:, 0], x[:, 1]
    if scenario == "snc":
        return a + 0.5 * b**2 + a * b
    if scenario == "friedman1":
        return 10 * np.sin(np.pi * a * b) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
    return np.sqrt(a**2 + b**2 + 2 * a * b * np.cos(x[:, 2] - x[:, 3]))


def centred(curve):
    return curve - curve.mean()


def pdp(predict, x, feature, grid):
    """Partial dependence at the inner points."""
    inner = grid[1:-1, feature]
    total = np.zeros(len(inner))
    for part in np.array_split(x, max(1, len(x) // 2000)):
        asked = np.repeat(part, len(inner), axis=0)
        asked[:, feature] = np.tile(inner, len(part))
        total += predict(asked).astype(float).reshape(len(part), len(inner)).sum(axis=0)
    return centred(total / len(x))


def ale(predict, x, feature, grid):
    """ALE at the inner points, of the bins between all points."""
    limits = grid[:, feature]
    bins = len(limits) - 1
    of = np.clip(np.searchsorted(limits, x[:, feature], side="left") - 1, 0, bins - 1)
    low, high = x.copy(), x.copy()
    low[:, feature], high[:, feature] = limits[of], limits[of + 1]
    change = predict(high).astype(float) - predict(low)
    count = np.bincount(of, minlength=bins)
    slopes = np.bincount(of, change, bins) / np.maximum(count, 1)
    return centred(np.concatenate([[0], np.cumsum(slopes)])[1:-1])


ESTIMATORS = {"pdp": pdp, "ale": ale}


def fit(options, x, y):
    """Predictions of XGBoost, without the trees at the end that are nothing but a leaf."""
    given = {key: value for key, value in options.items() if key not in ("name", "label", "n_estimators", "gamma")}
    model = xgboost.train(
        {"seed": 42, "nthread": 1, **given}, xgboost.DMatrix(x, y), options["n_estimators"]
    )
    last = max(i for i, tree in enumerate(model.get_dump()) if tree.count("\n") > 1) + 1
    return lambda rows: model.inplace_predict(rows, iteration_range=(0, last))


def curves(scenario, rows, options, replicate):
    """All curves of a dataset: (split, estimator, feature) and 98 values."""
    random = np.random.RandomState(1000 + replicate)
    x = draw(scenario, rows, random)
    deviation = signal(scenario, draw(scenario, 100_000, np.random.RandomState(7))).std()
    y = signal(scenario, x) + random.normal(size=rows) * deviation / SIGNAL_TO_NOISE
    parts = np.array_split(random.permutation(rows), FOLDS)
    grid = placed(scenario, np.repeat(POINTS[:, None], x.shape[1], axis=1))
    each = [(name, feature) for name in ESTIMATORS for feature in range(x.shape[1])]

    def explain(fitted, explained):
        model = fit(options, x[fitted], y[fitted])
        return [ESTIMATORS[name](model, x[explained], feature, grid) for name, feature in each]

    everything = np.arange(rows)
    train = explain(everything, everything)
    folds = [explain(np.setdiff1d(everything, part), part) for part in parts]
    for i, (name, feature) in enumerate(each):
        yield "train", name, feature, train[i]
        yield "validation", name, feature, folds[0][i]
        yield "cv", name, feature, np.mean([fold[i] for fold in folds], axis=0)


def truths(scenario):
    """The curves of f, of many rows."""
    x = draw(scenario, 1_000_000, np.random.RandomState(5))
    grid = placed(scenario, np.repeat(POINTS[:, None], x.shape[1], axis=1))

    def f(rows):
        return signal(scenario, rows)

    for feature in range(x.shape[1]):
        yield ("pdp", feature), pdp(f, x[:100_000], feature, grid)
        yield ("ale", feature), ale(f, x, feature, grid)


def read(path):
    """The curves that are there."""
    found = {}
    if path and os.path.exists(path):
        with open(path, newline="") as file:
            for scenario, replicate, split, name, feature, *values in csv.reader(file):
                key = (scenario, split, name, int(feature))
                found.setdefault(key, {})[int(replicate)] = np.array(values, dtype=float)
    return found


def compute(study, arguments):
    """Curves of all datasets by (scenario, split, estimator, feature), then by dataset."""
    found = read(arguments.curves)
    for block in study["block"]:
        scenario, rows = block["scenario"], block["N"]
        options = next(model for model in block["model"] if model["name"] == "gbdt")
        there = set().union(*(of for key, of in found.items() if key[0] == scenario))
        for replicate in sorted(set(range(arguments.datasets)) - there):
            start = time.time()
            done = list(curves(scenario, rows, options, replicate))
            for split, name, feature, curve in done:
                found.setdefault((scenario, split, name, feature), {})[replicate] = curve
            if arguments.curves:
                with open(arguments.curves, "a", newline="") as file:
                    lines = csv.writer(file, lineterminator="\n")
                    lines.writerows([scenario, replicate, *key, *map(repr, curve.tolist())] for *key, curve in done)
            print(f"{scenario}, dataset {replicate}: {time.time() - start:.1f} s", flush=True)
    return found


def ours(path):
    """Variances of the trees in a summary, with empty bins 0."""
    means = {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            if row["metric"] == "variance" and row["pair"].startswith("gbdt") and row["empty_bins"] in ("", "zero"):
                key = (row["scenario"].split("@")[0], row["split"], row["estimator"], int(row["feature"][1:]) - 1)
                means[key] = float(row["mean"])
    return means


def main(arguments):
    with open(arguments.study, "rb") as file:
        study = tomllib.load(file)
    found = compute(study, arguments)
    here = ours(os.path.join(arguments.results, "summary.csv"))
    true = {scenario: dict(truths(scenario)) for scenario in {key[0] for key in found}}
    ratios = {}
    with open(os.path.join(arguments.results, "xgboost.csv"), "w", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(["scenario", "estimator", "split", "feature", "datasets", "debiased_bias2", "variance"])
        for (scenario, split, name, feature), of in found.items():
            values = np.array([of[replicate] for replicate in sorted(of)])
            variance = values.var(axis=0, ddof=1).mean()
            bias2 = ((values.mean(axis=0) - true[scenario][name, feature]) ** 2).mean() - variance / len(values)
            lines.writerow([scenario, name, split, f"x{feature + 1}", len(values), f"{bias2:.4g}", f"{variance:.4g}"])
            ratio = here[scenario, split, name, feature] / variance
            ratios.setdefault((scenario, name, split), []).append(ratio)
    with open(os.path.join(arguments.results, "ratios.csv"), "w", newline="") as file:
        lines = csv.writer(file, lineterminator="\n")
        lines.writerow(["scenario", "estimator", "split", "features", "median", "least", "largest"])
        for key, of in ratios.items():
            numbers = (statistics.median(of), min(of), max(of))
            lines.writerow([*key, len(of), *(f"{number:.3f}" for number in numbers)])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("study")
    parser.add_argument("results")
    parser.add_argument("--datasets", type=int, default=30)
    parser.add_argument("--curves", help="file that curves are kept in")
    main(parser.parse_args())
