#!/usr/bin/env python3
"""Records what scikit-learn and pygam fit, for the tests of the crate fe-models.

    python3.11 -m venv target/models && target/models/bin/pip install -r scripts/models/requirements.txt
    target/models/bin/python scripts/models/record.py

Writes crates/fe-models/tests/fixtures/{linear,gam,logistic}.json; `record_boosting.py` the rest.
"""

import json
import pathlib
import warnings

import numpy as np
from pygam import LinearGAM, s, te
from sklearn.datasets import load_iris
from sklearn.linear_model import LinearRegression, LogisticRegression

FIXTURES = pathlib.Path(__file__).resolve().parents[2] / "crates/fe-models/tests/fixtures"


def rounded(x):
    """Few digits, so that files stay small and data are the same in both languages."""
    return np.round(x, 4)


def friedman(random, n, d=5):
    x = rounded(random.uniform(size=(n, d)))
    y = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3]
    return x, rounded(y + random.normal(size=n))


def case(name, x, y, weights=None, **more):
    weights = None if weights is None else weights.tolist()
    return {"name": name, "x": x.tolist(), "y": y.tolist(), "weights": weights, **more}


def linear():
    random = np.random.default_rng(1)
    x, y = friedman(random, 60)
    weights = rounded(random.uniform(0.1, 3, size=60))
    twice = np.column_stack([x, x[:, 0] + x[:, 1], np.full(60, 3.0)])
    wide = rounded(random.normal(size=(8, 12)))
    sizes = x * [1e-5, 1e5, 1, 1e3, 1e-2] + [0, 1e5, 10, 0, 5]
    # One that is nearly, but not quite, the sum of two others.
    near = np.column_stack([x, x[:, 0] + x[:, 1] + 1e-6 * x[:, 4]])
    cases = [
        ("plain", x, y, None),
        ("weighted", x, y, weights),
        ("collinear", twice, y, None),
        ("collinear, weighted", twice, y, weights),
        ("wide", wide, rounded(random.normal(size=8)), None),
        ("sizes", sizes, y, None),
        ("near", near, y, None),
    ]
    for name, x, y, weights in cases:
        fit = LinearRegression().fit(x, y, sample_weight=weights)
        yield case(
            name, x, y, weights, coefficients=fit.coef_.tolist(), intercept=fit.intercept_,
            rank=int(fit.rank_), predictions=fit.predict(x).tolist(),
        )


def gam():
    random = np.random.default_rng(2)
    x, y = friedman(random, 150, 4)
    weights = rounded(random.uniform(0.1, 3, size=150))
    # In float32, as pygam takes them.
    weights = weights.astype("f").astype(float)
    many, of_many = friedman(random, 320, 4)
    weights_of_many = np.tile(weights, 3)[:320]
    singles = lambda d, n: [s(i, n_splines=n) for i in range(d)]
    pairs = lambda d, n: [te(i, j, n_splines=n) for i in range(d) for j in range(i + 1, d)]
    constant = np.column_stack([x[:, :2], np.full(150, 2.0)])
    heavy = rounded(np.column_stack([random.standard_t(2, size=80), random.normal(size=80)]))
    # With fewer rows than coefficients pygam drops singular values, and minimises nothing: no such case.
    cases = [
        ("default", x, y, None, singles(4, 20), 0.6, []),
        ("weighted", x, y, weights, singles(4, 12), 3.0, ["splines=12"]),
        ("rough", x, y, None, singles(4, 7), 1e-3, ["splines=7"]),
        ("smooth", x, y, None, singles(4, 20), 1e4, []),
        ("constant feature", constant, y, None, singles(3, 10), 0.6, ["splines=10"]),
        ("heavy tails", heavy, rounded(heavy.sum(axis=1) ** 2), None, singles(2, 25), 0.2, ["splines=25"]),
        # The study of Heiß et al.: products for all pairs.
        (
            "all pairs", x, y, None, singles(4, 5) + pairs(4, 4), 0.0010044067410842127,
            ["splines=5", "interactions=all"],
        ),
        (
            "all pairs, weighted", many[:, :3], of_many, weights_of_many, singles(3, 31) + pairs(3, 6), 0.3231212648249408,
            ["splines=31", "interactions=all"],
        ),
        (
            "one pair", x, y, None, singles(4, 9) + [te(0, 1, n_splines=5)], 0.05,
            ["splines=9", "interactions=x1:x2", "tensor_splines=5"],
        ),
    ]
    for name, x, y, weights, terms, lam, options in cases:
        total = terms[0]
        for term in terms[1:]:
            total = total + term
        fit = LinearGAM(total, lam=lam).fit(x, y, weights=weights)
        span = x.max(axis=0) - x.min(axis=0)
        beyond = rounded(x.min(axis=0) + span * random.uniform(-0.5, 1.5, size=(25, x.shape[1])))
        effects = []
        for feature in range(x.shape[1]):
            at_rows = fit.partial_dependence(term=feature, X=x)
            mean = np.average(at_rows, weights=weights)
            effects.append((fit.partial_dependence(term=feature, X=beyond) - mean).tolist())
        yield case(
            name, x, y, weights, options=[f"lambda={lam!r}", *options],
            predictions=fit.predict(x).tolist(), beyond=beyond.tolist(),
            predictions_beyond=fit.predict(beyond).tolist(), effects_beyond=effects,
            degrees=float(fit.statistics_["edof"]),
        )


def iris():
    bunch = load_iris()
    return bunch.data, bunch.target.astype(float)


def logistic():
    random = np.random.default_rng(3)
    x, y = iris()
    weights = rounded(random.uniform(0.1, 3, size=150))
    cases = [
        ("iris", x, y, None, 1.0),
        ("iris, weighted", x, y, weights, 0.1),
        ("iris, weak ridge", x, y, None, 100.0),
        ("two classes", x[50:], y[50:], None, 1.0),
        ("two classes, weighted", x[50:, :2], y[50:], weights[50:], 10.0),
        ("sizes", x * [1e-3, 1, 1e3, 10], y, None, 1.0),
    ]
    for name, x, y, weights, c in cases:
        fit = LogisticRegression(C=c, solver="newton-cholesky", tol=1e-13, max_iter=10_000)
        fit.fit(x, y, sample_weight=weights)
        yield case(
            name, x, y, weights, options=[f"C={c}"],
            probabilities=fit.predict_proba(x).T.tolist(), coefficients=fit.coef_.tolist(),
            intercepts=fit.intercept_.tolist(),
        )


def write(name, cases):
    text = ",\n".join(json.dumps(case) for case in cases)
    (FIXTURES / f"{name}.json").write_text(f"[\n{text}\n]\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    write("linear", linear())
    write("gam", gam())
    write("logistic", logistic())
