"""Truths, samples and the function of scenarios, against the program."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import feature_effects_bench as fe

Program = Callable[..., Any]

EFFECTS = fe._native.registry()["effects"]


def on_command_line(scenario: fe.Scenario) -> list[str]:
    """A scenario as the program takes it."""
    settings = [f"--set={key}={value}" for key, value in scenario.parameters.items()]
    return [scenario.id, *settings]


@pytest.mark.parametrize("effect", EFFECTS)
@pytest.mark.parametrize(
    "scenario",
    [
        fe.scenario("sin-indicator", noise_sd=0.1),
        fe.scenario("liu-quadratic", mu1=0.3, sigma2=1.5, rho=-0.25),
        fe.scenario("alibi-additive"),
    ],
    ids=lambda scenario: scenario.name,
)
def test_truths_are_those_of_the_program(
    fe_bench: Program, scenario: fe.Scenario, effect: str
) -> None:
    if effect == "main" and scenario.name != "alibi-additive":
        with pytest.raises(fe.FeatureEffectsError, match="additively"):
            scenario.main(1, [0.1])
        return
    x = scenario.grid(feature=2, points=7)
    of_program = fe_bench(
        "truth", *on_command_line(scenario), "--effect", effect, "--feature", 2, "--grid", 7
    )
    truth = scenario.truth(effect, 2, x)
    assert truth.x.tolist() == [row["x"] for row in of_program]
    assert truth.value.tolist() == [row["value"] for row in of_program]
    assert truth.abs_error.tolist() == [row["abs_error"] for row in of_program]
    assert truth.method == [row["method"] for row in of_program]
    method: Callable[..., Any] = getattr(scenario, effect.replace("-", "_"))
    assert method(feature=2, x=x).tolist() == truth.value.tolist()


@pytest.mark.parametrize("center", ["none", "start", "integral", "data"])
def test_centring_and_range(fe_bench: Program, center: str) -> None:
    scenario = fe.scenario("liu-product", mu2=1.0)
    points = [-0.5, 0.0, 1.25]
    of_program = fe_bench(
        "truth", *on_command_line(scenario), "--effect", "ale", "--feature", "x1",
        "--at=-0.5,0,1.25", "--range=-1,2", "--center", center,
    )  # fmt: skip
    curve = scenario.ale("x1", points, center=center, range=(-1, 2))
    assert curve.tolist() == [row["value"] for row in of_program]


def test_points_keep_their_shape() -> None:
    scenario = fe.scenario("poly3")
    points = np.array([[0.1, 0.2, 0.3], [-0.1, -0.2, -0.3]])
    assert scenario.pd(1, points).shape == (2, 3)
    assert scenario.pd(1, points)[1, 2] == scenario.pd(1, [-0.3])[0]
    assert scenario.pd(1, 0.5).shape == ()
    assert float(scenario.pd(1, 0.5)) == scenario.pd(1, [0.5])[0]
    assert scenario.truth("pd", 1, points.astype(np.float32)).abs_error.shape == (2, 3)


def test_bins(fe_bench: Program) -> None:
    scenario = fe.scenario("piecewise-linear")
    limits = [0, 0.2, 0.45, 1]
    for weighting in ("uniform", "data"):
        of_program = fe_bench(
            "truth", "piecewise-linear", "--feature", 1, "--bins", "0,0.2,0.45,1",
            "--weighting", weighting,
        )  # fmt: skip
        bins = scenario.bins(1, limits, weighting)
        assert bins.limits.tolist() == limits
        for name in ("mu", "sigma2", "sigma2_star", "bin_error", "abs_error"):
            assert getattr(bins, name).tolist() == [row[name] for row in of_program]
    differences = scenario.differences(1, limits)
    slopes = differences.mean / np.diff(limits)
    np.testing.assert_allclose(slopes, scenario.bins(1, limits, "data").mu, rtol=0.2)


def test_values_and_moments(fe_bench: Program) -> None:
    scenario = fe.scenario("friedman1")
    of_program = fe_bench("truth", "friedman1", "--values", "--feature", 1)
    known = {row["name"]: row["value"] for row in of_program}
    values = scenario.values(1)
    assert {name: value.value for name, value in values.items()} == {
        name: value for name, value in known.items() if name in values
    }
    assert scenario.mean().value == known["mean_f"]
    assert scenario.sd().value == known["sd_f"]
    assert scenario.mean().method in ("closed", "quadrature")


def test_shapley_values_and_splits(fe_bench: Program) -> None:
    scenario = fe.scenario("poly3")
    of_program = fe_bench("truth", "poly3", "--shap-at", "0.5,1,-0.4")
    values, errors = scenario.shap_at([0.5, 1.0, -0.4])
    assert values.tolist() == [row["phi"] for row in of_program]
    assert (errors < 1e-9).all()
    assert values.sum() == pytest.approx(scenario.predict([[0.5, 1.0, -0.4]])[0])
    (of_program,) = fe_bench("truth", "effector-regional", "--regional", "pdp", "--feature", 1)
    (split,) = fe.scenario("effector-regional").regional("pdp", 1)
    assert split.pop("split_feature") == 3
    assert of_program.pop("split_feature") == "x3"
    assert split == of_program


def test_curves_as_printed(fe_bench: Program) -> None:
    scenario = fe.scenario("sin-indicator")
    assert ("ale-limit", 1) in scenario.limit_names()
    of_program = fe_bench(
        "truth", "sin-indicator", "--effect", "ale-limit", "--feature", 1, "--grid", 5
    )
    curve = scenario.limit("ale-limit", 1, scenario.grid(1, 5))
    assert curve.tolist() == [row["value"] for row in of_program]


def test_samples_are_those_of_the_program(fe_bench: Program) -> None:
    scenario = fe.scenario("friedman1", noise_features=1)
    for snr in (None, 3.0):
        flags = [] if snr is None else ["--snr", snr]
        rows = fe_bench(
            "sample", *on_command_line(scenario), "--n", 50, "--seed", 3, *flags
        )
        X, y = scenario.sample(50, seed=3, snr=snr)
        assert X.shape == (50, scenario.dimension)
        assert X.tolist() == [[row[f"x{j + 1}"] for j in range(X.shape[1])] for row in rows]
        assert y.tolist() == [row["y"] for row in rows]
    assert not np.array_equal(X, scenario.sample(50, seed=3, replicate=1)[0])


def test_the_function_and_its_jacobian() -> None:
    scenario = fe.scenario("poly3")
    X, y = scenario.sample(40, seed=1)
    assert scenario.predict(X).tolist() == y.tolist()
    # x1² + x1 x2 + ½ x3
    expected = np.column_stack([2 * X[:, 0] + X[:, 1], X[:, 0], np.full(40, 0.5)])
    np.testing.assert_allclose(scenario.jacobian(X), expected, rtol=1e-14, atol=1e-14)
    assert scenario.jacobian(X).shape == (40, 3)


def test_layouts_of_arrays_do_not_matter() -> None:
    scenario = fe.scenario("friedman1")
    X, y = scenario.sample(64, seed=2)
    wide = np.zeros((128, 2 * X.shape[1]))
    wide[::2, ::2] = X
    for same in (np.ascontiguousarray(X), np.asfortranarray(X), wide[::2, ::2], X.tolist()):
        assert scenario.predict(same).tolist() == y.tolist()
    backwards = np.ascontiguousarray(X[::-1])[::-1]
    assert backwards.strides[0] < 0
    assert scenario.predict(backwards).tolist() == y.tolist()
    rounded = X.astype(np.float32)
    assert scenario.predict(rounded).tolist() == scenario.predict(rounded.astype(float)).tolist()


def test_scenarios_compare_print_and_pickle() -> None:
    scenario = fe.scenario("sin-indicator", noise_sd=0.1)
    assert scenario == fe.scenario("sin-indicator@1", noise_sd="0.1")
    assert hash(scenario) == hash(fe.scenario("sin-indicator@1", noise_sd=np.float64(0.1)))
    assert scenario != fe.scenario("sin-indicator")
    again = pickle.loads(pickle.dumps(scenario))
    assert type(again) is fe.Scenario
    assert again == scenario
    assert repr(scenario) == "scenario('sin-indicator@1', noise_sd=0.1)"
    assert eval(repr(scenario), {"scenario": fe.scenario}) == scenario
    assert scenario.parameters == {"noise_sd": "0.1"}
    assert scenario.axis(1) == (-0.5, 0.5)
    assert scenario.support("x2") == (-np.inf, np.inf)
    assert 0.0 in scenario.breaks(1)
    assert scenario.quantile(2, [0.5])[0] == 0.0


def test_what_there_is() -> None:
    assert {"sin-indicator", "friedman1"} <= {entry["name"] for entry in fe.scenarios()}
    assert {"mse", "coverage"} <= {entry["name"] for entry in fe.metrics()}
    assert "dp" in {entry["name"] for entry in fe.binnings()}
    assert "effector-0.6" in {entry["name"] for entry in fe.presets()}


OWN = """f = "c*x1*temp"
[parameters]
c = 3
[law]
x1 = "uniform(0, 1)"
temp = "x1 + normal(0, 1)"
"""


def test_scenarios_of_files(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(OWN)
    own = fe.scenario(str(path), c=2)
    assert own.feature_names == ["x1", "temp"]
    assert own.parameters == {"c": "2"}
    assert abs(own.mean().value - 2 / 3) < 1e-9
    X, y = own.sample(n=50, seed=1)
    assert np.allclose(y, 2 * X[:, 0] * X[:, 1])
    effect = fe.ale(X, own, feature="temp", bins=5)
    assert np.isfinite(own.truth_of(effect).value).all()
    again = pickle.loads(pickle.dumps(own))
    path.unlink()
    assert again == own
    assert again.mean() == own.mean()


def test_scenarios_without_a_file(tmp_path: Path) -> None:
    law = {"x1": "uniform(0, 1)", "temp": "x1 + normal(0, 1)"}
    own = fe.scenario(f="c*x1*temp", law=law, c=3)
    path = tmp_path / "own.toml"
    path.write_text(OWN)
    file = fe.scenario(str(path))
    x = [0.1, 0.5]
    assert own.truth("ale", "x1", x).value.tolist() == file.truth("ale", "x1", x).value.tolist()
    assert own.parameters == {"c": "3"}
    assert pickle.loads(pickle.dumps(own)) == own
    scores = fe.scenario(
        "named", f="a + b", law={"u": "normal(0, 1)", "a": "u + normal(0, 1)", "b": "uniform(0, 1)"}, hidden=["u"]
    )
    assert scores.name == "named"
    assert scores.feature_names == ["a", "b"]
    joined = fe.scenario(
        f="a*b",
        law={"a": "normal(0, 1)", "b": "normal(0, 1)"},
        copula=[("a", "b", 0.5)],
        axis={"a": (-1, 1)},
    )
    assert abs(joined.mean().value - 0.5) < 1e-9
    assert joined.axis("a") == (-1.0, 1.0)


def test_scenarios_without_a_file_are_refused_where_they_are_wrong() -> None:
    law = {"x1": "uniform(0, 1)"}
    with pytest.raises(ValueError, match="unknown name `x2`"):
        fe.scenario(f="x1 + x2", law=law)
    with pytest.raises(TypeError, match="a function of its features"):
        fe.scenario(law=law)
    with pytest.raises(TypeError, match="needs a law"):
        fe.scenario("own", f="x1", law=["uniform(0, 1)"])
    with pytest.raises(TypeError, match="must be a text or a number"):
        fe.scenario(f="x1", law={"x1": None})
    with pytest.raises(TypeError, match="f and law"):
        fe.scenario(f="x1")
