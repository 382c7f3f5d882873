"""An estimator of one's own, beside the reference estimators."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import feature_effects_bench as fe

pytest.importorskip("pandas")


def reference(X: Any, scenario: fe.Scenario, feature: int) -> fe.Effect:
    return fe.ale(X, scenario, feature, bins=20, axis="scenario")


@pytest.mark.filterwarnings("ignore:.*without instances")
def test_a_reference_estimator_is_as_good_as_itself() -> None:
    table = fe.benchmark(reference, "ale", "friedman1", n=300, replicates=4, references={"same": reference})
    assert (table["ratio"] == 1).all() and (table["p_worse"] == 1).all() and (table["rank"] == 1).all()
    assert (table["of"] == 2).all() and (table["failed"] == 0).all() and (table["left_out"] == 0).all()


@pytest.mark.filterwarnings("ignore:.*without instances")
def test_errors_are_those_of_scores() -> None:
    scenario = fe.scenario("friedman1")
    row = fe.benchmark(reference, "ale", scenario, n=300, replicates=3, features=["x3"]).iloc[0]
    of = [
        fe.score(reference(scenario.sample(300, seed=0, replicate=r)[0], scenario, 3), scenario, "ale")["mse"]
        for r in range(3)
    ]
    assert math.isclose(row["rmse"], np.sqrt(np.mean(of)), rel_tol=1e-12)
    assert row["rmse"] ** 2 >= row["bias"] ** 2
    assert row["reference_rmse"] <= row["rmse"]


def test_a_wrong_estimator_is_told_from_a_right_one() -> None:
    def flat(X: Any, scenario: fe.Scenario, feature: int) -> Any:
        return lambda x: np.zeros_like(x)

    table = fe.benchmark(flat, "ale", "friedman1", n=[200, 400], replicates=5, features=[4])
    assert table["n"].tolist() == [200, 400]
    # 10 x4 is linear, so that the reference is exact, and this one off by 10 standard deviations of its grid.
    assert (table["ratio"] == math.inf).all() and (table["p_worse"] == 1 / 32).all() and (table["rank"] == 4).all()
    assert np.allclose(table["rmse"], 10 * np.std(fe.scenario("friedman1").grid(4)))
    assert np.allclose(table["bias"], table["rmse"])


def test_points_are_compared_where_they_are() -> None:
    def half(X: Any, scenario: fe.Scenario, feature: int) -> Any:
        x = np.linspace(0, 0.5, 30)
        return x[::-1], 10 * x[::-1]

    row = fe.benchmark(half, "ale", "friedman1", n=200, replicates=2, features=[4]).iloc[0]
    assert row["ratio"] == 1 and row["left_out"] == 50


def test_failures_are_counted_and_said() -> None:
    def fails(X: Any, scenario: fe.Scenario, feature: int) -> Any:
        if feature == 1:
            raise RuntimeError("no luck")
        return np.zeros(3)

    table = fe.benchmark(fails, "pd", "poly3", n=50, replicates=3)
    assert (table["failed"] == 3).all() and table["rmse"].isna().all()
    assert table["status"][0] == "RuntimeError: no luck"

    def short(X: Any, scenario: fe.Scenario, feature: int) -> Any:
        return lambda x: np.full(len(x), np.nan)

    assert "not finite" in fe.benchmark(short, "pd", "poly3", n=50, replicates=2)["status"][0]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"effect": "mu"}, "must be one of pd, dpd, mplot, ale, ale-derivative, shap"),
        ({"replicates": 1}, "replicates = 1: must be a whole number, at least 2"),
        ({"n": [10, 0]}, "n = 0: must be"),
        ({"scenarios": []}, "scenarios: there are none"),
        ({"references": {}}, "references: there are none"),
        ({"estimator": "ale"}, "must be a function of rows"),
    ],
)
def test_what_cannot_be_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(fe.FeatureEffectsError, match=said):
        fe.benchmark(**({"estimator": reference, "scenarios": ["poly3"]} | given))
