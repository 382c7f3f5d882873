"""A function for each estimator: ``rhale(X, model, feature=1)`` is ``estimate("rhale", …)``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from . import _api

__all__: list[str] = []

# What is known of each option, by its name.
_OPTIONS = {option["name"]: option for option in _api.options()}


# The options that the effect of two features has beside.
_OF_PAIRS = {info["name"]: info["options"] for info in _api._registered("pairs")}


def _function(info: dict[str, Any], of: Callable[..., Any]) -> Callable[..., Any]:
    """The general function with the name of an estimator filled in."""
    name = info["name"]

    def function(*args: Any, **kwargs: Any) -> Any:
        return of(name, *args, **kwargs)

    function.__signature__ = _signature(info, of)  # type: ignore[attr-defined]
    function.__name__ = function.__qualname__ = name.replace("-", "_")
    function.__module__ = "feature_effects_bench"
    function.__doc__ = (
        f"{info['about'][0].upper()}{info['about'][1:]}.\n\n"
        f"Options:\n\n{_described(info['options'])}\n\nAll else is as in :func:`{of.__name__}`.\n"
    )
    return function


def _described(names: list[str]) -> str:
    """A line for each of some options."""
    lines = []
    for name in names:
        option = _OPTIONS[name]
        said = all(word in option["about"] for word in option["allowed"].split(", "))
        words = "" if said or option["type"] != "str" else f": {option['allowed']}"
        default = f" (default {option['default']})" if option["default"] else ""
        lines.append(f"{name}: {option['about']}{words}{default}.")
    return "\n".join(lines)


def _signature(info: dict[str, Any], of: Callable[..., Any]) -> inspect.Signature:
    """That of the general function, with the options of an estimator."""
    signature = inspect.signature(of)
    general = [p for p in signature.parameters.values() if p.name not in ("estimator", "options")]
    taken = {p.name for p in general}
    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None)
        for name in sorted(set(info["options"]) - taken)
    ]
    return signature.replace(parameters=general + options)


def _with_pairs(info: dict[str, Any]) -> dict[str, Any]:
    """An estimator with the options of pairs among its own."""
    own = info["options"]
    return info | {"options": own + [name for name in _OF_PAIRS.get(info["name"], []) if name not in own]}


for _infos, _of in (
    ([_with_pairs(_known) for _known in _api.estimators()], _api.estimate),
    (_api.regional_estimators(), _api.regional),
):
    for _info in _infos:
        _made = _function(_info, _of)
        globals()[_made.__name__] = _made
        __all__.append(_made.__name__)
