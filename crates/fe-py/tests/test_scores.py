"""Scores of curves from anywhere, against the program."""

from __future__ import annotations

import csv
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import feature_effects_bench as fe

S = fe.scenario("friedman1")


@pytest.mark.parametrize("compare", ["Err_c", "Err"])
@pytest.mark.parametrize("band", [False, True])
def test_scores_are_those_of_the_program(
    fe_bench: Callable[..., Any], tmp_path: Path, compare: str, band: bool
) -> None:
    rng = np.random.default_rng(3)
    # Not in order, and some of them outside the scenario's range.
    x = rng.permutation(np.linspace(-0.1, 1.1, 40))
    y = 10 * x + rng.normal(0, 0.3, size=40)
    lower, upper = (y - 0.5, y + 0.5) if band else (None, None)
    columns = ["feature", "x", "effect"] + (["lower", "upper"] if band else [])
    table = [x, y] + ([y - 0.5, y + 0.5] if band else [])
    lines = [",".join(map(repr, row)) for row in np.column_stack(table).tolist()]
    path = tmp_path / "curves.csv"
    path.write_text("\n".join([",".join(columns), *(f"x4,{line}" for line in lines)]))
    center = ["--center", "data"] if compare == "Err" else []
    of_program = fe_bench(
        "score", path, "--scenario", "friedman1", "--effect", "ale", "--compare", compare, *center
    )
    with pytest.warns(fe.FeatureEffectsWarning, match=r"\d+ of 40 points are left out: .*the range of friedman1@"):
        scores = fe.score(
            (x, y), S, "ale", feature=4, lower=lower, upper=upper, compare=compare,
            center="data" if center else None,
        )  # fmt: skip
    assert dict(scores) == {row["metric"]: row["value"] for row in of_program}
    assert ("coverage" in scores) == band
    assert scores.compared == of_program[0]["compared"]
    assert scores.left_out == of_program[0]["left_out"] > 0
    assert scores.truth_method == of_program[0]["truth_method"]
    assert scores.truth_abs_error == of_program[0]["truth_abs_error"]
    assert scores.status == {name: "ok" for name in scores}
    assert "rmse=" in repr(scores)


def test_an_effect_is_scored_as_its_points_are() -> None:
    X, _ = S.sample(500, seed=1)
    effect = fe.ale(X, S, feature=4, bins=10, axis="scenario")
    scores = fe.score(effect, S, "ale", points="knots")
    assert scores["rmse"] == fe.score((effect.x, effect.effect), S, "ale", 4)["rmse"]
    # 10 x4 enters linearly: every estimate of it is exact.
    assert scores["max"] < 1e-12
    assert fe.score(effect, S, "ale", feature=5)["max"] > 1
    assert fe.score(effect, S, "ale", points=[0.5, 0.25, 0.5]).compared == 2


STUDY = """
about = "one estimate"
[[block]]
scenario = "sin-indicator"
set = {{ noise_sd = 0.1 }}
features = ["x1"]
N = 400
replicates = 1
compare = "{compare}"
metrics = {metrics}
estimator = [{{ name = "{estimator}"{options} }}]
"""


@pytest.mark.parametrize("compare", ["Err_c", "Err"])
@pytest.mark.parametrize(
    ("estimator", "options", "metrics"),
    [
        ("dale", {"bins": 5}, ["mse", "max", "L_mu", "L_sigma", "L_rho", "heterogeneity_mse", "bins"]),
        ("rhale", {}, ["rmse", "mae", "L_mu", "deviation_mse", "infeasible"]),
        ("ale", {"bins": 10, "axis": "scenario", "band": "analytic"}, ["mse", "coverage", "width", "L_mu"]),
        ("pdp", {"grid": 7}, ["mse", "heterogeneity_mse"]),
    ],
)
def test_scores_of_an_effect_are_those_of_a_study(
    program: Path, tmp_path: Path, estimator: str, options: dict[str, Any], metrics: list[str], compare: str
) -> None:
    scenario = fe.scenario("sin-indicator", noise_sd=0.1)
    path = tmp_path / "study.toml"
    if compare == "Err":
        options = {**options, "center": "data"}
    given = "".join(f", {key} = {json.dumps(value)}" for key, value in options.items())
    path.write_text(
        STUDY.format(compare=compare, metrics=json.dumps(metrics), estimator=estimator, options=given)
    )
    command = [program, "run", path, "--seed", "5", "--out", tmp_path / "out"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with open(tmp_path / "out" / "cells.csv", newline="") as file:
        cells = {row["metric"]: row for row in csv.DictReader(file)}
    X, _ = scenario.sample(400, seed=5)
    # A study asks for the points of its grid, which are knots of what needs not interpolate between others.
    asked = {"points": scenario.grid(1)} if estimator == "pdp" or "band" in options else {}
    effect = fe.estimate(estimator, X, scenario, 1, **({"axis": "scenario"} | asked | options))
    truth = {"ale": "ale", "pdp": "pd"}.get(estimator, "ale-derivative")
    scores = fe.score(effect, scenario, truth, compare=compare, metrics=metrics)
    assert list(scores) == metrics
    for metric in metrics:
        assert scores[metric] == float(cells[metric]["value"]), metric
        assert scores.status[metric] == cells[metric]["status"] == "ok"
    assert scores.compared == int(cells[metrics[0]]["compared"]) == 100


def test_few_bins_are_not_flattered() -> None:
    scenario = fe.scenario("sin-indicator", noise_sd=0.1)
    X, _ = scenario.sample(1000, seed=7)
    effect = fe.dale(X, scenario, 1, bins=5, axis="scenario")
    scores = fe.score(effect, scenario, "ale-derivative")
    assert scores.compared == 100
    assert scores["mse"] > 1.5 * fe.score(effect, scenario, "ale-derivative", points="knots")["mse"]


def test_points_that_are_left_out_are_counted_and_said() -> None:
    X, _ = S.sample(100, seed=1)
    inside = X[(X[:, 3] > 0.2) & (X[:, 3] < 0.6)]
    effect = fe.ale(inside, S, feature=4)
    with pytest.warns(fe.FeatureEffectsWarning, match=r"of 100 points are left out: .*limits of the estimate") as told:
        scores = fe.score(effect, S, "ale")
    assert scores.left_out == 100 - scores.compared > 40
    assert told[0].filename == __file__


def test_metrics_that_need_more_than_a_truth_has_say_so() -> None:
    X, _ = S.sample(100, seed=1)
    effect = fe.ale(X, S, feature=4, axis="scenario")
    scores = fe.score(effect, S, "pd", metrics="all")
    assert len(scores) == len(fe.metrics())
    assert scores.status["mse"] == "ok"
    assert scores.status["L_mu"] == "L_mu of ale has no truth `pd`"
    assert np.isnan(scores["L_mu"])
    assert "L_mu" not in repr(scores)
    everything = fe.score(effect, S, "ale", metrics="all")
    assert everything.status["L_mu"] == "ok"
    assert "asks for one" in everything.status["coverage"]


def test_the_truth_of_an_estimate_is_centred_as_it_is() -> None:
    scenario = fe.scenario("sin-indicator", noise_sd=0.1)
    X, _ = scenario.sample(1000, seed=7)
    for options in ({}, {"center": "start"}, {"center": "data"}, {"axis": (-0.2, 0.4)}):
        effect = fe.ale(X, scenario, 1, bins=20, **options)
        truth = scenario.truth_of(effect)
        assert truth.x.tolist() == effect.x.tolist()
        lo, hi = effect.x[[0, -1]]
        center = options.get("center", "integral")
        assert truth.value.tolist() == scenario.ale(1, effect.x, center=center, range=(lo, hi)).tolist()
        assert abs(effect.effect - truth.value).max() < 0.3
    assert scenario.truth_of(fe.pdp(X, scenario, 1, center="none"), [0.0]).value == scenario.pd(1, [0.0])
    with pytest.raises(fe.FeatureEffectsError, match="centred by `bins`"):
        scenario.truth_of(fe.ale(X, scenario, 1, center="bins"))


def test_nothing_to_compare_is_missing() -> None:
    with pytest.warns(fe.FeatureEffectsWarning, match="2 of 2 points are left out"):
        scores = fe.score(([5.0, 6.0], [0.0, 1.0]), S, "ale", 1)
    assert np.isnan(scores["mse"])
    assert scores.compared == 0
    assert scores.status["mse"] == "nothing could be compared"


def test_regional_effects_are_held_to_the_population() -> None:
    scenario = fe.scenario("effector-regional")
    X, _ = scenario.sample(200, seed=3)
    regional = fe.regional_dpdp(X, scenario, 1, depth=1)
    with pytest.warns(fe.FeatureEffectsWarning, match="outside the limits of the estimate"):
        scores = fe.score(regional, scenario)
    position = abs(regional.nodes[1]["rule"]["kind"]["at-most"])
    # Of a split beside 0 one side has both slopes, 3 and -3.
    mixed, side = position / (1 + position), (1 + position) / 2
    left = side * 36 * mixed * (1 - mixed)
    assert scores["region_regret"] == pytest.approx(left)
    assert scores["split_error"] == pytest.approx(position / 2)
    assert (scores["leaves"], scores["split_feature"]) == (2, 1)
    estimate = regional.levels[1]["heterogeneity"]
    assert scores["heterogeneity_value"] == pytest.approx(estimate - left)
    assert scores["heterogeneity_value_square"] == scores["heterogeneity_value"] ** 2
    with pytest.raises(fe.FeatureEffectsError, match="effect: a regional effect says it itself"):
        fe.score(regional, scenario, "dpd")
    with pytest.raises(fe.FeatureEffectsError, match="effect: must say what the curve estimates"):
        fe.score(([0.0], [0.0]), scenario)
    with pytest.raises(fe.FeatureEffectsError, match="unknown heterogeneity value `integrals`"):
        fe.score(regional, scenario, metrics=["heterogeneity_value.integrals"])
