"""An estimator of one's own beside the reference estimators, against the exact truths of all scenarios."""

from __future__ import annotations

import itertools
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _api, _native
from ._native import Effect, FeatureEffectsError
from ._results import frame
from ._scenario import Scenario, scenario

__all__ = ["benchmark"]

Array = NDArray[np.float64]
Curve = Any
"""What an estimator returns: an effect, points and values (x, y), or a function of points."""
Own = Callable[[Array, Scenario, int], Curve]

REFERENCES: dict[str, dict[str, tuple[str, dict[str, Any]]]] = {
    "pd": {"pdp": ("pdp", {})},
    "dpd": {"dpdp": ("dpdp", {})},
    "mplot": {"mplot": ("mplot", {})},
    "ale": {
        "ale, 20 equal bins": ("ale", {"bins": 20}),
        "ale, 50 equal bins": ("ale", {"bins": 50}),
        "ale, 20 quantile bins": ("ale", {"bins": 20, "binning": "quantile"}),
    },
    "ale-derivative": {
        "dale, 20 equal bins": ("dale", {"bins": 20}),
        "dale, 50 equal bins": ("dale", {"bins": 50}),
        "rhale, penalized": ("rhale", {"binning": "penalized"}),
    },
    "shap": {"shapdp": ("shapdp", {})},
}
"""The reference estimators of each effect, by what they are called in the table."""

_EXACT = 1e-10
"""Errors below this share of the function's standard deviation are rounding."""

_FLIPS = 12
"""Most replicates whose sign flips are all tried."""


def benchmark(
    estimator: Own,
    effect: str = "ale",
    scenarios: str | Scenario | Iterable[str | os.PathLike[str] | Scenario] = "all",
    *,
    n: int | Sequence[int] = 1000,
    replicates: int = 10,
    seed: int = 0,
    features: Sequence[int | str] | None = None,
    references: Mapping[str, Own] | None = None,
) -> Any:
    """How wrong an estimator is, and how wrong the reference estimators are on the same data.

    Parameters
    ----------
    estimator
        A function ``estimator(X, scenario, feature)`` of rows, shape (n, D), of the scenario whose function is to be
        explained (``scenario.predict`` and ``scenario.jacobian`` take rows), and of the feature, counted from 1. It
        returns an effect of this package, points and values ``(x, y)``, or a function of points. How it is centred
        does not matter.
    effect
        What it estimates: pd, dpd, mplot, ale, ale-derivative or shap.
    scenarios
        "all", or names, paths of files, scenarios.
    n
        Rows of a dataset, or several such numbers.
    replicates
        Datasets of each scenario.
    seed
        Master seed of the datasets, which are those of studies.
    features
        Features of each scenario, counted from 1 or by name; all, unless given.
    references
        Other reference estimators, by name, of the same form as ``estimator``.

    Returns
    -------
    frame
        Of pandas or polars, a row for each scenario, feature and number of rows:

        ``rmse``
            Root of the mean squared error, over points and replicates, of the curves centred on the points: the grid
            of studies, or the estimator's own points.
        ``bias``
            Root of the mean squared error of the mean curve: what no number of replicates takes away.
        ``reference``, ``reference_rmse``, ``ratio``
            The reference estimator of the lowest error, that error, and ``rmse`` divided by it; 1 where both are
            exact up to rounding.
        ``floor``
            The standard deviation of the reference's curve over the replicates, averaged over the points in squares:
            what comes from the rows alone. An error near it is as low as can be hoped for.
        ``p_worse``
            How likely a lead of the reference as large as this would be by chance, by flipping the signs of the
            differences of the replicates. With 5 replicates it is 0.03 at least.
        ``rank``, ``of``
            The place among the references and the estimator, by the error, the lowest is 1.
        ``left_out``
            Points of the grid of studies that the curve does not cover, at most over the replicates.
        ``failed``, ``status``
            Replicates without a curve, and why; "ok" where there are none.

    >>> import feature_effects_bench as fe
    >>> def straight(X, scenario, feature):
    ...     y = scenario.predict(X)
    ...     slope = np.polyfit(X[:, feature - 1], y, 1)[0]
    ...     return lambda x: slope * x
    >>> table = fe.benchmark(straight, "ale", ["poly3"], n=200, replicates=5)
    >>> bool((table["ratio"] > 10).any())
    True
    """
    if not callable(estimator):
        raise FeatureEffectsError(f"estimator: must be a function of rows, scenario and feature, not {estimator!r}")
    if effect not in REFERENCES:
        raise FeatureEffectsError(f"effect = {effect!r}: must be one of {', '.join(REFERENCES)}")
    sizes = [n] if isinstance(n, int | np.integer) else list(n)
    for what, given in [("replicates", replicates), *(("n", size) for size in sizes)]:
        if not isinstance(given, int | np.integer) or isinstance(given, bool) or given < 2:
            raise FeatureEffectsError(f"{what} = {given!r}: must be a whole number, at least 2")
    others = _references(effect) if references is None else dict(references)
    if not others:
        raise FeatureEffectsError("references: there are none to compare with")
    rows = []
    for known in _scenarios(scenarios):
        for feature in _features(known, features):
            for size in sizes:
                rows.append(_row(estimator, others, effect, known, feature, int(size), replicates, seed))
    return frame({name: [row[name] for row in rows] for name in rows[0]})


def _scenarios(given: Any) -> list[Scenario]:
    if isinstance(given, str) and given == "all":
        return [scenario(known["name"]) for known in _api.scenarios()]
    several = [given] if isinstance(given, str | os.PathLike | Scenario) else list(given)
    if not several:
        raise FeatureEffectsError("scenarios: there are none")
    return [known if isinstance(known, Scenario) else scenario(os.fspath(known)) for known in several]


def _features(known: Scenario, given: Sequence[int | str] | None) -> list[int]:
    if given is None:
        return list(range(1, known.dimension + 1))
    names = known.feature_names
    return [names.index(feature) + 1 if feature in names else int(feature) for feature in given]


def _references(effect: str) -> dict[str, Own]:
    """The reference estimators, over the range of the scenario."""

    def made(name: str, options: dict[str, Any]) -> Own:
        def estimate(X: Array, known: Scenario, feature: int) -> Curve:
            # Empty bins are the fault of the reference, whose error tells what they cost.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", _api.FeatureEffectsWarning)
                return _api.estimate(name, X, known, feature, axis="scenario", **options)

        return estimate

    return {called: made(*given) for called, given in REFERENCES[effect].items()}


class _Errors(NamedTuple):
    """Errors of centred curves at some points, of shape (replicates, points)."""

    of: Array

    @property
    def squared(self) -> Array:
        """The mean squared error of each replicate."""
        found: Array = np.mean(self.of**2, axis=1)
        return found

    @property
    def rmse(self) -> float:
        return float(np.sqrt(self.squared.mean()))

    @property
    def bias(self) -> float:
        return float(np.sqrt(np.mean(self.of.mean(axis=0) ** 2)))

    @property
    def sd(self) -> float:
        return float(np.sqrt(np.mean(self.of.var(axis=0, ddof=1)))) if len(self.of) > 1 else float("nan")


def _row(
    estimator: Own,
    references: Mapping[str, Own],
    effect: str,
    known: Scenario,
    feature: int,
    n: int,
    replicates: int,
    seed: int,
) -> dict[str, Any]:
    """One line of the table."""
    nothing = float("nan")
    row: dict[str, Any] = {
        "scenario": known.id, "feature": known.feature_names[feature - 1], "n": n, "rmse": nothing, "bias": nothing,
        "reference": None, "reference_rmse": nothing, "ratio": nothing, "floor": nothing, "p_worse": nothing,
        "rank": 0, "of": 1 + len(references), "left_out": 0, "failed": 0, "status": "ok",
    }  # fmt: skip
    grid = known.grid(feature)
    truths: dict[bytes, Array] = {}

    def error(curve: Curve, points: Array) -> Array:
        key = points.tobytes()
        if key not in truths:
            truths[key] = known.truth(effect, feature, points).value
        difference = _values(curve, points) - truths[key]
        centred: Array = difference - difference.mean()
        return centred

    own: list[Array] = []
    theirs: dict[str, list[Array]] = {name: [] for name in references}
    for replicate in range(replicates):
        X, _ = known.sample(n, seed=seed, replicate=replicate)
        try:
            curve = estimator(X, known, feature)
            points = _points(curve, grid, known.axis(feature))
            mine = error(curve, points)
        except Exception as reason:
            row["failed"] += 1
            row["status"] = f"{type(reason).__name__}: {reason}" if row["status"] == "ok" else row["status"]
            continue
        row["left_out"] = max(row["left_out"], _left_out(curve, grid, points))
        own.append(mine)
        for name, reference in references.items():
            theirs[name].append(error(reference(X, known, feature), points))
    if len(own) < 2:
        return row
    errors, best = _errors(own), {name: _errors(of) for name, of in theirs.items()}
    first = min(best, key=lambda name: best[name].rmse)
    rounding = _EXACT * max(known.sd().value, np.finfo(float).tiny)
    row |= {
        "rmse": errors.rmse, "bias": errors.bias, "reference": first, "reference_rmse": best[first].rmse,
        "ratio": _ratio(errors.rmse, best[first].rmse, rounding), "floor": best[first].sd,
        "p_worse": _p_worse(errors, best[first], rounding),
        "rank": 1 + sum(of.rmse < errors.rmse - rounding for of in best.values()),
    }  # fmt: skip
    return row


def _errors(of: list[Array]) -> _Errors:
    """Errors of all replicates; where their points differ, at as many as the fewest of them have."""
    fewest = min(map(len, of))
    spread = [errors[np.linspace(0, len(errors) - 1, fewest).round().astype(int)] for errors in of]
    return _Errors(np.array(spread))


def _points(curve: Curve, grid: Array, axis: tuple[float, float]) -> Array:
    """Where a curve is compared: on the grid, as far as it reaches; or at its own points."""
    if isinstance(curve, Effect):
        inside: Array = grid[(grid >= curve.x[0]) & (grid <= curve.x[-1])]
        return _enough(inside)
    if callable(curve):
        return grid
    if not isinstance(curve, tuple | list) or len(curve) != 2:
        raise FeatureEffectsError("it returned no effect, no points and values (x, y), and no function of points")
    x = _native.numbers("x", curve[0])
    within: Array = np.unique(x[(x >= axis[0]) & (x <= axis[1])])
    return _enough(within)


def _enough(points: Array) -> Array:
    if len(points) < 2:
        raise FeatureEffectsError("the curve has fewer than two points within the range of the scenario")
    return points


def _left_out(curve: Curve, grid: Array, points: Array) -> int:
    return len(grid) - len(points) if isinstance(curve, Effect) else int(((grid < points[0]) | (grid > points[-1])).sum())


def _values(curve: Curve, points: Array) -> Array:
    """A curve at some points."""
    if callable(curve):
        found = np.asarray(curve(points), dtype=float)
    else:
        x, y = (_native.numbers(name, given) for name, given in zip(("x", "y"), curve, strict=True))
        if x.shape != y.shape:
            raise FeatureEffectsError(f"it returned {x.size} points and {y.size} values")
        order = np.argsort(x)
        found = np.interp(points, x[order], y[order])
    if found.shape != points.shape or not np.isfinite(found).all():
        raise FeatureEffectsError(f"it returned values of shape {found.shape} for {len(points)} points, or not finite ones")
    return found


def _ratio(mine: float, theirs: float, rounding: float) -> float:
    if mine <= rounding and theirs <= rounding:
        return 1.0
    return float("inf") if theirs <= rounding else mine / theirs


def _p_worse(mine: _Errors, theirs: _Errors, rounding: float) -> float:
    """The share of sign flips of the paired differences whose mean is no lower than theirs."""
    differences = mine.squared - theirs.squared
    if max(mine.rmse, theirs.rmse) <= rounding:
        return 1.0
    count = len(differences)
    signs = (
        np.array(list(itertools.product([1.0, -1.0], repeat=count)))
        if count <= _FLIPS
        else np.vstack([np.ones(count), np.random.default_rng(0).choice([1.0, -1.0], size=(2**_FLIPS - 1, count))])
    )
    # Equal but for rounding counts as equal.
    slack = 1e-12 * np.abs(differences).sum()
    return float(np.mean(signs @ differences >= differences.sum() - slack))
