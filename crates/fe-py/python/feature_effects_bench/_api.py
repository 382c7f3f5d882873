"""Estimates and scores."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _frames, _native, _torch
from ._native import Curves, Effect, FeatureEffectsError, ModelError, PartialEffect, RegionalEffect, Surface
from ._scenario import Scenario, _apart, _two

__all__ = [
    "Curves",
    "Effect",
    "FeatureEffectsError",
    "FeatureEffectsWarning",
    "IndexEstimate",
    "ModelError",
    "PartialEffect",
    "RegionalEffect",
    "Scores",
    "Surface",
    "binnings",
    "effects",
    "estimate",
    "estimators",
    "indices",
    "metrics",
    "partial",
    "presets",
    "regional",
    "regional_estimators",
    "scenarios",
    "score",
]

Array = NDArray[np.float64]


class Estimator(Protocol):
    """A fitted model as scikit-learn has it."""

    def predict(self, X: Any, /) -> Any: ...


Model = Scenario | Estimator | Callable[[Any], ArrayLike]
Jacobian = Callable[[Any], ArrayLike] | ArrayLike | str | None
Fit = Callable[[Any, Any], Estimator | Callable[[Any], ArrayLike]]

BATCH_SIZE = 8192
"""Most rows that a Python model is asked for at once, unless told otherwise."""


class FeatureEffectsWarning(UserWarning):
    """Something that a result leaves out, such as points where there is nothing to compare."""


def _warn(message: str) -> None:
    """Warns of something where the package was called."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_globals.get("__package__") == __package__:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, FeatureEffectsWarning, stacklevel=level)


@overload
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
    fit: Fit | None = None,
    y: ArrayLike | None = None,
    **options: Any,
) -> Effect: ...


@overload
def estimate(
    estimator: str,
    X: ArrayLike,
    model: Model,
    feature: tuple[int | str, int | str],
    *,
    jacobian: Jacobian = None,
    weights: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    kinds: Mapping[int | str, str] | None = None,
    preset: str | None = None,
    output: int | None = None,
    batch_size: int = BATCH_SIZE,
    fit: Fit | None = None,
    y: ArrayLike | None = None,
    **options: Any,
) -> Surface: ...


def estimate(
    estimator: str,
    X: ArrayLike,
    model: Model,
    feature: int | str | tuple[int | str, int | str] = 1,
    *,
    jacobian: Jacobian = None,
    weights: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    kinds: Mapping[int | str, str] | None = None,
    preset: str | None = None,
    output: int | None = None,
    batch_size: int = BATCH_SIZE,
    fit: Fit | None = None,
    y: ArrayLike | None = None,
    **options: Any,
) -> Effect | Surface:
    """The effect of one feature on a model, or of two, by the estimator of a name.

    Parameters
    ----------
    estimator
        pdp, dpdp, ice, dice, mplot, ale, dale, rhale or shapdp; ``estimators()`` tells their options.
    X
        Rows of the features, of shape (n, D). Or a frame of pandas or polars, whose columns are the features:
        numbers, truth values, words and categories. Of words and categories estimators see the position among
        the levels that occur; ``effect.levels`` names them. Their effects are those of pdp, ice, ale, mplot and shapdp,
        at the levels, with the mean over the rows 0 unless ``center`` says otherwise; ale goes along an ``order`` of them.
    model
        A function that is called with rows, of shape (m, D), and returns their predictions, of shape
        (m,) or, for Q outputs, (m, Q). It is called once more with the first two rows of ``X``, for
        the number of its outputs. Where ``X`` is a frame, rows are one of the same kind, with its names and
        types. Or a fitted estimator as scikit-learn has them: a classifier has an output for each class, by its
        ``predict_proba``. Or a booster of XGBoost or LightGBM. Or a ``torch.nn.Module`` of rows, evaluated in double
        precision, whose derivatives come by automatic differentiation unless ``jacobian`` says otherwise. Or a
        scenario, whose function Rust evaluates. A model may write to the rows that it is given, but not to ``X``,
        from which they are taken while it is asked.
    feature
        Counted from 1; or its name, where ``names`` are given; or "x1", "x2", …, where none is called so. Or two of
        them, as ``("x1", "x2")``, for the effect of both: partial dependence (pdp, less those of either feature with
        ``interaction=True``), or second-order ALE (ale). Of these ``grid``, ``bins``, ``limits`` and ``points`` may be
        a tuple of two, one of each feature.
    jacobian
        A function of rows that returns all partial derivatives of the model, of shape (m, D) or, for Q
        outputs, (m, Q, D); of several features it is asked once. Or an array of them at the rows of ``X``, for
        estimators that need no others. It is compared with differences of the model at a few rows, and refused where
        these contradict it. Or where derivatives are to come from: "auto" (the function or the scenario
        where there is one, differences otherwise), "model" or "numeric". Refused where the estimator asks for
        no derivatives.
    weights
        Weights of the rows; a weight of 2 equals a duplicated row, rows of weight 0 count nowhere.
    names
        Names of the features; a frame has its own.
    kinds
        Kinds of features that are not continuous, such as ``{3: "nominal"}``; or ordinal. Regional estimators
        split by them; the others take features for numbers, and refuse nominal ones.
    preset
        Name of a library whose options are taken where none are given here; see ``presets()``.
    output
        Which output of the model, counted from 1; needed where there are several.
    batch_size
        Most rows of a call of ``model``. Calls come from the calling thread, and are the same every
        time.
    fit, y
        For ``band="refit"``, the band of the effect to be expected of a learner: a function of rows and their targets
        that returns a model, as ``model`` is one, fitted to them; and the targets of the rows of ``X``. It is called
        once for each of the ``refits``, with rows as ``model`` gets them, and once more for each of the permutations.
        Its random numbers are its own: fixed ones make the same band every time. ``model`` is its fit to all rows.
    options
        Options of the estimator: numbers, words and arrays, and for ``axis`` "data", "scenario" (for
        a model that is one), a scenario (for a model of its data), (lo, hi) or quantiles such as
        "type-7:0.01,0.99".

    Warns
    -----
    FeatureEffectsWarning
        Where more than a tenth of the bins hold no instances; ``effect.caution`` says it too.

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
    _refuse_features(estimator, options)
    if isinstance(feature, tuple):
        request, table = _request(
            estimator, X, model, list(feature), jacobian, weights, names, kinds, preset, batch_size, {}
        )
        _refit(request, table, fit, y)
        return _of_pair(request, table, options, output)
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
        fit=fit,
        y=y,
        **options,
    )
    return _output(found, output)


def _refit(
    request: dict[str, Any], table: _frames.Table | None, fit: Fit | None, y: ArrayLike | None
) -> None:
    """Puts a learner and its targets to a request: it is fitted to rows of the kind that ``model`` is asked with."""
    if fit is None or not callable(fit):
        request |= {"fit": fit, "target": y}
        return

    def fitted(rows: Array, target: Array) -> Any:
        model = fit(rows, target) if table is None else table.asking(lambda frame: fit(frame, target))(rows)
        model = _function(model)
        if isinstance(model, Scenario) or not callable(model):
            raise FeatureEffectsError(f"fit: must return a model, not {model!r}")
        return model if table is None or isinstance(model, _torch.Network) else table.asking(model)

    request |= {"fit": fitted, "target": y}


def _of_pair(
    request: dict[str, Any], table: _frames.Table | None, options: Mapping[str, Any], output: int | None
) -> Surface:
    """The effect of two features."""
    if len(request["features"]) != 2:
        raise FeatureEffectsError(f"feature = {tuple(request['features'])!r}: an effect is of one feature or of two")
    _refuse_levels(table, request["features"])
    options = dict(options)
    if isinstance(options.get("axis"), Scenario):
        request["axis_of"] = options.pop("axis")
    sides = [{name: _side(name, value, side) for name, value in options.items()} for side in (0, 1)]
    request["options"] = _json(sides[0])
    found = _output(_native.surfaces(request, _json(sides[1])), output)
    if found.caution is not None:
        _warn(f"{found.estimator} of {' and '.join(found.names)}: {found.caution}; take fewer bins")
    return found


def _refuse_levels(table: _frames.Table | None, features: Iterable[Any]) -> None:
    """Pairs of columns are of numbers."""
    if table is None:
        return
    for feature in features:
        place = _place(table.names, feature)
        if 0 <= place < len(table.names) and table.levels(place) is not None:
            raise FeatureEffectsError(
                f"{feature}: has levels, and effects of pairs and indices are of numbers here; give an array of the "
                'positions of the levels, and kinds={feature: "nominal"}'
            )


def _side(name: str, value: Any, side: int) -> Any:
    """An option of one of two features, where it is a tuple of two."""
    single = int | np.integer if name in ("grid", "bins") else (list, tuple, np.ndarray)
    is_two = isinstance(value, tuple) and len(value) == 2 and all(isinstance(of, single) for of in value)
    return value[side] if is_two and name in ("grid", "bins", "limits", "points") else value


class IndexEstimate(NamedTuple):
    """An estimated index; its numbers are NaN where it is refused."""

    name: str
    features: tuple[str, ...]
    """The features that it is of: one, two, or none where it is of the model as a whole."""
    output: int
    """The output of the model, counted from 1."""
    value: float
    standard_error: float
    """NaN where too few rows tell it."""
    lower: float
    upper: float
    """The 95 % interval."""
    rows: int
    """Rows that it is a mean over."""
    refused: str | None
    """Why there is none."""


def indices(
    X: ArrayLike,
    model: Model,
    indices: str | Sequence[str],
    features: Sequence[int | str | tuple[int | str, int | str]] | None = None,
    *,
    outer: int | None = None,
    background: int | None = None,
    bins: int | None = None,
    background_seed: int | None = None,
    weights: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    kinds: Mapping[int | str, str] | None = None,
    batch_size: int = BATCH_SIZE,
) -> list[IndexEstimate]:
    """Indices of features, of pairs of features and of a model as a whole: how much they interact and matter.

    Parameters
    ----------
    indices
        Names such as h2.pair, h2.overall, sobol.total or shapley-effect, or "all"; ``fe-bench list indices`` says
        what each is. What several of them need is asked once.
    features
        Features and pairs, as ``["x1", ("x1", "x2")]``; all that the indices need unless given.
    outer, background
        Rows at which partial dependences are compared, and over which they are averaged: 1000 each unless given.
    bins
        Bins of accumulated effects; 20 unless given.
    background_seed
        Seed of the rows that are drawn where there are more.

    All else is as in :func:`estimate`.

    >>> import feature_effects_bench as fe
    >>> s = fe.scenario("poly3")
    >>> X, y = s.sample(n=300, seed=1)
    >>> (h,) = fe.indices(X, s, "h2.pair", [("x1", "x2")])
    >>> h.lower < s.indices("h2.pair", [("x1", "x2")])[0].value < h.upper
    True
    """
    asked = [indices] if isinstance(indices, str) else _list("indices", indices)
    known = {of["name"]: of["order"] for of in _registered("indices")}
    if "all" in asked:
        asked = list(known)
    options = {"background": background, "bins": bins, "background_seed": background_seed}
    request, table = _request(
        "indices", X, model, None, None, weights, names, kinds, None, batch_size, options
    )
    columns = table.names if table is not None else request["names"]
    if columns is None:
        columns = [f"x{place}" for place in range(1, np.shape(X)[1] + 1)]
    if features is None:
        places = range(1, len(columns) + 1)
        ones: list[Any] = list(places) if any(known.get(name) == 1 for name in asked) else []
        pairs: list[Any] = [(a, b) for a in places for b in places if a < b]
        pairs = pairs if any(known.get(name) == 2 for name in asked) else []
    else:
        ones, pairs = _apart(features)
    _refuse_levels(table, columns)
    request["features"] = ones
    nan = float("nan")
    rows = []
    for name, of, output, numbers, refused in _native.indices(request, asked, pairs, outer):
        value, error, lower, upper, count = numbers or (nan, None, None, None, 0)
        error, lower, upper = (nan if number is None else number for number in (error, lower, upper))
        named = tuple(columns[place - 1] for place in of)
        rows.append(IndexEstimate(name, named, output, value, error, lower, upper, count, refused))
    return rows


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
    fit: Fit | None = None,
    y: ArrayLike | None = None,
    **options: Any,
) -> list[Effect]:
    """The effects of several features (all, unless given) on all outputs of a model.

    One after the other by feature, and for each feature by output. All else is as in
    :func:`estimate`.
    """
    if "feature" in options:
        raise FeatureEffectsError(
            f"feature: `effects` takes several, as features=[{options['feature']!r}]; one is what "
            f"`estimate({estimator!r}, …, feature=…)` is for"
        )
    request, table = _request(
        estimator, X, model, features, jacobian, weights, names, kinds, preset, batch_size, options
    )
    if table is not None:
        _check_levels(table, request)
    _refit(request, table, fit, y)
    found = _native.estimate(request)
    _say_cautions(found)
    return found


def _say_cautions(effects: Iterable[Effect], where: str = "") -> None:
    """What must be known before curves are read."""
    for effect in effects:
        if effect.caution is not None:
            _warn(f"{effect.estimator} of {effect.name}{where}: {effect.caution}; take fewer bins")


def partial(
    estimator: str,
    part: ArrayLike,
    model: Model,
    feature: int | str = 1,
    *,
    first: int,
    jacobian: Jacobian = None,
    weights: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    preset: str | None = None,
    batch_size: int = BATCH_SIZE,
    **options: Any,
) -> PartialEffect:
    """The effect of one feature as far as a part of the rows tells it, for data that lie in several places.

    What it returns can be sent (by pickle), merged with that of other parts in whatever order, and finished to the
    effect of all rows, as in ``functools.reduce(PartialEffect.merge, parts).finish()``.

    ``estimator`` is pdp, dpdp, ale, dale, rhale or mplot, on an ``axis`` that is given as (lo, hi), with bins that the
    axis tells (equally wide ones, or ``limits`` with ``binning="grid"``), or that are chosen in the end from the local
    effects in equal cells (rhale). ``first`` is the number of rows that come before those of the part, of all parts
    together: it says in which order sums are added up, and ``finish`` refuses a gap, ``merge`` a row that is in two
    parts. All else is as in :func:`estimate`.

    Where each part begins at a multiple of 2**20 rows (which is a row group of Parquet as pyarrow writes it), the
    effect is that of ``estimate`` on all rows to the last bit; otherwise, and for mplot where rows have weight 0, it is
    equal to rounding. It has no ``deciles``. Small parts cost memory: sums are kept for each of them, some kilobytes.

    Refused, with the reason: ice, dice and shapdp, quantile bins, bands, subsamples, ``importance``, features with
    levels.

    >>> import numpy as np
    >>> import feature_effects_bench as fe
    >>> X = np.random.default_rng(1).uniform(size=(900, 2))
    >>> def part(rows):
    ...     return fe.partial("ale", X[rows], lambda X: X[:, 0] * X[:, 1], first=rows.start, axis=(0, 1), bins=5)
    >>> both = part(slice(400, 900)).merge(part(slice(0, 400)))
    >>> both
    <ale of x1 in 900 rows>
    >>> whole = fe.ale(X, lambda X: X[:, 0] * X[:, 1], axis=(0, 1), bins=5)
    >>> bool(np.allclose(both.finish().effect, whole.effect, rtol=0, atol=1e-14))
    True
    """
    if not _is_whole(first) or first < 0:
        raise FeatureEffectsError(f"first = {first!r}: must be the number of rows before the part, at least 0")
    if isinstance(feature, tuple):
        raise FeatureEffectsError("feature: a partial effect is of one feature")
    _refuse_features(estimator, options)
    request, table = _request(
        estimator, part, model, [feature], jacobian, weights, names, None, preset, batch_size, options
    )
    if table is not None:
        if table.has_levels(_place(table.names, feature)):
            raise FeatureEffectsError(f"{feature}: the levels of a feature are those of all rows, and this is a part")
    return _native.partial(request, first)


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
    if not isinstance(estimator, str):
        raise FeatureEffectsError(f"estimator: must be a name, not {estimator!r}")
    if not estimator.startswith("regional"):
        estimator = f"regional-{estimator}"
    _refuse_features(estimator, options)
    request, table = _request(
        estimator, X, model, [feature], jacobian, weights, names, kinds, None, batch_size, options
    )
    if table is not None:
        _check_levels(table, request)
    found = _output(_native.regional(request), output)
    leaves = (node["effect"] for node in found.nodes)
    _say_cautions((effect for effect in leaves if effect is not None), " in a region")
    return found


def _refuse_features(estimator: str, options: Mapping[str, Any]) -> None:
    """One effect is of one feature."""
    if "features" not in options:
        return
    several = f"`effects({estimator!r}, …, features=…)`"
    if str(estimator).startswith("regional"):
        several = "a loop over them"
    raise FeatureEffectsError(
        f"features: this is the effect of one, feature={options['features']!r}; several are what {several} is for"
    )


_Found = TypeVar("_Found", Effect, RegionalEffect, Surface)


def _output(found: list[_Found], output: int | None) -> _Found:
    """The effect on one output, of those on all of them."""
    if output is not None and not _is_whole(output):
        raise FeatureEffectsError(f"output = {output!r}: must be a whole number, counted from 1")
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
) -> tuple[dict[str, Any], _frames.Table | None]:
    """What the compiled part takes, and the frame that was given, if it was one."""
    if not isinstance(estimator, str):
        raise FeatureEffectsError(f"estimator: must be a name, not {estimator!r}")
    if not _is_whole(batch_size) or batch_size < 1:
        raise FeatureEffectsError(f"batch_size = {batch_size!r}: must be a whole number, at least 1")
    if kinds is not None and not isinstance(kinds, Mapping):
        raise FeatureEffectsError(f'kinds: must be a dictionary such as {{3: "nominal"}}, not {kinds!r}')
    if isinstance(features, int | str | np.integer):
        features = [features]
    options = dict(options)
    if isinstance(jacobian, str):
        options["jacobian"] = jacobian
        jacobian = None
    table = _frames.Table(X) if _frames.is_frame(X) else None
    model = _function(model)
    if isinstance(model, _torch.Network) and jacobian is None and "jacobian" not in options:
        jacobian = model.jacobian if _takes_jacobian(estimator) else None
    if table is not None:
        if names is not None:
            raise FeatureEffectsError("names: a frame has its own")
        X, names = table.values, table.names
        if isinstance(model, _torch.Network):
            if worded := [name for place, name in enumerate(names) if table.levels(place) is not None]:
                raise FeatureEffectsError(f"model: a module takes numbers, and `{worded[0]}` has levels; give a function")
        elif not isinstance(model, Scenario) and callable(model):
            model = table.asking(model)
        if callable(jacobian) and not isinstance(model, _torch.Network):
            jacobian = table.asking(jacobian)
    elif names is None and isinstance(model, Scenario) and np.shape(X)[1:] == (len(model.feature_names),):
        # Data of another width are the model's to refuse.
        names = model.feature_names
    axis_of = options.pop("axis") if isinstance(options.get("axis"), Scenario) else None
    request = {
        "estimator": estimator,
        "data": X,
        "model": model,
        "features": None if features is None else _list("features", features),
        "jacobian": jacobian,
        "weights": weights,
        "names": None if names is None else [str(name) for name in _list("names", names)],
        # What is said of a column goes before what it looks like.
        "kinds": ([] if table is None else table.kinds()) + [(key, str(kind)) for key, kind in (kinds or {}).items()],
        "preset": None if preset is None else str(preset),
        "axis_of": axis_of,
        "levels": None if table is None else table.level_names(),
        "batch": batch_size,
        "fit": None,
        "target": None,
        "options": _json(options),
    }
    return request, table


def _takes_jacobian(estimator: str) -> bool:
    """Whether an estimator asks for derivatives."""
    known = _registered("estimators") + _registered("regional")
    return any(of["name"] == estimator and "jacobian" in of["options"] for of in known)


def _function(model: Any) -> Any:
    """A model as a function, where it is an estimator as scikit-learn has them, or a module of PyTorch."""
    if _torch.is_module(model):
        return _torch.Network(model)
    # A booster of XGBoost has a `predict` that takes none but its own matrices.
    if hasattr(model, "inplace_predict"):
        return model.inplace_predict
    if isinstance(model, Scenario) or callable(model) or not hasattr(model, "predict"):
        return model
    if hasattr(model, "predict_proba"):
        return model.predict_proba
    if hasattr(model, "classes_"):
        raise FeatureEffectsError(
            f"model: `{type(model).__name__}` tells classes and has no `predict_proba`; the numbers of its classes are no "
            "effect: give a function of it that is, such as its method `decision_function`"
        )
    return model.predict


def _place(names: Sequence[str], feature: Any) -> int:
    """The position of a feature, counted from 0; what is none is left to the compiled part to refuse."""
    if feature in names:
        return list(names).index(feature)
    digits = str(feature).removeprefix("x")
    return int(digits) - 1 if digits.isdecimal() else -1


_BETWEEN = ("axis", "binning", "bins", "distinct", "even_points", "grid", "limits", "nearest", "points")
"""Options that say where between its ends a number is looked at."""


def _check_levels(table: _frames.Table, request: Mapping[str, Any]) -> None:
    """Refuses what is asked about one column with levels and is about what lies between them."""
    asked = range(1, len(table.names) + 1) if request["features"] is None else request["features"]
    numbers = {_place(table.names, feature) for feature, kind in request["kinds"] if kind == "continuous"}
    places = [(feature, _place(table.names, feature)) for feature in asked]
    worded = [(feature, place) for feature, place in places if table.has_levels(place) and place not in numbers]
    given = json.loads(request["options"])
    both = sorted(set(_BETWEEN) & given.keys()) + ["axis"] * (request["axis_of"] is not None)
    both += ["preset"] * (request["preset"] is not None)
    for feature, place in worded:
        if len(levels := table.levels(place) or []) < 2:
            raise FeatureEffectsError(f"feature `{feature}` is constant: all rows have the level {levels[0]}")
        if both:
            raise FeatureEffectsError(f"{', '.join(both)}: `{feature}` has levels, and its effect is estimated at these")


def _is_whole(given: object) -> bool:
    return isinstance(given, int | np.integer) and not isinstance(given, bool)


def _list(what: str, given: Any) -> list[Any]:
    """Several things; a text is a sequence of letters to Python, and is never meant so."""
    if isinstance(given, str) or not hasattr(given, "__iter__"):
        raise FeatureEffectsError(f"{what}: must be a list, not {given!r}")
    return list(given)


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
        Points that were compared, and points that were not: outside the limits of the estimate or, for points
        of a curve from elsewhere, outside the range of the scenario.
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
        known = ((name, value) for name, value in self._values.items() if value == value)
        values = ", ".join(f"{name}={value:.6g}" for name, value in known)
        return f"Scores({values}; {self.compared} points compared, {self.left_out} left out)"


def score(
    curve: Effect | RegionalEffect | Surface | tuple[ArrayLike, ArrayLike],
    scenario: Scenario,
    effect: str | None = None,
    feature: int | str | None = None,
    *,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    compare: str = "Err_c",
    center: str | None = None,
    points: Any = None,
    metrics: Sequence[str] | str | None = None,
) -> Scores:
    """Scores an estimate, or a curve that was computed anywhere, against the exact truth of a scenario.

    An effect is compared on the grid of a study, 100 equidistant points over the range of the scenario: the
    numbers are those of ``fe-bench run`` for the same axis and, where a curve or a band could also be had at
    other places than its knots, for the option ``points=scenario.grid(feature)``, which studies take. A curve from elsewhere is known at its own points alone, and
    compared there; so few of them say little of what lies between. A regional effect is held to the population's
    tree of the same depth, and the curves in its leaves to the truths in the same regions. The effect of two features is
    compared at all pairs of 21 points of each, or of those in ``points=(x, x2)``, and says itself what it estimates.

    Parameters
    ----------
    curve
        An effect, a regional one, one of two features, or points and values there: ``(x, y)``, in any order.
    scenario
        The scenario whose truth it is compared with.
    effect
        What the curve estimates, as in :meth:`Scenario.truth`; a regional effect says it itself.
    feature
        The feature, counted from 1; that of the curve, if it is an effect.
    lower, upper
        Limits of a band at the same points; ``coverage`` and ``width`` are then among the scores. An effect
        has its own, where it was asked for one.
    compare
        Err_c (both curves centred on the points) or Err (as they are: an effect beside the truth that is
        centred as it is).
    center
        How a curve from elsewhere is centred, where it is compared as it is: none, start, integral or data.
    points
        Where an effect is compared instead: an array, or "knots", its own ``x``, which flatters few bins; of two
        features an array of each, as ``(x, x2)``.
    metrics
        Names, or "all"; see :func:`metrics`. Those of bins and of heterogeneity need an effect. Unless they are
        named: distances and, where there is a band, its coverage and width; of a regional effect all that there are.
        ``heterogeneity_value`` stands for the difference of the default heterogeneity value from the true one, its
        square and its sign; ``heterogeneity_value.mean_bins`` for those of another.

    Warns
    -----
    FeatureEffectsWarning
        Where points are left out: of a grid those outside the limits of the estimate, of a curve those outside the
        range of the scenario.

    >>> import feature_effects_bench as fe
    >>> s = fe.scenario("alibi-additive")
    >>> x = s.grid(feature=1)
    >>> round(fe.score((x, 3 * x), s, effect="pd", feature=1)["max"], 9)
    0.0
    """
    if not isinstance(scenario, Scenario):
        raise FeatureEffectsError(f'scenario: must be one, such as fe.scenario("poly3"), not {scenario!r}')
    if isinstance(curve, RegionalEffect):
        given = {"effect": effect, "lower": lower, "upper": upper, "center": center}
        if wrong := [name for name, value in given.items() if value is not None]:
            raise FeatureEffectsError(f"{', '.join(wrong)}: a regional effect says it itself")
        scores = _score_regional(curve, scenario, feature, compare, points, metrics)
    elif isinstance(curve, Surface):
        given = {"effect": effect, "feature": feature, "lower": lower, "upper": upper, "center": center}
        if wrong := [name for name, value in given.items() if value is not None]:
            raise FeatureEffectsError(f"{', '.join(wrong)}: the effect of a pair says it itself")
        at = None if points is None else _two("points", points)
        names = ["mse", "mae", "rmse", "max"] if metrics is None else [str(of) for of in _list("metrics", metrics)]
        if not names:
            raise FeatureEffectsError("metrics: none is named; leave it out")
        scores = Scores(_native.score_surface(curve, scenario, compare, at, names))
    elif effect is None:
        raise FeatureEffectsError('effect: must say what the curve estimates, such as "pd" or "ale"')
    elif isinstance(curve, Effect):
        scores = _score_effect(curve, scenario, effect, feature, lower, upper, compare, center, points, metrics)
    else:
        if points is not None:
            raise FeatureEffectsError("points: a curve from elsewhere is compared at its own points")
        if metrics is not None:
            raise FeatureEffectsError("metrics: those of a curve from elsewhere are all that it has")
        scores = _score_points(curve, scenario, effect, feature, lower, upper, compare, center)
    if scores.left_out:
        is_estimate = isinstance(curve, Effect | RegionalEffect | Surface)
        why = "outside the limits of the estimate" if is_estimate else f"outside the range of {scenario.id}"
        message = f"{scores.left_out} of {scores.left_out + scores.compared} points are left out: they lie {why}"
        _warn(message)
    return scores


def _score_regional(
    estimate: RegionalEffect,
    scenario: Scenario,
    feature: int | str | None,
    compare: str,
    points: ArrayLike | str | None,
    metrics: Sequence[str] | str | None,
) -> Scores:
    """The scores of a tree of regions on a grid."""
    if isinstance(points, str):
        raise FeatureEffectsError(f"points = {points!r}: must be an array")
    if metrics is None or (isinstance(metrics, str) and metrics == "all"):
        metrics = ["leaf_mse", "region_regret", "split_feature", "split_error", "leaves", "heterogeneity_value"]
    names = [str(name) for name in _list("metrics", metrics)]
    if not names:
        raise FeatureEffectsError('metrics: none is named; leave it out, or take "all"')
    feature = estimate.feature if feature is None else feature
    return Scores(_native.score_regional(estimate, scenario, feature, compare, points, names))


def _score_effect(
    estimate: Effect,
    scenario: Scenario,
    effect: str,
    feature: int | str | None,
    lower: ArrayLike | None,
    upper: ArrayLike | None,
    compare: str,
    center: str | None,
    points: ArrayLike | str | None,
    metrics: Sequence[str] | str | None,
) -> Scores:
    """The scores of an effect on a grid."""
    if lower is not None or upper is not None:
        raise FeatureEffectsError("lower, upper: an effect has its own band; give the curve as (x, y) with another")
    if center is not None:
        raise FeatureEffectsError("center: an effect says itself how it is centred; give the curve as (x, y) otherwise")
    if isinstance(points, str) and points != "knots":
        raise FeatureEffectsError(f'points = {points!r}: must be "knots" or an array')
    if isinstance(points, str):
        points = estimate.x
    if metrics is None:
        band = estimate.band or {}
        metrics = ["mse", "mae", "rmse", "max"]
        metrics += ["coverage", "width"] if band else []
        metrics += ["simultaneous_coverage", "simultaneous_width"] if "simultaneous_lower" in band else []
    elif isinstance(metrics, str) and metrics == "all":
        metrics = [known["name"] for known in _registered("metrics")]
    names = [str(name) for name in _list("metrics", metrics)]
    if not names:
        raise FeatureEffectsError('metrics: none is named; leave it out, or take "all"')
    feature = estimate.feature if feature is None else feature
    return Scores(_native.score_effect(estimate, scenario, effect, feature, compare, points, names))


def _score_points(
    curve: tuple[ArrayLike, ArrayLike],
    scenario: Scenario,
    effect: str,
    feature: int | str | None,
    lower: ArrayLike | None,
    upper: ArrayLike | None,
    compare: str,
    center: str | None,
) -> Scores:
    """The scores of a curve from elsewhere at its points."""
    if not isinstance(curve, tuple | list) or len(curve) != 2:
        raise FeatureEffectsError("curve: must be an effect, or its points and its values there, as (x, y)")
    if feature is None:
        raise FeatureEffectsError("feature: say which feature the curve is of")
    if (lower is None) != (upper is None):
        raise FeatureEffectsError("lower, upper: a band needs both")
    band = None if lower is None or upper is None else (lower, upper)
    x, y = curve
    return Scores(_native.score(x, y, band, scenario, effect, feature, compare, center))


def scenarios() -> list[dict[str, Any]]:
    """All scenarios: name, version, about, formula, law and parameters."""
    return _registered("scenarios")


def estimators() -> list[dict[str, Any]]:
    """All estimators: name, about and options."""
    return _registered("estimators")


def options() -> list[dict[str, Any]]:
    """All options of estimators: name, default, allowed, about and type."""
    return _registered("options")


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
