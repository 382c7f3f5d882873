"""Effects of data that come in parts."""

from __future__ import annotations

import functools
import json
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import feature_effects_bench as fe
from feature_effects_bench import FeatureEffectsError, PartialEffect

STRETCH = 2**20


def rows(count: int) -> Any:
    return np.random.default_rng(count).uniform(-2, 2, size=(count, 2))


def model(X: Any) -> Any:
    return np.sin(X[:, 0]) * X[:, 1]


def parts(estimator: str, X: Any, cuts: list[int], of: Callable[[Any], Any] = model, **options: Any) -> list[PartialEffect]:
    ends = zip(cuts, [*cuts[1:], len(X)], strict=True)
    made = [fe.partial(estimator, X[start:end], of, first=start, **options) for start, end in ends]
    # Over the wire.
    return [pickle.loads(pickle.dumps(part)) for part in made]


def without_deciles(effect: fe.Effect) -> dict[str, Any]:
    written: dict[str, Any] = json.loads(effect.to_json())
    del written["deciles"]
    return written


OPTIONS = [
    ("ale", {"bins": 10}),
    ("dale", {"binning": "grid", "limits": [-2.0, -0.5, 1.0, 2.0]}),
    ("rhale", {}),
    ("pdp", {"grid": 4}),
    ("mplot", {"binning": "fixed", "bins": 8}),
]


@pytest.mark.parametrize(("estimator", "options"), OPTIONS, ids=[name for name, _ in OPTIONS])
def test_whole_stretches_have_the_bits_of_one_piece(estimator: str, options: dict[str, Any]) -> None:
    X = rows(STRETCH + 5000)
    options = options | {"axis": (-2, 2)}
    whole = fe.estimate(estimator, X, model, **options)
    first, second = parts(estimator, X, [0, STRETCH], **options)
    merged = second.merge(first)
    assert merged.rows == len(X)
    effect = merged.finish()
    assert without_deciles(effect) == without_deciles(whole)
    assert effect.deciles is None and fe.Effect.from_json(effect.to_json()) == effect


@pytest.mark.parametrize(("estimator", "options"), OPTIONS, ids=[name for name, _ in OPTIONS])
def test_other_parts_are_equal_to_rounding(estimator: str, options: dict[str, Any]) -> None:
    X = rows(3000)
    options = options | {"axis": (-2, 2)}
    whole = fe.estimate(estimator, X, model, **options)
    made = parts(estimator, X, [0, 7, 1900, 2100], **options)
    effect = functools.reduce(PartialEffect.merge, made).finish()
    np.testing.assert_allclose(effect.effect, whole.effect, rtol=0, atol=1e-10)
    np.testing.assert_array_equal(effect.x, whole.x)
    assert effect == functools.reduce(PartialEffect.merge, made[::-1]).finish()


def test_a_model_of_several_outputs_and_a_jacobian() -> None:
    X = rows(500)

    def both(X: Any) -> Any:
        return np.stack([X[:, 0] ** 2, X[:, 0] * X[:, 1]], axis=1)

    def jacobian(X: Any) -> Any:
        zero = np.zeros(len(X))
        return np.stack([np.stack([2 * X[:, 0], zero], 1), np.stack([X[:, 1], X[:, 0]], 1)], 1)

    options = {"axis": (-2, 2), "jacobian": jacobian}
    merged = functools.reduce(PartialEffect.merge, parts("rhale", X, [0, 200], both, **options))
    whole = fe.estimate("rhale", X, both, output=2, **options)
    np.testing.assert_allclose(merged.finish(output=2).effect, whole.effect, atol=1e-12)
    with pytest.raises(FeatureEffectsError, match="the model has 2 outputs"):
        merged.finish()


def test_scenarios_frames_and_weights() -> None:
    scenario = fe.scenario("friedman1")
    X, _ = scenario.sample(n=400, seed=1)
    weights = np.linspace(0, 2, 400)
    options: dict[str, Any] = {"axis": "scenario", "feature": "x4"}
    whole = fe.ale(X, scenario, weights=weights, **options)
    made = [
        fe.partial("ale", X[cut], scenario, first=cut.start, weights=weights[cut], **options)
        for cut in (slice(0, 150), slice(150, 400))
    ]
    np.testing.assert_allclose(made[0].merge(made[1]).finish().effect, whole.effect, atol=1e-12)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [0.0, 1.0, 2.0], "b": ["u", "v", "u"]})
    part = fe.partial("pdp", frame, lambda X: X["a"] * 2.0, feature="a", first=0, axis=(0, 2))
    assert repr(part) == "<pdp of a in 3 rows>" and part.finish().name == "a"
    with pytest.raises(FeatureEffectsError, match="b: the levels of a feature are those of all rows"):
        fe.partial("pdp", frame, lambda X: X["a"] * 2.0, feature="b", first=0, axis=(0, 2))


def test_a_finished_effect_can_be_drawn_and_scored() -> None:
    scenario = fe.scenario("poly3")
    X, _ = scenario.sample(n=300, seed=1)
    effect = fe.partial("ale", X, scenario, first=0, axis="scenario").finish()
    assert fe.score(effect, scenario, effect="ale")["rmse"] > 0
    pytest.importorskip("matplotlib")
    effect.plot()


def test_what_makes_no_sense_is_refused() -> None:
    X = rows(100)

    def refused(match: str, estimator: str = "ale", **options: Any) -> None:
        with pytest.raises(FeatureEffectsError, match=match):
            fe.partial(estimator, X, model, **({"first": 0} | options))

    refused("first = -1: must be the number of rows before", first=-1, axis=(-2, 2))
    refused("give `axis` as lo, hi, or `limits`")
    refused("give `axis` as lo, hi$", estimator="pdp")
    refused("its bins depend on all positions", axis=(-2, 2), binning="quantile")
    refused("`shapdp` cannot be estimated in parts", estimator="shapdp", axis=(-2, 2))
    refused("a partial effect is of one feature", feature=(1, 2), axis=(-2, 2))
    refused("takes no option `grid`", grid=5, axis=(-2, 2))
    a, b = parts("ale", X, [0, 60], axis=(-2, 2))
    with pytest.raises(FeatureEffectsError, match="rows 1 to 60 are in no part"):
        b.finish()
    with pytest.raises(FeatureEffectsError, match="row 1 is in two parts"):
        a.merge(a)
    with pytest.raises(FeatureEffectsError, match="not a partial effect as JSON"):
        PartialEffect("{}")
    with pytest.raises(fe.ModelError, match="division by zero"):
        fe.partial("ale", X, lambda X: 1 / 0 if len(X) > 2 else X[:, 0], first=0, axis=(-2, 2))


def test_partitions_of_a_frame_of_dask() -> None:
    """As in docs/python/parts.md."""
    dask = pytest.importorskip("dask")
    frames = pytest.importorskip("dask.dataframe")
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(rows(300)).rename(columns=str)
    frame = frames.from_pandas(table, npartitions=3)
    sizes = frame.map_partitions(len).compute()
    firsts = np.concatenate([[0], np.cumsum(sizes)[:-1]])

    def part(rows: Any, first: int) -> PartialEffect:
        return fe.partial("ale", rows.to_numpy(), model, feature=1, first=int(first), axis=(-2, 2))

    made = dask.compute(*[dask.delayed(part)(*of) for of in zip(frame.to_delayed(), firsts, strict=True)])
    effect = functools.reduce(PartialEffect.merge, made).finish()
    whole = fe.ale(table.to_numpy(), model, feature=1, axis=(-2, 2))
    np.testing.assert_allclose(effect.effect, whole.effect, rtol=0, atol=1e-12)
