"""Bands from refits of a learner that is a Python function."""

import numpy as np
import pytest

import feature_effects_bench as fe


def sample(n=80, seed=1):
    random = np.random.default_rng(seed)
    X = random.uniform(size=(n, 2))
    return X, 3 * X[:, 0] - X[:, 1] + random.normal(scale=0.3, size=n)


def least_squares(X, y):
    """The plane of least squares."""
    design = np.column_stack([np.ones(len(X)), X])
    slopes = np.linalg.lstsq(design, y, rcond=None)[0]
    return lambda X: slopes[0] + X @ slopes[1:]


REFIT = {"band": "refit", "refits": 12, "grid": 3}


def test_bands_are_those_of_the_program(fe_bench, tmp_path):
    X, y = sample()
    file = tmp_path / "data.csv"
    np.savetxt(file, np.column_stack([X, y]), delimiter=",", header="x1,x2,y", comments="", fmt="%.17g")
    command = ["effect", "--data", str(file), "--target", "y", "--model", "linear", "--estimator", "pdp"]
    (told,) = fe_bench(*command, "--feature", "x1", "--grid", "3", "--band", "refit", "--refits", "12", "--center", "data")
    found = fe.pdp(X, least_squares(X, y), 1, fit=least_squares, y=y, center="data", **REFIT)
    np.testing.assert_allclose(found.band["lower"], told["confidence"]["lower"], atol=1e-9)
    np.testing.assert_allclose(found.band["upper"], told["confidence"]["upper"], atol=1e-9)
    record = found.band["record"]["refits"]
    assert record["refits"] == 12 and record["p_flat"] < 0.01
    assert (found.band["lower"] <= found.effect).all() and (found.effect <= found.band["upper"]).all()


def test_all_features_share_the_refits_and_are_permuted_by_themselves():
    X, y = sample()
    calls = []

    def fit(X, y):
        calls.append(X.shape)
        return least_squares(X, y)

    found = fe.effects("ale", X, least_squares(X, y), fit=fit, y=y, band="refit", refits=6, bins=3, flat_permutations=19)
    assert [effect.name for effect in found] == ["x1", "x2"]
    # The refits, and for each feature its permutations and the data as they are.
    assert calls == [(80, 2)] * (6 + 2 * 20)
    assert [effect.band["record"]["refits"]["p_permuted"] for effect in found] == [0.05, 0.05]


def stump(X, y):
    """The best of a few splits of the first feature."""
    splits = np.linspace(0.3, 0.7, 5)
    errors = [np.var(y[X[:, 0] < at]) * (X[:, 0] < at).mean() + np.var(y[X[:, 0] >= at]) * (X[:, 0] >= at).mean() for at in splits]
    at = splits[np.argmin(errors)]
    low, high = y[X[:, 0] < at].mean(), y[X[:, 0] >= at].mean()
    return lambda X: np.where(X[:, 0] < at, low, high)


def test_models_with_steps_are_refitted_to_half_of_the_rows():
    X, y = sample()
    rows = []

    def fit(X, y):
        rows.append(len(X))
        return stump(X, y)

    def scheme(learn, **further):
        found = fe.pdp(X, learn(X, y), 1, fit=learn, y=y, **REFIT, **further)
        return found.band["record"]["refits"]["resampling"]

    assert scheme(fit) == "subsample:0.5"
    assert rows == [80] + [40] * 12
    assert scheme(fit, resampling="bootstrap") == "bootstrap"
    assert scheme(least_squares) == "bootstrap"


def test_pairs_are_tested_for_an_interaction():
    X, y = sample()
    model = least_squares(X, y)
    found = fe.pdp(
        X, model, ("x1", "x2"), fit=least_squares, y=y, band="refit", refits=5, grid=3, interaction=True, residual_permutations=4
    )
    refits = found.band["record"]["refits"]
    assert refits["p_flat"] == 1.0 and refits["p_permuted"] == 1.0


def test_frames_and_estimators():
    pandas = pytest.importorskip("pandas")
    X, y = sample()

    class Model:
        def fit(self, X, y):
            assert list(X.columns) == ["a", "b"]
            self.predictions = least_squares(X.to_numpy(), y)
            return self

        def predict(self, X):
            return self.predictions(X.to_numpy())

    frame = pandas.DataFrame(X, columns=["a", "b"])
    found = fe.pdp(frame, Model().fit(frame, y), "a", fit=lambda X, y: Model().fit(X, y), y=y, **REFIT)
    own = fe.pdp(X, least_squares(X, y), 1, fit=least_squares, y=y, **REFIT)
    np.testing.assert_allclose(found.band["lower"], own.band["lower"], atol=1e-12)


def test_what_cannot_be_refitted_is_refused():
    X, y = sample()
    model = least_squares(X, y)

    def failing(X, y):
        raise RuntimeError("no luck")

    for error, words, arguments in (
        (fe.FeatureEffectsError, "takes `fit`", {}),
        (fe.FeatureEffectsError, "takes `fit`", {"fit": least_squares}),
        (fe.FeatureEffectsError, "takes `fit`", {"y": y}),
        (fe.FeatureEffectsError, "each of the 80 rows, not 79", {"fit": least_squares, "y": y[1:]}),
        (fe.FeatureEffectsError, "one dimension", {"fit": least_squares, "y": X}),
        (fe.FeatureEffectsError, "fit: must be a function", {"fit": 3, "y": y}),
        (fe.FeatureEffectsError, "weights", {"fit": least_squares, "y": y, "weights": np.ones(80)}),
        (fe.FeatureEffectsError, "from 2", {"fit": least_squares, "y": y, "refits": 1}),
        (fe.FeatureEffectsError, "must return a model", {"fit": lambda X, y: 3, "y": y}),
        (fe.ModelError, "`fit` failed: RuntimeError: no luck", {"fit": failing, "y": y}),
        (fe.FeatureEffectsError, "refit 1 of 12 .* NaN", {"fit": lambda X, y: lambda X: X[:, 0] * np.nan, "y": y}),
    ):
        with pytest.raises(error, match=words):
            fe.pdp(X, model, 1, **(REFIT | arguments))
    with pytest.raises(fe.FeatureEffectsError, match="not asked for"):
        fe.pdp(X, model, 1, fit=least_squares, y=y)
    with pytest.raises(fe.FeatureEffectsError, match="not fitted"):
        fe.pdp(X, fe.scenario("alibi-additive"), 1, fit=least_squares, y=y, **REFIT)
    with pytest.raises(KeyboardInterrupt):
        fe.pdp(X, model, 1, fit=interrupted, y=y, **REFIT)


def interrupted(X, y):
    raise KeyboardInterrupt
