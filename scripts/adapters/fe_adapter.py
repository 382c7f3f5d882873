"""What adapters in Python share: the protocol of docs/protocol.md, and functions given as trees.

An adapter hands `serve` a function for each effect. It gets a `Task` and returns an `Effect`; `serve`
times it, counts the rows that it asks the model for, and turns exceptions into replies.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

import numpy as np

PROTOCOL = 1


class Unsupported(Exception):
    """What is asked for is not what the engine does."""


@dataclass
class Effect:
    """A curve at increasing points; linear between them. NaN where heterogeneity or band are missing.

    `level` is the confidence level of the band, of an effect as of surfaces and indices.
    """

    x: np.ndarray
    effect: np.ndarray
    heterogeneity: np.ndarray | None = None
    lower: np.ndarray | None = None
    upper: np.ndarray | None = None
    level: float | None = None
    record: dict = field(default_factory=dict)
    # Of a regional effect its tree, as docs/protocol.md has it.
    tree: dict | None = None


@dataclass
class Surface:
    """The effect of two features at increasing points of either, x's outside: (len(x), len(x2)); bilinear between them."""

    x: np.ndarray
    x2: np.ndarray
    effect: np.ndarray
    lower: np.ndarray | None = None
    upper: np.ndarray | None = None
    level: float | None = None
    record: dict = field(default_factory=dict)
    tree = None


@dataclass
class Indices:
    """The indices that a task asks for, in its order, NaN for one that is not told, with intervals where there are any."""

    indices: np.ndarray
    lower: np.ndarray | None = None
    upper: np.ndarray | None = None
    level: float | None = None
    record: dict = field(default_factory=dict)
    tree = None


class Model:
    """A function on rows, (n, D) to (n,), with its Jacobian, (n, D) to (n, D); watched."""

    def __init__(self, value, partials):
        self._value = compiled(value)
        self._partials = [compiled(tree) for tree in partials]
        self.forget()

    def forget(self):
        """Starts counting anew."""
        self.rows, self.seconds, self.derived = 0, 0.0, False

    def _watched(self, work, X):
        X = np.asarray(X, dtype=float)
        started = time.perf_counter()
        answer = work(X)
        self.seconds += time.perf_counter() - started
        self.rows += len(X)
        return answer

    def __call__(self, X):
        return self._watched(lambda X: np.array(np.broadcast_to(self._value(X), len(X))), X)

    def jacobian(self, X):
        """All partial derivatives, (n, D)."""
        self.derived = True

        def all_of(X):
            answer = np.empty(X.shape)
            for column, partial in enumerate(self._partials):
                answer[:, column] = partial(X)
            return answer

        return self._watched(all_of, X)


def compiled(tree) -> Callable:
    """A tree as a function of rows."""
    return eval("lambda X: " + _source(tree), {"np": np})


_BINARY = {"subtract": "({} - {})", "divide": "({} / {})"}
_BINARY |= {"less": "(({}) < ({})).astype(float)", "less_equal": "(({}) <= ({})).astype(float)"}
_BINARY |= {"equal": "(({}) == ({})).astype(float)", "atan2": "np.arctan2({}, {})"}
_BINARY |= {"min": "np.minimum({}, {})", "max": "np.maximum({}, {})"}
_UNARY = {name: name for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "sqrt", "log10")}
_UNARY |= {name: name for name in ("abs", "sign", "floor")}
_UNARY |= {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "ln": "log"}


def _source(tree) -> str:
    if isinstance(tree, (int, float)):
        return f"np.float64({float(tree)!r})"
    if isinstance(tree, str):
        return f"X[:, {int(tree[1:]) - 1}]"
    name, *parts = tree
    parts = [_source(part) for part in parts]
    if name in ("add", "multiply"):
        return "(" + (" + " if name == "add" else " * ").join(parts) + ")"
    if name in _UNARY:
        return f"np.{_UNARY[name]}({parts[0]})"
    if name == "power":
        power = repr(float(tree[2])) if isinstance(tree[2], (int, float)) else parts[1]
        return f"({parts[0]} ** {power})"
    if name == "if":
        # Either side may be undefined where it is not asked.
        return f"np.where({parts[0]} != 0, {parts[1]}, {parts[2]})"
    if name in _BINARY:
        return _BINARY[name].format(*parts)
    raise Unsupported(f"the model has an operation `{name}`")


class Options:
    """The options of a request; those that nobody takes are refused."""

    def __init__(self, given: dict):
        self._left = dict(given)

    def take(self, name: str, default=None):
        """The value of an option."""
        return self._left.pop(name, default)

    def refuse_rest(self):
        """To be called once all options are taken."""
        if self._left:
            raise Unsupported(f"no option `{next(iter(self._left))}`")


@dataclass
class Task:
    """What is asked for: an effect of a feature (counted from 0) of a model on rows X, (N, D).

    Of a pair of features the second one has `feature2`, `grid2` and `axis2`; of indices there is no feature, and `indices`
    has each name with its features.
    """

    X: np.ndarray
    model: Model
    feature: int | None
    grid: np.ndarray
    axis: tuple[float, float] | None
    options: Options
    feature2: int | None = None
    grid2: np.ndarray | None = None
    axis2: tuple[float, float] | None = None
    indices: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)

    @property
    def column(self) -> np.ndarray:
        """The feature."""
        return self.X[:, self.feature]

    @property
    def points(self) -> np.ndarray:
        """The points of the grid within the range of the data."""
        return self.grid[(self.grid >= self.column.min()) & (self.grid <= self.column.max())]


def numbers(path, count) -> np.ndarray:
    """A raw file of numbers."""
    values = np.fromfile(path, dtype="<f8")
    if len(values) != count:
        raise ValueError(f"{count} numbers were announced, and there are {len(values)}")
    return values


def task_of(request: dict, model: Model) -> Task:
    """The task of a request."""
    rows, features = request["rows"], request["features"]
    columns = numbers(request["data"], rows * features).reshape(features, rows)
    place = lambda name: int(name[1:]) - 1
    interval = lambda key: tuple(request[key]) if request.get(key) else None
    second = request.get("feature2")
    return Task(
        X=np.ascontiguousarray(columns.T),
        model=model,
        feature=place(request["feature"]) if request["feature"] else None,
        grid=numbers(request["grid"], request["points"]),
        axis=interval("axis"),
        options=Options(request["options"]),
        feature2=place(second) if second else None,
        grid2=numbers(request["grid2"], request["points2"]) if second else None,
        axis2=interval("axis2"),
        indices=[(of["index"], tuple(map(place, of["features"]))) for of in request.get("indices", [])],
    )


_WARM = set()
_FEW_ROWS = 64


def warm_up(work: Callable, request: dict, model: Model):
    """Makes an effect of a few rows once for each process: packages import and compile parts then."""
    if work in _WARM:
        return
    _WARM.add(work)
    task = task_of(request, model)
    task.X = task.X[:_FEW_ROWS]
    # Few rows may be too few; what is wrong with all of them shows when they are asked for.
    with suppress(Exception):
        work(task)


def answer(request: dict, effects: dict, pairs: dict) -> dict:
    """The reply to a request."""
    work = (pairs if "feature2" in request else effects).get(request["effect"])
    if work is None:
        raise Unsupported(f"no effect `{request['effect']}`")
    model = Model(request["model"], request["partials"])
    warm_up(work, request, model)
    samples, model_samples, begun = [], [], time.perf_counter()
    while True:
        # Tasks are made anew, so that nothing that an effect keeps in one spares it work.
        task = task_of(request, model)
        model.forget()
        started = time.perf_counter()
        effect = work(task)
        samples.append(time.perf_counter() - started)
        model_samples.append(model.seconds)
        elapsed = time.perf_counter() - begun
        if len(samples) >= request["repetitions"] or elapsed >= request["seconds"]:
            break
    rows, derived = model.rows, model.derived
    probe = np.array(request["probe"])
    reply = {
        "status": "ok",
        "samples": samples,
        "model_samples": model_samples,
        "model_rows": rows,
        "probe": model(probe).tolist(),
        "record": effect.record,
    }
    if effect.level is not None and effect.lower is not None:
        reply["level"] = effect.level
    if effect.tree is not None:
        reply["tree"] = effect.tree
    if derived and task.feature is not None:
        reply["probe_partial"] = model.jacobian(probe)[:, task.feature].tolist()
    for name in ("x", "x2", "effect", "heterogeneity", "lower", "upper", "indices"):
        values = getattr(effect, name, None)
        if values is not None:
            np.asarray(values, dtype="<f8").tofile(Path(request["folder"], name + ".f64"))
            reply[name] = name + ".f64"
    return reply


def serve(effects: dict, pairs: dict | None = None):
    """Answers requests until there are no more.

    `effects` are functions by the names of the effects, that of indices being `indices`, and `pairs` those of the effects of
    two features.
    """
    # What a package prints must not come between replies.
    output = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if request["protocol"] != PROTOCOL:
                raise Unsupported(f"version {request['protocol']} of the protocol")
            reply = answer(request, effects, pairs or {})
        except Unsupported as reason:
            reply = {"status": "unsupported", "message": str(reason)}
        except Exception as reason:
            traceback.print_exc()
            reply = {"status": "error", "message": f"{type(reason).__name__}: {reason}"}
        print(json.dumps({"protocol": PROTOCOL, "id": request["id"], **reply}), file=output, flush=True)
