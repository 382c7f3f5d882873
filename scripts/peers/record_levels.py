#!/usr/bin/env python3
"""Records what effector, alibi, PyALE and scikit-learn make of features with levels, for the tests of fe-core.

    python3.11 -m venv target/peers && target/peers/bin/pip install -r scripts/peers/requirements.txt
    target/peers/bin/python scripts/peers/record_levels.py

Writes levels_n200.csv and levels_n200.json to crates/fe-core/tests/fixtures/levels. The columns are a number x, two
nominal features g and h, of which h depends on g as x does, and an ordinal one o.
"""

import json
import logging
import pathlib
import warnings
from importlib.metadata import version

import effector
import numpy as np
import pandas as pd
import PyALE
from alibi.explainers import ALE
from effector.proposers import CategoricalOneVsRest, CategoricalOrdered, CategoricalSubsets
from effector.space_partitioning import Best
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.inspection import partial_dependence

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "crates/fe-core/tests/fixtures/levels"
NAMES = ["x", "g", "h", "o"]
TYPES = ["continuous", "nominal", "nominal", "ordinal"]
SLOPES = np.array([-1.0, 2.0, 0.5, 3.0, -2.0])
SHIFTS = np.array([0.0, 1.0, -1.5])


def model(rows):
    x, g, h, o = np.asarray(rows, dtype=float).T
    slope, shift = SLOPES[g.astype(int)], SHIFTS[h.astype(int)]
    return slope * x + shift * o + o * o / 4


def data():
    random = np.random.default_rng(11)
    g = random.choice(5, size=200, p=[0.3, 0.1, 0.25, 0.2, 0.15])
    x = np.round(np.array([0.0, 3.0, -1.0, 1.5, -2.5])[g] + random.normal(size=200), 4)
    likely = np.array([0.5, 0.1, 0.6, 0.3, 0.8])[g]
    h = (random.uniform(size=200) < likely).astype(int) + (random.uniform(size=200) < 0.3)
    o = np.array([1, 2, 4, 7])[random.choice(4, size=200, p=[0.4, 0.3, 0.2, 0.1])]
    return np.column_stack([x, g, h, o]).astype(float)


def numbers(values):
    return [float(value) for value in np.asarray(values, dtype=float).ravel()]


def of_effector(X):
    schema = {"feature_names": NAMES, "feature_types": TYPES}
    orders = {1: [None, "similarity", [2, 0, 4, 1, 3]], 2: [None, "similarity"], 3: [None]}
    for feature, all_orders in orders.items():
        levels = np.unique(X[:, feature])
        for order in all_orders:
            ale = effector.ALE(X, model, nof_instances="all", schema=schema)
            ale.fit(features=feature, order=order)
            yield {
                "method": "ale",
                "feature": feature,
                "asked": order,
                "order": numbers(ale._ensure_local(feature)["levels"]),
                "x": numbers(levels),
                "effect": numbers(ale.eval(feature, levels)),
            }
        pdp = effector.PDP(X, model, nof_instances="all", schema=schema)
        pdp.fit(features=feature)
        yield {
            "method": "pdp",
            "feature": feature,
            "x": numbers(levels),
            "effect": numbers(pdp.eval(feature, levels)),
            "spread": numbers(pdp.eval_heter(feature, levels)),
        }
    # First splits of the effect of x, where levels are divided.
    for name, proposer in {
        "one_vs_rest": CategoricalOneVsRest(),
        "subsets": CategoricalSubsets(),
        "similarity": CategoricalOrdered("similarity"),
    }.items():
        pdp = effector.PDP(X, model, nof_instances="all", schema=schema)
        pdp.fit(features=0)
        found = pdp.find_regions(0, finder=Best(max_depth=1, categorical_proposer=proposer))
        yield {
            "method": "regional-pdp",
            "feature": 0,
            "asked": name,
            "regions": [[str(region.rule), int(region.nof_instances)] for region in found],
        }


def of_alibi(X):
    ale = ALE(model, feature_names=NAMES)
    found = ale.explain(X, features=[1, 2, 3])
    for place, feature in enumerate([1, 2, 3]):
        yield {
            "method": "ale",
            "feature": feature,
            "x": numbers(found.feature_values[place]),
            "effect": numbers(found.ale_values[place][:, 0]),
        }


def of_pyale(X):
    for feature in [1, 2]:
        name = NAMES[feature]
        words = pd.DataFrame(X, columns=NAMES).astype({"g": int, "h": int, "o": int})
        words[name] = words[name].map(lambda level: f"l{level}")

        def encode(column, name=name):
            column = column.iloc[:, 0] if isinstance(column, pd.DataFrame) else column
            return pd.DataFrame({f"{name}_code": [int(word[1:]) for word in column]}, index=column.index)

        class Coded:
            def predict(self, rows, name=name):
                return model(rows.rename(columns={f"{name}_code": name})[NAMES])

        predictors = [f"{name}_code" if other == name else other for other in NAMES]
        asked = {"feature": [name], "feature_type": "categorical", "plot": False, "include_CI": False}
        found = PyALE.ale(X=words, model=Coded(), encode_fun=encode, predictors=predictors, **asked)
        yield {
            "method": "ale",
            "feature": feature,
            "order": [float(str(word)[1:]) for word in found.index],
            "x": [float(str(word)[1:]) for word in found.index],
            "effect": numbers(found["eff"]),
        }


class Function(RegressorMixin, BaseEstimator):
    """A function that asks for no fit."""

    def fit(self, X, y):
        self.fitted_ = True
        return self

    def __sklearn_is_fitted__(self):
        return True

    def predict(self, X):
        return model(X)


def of_sklearn(X):
    for feature in [1, 2, 3]:
        found = partial_dependence(Function(), X, [feature], categorical_features=[1, 2, 3], kind="both", method="brute")
        curves = np.asarray(found["individual"][0])
        yield {
            "method": "pdp",
            "feature": feature,
            "x": numbers(found["grid_values"][0]),
            "effect": numbers(found["average"][0]),
            "spread": numbers(curves.var(axis=0)),
        }


def main():
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    X = data()
    np.savetxt(FOLDER / "levels_n200.csv", X, delimiter=",", header=",".join(NAMES), comments="", fmt="%.17g")
    peers = {
        "effector": of_effector,
        "alibi": of_alibi,
        "PyALE": of_pyale,
        "scikit-learn": of_sklearn,
    }
    cases = [{"peer": peer, "version": version(peer)} | case for peer, of in peers.items() for case in of(X)]
    text = ",\n".join(json.dumps(case) for case in cases)
    (FOLDER / "levels_n200.json").write_text(f"[\n{text}\n]\n")


if __name__ == "__main__":
    main()
