"""Scenarios: a law, a function, and the exact truths of the pair."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _native

Array = NDArray[np.float64]


class Value(NamedTuple):
    """A true value."""

    value: float
    abs_error: float
    """A bound on its absolute error."""
    method: str
    """How it was obtained: closed, quadrature or simulation."""


class Truth(NamedTuple):
    """A true curve at some points; all arrays have the shape of the points."""

    x: Array
    value: Array
    abs_error: Array
    """A bound on the absolute error of each value."""
    method: list[str]
    """How each value was obtained (the points row by row): closed, quadrature or simulation."""


class SurfaceTruth(NamedTuple):
    """A true effect of two features at all pairs of points, a row for each point of the first one."""

    x: Array
    x2: Array
    value: Array
    abs_error: Array
    """A bound on the absolute error of each value."""
    method: list[str]
    """How each value was obtained, row by row."""


class IndexTruth(NamedTuple):
    """A true index; NaN where it is refused."""

    name: str
    features: tuple[str, ...]
    """The features that it is of: one, two, or none where it is of the function as a whole."""
    value: float
    abs_error: float
    """A bound on its absolute error."""
    method: str
    """How it was obtained: closed, quadrature or simulation."""
    refused: str | None
    """Why it means nothing, or cannot be told."""


class BinTruth(NamedTuple):
    """True quantities of the K bins between K + 1 limits (RHALE eq. 7, 8).

    ``sigma2_star = sigma2 + bin_error``.
    """

    limits: Array
    mu: Array
    """Mean of the local effect."""
    sigma2: Array
    """Mean of its conditional variance."""
    sigma2_star: Array
    """Variance of the derivative over the bin."""
    bin_error: Array
    """Mean squared distance of the local effect from its mean in the bin."""
    abs_error: Array
    """A bound on the absolute error of each of them."""


class DifferenceTruth(NamedTuple):
    """True finite differences over the K bins between K + 1 limits (Apley & Zhu 2020, eq. 15)."""

    limits: Array
    mean: Array
    variance: Array
    abs_error: Array
    """A bound on the absolute error of both."""


def scenario(
    name: str | None = None,
    /,
    *,
    f: str | float | None = None,
    law: Mapping[str, str | float] | str | float | None = None,
    hidden: Sequence[str] | str | float = (),
    copula: Sequence[tuple[str, str, float]] | str | float = (),
    axis: Mapping[str, tuple[float, float]] | str | float | None = None,
    **parameters: float | str,
) -> Scenario:
    """The scenario of a name, optionally with its version (``"sin-indicator@1"``).

    Parameters that are not given have their defaults; ``scenarios()`` lists them all. A name that ends
    in ``.toml`` is the path of a file with a scenario of your own (docs/own-problem.md).

    >>> import feature_effects_bench as fe
    >>> fe.scenario("sin-indicator", noise_sd=0.1).dimension
    3

    With ``f`` and ``law``, a function and the law of each feature in the language of such files, it is one
    of your own without a file; ``hidden`` features, the correlations of a Gaussian ``copula`` and the
    ``axis`` of a feature are as there, and whatever else is given is a parameter.

    >>> own = fe.scenario(f="c*x1*x2", law={"x1": "uniform(0, 1)", "x2": "x1 + normal(0, 1)"}, c=3)
    >>> round(own.mean().value, 9)
    1.0
    """
    if isinstance(law, Mapping):
        text = _problem(f, law, hidden, copula, axis, parameters)
        return Scenario(name or "own", _text=text)
    if name is None:
        raise TypeError("a scenario has a name, or f and law, a mapping of features to their laws")
    words = {"f": f, "law": law, "hidden": hidden, "copula": copula, "axis": axis}
    # Parameters of a file may be called so.
    given: dict[str, Any] = {key: value for key, value in words.items() if value is not None and value != ()}
    for key, value in given.items():
        if not isinstance(value, (str, int, float, np.number)):
            raise TypeError(f"{key} belongs to a scenario without a file, which needs a law: {{'x1': ...}}")
    return Scenario(name, **given, **parameters)


def _problem(
    f: object,
    law: Mapping[str, object],
    hidden: object,
    copula: object,
    axis: object,
    parameters: Mapping[str, object],
) -> str:
    """The text of a problem file."""
    if f is None:
        raise TypeError("a law needs a function of its features: f='x1 + x2'")
    lines = [f"f = {_toml(f)}"]
    if hidden:
        lines.append(f"hidden = {_toml(hidden)}")
    tables = {"parameters": parameters, "law": law, "axis": axis or {}}
    if copula:
        tables["copula"] = {"gaussian": copula}
    for table, entries in tables.items():
        if not isinstance(entries, Mapping):
            raise TypeError(f"{table} must be a mapping, as {{'x1': ...}}, not {entries!r}")
        lines.append(f"[{table}]")
        lines += [f"{_toml(key)} = {_toml(value)}" for key, value in entries.items()]
    return "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, (int, float, np.number)) and not isinstance(value, bool):
        return repr(float(value))
    if isinstance(value, (Sequence, np.ndarray)):
        return f"[{', '.join(_toml(part) for part in value)}]"
    raise TypeError(f"{value!r} must be a text or a number, or a list of such")


class Scenario(_native.Scenario):
    """A law of the features, a function of them, and the exact truths of the pair.

    Made by :func:`scenario`. Scenarios with the same name, version and parameters are equal, and
    can be pickled. As the ``model`` of an estimator, its function is evaluated by Rust.
    """

    __slots__ = ()

    @overload
    def truth(
        self,
        effect: str,
        feature: int | str,
        x: ArrayLike,
        center: str | None = None,
        range: tuple[float, float] | None = None,
    ) -> Truth: ...

    @overload
    def truth(
        self,
        effect: str,
        feature: tuple[int | str, int | str],
        x: tuple[ArrayLike, ArrayLike],
        center: str | None = None,
        range: tuple[tuple[float, float], tuple[float, float]] | None = None,
        *,
        interaction: bool = False,
    ) -> SurfaceTruth: ...

    def truth(
        self,
        effect: str,
        feature: int | str | tuple[int | str, int | str],
        x: Any,
        center: str | None = None,
        range: Any = None,
        *,
        interaction: bool = False,
    ) -> Truth | SurfaceTruth:
        """The true curve of an effect at points ``x``, with a bound on the error of each value.

        ``effect`` is pd, dpd, mplot, ale, ale-derivative, mu, sigma, h-pdp, h-dpdp, main, shap or
        shap-variance. ``center`` is none, start (0 at the lower end of the range), integral (mean over
        the range 0) or data (mean over the law of the feature 0). The ``range`` is where accumulation
        starts and what centring refers to; the scenario's own unless given.

        Of two features, ``feature=("x1", "x2")`` and ``x=(u, v)``, it is the effect at all pairs of points of both:
        pd, ale (of second order) or ale-derivative; with ``interaction=True`` the pd less those of either feature.
        The mean of what is left over a constant is then 0 over the law unless ``center`` says otherwise.

        >>> import feature_effects_bench as fe
        >>> s = fe.scenario("poly3")  # x1^2 + x1 x2 + x3 / 2
        >>> s.truth("ale", ("x1", "x2"), ([-1.0, 1.0], [0.5])).value.round(9).tolist()
        [[-0.5], [0.5]]
        """
        if isinstance(feature, tuple):
            first, second = _two("feature", feature)
            u, v = (_native.numbers("x", given) for given in _two("x", x))
            found = self._surface(effect, (first, second), u, v, center, range, interaction)
            return SurfaceTruth(u, v, *found)
        if interaction:
            raise _native.FeatureEffectsError("interaction: of two features, as feature=('x1', 'x2')")
        points = _native.numbers("x", x)
        return Truth(points, *self._curve(effect, feature, points, center or "none", range))

    def indices(
        self,
        indices: str | Sequence[str] | None = None,
        features: Sequence[int | str | tuple[int | str, int | str]] | None = None,
    ) -> list[IndexTruth]:
        """True indices of features, of pairs of features and of the function, each with a bound on its error.

        ``indices`` are all unless named; ``features`` are features and pairs, all features and all pairs that the
        function reads unless given. Those that mean nothing are NaN, and ``refused`` says why.

        >>> import feature_effects_bench as fe
        >>> (h,) = fe.scenario("poly3").indices("h2.pair", [("x1", "x2")])
        >>> round(h.value, 9)
        0.555555556
        """
        names = [indices] if isinstance(indices, str) else indices
        ones, pairs = (None, None) if features is None else _apart(features)
        known = self.feature_names
        nan = float("nan")
        return [
            IndexTruth(name, tuple(known[place - 1] for place in of), *(found or (nan, nan, "")), refused)
            for name, of, found, refused in self._indices(names, ones, pairs)
        ]

    @overload
    def truth_of(self, estimate: _native.Effect, x: ArrayLike | None = None) -> Truth: ...

    @overload
    def truth_of(
        self, estimate: _native.Surface, x: tuple[ArrayLike, ArrayLike] | None = None
    ) -> SurfaceTruth: ...

    def truth_of(
        self, estimate: _native.Effect | _native.Surface, x: Any = None
    ) -> Truth | SurfaceTruth:
        """The true curve of what an estimate estimates: of its feature, centred as it is, over the same axis.

        At the points ``x``, or at those of the estimate. ``estimate.effect - scenario.truth_of(estimate).value`` is
        the error of the estimate.

        >>> import feature_effects_bench as fe
        >>> s = fe.scenario("alibi-additive")
        >>> X, y = s.sample(n=200, seed=1)
        >>> effect = fe.ale(X, s, feature=1)
        >>> bool(abs(effect.effect - s.truth_of(effect).value).max() < 0.2)
        True
        """
        if isinstance(estimate, _native.Surface):
            given = (estimate.x, estimate.x2) if x is None else _two("x", x)
            u, v = (_native.numbers("x", points) for points in given)
            return SurfaceTruth(u, v, *self._surface_of(estimate, u, v))
        if not isinstance(estimate, _native.Effect):
            raise _native.FeatureEffectsError(f"estimate: must be an effect, not {estimate!r}")
        points = _native.numbers("x", estimate.x if x is None else x)
        return Truth(points, *self._curve_of(estimate, points))

    def pd(
        self,
        feature: int | str,
        x: ArrayLike,
        center: str = "none",
        range: tuple[float, float] | None = None,
    ) -> Array:
        """Partial dependence, E f(x, X_c) under the marginal law of the other features."""
        return self._curve("pd", feature, x, center, range)[0]

    def dpd(self, feature: int | str, x: ArrayLike) -> Array:
        """Derivative partial dependence, E ∂f(x, X_c) under the same law."""
        return self._curve("dpd", feature, x)[0]

    def mplot(
        self,
        feature: int | str,
        x: ArrayLike,
        center: str = "none",
        range: tuple[float, float] | None = None,
    ) -> Array:
        """Marginal plot, E[f(X) | x]."""
        return self._curve("mplot", feature, x, center, range)[0]

    def ale(
        self,
        feature: int | str,
        x: ArrayLike,
        center: str = "none",
        range: tuple[float, float] | None = None,
    ) -> Array:
        """Accumulated local effects as the limit of finite differences, with the jumps of f."""
        return self._curve("ale", feature, x, center, range)[0]

    def ale_derivative(
        self,
        feature: int | str,
        x: ArrayLike,
        center: str = "none",
        range: tuple[float, float] | None = None,
    ) -> Array:
        """Accumulated local effects of the derivative, without the jumps of f (RHALE eq. 2)."""
        return self._curve("ale-derivative", feature, x, center, range)[0]

    def mu(self, feature: int | str, x: ArrayLike) -> Array:
        """Local effect, E[∂f | x] (RHALE eq. 5)."""
        return self._curve("mu", feature, x)[0]

    def sigma(self, feature: int | str, x: ArrayLike) -> Array:
        """Standard deviation of ∂f given x (RHALE eq. 6)."""
        return self._curve("sigma", feature, x)[0]

    def h_pdp(
        self, feature: int | str, x: ArrayLike, range: tuple[float, float] | None = None
    ) -> Array:
        """Variance of ICE curves, each centred by its mean over the range (EFFECTOR eq. 7)."""
        return self._curve("h-pdp", feature, x, "none", range)[0]

    def h_dpdp(self, feature: int | str, x: ArrayLike) -> Array:
        """Variance of ∂f(x, X_c) over the other features (EFFECTOR eq. 9)."""
        return self._curve("h-dpdp", feature, x)[0]

    def main(
        self,
        feature: int | str,
        x: ArrayLike,
        center: str = "none",
        range: tuple[float, float] | None = None,
    ) -> Array:
        """Main effect of a feature that enters additively."""
        return self._curve("main", feature, x, center, range)[0]

    def shap(
        self,
        feature: int | str,
        x: ArrayLike,
        center: str = "none",
        range: tuple[float, float] | None = None,
    ) -> Array:
        """Mean of the feature's interventional Shapley value given x."""
        return self._curve("shap", feature, x, center, range)[0]

    def shap_variance(self, feature: int | str, x: ArrayLike) -> Array:
        """Variance of the feature's Shapley value given x."""
        return self._curve("shap-variance", feature, x)[0]

    def bins(
        self, feature: int | str, limits: ArrayLike, weighting: str = "uniform"
    ) -> BinTruth:
        """True quantities of the bins between increasing limits.

        ``weighting`` is uniform (the bin evenly, as in RHALE) or data (the law of the feature inside
        the bin: what estimators from data converge to).
        """
        limits = _native.numbers("limits", limits)
        return BinTruth(limits, **dict(self._bins(feature, limits, weighting)))

    def differences(self, feature: int | str, limits: ArrayLike) -> DifferenceTruth:
        """True finite differences of the function over the bins between increasing limits."""
        limits = _native.numbers("limits", limits)
        return DifferenceTruth(limits, **dict(self._differences(feature, limits)))

    def values(
        self, feature: int | str, range: tuple[float, float] | None = None
    ) -> dict[str, Value]:
        """True heterogeneity values of a feature over its range, by name, such as ale.integral."""
        return {name: Value(*value) for name, value in self._values(feature, range)}

    def mean(self) -> Value:
        """Mean of the function, E f(X)."""
        return Value(*self._mean())

    def sd(self) -> Value:
        """Standard deviation of the function."""
        return Value(*self._sd())

    def __reduce__(self) -> tuple[Any, ...]:
        (name,), parameters = self.__getnewargs_ex__()
        return (_rebuilt, (name, parameters))


def _two(what: str, given: Any) -> tuple[Any, Any]:
    """Something of either feature of a pair."""
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise _native.FeatureEffectsError(f"{what}: must be two of them, one of each feature, not {given!r}")
    return given[0], given[1]


def _apart(
    features: Sequence[int | str | tuple[int | str, int | str]],
) -> tuple[list[int | str], list[tuple[int | str, int | str]]]:
    """Features and pairs of features, each in their order."""
    if isinstance(features, str) or not isinstance(features, Sequence):
        raise _native.FeatureEffectsError(f"features: must be a list of features and pairs, not {features!r}")
    ones = [of for of in features if not isinstance(of, tuple)]
    return ones, [_two("features", of) for of in features if isinstance(of, tuple)]


def _rebuilt(name: str, parameters: dict[str, str]) -> Scenario:
    return Scenario(name, **parameters)
