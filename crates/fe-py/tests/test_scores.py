"""Scores of curves from anywhere, against the program."""

from __future__ import annotations

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
    effect = fe.ale(X, S, feature=4, bins=10)
    scores = fe.score(effect, S, "ale")
    assert scores["rmse"] == fe.score((effect.x, effect.effect), S, "ale", 4)["rmse"]
    # 10 x4 enters linearly: every estimate of it is exact.
    assert scores["max"] < 1e-12
    assert fe.score(effect, S, "ale", feature=5)["max"] > 1


def test_nothing_to_compare_is_missing() -> None:
    scores = fe.score(([5.0, 6.0], [0.0, 1.0]), S, "ale", 1)
    assert np.isnan(scores["mse"])
    assert scores.compared == 0
    assert scores.status["mse"] == "nothing could be compared"
