"""Estimates and scores."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _native
from ._native import Curves, Effect, FeatureEffectsError, ModelError, RegionalEffect
from ._scenario import Scenario

__all__ = [
    "Curves",
    "Effect",
    "FeatureEffectsError",
    "ModelError",
    "RegionalEffect",
    "Scores",
    "binnings",
    "effects",
    "estimate",
    "estimators",
    "metrics",
    "presets",
    "regional",
    "regional_estimators",
    "scenarios",
    "score",
]

Array = NDArray[np.float64]
Model = Scenario | Callable[[Array], ArrayLike]
Jacobian = Callable[[Array], ArrayLike] | str | None

BATCH_SIZE = 16384
"""Most rows that a Python model is asked for at once, unless told otherwise."""


def estimate(
    estimator: str,
    X: ArrayLike,
    model: Model,
    feature: int | str = 1,
    *,
    jacobian: Jacobian = None,
    weights: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    kinds: Mapping[int | str, str] | None = None,
    preset: str | None = None,
    output: int | None = None,
    batch_size: int = BATCH_SIZE,
    **options: Any,
) -> Effect:
    """The effect of one feature on a model, by the estimator of a name.

    Parameters
    ----------
    estimator
        pdp, dpdp, ice, dice, mplot, ale, dale, rhale or shapdp; ``estimators()`` tells their options.
    X
        Rows of the features, of shape (n, D).
    model
        A function that is called with rows, of shape (m, D), and returns their predictions, of shape
        (m,) or, for Q outputs, (m, Q). It is called once more with the first two rows of ``X``, for
        the number of its outputs. Or a scenario, whose function Rust evaluates.
    feature
        Counted from 1, or as "x1", "x2", …
    jacobian
        A function of rows that returns all partial derivatives of the model, of shape (m, D) or, for Q
        outputs, (m, Q, D). Or where derivatives are to come from: "auto" (the function or the scenario
        where there is one, differences otherwise), "model" or "numeric".
    weights
        Weights of the rows; a weight of 2 equals a duplicated row, rows of weight 0 count nowhere.
    names
        Names of the features.
    kinds
        Kinds of features that are not continuous, such as ``{3: "nominal"}``; or ordinal.
    preset
        Name of a library whose options are taken where none are given here; see ``presets()``.
    output
        Which output of the model, counted from 1; needed where there are several.
    batch_size
        Most rows of a call of ``model``. Calls come from the calling thread, and are the same every
        time.
    options
        Options of the estimator: numbers, words and arrays, and for ``axis`` "data", "scenario" (for
        a model that is one), (lo, hi) or quantiles such as "type-7:0.01,0.99".

    Raises
    ------
    FeatureEffectsError
        For what cannot be used; it says what is allowed.
    ModelError
        Where the model raised (which is its cause), or returned another shape or what is not finite.

    >>> import numpy as np
    >>> import feature_effects_bench as fe
    >>> X = np.random.default_rng(1).uniform(size=(500, 2))
    >>> effect = fe.estimate("ale", X, lambda X: X[:, 0] * X[:, 1], feature=1, bins=5)
    >>> effect.counts.sum()
    np.float64(500.0)
    """
    found = effects(
        estimator,
        X,
        model,
        [feature],
        jacobian=jacobian,
        weights=weights,
        names=names,
        kinds=kinds,
        preset=preset,
        batch_size=batch_size,
        **options,
    )
    return _output(found, output)


def effects(
    estimator: str,
    X: ArrayLike,
    model: Model,
    features: Sequence[int | str] | None = None,
    *,
    jacobian: Jacobian = None,
    weights: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    kinds: Mapping[int | str, str] | None = None,
    preset: str | None = None,
    batch_size: int = BATCH_SIZE,
    **options: Any,
) -> list[Effect]:
    """The effects of several features (all, unless given) on all outputs of a model.

    One after the other by feature, and for each feature by output. All else is as in
    :func:`estimate`.
    """
    request = _request(
        estimator, X, model, features, jacobian, weights, names, kinds, preset, batch_size, options
    )
    return _native.estimate(request)


def regional(
    estimator: str,
    X: ArrayLike,
    model: Model,
    feature: int | str = 1,
    *,
    jacobian: Jacobian = None,
    weights: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    kinds: Mapping[int | str, str] | None = None,
    output: int | None = None,
    batch_size: int = BATCH_SIZE,
    **options: Any,
) -> RegionalEffect:
    """The effect of one feature, region by region: a tree over the other features.

    ``estimator`` is regional-pdp, regional-dpdp, regional-ale, regional-rhale or regional-shapdp;
    ``regional_estimators()`` tells their options. All else is as in :func:`estimate`. ``print`` shows
    the tree.
    """
    if not estimator.startswith("regional"):
        estimator = f"regional-{estimator}"
    request = _request(
        estimator, X, model, [feature], jacobian, weights, names, kinds, None, batch_size, options
    )
    return _output(_native.regional(request), output)


_Found = TypeVar("_Found", Effect, RegionalEffect)


def _output(found: list[_Found], output: int | None) -> _Found:
    """The effect on one output, of those on all of them."""
    if output is None and len(found) > 1:
        raise FeatureEffectsError(
            f"the model has {len(found)} outputs: give output=1 to output={len(found)}, or take "
            "`effects`"
        )
    if output is None:
        return found[0]
    if not 1 <= output <= len(found):
        raise FeatureEffectsError(f"output = {output}: the model has outputs 1 to {len(found)}")
    return found[output - 1]


def _request(
    estimator: str,
    X: ArrayLike,
    model: Model,
    features: Sequence[int | str] | None,
    jacobian: Jacobian,
    weights: ArrayLike | None,
    names: Sequence[str] | None,
    kinds: Mapping[int | str, str] | None,
    preset: str | None,
    batch_size: int,
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """What the compiled part takes."""
    options = dict(options)
    if isinstance(jacobian, str):
        options["jacobian"] = jacobian
        jacobian = None
    return {
        "estimator": estimator,
        "data": X,
        "model": model,
        "features": None if features is None else list(features),
        "jacobian": jacobian,
        "weights": weights,
        "names": None if names is None else [str(name) for name in names],
        "kinds": None if kinds is None else list(kinds.items()),
        "preset": preset,
        "batch": batch_size,
        "options": _json(options),
    }


def _json(options: Mapping[str, Any]) -> str:
    """Options as text; numbers keep every bit."""
    for name, value in options.items():
        try:
            json.dumps(value, default=_plain, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise FeatureEffectsError(f"{name} = {value!r}: {error}") from error
    return json.dumps(options, default=_plain)


def _plain(value: Any) -> Any:
    """Numbers and arrays of NumPy and its like as those of Python."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"no option is a {type(value).__name__}")


class Scores(Mapping[str, float]):
    """What the metrics say of a curve: ``scores["rmse"]``; NaN where nothing could be compared.

    Attributes
    ----------
    truth_method
        How the truth was obtained.
    truth_abs_error
        Bound on the error of the truth, largest over the points.
    compared, left_out
        Points that were compared, and points outside the scenario's range that were not.
    status
        For each metric ok, or why it has no value.
    """

    def __init__(self, rows: list[_native._Score]) -> None:
        nothing = float("nan")
        self._values = {row[0]: nothing if row[1] is None else row[1] for row in rows}
        _, _, self.truth_method, self.truth_abs_error, self.compared, self.left_out, _ = rows[0]
        self.status: dict[str, str] = {row[0]: row[6] for row in rows}

    def __getitem__(self, metric: str) -> float:
        return self._values[metric]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value:.6g}" for name, value in self._values.items())
        return f"Scores({values}; {self.compared} points compared, {self.left_out} left out)"


def score(
    curve: Effect | tuple[ArrayLike, ArrayLike],
    scenario: Scenario,
    effect: str,
    feature: int | str | None = None,
    *,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    compare: str = "Err_c",
    center: str | None = None,
) -> Scores:
    """Scores a curve that was computed anywhere against the exact truth of a scenario.

    Parameters
    ----------
    curve
        An effect, or its points and its values there: ``(x, y)``, in any order.
    scenario
        The scenario whose truth it is compared with.
    effect
        What the curve estimates, as in :meth:`Scenario.truth`.
    feature
        The feature, counted from 1; that of the curve, if it is an effect.
    lower, upper
        Limits of a band at the same points; ``coverage`` and ``width`` are then among the scores.
    compare
        Err_c (both curves centred on the points) or Err (as they are).
    center
        How the curve is centred, where it is compared as it is: none, start, integral or data.

    >>> import feature_effects_bench as fe
    >>> s = fe.scenario("alibi-additive")
    >>> x = s.grid(feature=1)
    >>> round(fe.score((x, 3 * x), s, effect="pd", feature=1)["max"], 9)
    0.0
    """
    if isinstance(curve, Effect):
        x, y = curve.x, curve.effect
        feature = curve.feature if feature is None else feature
    else:
        x, y = (np.asarray(part) for part in curve)
    if feature is None:
        raise FeatureEffectsError("feature: say which feature the curve is of")
    if (lower is None) != (upper is None):
        raise FeatureEffectsError("lower, upper: a band needs both")
    band = None if lower is None or upper is None else (lower, upper)
    return Scores(_native.score(x, y, band, scenario, effect, feature, compare, center))


def scenarios() -> list[dict[str, Any]]:
    """All scenarios: name, version, about, formula, law and parameters."""
    return _registered("scenarios")


def estimators() -> list[dict[str, Any]]:
    """All estimators: name, about and options."""
    return _registered("estimators")


def regional_estimators() -> list[dict[str, Any]]:
    """All regional estimators: name, about and options."""
    return _registered("regional")


def binnings() -> list[dict[str, Any]]:
    """All ways to choose bins: name, about and options."""
    return _registered("binnings")


def presets() -> list[dict[str, Any]]:
    """All presets: name, about and the estimators that they cover."""
    return _registered("presets")


def metrics() -> list[dict[str, Any]]:
    """All metrics: name and about."""
    return _registered("metrics")


def _registered(kind: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = _native.registry()[kind]
    return found
