"""What becomes of results: kept, copied, sent elsewhere."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import feature_effects_bench as fe

S = fe.scenario("friedman1")
X, _ = S.sample(120, seed=4)

OPTIONS: list[tuple[str, dict[str, Any]]] = [
    *((info["name"], {}) for info in fe.estimators()),
    ("ale", {"bins": 100, "band": "bins"}),
    ("rhale", {"band": "bootstrap", "resamples": 40}),
    ("pdp", {"band": "analytic", "extrapolate": True}),
    ("ale", {"interpolation": "step", "closed": "right", "subsample": 50}),
    ("mplot", {"nearest": 5}),
    ("mplot", {"binning": "fixed", "bins": 90}),
    ("dale", {"bins": 90, "empty": "zero"}),
    ("shapdp", {"background": 20, "permutations": 3}),
]


def same(effect: Any, again: Any) -> None:
    """To the bit, NaN included."""
    assert type(again) is type(effect)
    assert again == effect
    assert hash(again) == hash(effect)
    assert repr(again) == repr(effect)
    for name in dir(effect):
        if name.startswith("_") or name == "bands" or callable(getattr(effect, name)):
            continue
        np.testing.assert_equal(getattr(again, name), getattr(effect, name))


@pytest.mark.parametrize(("name", "options"), OPTIONS)
def test_effects_come_back_as_they_were(name: str, options: dict[str, Any]) -> None:
    names = ["a", "α", "c,d", *(f"x{i}" for i in range(4, 8))]
    effect = fe.estimate(name, X, S, 2, names=names, **options)
    for again in (
        pickle.loads(pickle.dumps(effect)),
        copy.copy(effect),
        copy.deepcopy(effect),
        fe.Effect.from_json(effect.to_json()),
    ):
        same(effect, again)
        assert again(effect.x).tolist() == effect.effect.tolist()
    assert effect != fe.estimate(name, X, S, 4, names=names, **options)
    assert effect != 3


@pytest.mark.parametrize("info", fe.regional_estimators(), ids=lambda info: info["name"])
def test_regional_effects_come_back_as_they_were(info: dict[str, Any]) -> None:
    scenario = fe.scenario("effector-regional")
    rows, _ = scenario.sample(200, seed=3)
    effect = fe.regional(info["name"], rows, scenario, 1)
    for again in (
        pickle.loads(pickle.dumps(effect)),
        copy.copy(effect),
        copy.deepcopy(effect),
        fe.RegionalEffect.from_json(effect.to_json()),
    ):
        same(effect, again)
        assert str(again) == str(effect)
        assert again.leaf_of(rows[0]) == effect.leaf_of(rows[0])
    assert effect != fe.regional(info["name"], rows, scenario, 2)


def test_scenarios_truths_scores_and_errors_too() -> None:
    effect = fe.ale(X, S, 4, axis="scenario")
    things = [S, S.truth("ale", 4, [0.5]), S.values(4), fe.score(effect, S, "ale"), S.bins(4, [0.0, 0.5, 1.0])]
    for thing in things:
        for again in (pickle.loads(pickle.dumps(thing)), copy.deepcopy(thing)):
            np.testing.assert_equal(again, thing)
    for error in (fe.FeatureEffectsError("no"), fe.ModelError("no"), fe.FeatureEffectsWarning("no")):
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), again.args) == (type(error), error.args)


def test_a_copy_does_not_share_its_curves() -> None:
    effect = fe.ice(X, S, 1, grid=5)
    again = copy.deepcopy(effect)
    assert effect.curves is not None and again.curves is not None
    again.curves.values[0, 0] += 1.0
    assert again != effect
    assert effect.curves == fe.ice(X, S, 1, grid=5).curves


def _estimate(feature: int) -> fe.Effect:
    return fe.ale(X, S, feature, bins=5)


def test_joblib_sends_and_caches_them(tmp_path: Path) -> None:
    joblib = pytest.importorskip("joblib")
    expected = [_estimate(feature) for feature in (1, 2)]
    there = joblib.Parallel(n_jobs=2)(joblib.delayed(fe.ale)(X, S, feature, bins=5) for feature in (1, 2))
    assert there == expected
    memory = joblib.Memory(tmp_path, verbose=0)
    assert memory.cache(_estimate)(1) == memory.cache(_estimate)(1) == expected[0]
    assert joblib.hash(expected[0]) == joblib.hash(_estimate(1))


def test_bins_without_instances_are_said() -> None:
    for ask in (
        lambda: fe.ale(X[:20], S, 4, bins=100),
        lambda: fe.effects("ale", X[:20], S, [1, 4], bins=100)[1],
        lambda: fe.estimate("ale", X[:20], S, 4, bins=100),
    ):
        with pytest.warns(fe.FeatureEffectsWarning, match=r"ale of x4: \d+ of 100 bins are without") as told:
            effect = ask()
        assert {warning.filename for warning in told} == {__file__}
        assert effect.caution is not None and effect.caution in str(told[-1].message)
    assert fe.ale(X, S, 4, bins=5).caution is None
    with pytest.warns(fe.FeatureEffectsWarning, match="in a region: .* are without instances"):
        fe.regional_ale(X, S, 1, bins=100, depth=1)


def test_names_that_were_taken_for_another_thing_say_where_it_is() -> None:
    effect = fe.ale(X, S, 4, band="analytic")
    assert effect.band is not None and effect.spread is not None
    assert (effect.band["lower"] <= effect.band["upper"]).all()
    assert set(effect.spread) == {"std", "accumulated_sd"}
    assert not hasattr(effect, "bands")
    with pytest.raises(AttributeError, match="its confidence band is `band`"):
        effect.bands
