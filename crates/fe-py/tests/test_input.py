"""What cannot be used: an exception that says what was given and what is allowed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import feature_effects_bench as fe

S = fe.scenario("poly3")
X, Y = S.sample(30, seed=1)
MASKED = np.ma.masked_array(X, mask=np.zeros_like(X, dtype=bool))
MASKED[3, 1] = MASKED[5, 2] = np.ma.masked
WITH_NAN = X.copy()
WITH_NAN[2, 1] = np.nan

REFUSED: list[tuple[Callable[[], Any], str]] = [
    # Names, with the nearest that is known.
    (lambda: fe.scenario("sin-indicater"), "nearest: `sin-indicator`"),
    (lambda: fe.scenario("sin-indicator", noise=0.1), "nearest: `noise_sd`"),
    (lambda: fe.scenario("sin-indicator@9"), "has version 1, not `9`"),
    (lambda: fe.scenario("snc", rho=1.2), "parameter `rho` of `snc` is `1.2`"),
    (lambda: S.truth("al", 1, [0.0]), "nearest: `ale`"),
    (lambda: S.pd(1, [0.0], center="middle"), "unknown centring `middle`"),
    (lambda: S.bins(1, [0, 1], "unifrom"), "nearest: `uniform`"),
    (lambda: S.regional("rhal", 1), "nearest: `rhale`"),
    (lambda: fe.estimate("rhael", X, S), "did you mean `rhale`"),
    (lambda: fe.regional("rhael", X, S), "regional-rhale"),
    (lambda: fe.estimate(3, X, S), "estimator: must be a name, not 3"),
    (lambda: fe.regional(3, X, S), "estimator: must be a name, not 3"),
    (lambda: fe.ale(X, S, binz=3), "takes no option `binz`; did you mean `bins`"),
    (lambda: fe.pdp(X, S, bins=3), "pdp takes no option `bins`"),
    (lambda: fe.ale(X, S, preset="alibi"), "alibi-0.9"),
    (lambda: fe.ale(X, S, binning="quantil"), "quantile"),
    (lambda: fe.ale(X, S, center="middle"), 'center = "middle": unknown word'),
    # Features are counted from 1.
    (lambda: S.pd(0, [0.0]), "feature `0` does not exist: there are x1 … x3"),
    (lambda: fe.ale(X, S, 4), "feature `4` does not exist: there are x1 … x3"),
    (lambda: fe.ale(X, S, "x9"), "feature `x9` does not exist"),
    (lambda: fe.ale(X, S, 1.5), "feature `1.5` does not exist"),
    (lambda: fe.ale(X, S, "agee", names=["age", "b", "c"]), "`agee` does not exist: .*age, b, c.*`age`"),
    (lambda: fe.ale(X, S, features=[1, 2]), r"features: .*one, feature=\[1, 2\].*`effects\('ale'"),
    (lambda: fe.regional_ale(X, S, features=[1]), "features: .*a loop over them"),
    (lambda: fe.effects("ale", X, S, feature=1), r"feature: `effects` takes several, as features=\[1\]"),
    (lambda: fe.effects("ale", X, S, features=1.5), "features: must be a list, not 1.5"),
    # Data.
    (lambda: fe.ale(WITH_NAN, S), "row 3, column x2: NaN is not a finite number"),
    (lambda: S.predict(WITH_NAN), "row 3, column x2: NaN"),
    (lambda: fe.ale(X[:, 0], S), r"X: must have two dimensions.*\(30,\)"),
    (lambda: fe.ale(X[None], S), r"X: must have two dimensions.*\(1, 30, 3\)"),
    (lambda: fe.ale(X[:0], S), "0 rows"),
    (lambda: fe.ale([["a", "b"]], S), "X: must be real numbers, not <U1"),
    (lambda: fe.ale([[None, 1], [2, 3]], S), "row 1, column x1: NaN is not a finite number"),
    (lambda: fe.ale(None, S), "X: must be real numbers, not None"),
    (lambda: fe.ale(X + 1j, S), "X: must be real numbers, not complex128"),
    (lambda: S.predict(X[:, :2]), "takes 3 features and the data have 2"),
    (lambda: fe.ale(X, S, weights=np.ones(3)), "weights: 3 given, 30 needed"),
    (lambda: fe.ale(X, S, weights=-np.ones(30)), "weights must be finite, at least 0"),
    (lambda: fe.ale(X, S, weights=np.ones((30, 1))), r"weights: must have one dim.*\(30, 1\)"),
    (lambda: fe.ale(X, S, names=["a"]), "names of features: 1 given, 3 needed"),
    (lambda: fe.ale(X, S, names="abc"), "names: must be a list, not 'abc'"),
    (lambda: fe.regional_ale(X, S, kinds={1: "odd"}), "kinds: unknown word `odd`"),
    (lambda: fe.regional_ale(X, S, kinds={"y": "nominal"}), "feature `y` does not exist"),
    (lambda: fe.regional_ale(X, S, kinds=["nominal"]), "kinds: must be a dictionary"),
    (lambda: fe.rhale(X, S, 2, kinds={2: "nominal"}), "`rhale` is made of derivatives, and x2, which is nominal"),
    # What is masked is missing.
    (lambda: fe.ale(MASKED, S), "X: 2 values are masked"),
    (lambda: fe.ale(X, lambda X: np.ma.masked_less(X[:, 0], 0.0), 1), "returned: .* values? (is|are) masked"),
    (lambda: fe.ale(X, S, weights=np.ma.masked_equal(np.arange(30), 3)), "weights: 1 value is masked"),
    (lambda: S.pd(1, np.ma.masked_less([-0.5, 0.5], 0.0)), "x: 1 value is masked"),
    (lambda: S.truth("pd", 1, np.ma.masked_less([-0.5, 0.5], 0.0)), "x: 1 value is masked"),
    (lambda: S.bins(1, np.ma.masked_less([-0.5, 0.5], 0.0)), "limits: 1 value is masked"),
    (lambda: fe.score((np.ma.masked_less([-0.5, 0.5], 0.0), [0, 1]), S, "pd", 1), "x: 1 value is masked"),
    (lambda: fe.ale(np.ones((5, 3)), S), "feature x1 is constant"),
    # Values of options.
    (lambda: fe.ale(X, S, bins=0), "bins = 0"),
    (lambda: fe.ale(X, S, bins=2.5), "bins = 2.5: must be a whole number, at least 0"),
    (lambda: fe.ale(X, S, bins=-1), "bins = -1: must be a whole number, at least 0"),
    (lambda: fe.ale(X, S, subsample=5, subsample_seed=-1), "subsample_seed = -1: must be a whole number"),
    (lambda: fe.ale(X, S, bins="many"), 'bins = "many"'),
    (lambda: fe.rhale(X, S, discount=np.nan), "discount = nan"),
    (lambda: fe.rhale(X, S, discount=object()), "no option is a object"),
    (lambda: fe.ale(X, S, axis=(1.0, 0.0)), r"the axis \[1, 0\] must have finite limits"),
    (lambda: fe.ale(X, S.predict, axis="scenario"), r"give the axis as \(lo, hi\), or the scenario"),
    (lambda: fe.ale(X[:, :2], lambda X: X[:, 0], axis=S), "axis: poly3@1 has 3 features and the data have 2"),
    (lambda: fe.ale(X, S, limits=[1.0, 0.0], binning="grid"), "strictly increasing"),
    (lambda: fe.ale(X, S.predict, batch_size=0), "batch_size = 0"),
    (lambda: fe.ale(X, S.predict, batch_size="many"), "batch_size = 'many': must be a whole number"),
    (lambda: fe.ale(X, S.predict, output="y"), "output = 'y': must be a whole number"),
    (lambda: fe.ale(X, S, output=2), "output = 2: the model has outputs 1 to 1"),
    (lambda: fe.ale(X, lambda X: X, 1), "the model has 3 outputs: give output=1"),
    # Truths.
    (lambda: S.pd(1, [np.nan]), "outside the support"),
    (lambda: S.pd(1, [2.0]), r"2 is outside the support \[-1, 1\] of x1"),
    (lambda: S.pd(1, ["a"]), "x: must be real numbers, not <U1"),
    (lambda: S.pd(1, [0.0], range=(1, 0)), "must be finite, ascending"),
    (lambda: S.bins(1, [0.0]), "at least two"),
    (lambda: S.shap_at([0.0]), "the point has 1 values"),
    (lambda: S.quantile(1, [1.5]), "must lie strictly between 0 and 1"),
    (lambda: S.grid(1, 0), "points = 0: must be from 1 to"),
    (lambda: S.limit("ale-limit", 1, [0.0]), "has no `ale-limit` of x1"),
    (lambda: S.sample(0, seed=1), "0 rows: must be from 1"),
    (lambda: S.sample(-1, seed=1), "n = -1: must be a whole number from 0"),
    (lambda: S.sample(1.5, seed=1), "n = 1.5: must be a whole number from 0"),
    (lambda: S.sample(5, seed=-1), "seed = -1: must be a whole number from 0 to 18446744073709551615"),
    (lambda: S.sample(5, seed=None), "seed = None: must be a whole number"),
    (lambda: S.sample(5, seed=1, replicate=-2), "replicate = -2: must be a whole number"),
    (lambda: S.grid(1, -3), "points = -3: must be a whole number"),
    (lambda: S.sample(5, seed=1, snr=-1.0), "snr = -1: must be finite and at least 0"),
    # Scores.
    (lambda: fe.score(([0.0], [0.0]), S, "ale"), "say which feature"),
    (lambda: fe.score(([0.0, 1.0], [0.0]), S, "ale", 1), "effect has 1 values and x has 2"),
    (lambda: fe.score(([0.0, 0.0], [0.0, 1.0]), S, "ale", 1), "rows 1 and 2: x1 is given twice"),
    (lambda: fe.score(([0.0], [np.inf]), S, "ale", 1), "row 1, effect: inf is not a finite"),
    (lambda: fe.score(([], []), S, "ale", 1), "there are no rows"),
    (lambda: fe.score(([0.0], [0.0]), S, "ale-limit", 1), "not a truth to be scored against"),
    (lambda: fe.score(([0.0], [0.0]), S, "ale", 1, lower=[0.0]), "a band needs both"),
    (
        lambda: fe.score(([0.0], [0.0]), S, "ale", 1, lower=[1.0], upper=[0.0]),
        "row 1: lower 1 is above upper 0",
    ),
    (lambda: fe.score(([0.0], [0.0]), S, "ale", 1, compare="Err_d"), "compare = 'Err_d'"),
    (lambda: fe.score(([0.0], [0.0]), "poly3", "ale", 1), r"scenario: must be one, such as fe.scenario\("),
    (lambda: fe.score(5, S, "ale", 1), r"curve: must be an effect, or .*\(x, y\)"),
    (lambda: fe.score(([0.0], [0.0]), S, "ale", 1, points=[0.0]), "points: a curve from elsewhere"),
    (lambda: fe.score(([0.0], [0.0]), S, "ale", 1, metrics="all"), "metrics: those of a curve from"),
    (lambda: fe.score(fe.ale(X, S), S, "ale", points="knot"), "points = 'knot': must be \"knots\""),
    (lambda: fe.score(fe.ale(X, S), S, "ale", points=[np.nan]), "points: NaN is not a finite number"),
    (lambda: fe.score(fe.ale(X, S), S, "ale", metrics=["rsme"]), "unknown metric `rsme`"),
    (lambda: fe.score(fe.ale(X, S), S, "ale", metrics=[]), "metrics: none is named"),
    (lambda: fe.score(fe.ale(X, S), S, "ale", metrics="rmse"), "metrics: must be a list, not 'rmse'"),
    (lambda: fe.score(fe.ale(X, S), S, "ale", lower=[0.0], upper=[1.0]), "an effect has its own band"),
    (lambda: fe.score(fe.ale(X, S), S, "ale", compare="Err", center="data"), "center: an effect says itself"),
    (lambda: S.truth_of(3), "estimate: must be an effect, not 3"),
    # Written effects.
    (lambda: fe.Effect.from_json("{}"), "this is not an effect as JSON: missing field"),
    (lambda: fe.RegionalEffect.from_json(fe.ale(X, S).to_json()), "this is not a regional effect"),
    (lambda: fe.score(([0.0], [0.0]), S, "ale", 1, center="start"), "only with compare='Err'"),
]


@pytest.mark.parametrize(("ask", "message"), REFUSED)
def test_refusals(ask: Callable[[], Any], message: str) -> None:
    with pytest.raises(fe.FeatureEffectsError, match=message) as caught:
        ask()
    assert isinstance(caught.value, ValueError)


def test_arguments_that_are_missing_or_of_another_type() -> None:
    with pytest.raises(TypeError):
        fe.ale()
    with pytest.raises(TypeError):
        S.pd(1)


def test_what_was_meant_is_said_once() -> None:
    for ask in (lambda: fe.estimate("rhael", X, S), lambda: fe.ale(X, S, binz=3), lambda: fe.regional("rhael", X, S)):
        with pytest.raises(fe.FeatureEffectsError) as caught:
            ask()
        assert len(re.findall("did you mean|nearest", str(caught.value))) == 1, caught.value


def test_masked_arrays_of_which_nothing_is_masked_are_arrays() -> None:
    masked = np.ma.masked_invalid(X)
    assert fe.ale(masked, S).effect.tolist() == fe.ale(X, S).effect.tolist()


def test_data_that_change_meanwhile_do_not_matter() -> None:
    mine = X.copy()

    def model(rows: np.ndarray) -> np.ndarray:
        mine[:] = np.nan
        return rows[:, 0]

    assert fe.pdp(mine, model, 1).effect.tolist() == fe.pdp(X, lambda X: X[:, 0], 1).effect.tolist()
