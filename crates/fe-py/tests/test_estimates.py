"""Every estimator, against the program on the same data, and through Python functions."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import feature_effects_bench as fe

Program = Callable[..., Any]

SCENARIO = fe.scenario("friedman1", noise_features=0)
N, SEED = 60, 5

# Options beside the defaults of each estimator.
VARIANTS: list[tuple[str, dict[str, Any]]] = [
    *((info["name"], {}) for info in fe.estimators()),
    ("pdp", {"grid": 7, "center": "start"}),
    ("dpdp", {"grid": 5, "jacobian": "numeric"}),
    ("mplot", {"nearest": 9, "grid": 4}),
    ("ale", {"binning": "quantile", "bins": 6, "empty": "zero", "closed": "right"}),
    ("ale", {"preset": "alibi-0.9"}),
    ("ale", {"binning": "grid", "limits": [0.0, 0.25, 0.75, 1.0], "axis": (0.0, 1.0)}),
    ("dale", {"bins": 4, "ddof": 0, "axis": "scenario"}),
    ("rhale", {"binning": "greedy", "discount": 0.3, "subsample": 40, "mean_prediction": True}),
    ("ale", {"bins": 5, "band": "analytic", "level": 0.9}),
    ("pdp", {"grid": 6, "band": "bootstrap", "resamples": 50, "band_seed": 1}),
    ("ale", {"bins": 4, "band": "bins"}),
    ("shapdp", {"background": 8, "permutations": 4, "shapley_seed": 3}),
]


def takes_jacobian(name: str) -> bool:
    return any(info["name"] == name and "jacobian" in info["options"] for info in fe.estimators())


def flags(options: dict[str, Any]) -> list[str]:
    """Options as the program takes them."""

    def text(value: Any) -> str:
        if isinstance(value, list | tuple):
            return ",".join(map(str, value))
        return str(value).lower()

    return [f"--{name.replace('_', '-')}={text(value)}" for name, value in options.items()]


def missing_as_none(array: np.ndarray | None) -> list[float | None] | None:
    """An array as JSON has it."""
    if array is None:
        return None
    return [None if np.isnan(value) else value for value in array.tolist()]


def assert_same(effect: fe.Effect, of_program: dict[str, Any]) -> None:
    """To the bit."""
    assert f"x{effect.feature}" == of_program["feature"]
    for name in ("estimator", "name", "output", "mean_prediction", "default_heterogeneity"):
        assert getattr(effect, name) == of_program[name]
    for name in ("limits", "counts", "bin_effect", "bin_variance"):
        assert missing_as_none(getattr(effect, name)) == of_program[name]
    for name in ("x", "effect", "heterogeneity", "deciles"):
        assert missing_as_none(getattr(effect, name)) == of_program[name]
    assert effect.heterogeneity_values == of_program["heterogeneity_values"]
    assert effect.record == of_program["record"]
    spread = effect.spread and {name: curve.tolist() for name, curve in effect.spread.items()}
    assert spread == of_program["bands"]
    confidence = of_program.get("confidence")
    assert (effect.band is None) == (confidence is None)
    for name, value in (effect.band or {}).items():
        assert (value if name == "record" else missing_as_none(value)) == confidence[name]
    if effect.curves is None:
        assert of_program["curves"] is None
    else:
        assert effect.curves.x.tolist() == of_program["curves"]["x"]
        assert (effect.curves.rows + 1).tolist() == of_program["curves"]["rows"]
        assert effect.curves.values.tolist() == of_program["curves"]["values"]


@pytest.mark.parametrize(("name", "options"), VARIANTS)
def test_estimates_are_those_of_the_program(
    fe_bench: Program, name: str, options: dict[str, Any]
) -> None:
    of_program = fe_bench(
        "effect", SCENARIO.id, "--set=noise_features=0", "--n", N, "--seed", SEED,
        "--estimator", name, "--feature", 4, *flags(options),
    )  # fmt: skip
    X, _ = SCENARIO.sample(N, seed=SEED)
    own = getattr(fe, name)
    assert_same(own(X, SCENARIO, feature=4, **options), of_program[0])

    # The same through functions of Python.
    if options.get("axis") == "scenario":
        options = {**options, "axis": SCENARIO.axis(4)}
    derivatives = options.get("jacobian", SCENARIO.jacobian) if takes_jacobian(name) else None
    options = {key: value for key, value in options.items() if key != "jacobian"}
    effect = fe.estimate(name, X, SCENARIO.predict, feature=4, jacobian=derivatives, **options)
    assert_same(effect, of_program[0])


def test_weights_and_names(fe_bench: Program, tmp_path: Path) -> None:
    X, _ = SCENARIO.sample(40, seed=2)
    weights = np.arange(40) % 3
    names = ["a", "b", "c", "d", "e"]
    path = tmp_path / "data.csv"
    table = np.column_stack([X, weights])
    lines = [",".join(names) + ",w", *(",".join(map(repr, row)) for row in table.tolist())]
    path.write_text("\n".join(lines))
    of_program = fe_bench(
        "effect", SCENARIO.id, "--set=noise_features=0", "--data", path, "--weights", "w",
        "--estimator", "ale", "--feature", 1,
    )  # fmt: skip
    effect = fe.ale(X, SCENARIO, 1, weights=weights, names=names)
    assert effect.name == "a"
    assert_same(effect, of_program[0])
    twice = fe.ale(np.repeat(X, weights, axis=0), SCENARIO, 1)
    np.testing.assert_allclose(effect.effect, twice.effect, rtol=1e-12, atol=1e-12)


def test_features_are_found_by_their_names() -> None:
    X, _ = SCENARIO.sample(60, seed=3)
    names = ["x2", "x1", "z", "5", "e"]
    for number, name in enumerate(names, start=1):
        effect = fe.ale(X, SCENARIO, name, names=names)
        assert (effect.feature, effect.name) == (number, name)
        assert effect.effect.tolist() == fe.ale(X, SCENARIO, number).effect.tolist()
    # A number is a position, whatever features are called; so is a text that is no name.
    assert fe.ale(X, SCENARIO, 5, names=names).name == "e"
    assert fe.ale(X, SCENARIO, "x3", names=names).name == "z"
    found = fe.effects("ale", X, SCENARIO, ["x1", "z"], names=names)
    assert [effect.feature for effect in found] == [2, 3]
    assert [effect.feature for effect in fe.effects("ale", X, SCENARIO, "x1", names=names)] == [2]
    regional = fe.regional_ale(X, SCENARIO, "x1", names=names, kinds={"x2": "ordinal"}, bins=4)
    assert (regional.feature, regional.name) == (2, "x1")


def test_kinds_are_those_of_the_program(fe_bench: Program, tmp_path: Path) -> None:
    scenario = fe.scenario("effector-regional")
    X, _ = scenario.sample(200, seed=3)
    X[:, 2] = np.round(X[:, 2])
    path = tmp_path / "data.csv"
    path.write_text("\n".join(["x1,x2,x3", *(",".join(map(repr, row)) for row in X.tolist())]))
    (of_program,) = fe_bench(
        "effect", scenario.id, "--data", path, "--kind", "x3=nominal", "--estimator", "regional-ale",
        "--feature", 1,
    )  # fmt: skip
    effect = fe.regional_ale(X, scenario, 1, kinds={3: "nominal"})
    assert effect.levels == of_program["levels"]
    rules = [node["rule"] and node["rule"]["text"] for node in effect.nodes]
    assert rules[1] != fe.regional_ale(X, scenario, 1).nodes[1]["rule"]["text"]
    assert any("=" in rule and "<=" not in rule for rule in rules[1:])
    # Continuous is what features are to all estimators.
    assert fe.ale(X, scenario, 1, kinds={3: "continuous"}).feature == 1


def test_the_axes_of_a_scenario_for_a_model_of_its_data() -> None:
    X, _ = SCENARIO.sample(60, seed=3)
    models = [fe.effects("ale", X, model, [1, 4], axis=SCENARIO) for model in (SCENARIO.predict, SCENARIO)]
    for effect, same in zip(*models, strict=True):
        assert effect.limits is not None and tuple(effect.limits[[0, -1]]) == SCENARIO.axis(effect.feature)
        assert effect == same == fe.ale(X, SCENARIO, effect.feature, axis="scenario")


def test_all_features_and_outputs() -> None:
    X, _ = SCENARIO.sample(50, seed=1)

    def two(X: np.ndarray) -> np.ndarray:
        return np.column_stack([X[:, 0] * X[:, 1], X[:, 2] ** 2])

    def jacobian(X: np.ndarray) -> np.ndarray:
        partials = np.zeros((len(X), 2, 5))
        partials[:, 0, 0], partials[:, 0, 1] = X[:, 1], X[:, 0]
        partials[:, 1, 2] = 2 * X[:, 2]
        return partials

    found = fe.effects("dale", X, two, jacobian=jacobian, bins=5)
    assert [(e.feature, e.output) for e in found] == [(f, o) for f in range(1, 6) for o in (1, 2)]
    alone = fe.dale(
        X, lambda X: X[:, 2] ** 2, 3, jacobian=lambda X: jacobian(X)[:, 1, :], bins=5
    )
    assert found[5].effect.tolist() == alone.effect.tolist()
    second = fe.dale(X, two, 3, jacobian=jacobian, bins=5, output=2)
    assert second.effect.tolist() == alone.effect.tolist()
    assert [e.feature for e in fe.effects("pdp", X, SCENARIO, ["x2", 5])] == [2, 5]


def test_an_effect_is_a_function() -> None:
    X, _ = SCENARIO.sample(50, seed=1)
    effect = fe.ale(X, SCENARIO, feature=4, bins=4)
    assert effect(effect.x).tolist() == effect.effect.tolist()
    middle = (effect.x[:-1] + effect.x[1:]) / 2
    between = (effect.effect[:-1] + effect.effect[1:]) / 2
    np.testing.assert_allclose(effect(middle), between, rtol=1e-12, atol=1e-12)
    assert effect(np.full((2, 2), middle[0])).shape == (2, 2)
    assert effect(middle[0]).shape == ()
    assert effect.bin_variance is not None
    assert effect.heterogeneity_at(middle).tolist() == effect.bin_variance.tolist()
    with pytest.raises(fe.FeatureEffectsError, match="outside the estimate's limits"):
        effect([2.0])
    assert repr(effect).startswith("<ale of x4 on [")


def test_options_as_numpy_has_them() -> None:
    X, _ = SCENARIO.sample(50, seed=1)
    limits = np.linspace(0, 1, 4)
    plain = fe.ale(X, SCENARIO, 1, binning="grid", limits=limits.tolist(), axis=(0.0, 1.0))
    arrays = fe.ale(X, SCENARIO, 1, binning="grid", limits=limits, axis=(np.float64(0), np.int64(1)))
    assert arrays.effect.tolist() == plain.effect.tolist()
    assert fe.ale(X, SCENARIO, np.int64(1), bins=np.int64(3)).counts.shape == (3,)


@pytest.mark.parametrize("info", [*fe.estimators(), *fe.regional_estimators()], ids=lambda info: info["name"])
def test_a_jacobian_is_refused_where_it_has_no_effect(info: dict[str, Any]) -> None:
    own = getattr(fe, info["name"].replace("-", "_"))
    X, _ = SCENARIO.sample(200, seed=SEED)
    if "jacobian" in info["options"]:
        own(X, SCENARIO.predict, 4, jacobian=SCENARIO.jacobian)
        return
    with pytest.raises(fe.FeatureEffectsError, match=f"jacobian: `{info['name']}` asks for no derivatives"):
        own(X, SCENARIO.predict, 4, jacobian=SCENARIO.jacobian)


@pytest.mark.parametrize("info", fe.regional_estimators(), ids=lambda info: info["name"])
def test_regional_effects(fe_bench: Program, info: dict[str, Any]) -> None:
    scenario = fe.scenario("effector-regional")
    X, _ = scenario.sample(200, seed=3)
    (of_program,) = fe_bench(
        "effect", scenario.id, "--n", 200, "--seed", 3, "--estimator", info["name"],
        "--feature", 1, "--depth", 1,
    )  # fmt: skip
    own: Callable[..., fe.RegionalEffect] = getattr(fe, info["name"].replace("-", "_"))
    derivatives = scenario.jacobian if "jacobian" in info["options"] else None
    for model, jacobian in ((scenario, None), (scenario.predict, derivatives)):
        effect = own(X, model, feature=1, jacobian=jacobian, depth=1)
        assert effect.heterogeneity == of_program["heterogeneity"]
        assert effect.record == of_program["record"]
        assert effect.levels == of_program["levels"]
        nodes = effect.nodes
        assert len(nodes) == len(of_program["nodes"])
        for node, expected in zip(nodes, of_program["nodes"], strict=True):
            for key in ("parent", "depth", "rows", "weight", "share", "heterogeneity"):
                assert node[key] == expected[key]
            if expected["effect"] is None:
                assert node["effect"] is None
            else:
                assert_same(node["effect"], expected["effect"])
        assert nodes[1]["rule"]["feature"] == 3
        assert nodes[1]["rule"]["text"] in str(effect)
        assert effect.leaf_of([0.1, 0.0, 0.9]) != effect.leaf_of([0.1, 0.0, -0.9])
    assert repr(effect) == f"<{info['name']} of x1: 2 regions>"


def test_threads_do_not_change_a_bit() -> None:
    code = (
        "import feature_effects_bench as fe, json\n"
        "s = fe.scenario('friedman1')\n"
        "X, _ = s.sample(20000, seed=1)\n"
        "print(json.dumps([fe.pdp(X, s, 1, grid=5).effect.tolist(), "
        "fe.ale(X, s.predict, 1).effect.tolist()]))\n"
    )
    answers = [
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "RAYON_NUM_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for threads in ("1", "4")
    ]
    assert json.loads(answers[0])
    assert answers[0] == answers[1]
