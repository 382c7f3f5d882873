#!/usr/bin/env python3
"""Records the irises, and what alibi makes of a logistic regression on them, for the tests of fe-bench.

    python3.11 -m venv target/peers && target/peers/bin/pip install -r scripts/peers/requirements.txt
    target/peers/bin/python scripts/models/record_iris.py

Writes docs/iris.csv and crates/fe-bench/tests/fixtures/alibi-iris.csv.
"""

import csv
import pathlib

from alibi.explainers import ALE
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

ROOT = pathlib.Path(__file__).resolve().parents[2]
COLUMNS = ["sepal_length", "sepal_width", "petal_length", "petal_width"]


def write(name, header, rows):
    with open(ROOT / name, "w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


irises = load_iris()
species = list(irises.target_names)
write(
    "docs/iris.csv", [*COLUMNS, "species"],
    ([f"{v:g}" for v in x] + [species[y]] for x, y in zip(irises.data, irises.target)),
)
fit = LogisticRegression(solver="newton-cholesky", tol=1e-13, max_iter=10_000)
fit.fit(irises.data, irises.target)
answer = ALE(fit.predict_proba, feature_names=COLUMNS, target_names=species).explain(irises.data)
write(
    "crates/fe-bench/tests/fixtures/alibi-iris.csv", ["feature", "output", "x", "effect"],
    (
        [column, name, repr(float(x)), repr(float(effect))]
        for s, column in enumerate(COLUMNS)
        for q, name in enumerate(species)
        for x, effect in zip(answer.feature_values[s], answer.ale_values[s][:, q])
    ),
)
