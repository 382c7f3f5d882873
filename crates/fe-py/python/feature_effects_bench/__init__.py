"""Feature effects: estimators, exact ground truths, and scores of one by the other.

    import feature_effects_bench as fe

    scenario = fe.scenario("sin-indicator", noise_sd=0.1)
    x = scenario.grid(feature=1)
    truth = scenario.ale(feature=1, x=x)             # exact
    X, y = scenario.sample(n=1000, seed=7)
    effect = fe.rhale(X, scenario, feature=1)        # or any function of an array of rows
    fe.score(effect, scenario, effect="ale-derivative")["rmse"]

Features are counted from 1, or named: "x1", "x2", …, or as `names` says; rows from 0. Arrays of other numbers than
float64 are converted. Rust computes without the interpreter's lock.

`scenarios()`, `estimators()`, `regional_estimators()`, `options()`, `binnings()` and `presets()` say what there is.
"""

from . import _estimators, _native
from ._api import (
    Curves,
    Effect,
    FeatureEffectsError,
    FeatureEffectsWarning,
    IndexEstimate,
    ModelError,
    PartialEffect,
    RegionalEffect,
    Scores,
    Surface,
    binnings,
    effects,
    estimate,
    estimators,
    indices,
    metrics,
    options,
    partial,
    presets,
    regional,
    regional_estimators,
    scenarios,
    score,
)
from ._benchmark import benchmark
from ._estimators import *  # noqa: F403
from ._program import Results, check, report, run_study, table
from ._results import plot
from ._scenario import BinTruth, DifferenceTruth, IndexTruth, Scenario, SurfaceTruth, Truth, Value, scenario

__version__: str = _native.__version__

__all__ = [
    "BinTruth",
    "Curves",
    "DifferenceTruth",
    "Effect",
    "FeatureEffectsError",
    "FeatureEffectsWarning",
    "IndexEstimate",
    "IndexTruth",
    "ModelError",
    "PartialEffect",
    "RegionalEffect",
    "Results",
    "Scenario",
    "Scores",
    "Surface",
    "SurfaceTruth",
    "Truth",
    "Value",
    "benchmark",
    "binnings",
    "check",
    "effects",
    "estimate",
    "estimators",
    "indices",
    "metrics",
    "options",
    "partial",
    "plot",
    "presets",
    "regional",
    "regional_estimators",
    "report",
    "run_study",
    "scenario",
    "scenarios",
    "score",
    "table",
]
__all__ += _estimators.__all__
