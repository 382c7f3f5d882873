"""Writes the signatures of the functions that estimators have, from what the library says of them.

    python crates/fe-py/stubs.py            # after an estimator or an option has been added

With --check it changes nothing and fails if they are not up to date.
"""

import sys
from pathlib import Path

import feature_effects_bench as fe

HERE = Path(__file__).resolve().parent / "python" / "feature_effects_bench" / "_estimators.pyi"

HEAD = '''"""The functions that estimators have; written by stubs.py."""

from collections.abc import Mapping, Sequence
from typing import Any, overload

from numpy.typing import ArrayLike

from ._api import Effect, Fit, Jacobian, Model, RegionalEffect, Surface
from ._scenario import Scenario

__all__ = [
{names}
]
'''

FUNCTION = '''{overload}
def {name}(
    X: ArrayLike,
    model: Model,
    feature: {feature},
    *,
    jacobian: Jacobian = None,
    weights: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    kinds: Mapping[int | str, str] | None = None,
{preset}    output: int | None = None,
    batch_size: int = 8192,
{fit}{options}
) -> {result}: ...
'''

# What estimators of effects take beside, for bands from refits.
FIT = "    fit: Fit | None = None,\n    y: ArrayLike | None = None,\n"

# What an option is.
TYPES = {info["name"]: info["type"] for info in fe.options()}


# Options that may be two, one of each feature.
OF_SIDES = ("bins", "grid", "limits", "points")

# The estimators of effects of two features.
PAIRS = {info["name"]: info["options"] for info in fe._api._registered("pairs")}


def type_of(name: str, result: str) -> str:
    """The type of an option."""
    kind = TYPES[name]
    return f"{kind} | tuple[{kind}, {kind}]" if result == "Surface" and name in OF_SIDES else kind


def function(info: dict, result: str) -> str:
    """The signature of the function of one estimator: of one feature and, where it has one, of two."""
    if result == "Effect" and info["name"] in PAIRS:
        of_two = {"name": info["name"], "options": PAIRS[info["name"]]}
        return signature(info, result, "\n@overload") + signature(of_two, "Surface", "\n@overload")
    return signature(info, result, "")


def signature(info: dict, result: str, overload: str) -> str:
    """One signature."""
    names = [name for name in info["options"] if name != "jacobian"]
    options = [f"    {name}: {type_of(name, result)} | None = None," for name in sorted(set(names))]
    return FUNCTION.format(
        name=info["name"].replace("-", "_"),
        overload=overload,
        feature="tuple[int | str, int | str]" if result == "Surface" else "int | str = 1",
        preset="    preset: str | None = None,\n" if result == "Effect" else "",
        fit="" if result == "RegionalEffect" else FIT,
        options="\n".join(options),
        result=result,
    )


def text() -> str:
    """All of the file."""
    found = [(info, "Effect") for info in fe.estimators()]
    found += [(info, "RegionalEffect") for info in fe.regional_estimators()]
    names = [info["name"].replace("-", "_") for info, _ in found]
    head = HEAD.format(names="\n".join(f'    "{name}",' for name in names))
    return head + "".join(function(info, result) for info, result in found)


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        if HERE.read_text() != text():
            sys.exit(f"{HERE.name} is not up to date: run `python crates/fe-py/stubs.py`")
    else:
        HERE.write_text(text())
