#!/usr/bin/env python3
"""Records what PyALE and scikit-learn make of pairs of features, for the tests of fe-core.

    python3.11 -m venv target/peers && target/peers/bin/pip install -r scripts/peers/requirements.txt
    target/peers/bin/python scripts/peers/record_pairs.py

Reads the datasets of crates/fe-core/tests/fixtures and writes NAME.json of each to its folder `pairs`.
"""

import json
import logging
import pathlib
import warnings

import numpy as np
import pandas as pd
import PyALE
import sklearn
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.inspection import partial_dependence

FIXTURES = pathlib.Path(__file__).resolve().parents[2] / "crates/fe-core/tests/fixtures"


def indicator(holds):
    return holds.astype(float)


def effreg(x):
    return 3 * x[:, 0] * (indicator(x[:, 2] > 0) - indicator(x[:, 2] <= 0)) + x[:, 2]


def friedman1(x):
    square = (x[:, 2] - 0.5) * (x[:, 2] - 0.5)
    return 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * square + 10 * x[:, 3] + 5 * x[:, 4]


def sinind(x):
    amplitude = indicator(x[:, 0] < 0) - 2 * indicator(x[:, 2] < 0)
    return np.sin(2 * np.pi * x[:, 0]) * amplitude + x[:, 0] * x[:, 1] + x[:, 1]


MODELS = {
    "bvn": lambda x: x[:, 0] + x[:, 1] * x[:, 1] / 2 + x[:, 0] * x[:, 1],
    "poly3": lambda x: x[:, 0] * x[:, 0] + x[:, 0] * x[:, 1] + x[:, 2] / 2,
    "effreg": effreg,
    "friedman1": friedman1,
    "sinind": sinind,
}

# Each dataset with its pairs of features, counted from 1.
DATASETS = {
    "bvn_n200": [(1, 2), (2, 1)],
    "const_n200": [(1, 2), (2, 3)],
    "distinct12_n50": [(1, 2), (2, 1)],
    "effreg_n200": [(1, 3)],
    "friedman1_n200": [(1, 2), (3, 4)],
    "gap_n200": [(1, 2)],
    "integer_n200": [(1, 2), (1, 3), (3, 1)],
    "lognormal_n200": [(1, 2)],
    "onedge_n210": [(1, 2), (2, 1)],
    "plain_n10": [(1, 2)],
    "sinind_n200": [(1, 3), (2, 1)],
    "sinind_n60": [(1, 3)],
    "ties_n200": [(1, 2), (2, 1)],
    "zeroinf_n200": [(1, 2), (1, 3)],
}

GRID_SIZES = [3, 8, 20]
# The grid of scikit-learn's defaults has 10 000 values, so that it is recorded once.
RESOLUTIONS = [(4, (0.05, 0.95)), (12, (0.0, 1.0)), (15, (0.1, 0.8))]
BY_DEFAULT = "friedman1_n200"


class Function(RegressorMixin, BaseEstimator):
    """A function that asks for no fit."""

    def __init__(self, function=None):
        self.function = function

    def fit(self, x, y=None):
        return self

    def predict(self, x):
        return self.function(np.asarray(x, dtype=float))

    def __sklearn_is_fitted__(self):
        return True


def numbers(values):
    """Numbers as they are, and null for NaN."""
    values = np.asarray(values, dtype=float)
    if values.ndim > 1:
        return [numbers(row) for row in values]
    return [None if np.isnan(value) else float(value) for value in values]


def attempt(call):
    """What a call gave, or its error."""
    try:
        return {"status": "ok", **call()}
    except Exception as error:
        return {"status": "error", "error": f"{type(error).__name__}: {error}"}


def pyale(frame, model, pair, grid_size):
    def call():
        given = [f"x{feature}" for feature in pair]
        grid = PyALE.ale(frame, model, given, grid_size=grid_size, plot=False)
        return {"x": numbers(grid.index), "x2": numbers(grid.columns), "effect_centred": numbers(grid)}

    return {"peer": "PyALE", "method": "ALE 2D", "options": {"grid_size": grid_size}, "features": pair, **attempt(call)}


def sklearn_pd(values, model, pair, options):
    def call():
        features = [feature - 1 for feature in pair]
        found = partial_dependence(model, values, features, method="brute", kind="average", **options)
        x, x2 = found["grid_values"]
        return {"x": numbers(x), "x2": numbers(x2), "effect_uncentred": numbers(found["average"][0])}

    recorded = {"default": True} if not options else options
    method = "partial_dependence brute"
    return {"peer": "scikit-learn", "method": method, "options": recorded, "features": pair, **attempt(call)}


def record(name, pairs):
    known = json.loads((FIXTURES / f"{name}.json").read_text())
    values = np.loadtxt(FIXTURES / f"{name}.csv", delimiter=",", skiprows=1, ndmin=2)
    frame = pd.DataFrame(values, columns=[f"x{j + 1}" for j in range(values.shape[1])])
    model = Function(MODELS[known["model"]])
    results = []
    for pair in pairs:
        results += [pyale(frame, model, pair, size) for size in GRID_SIZES]
        asked = [{"grid_resolution": count, "percentiles": ends} for count, ends in RESOLUTIONS]
        asked += [{}] if name == BY_DEFAULT and pair == pairs[0] else []
        results += [sklearn_pd(values, model, pair, options) for options in asked]
    versions = {
        "PyALE": "1.2.0", "scikit-learn": sklearn.__version__, "numpy": np.__version__, "pandas": pd.__version__,
    }
    head = {"dataset": known["dataset"], "model": known["model"], "csv": f"../{name}.csv", "versions": versions}
    lines = ",\n".join(json.dumps(result) for result in results)
    text = json.dumps(head)[:-1] + ', "results": [\n' + lines + "\n]}\n"
    (FIXTURES / "pairs" / f"{name}.json").write_text(text)
    return results


warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)
for name, pairs in DATASETS.items():
    for result in record(name, pairs):
        shape = np.shape(result.get("effect_centred", result.get("effect_uncentred", [])))
        print(name, result["features"], result["peer"], result["options"], shape, result.get("error", ""))
