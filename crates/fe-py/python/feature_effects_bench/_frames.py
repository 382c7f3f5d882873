"""Tables with names: frames of pandas and polars, as numbers for estimators and as frames for models.

Columns of numbers and truth values are numbers. Columns of words and categories have levels, of which estimators see
the positions: categories in their own order, words in that of the alphabet. A model gets a frame of the kind that was
given, with its names and, where the values allow it, its types: a column of whole numbers that an estimator asks about
between them holds floating point numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ._native import FeatureEffectsError

Array = NDArray[np.float64]


def is_frame(X: object) -> bool:
    """Whether something is a frame of pandas or polars, neither of which needs to be there."""
    return any(kind.__module__.split(".")[0] in _LIBRARIES and kind.__name__ == "DataFrame" for kind in type(X).__mro__)


class _Column(Protocol):
    """A column as numbers, and numbers as such a column."""

    numbers: Array
    levels: list[Any] | None
    ordered: bool

    def back(self, numbers: Array) -> Any: ...


class Table:
    """A frame, column by column."""

    def __init__(self, frame: Any) -> None:
        library = next(
            kind.__module__.split(".")[0]
            for kind in type(frame).__mro__
            if kind.__module__.split(".")[0] in _LIBRARIES
        )
        self.names = [str(name) for name in frame.columns]
        self._labels = list(frame.columns)
        self._library = _LIBRARIES[library]
        if twice := {name for name in self.names if self.names.count(name) > 1}:
            raise FeatureEffectsError(f"X: two columns are called {min(twice)}")
        self.columns = [self._library.column(name, frame[name]) for name in self._labels]
        if not self.columns:
            raise FeatureEffectsError("X: the frame has no columns")
        self.values = np.column_stack([column.numbers for column in self.columns])

    def levels(self, feature: int) -> list[Any] | None:
        """The levels of a column, counted from 0, if it has any."""
        levels: list[Any] | None = self.columns[feature].levels
        return levels

    def has_levels(self, feature: int) -> bool:
        """Whether a column, counted from 0, is there and has levels."""
        return 0 <= feature < len(self.columns) and self.columns[feature].levels is not None

    def level_names(self) -> list[tuple[int, list[str]]]:
        """Names of the levels of the columns that have some, features counted from 1."""
        columns = enumerate(self.columns, start=1)
        return [(number, [str(level) for level in column.levels]) for number, column in columns if column.levels is not None]

    def kinds(self) -> list[tuple[Any, str]]:
        """Those of the columns that have levels, features counted from 1."""
        kind = {True: "ordinal", False: "nominal"}
        columns = enumerate(self.columns, start=1)
        return [(number, kind[column.ordered]) for number, column in columns if column.levels is not None]

    def asking(self, function: Callable[[Any], Any]) -> Callable[[Array], Any]:
        """A function of a frame as one of an array."""

        def ask(rows: Array) -> Any:
            series = [column.back(numbers) for column, numbers in zip(self.columns, rows.T, strict=True)]
            return function(self._library.frame(self._labels, series))

        return ask


def _at_levels(name: object, levels: Sequence[Any], numbers: Array) -> NDArray[np.intp]:
    """Positions among levels, of numbers that must be such."""
    whole = np.rint(numbers)
    wrong = (whole != numbers) | (whole < 0) | (whole >= len(levels))
    if wrong.any():
        raise FeatureEffectsError(
            f"`{name}` has {len(levels)} levels, and the model would be asked about it at {numbers[wrong][0]:.6g}, "
            "between them; take pdp, ice, ale, mplot or shapdp, without bins or points of your own"
        )
    return whole.astype(np.intp)


def _finite_levels(name: object, levels: Sequence[Any], codes: Any) -> Array:
    """Positions among levels as numbers; what is missing is NaN, which estimators refuse by row and column."""
    codes = np.asarray(codes, dtype=np.float64)
    if len(levels) == 0:
        raise FeatureEffectsError(f"X: the column `{name}` holds nothing")
    return np.where(codes < 0, np.nan, codes)


def _is_whole(numbers: Array) -> bool:
    return bool((np.rint(numbers) == numbers).all())


class _OfPandas:
    """A column of pandas."""

    def __init__(self, name: object, series: Any) -> None:
        import pandas as pd

        self._name, self._dtype = name, series.dtype
        self.levels: list[Any] | None = None
        self.ordered = False
        types = pd.api.types
        if isinstance(series.dtype, pd.CategoricalDtype):
            present = series.cat.remove_unused_categories()
            self.levels = list(present.cat.categories)
            self.ordered = bool(series.dtype.ordered)
            self.numbers = _finite_levels(name, self.levels, present.cat.codes)
        elif types.is_bool_dtype(series.dtype) or (
            types.is_numeric_dtype(series.dtype) and not types.is_complex_dtype(series.dtype)
        ):
            self.numbers = series.to_numpy(dtype=np.float64, na_value=np.nan)
        elif all(isinstance(value, str) for value in series.dropna()):
            codes, levels = pd.factorize(series, sort=True)
            self.levels = list(levels)
            self.numbers = _finite_levels(name, self.levels, codes)
        else:
            raise FeatureEffectsError(
                f"X: the column `{name}` is of type {series.dtype}: must be numbers, truth values, words or categories"
            )

    def back(self, numbers: Array) -> Any:
        import pandas as pd

        if self.levels is not None:
            places = _at_levels(self._name, self.levels, numbers)
            return pd.Series(np.array(self.levels, dtype=object)[places], dtype=self._dtype)
        types = pd.api.types
        if types.is_bool_dtype(self._dtype):
            fits = bool(np.isin(numbers, (0.0, 1.0)).all())
        else:
            fits = types.is_float_dtype(self._dtype) or _is_whole(numbers)
        return pd.Series(numbers.copy(), dtype=self._dtype if fits else np.float64)


class _Pandas:
    """How frames of pandas are taken apart and put together."""

    column = _OfPandas

    @staticmethod
    def frame(names: list[Any], series: list[Any]) -> Any:
        import pandas as pd

        frame = pd.concat(series, axis=1)
        frame.columns = pd.Index(names)
        return frame


class _OfPolars:
    """A column of polars."""

    def __init__(self, name: str, series: Any) -> None:
        import polars as pl

        self._name, self._dtype = name, series.dtype
        self.levels: list[Any] | None = None
        self.ordered = isinstance(series.dtype, pl.Enum)
        if series.dtype.is_numeric() or series.dtype == pl.Boolean:
            self.numbers = series.cast(pl.Float64).fill_null(float("nan")).to_numpy()
        elif series.dtype in (pl.String, pl.Categorical) or self.ordered:
            present = series.drop_nulls().cast(pl.String).unique().to_list()
            order = list(series.dtype.categories) if self.ordered else sorted(present)
            self.levels = [level for level in order if level in set(present)]
            places = {level: place for place, level in enumerate(self.levels)}
            codes = [places.get(value, -1) for value in series.cast(pl.String).to_list()]
            self.numbers = _finite_levels(name, self.levels, codes)
        else:
            raise FeatureEffectsError(
                f"X: the column `{name}` is of type {series.dtype}: must be numbers, truth values, words or categories"
            )

    def back(self, numbers: Array) -> Any:
        import polars as pl

        if self.levels is not None:
            places = _at_levels(self._name, self.levels, numbers)
            return pl.Series(self._name, [self.levels[place] for place in places]).cast(self._dtype)
        if self._dtype == pl.Boolean:
            fits = bool(np.isin(numbers, (0.0, 1.0)).all())
        else:
            fits = self._dtype.is_float() or _is_whole(numbers)
        series = pl.Series(self._name, numbers.copy())
        return series.cast(self._dtype) if fits else series


class _Polars:
    """How frames of polars are taken apart and put together."""

    column = _OfPolars

    @staticmethod
    def frame(names: list[Any], series: list[Any]) -> Any:
        import polars as pl

        return pl.DataFrame(series)


_LIBRARIES: dict[str, Any] = {"pandas": _Pandas, "polars": _Polars}
