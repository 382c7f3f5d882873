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
from typing import Any

from numpy.typing import ArrayLike

from ._api import Effect, Jacobian, Model, RegionalEffect
from ._scenario import Scenario

__all__ = [
{names}
]
'''

FUNCTION = '''
def {name}(
    X: ArrayLike,
    model: Model,
    feature: int | str = 1,
    *,
    jacobian: Jacobian = None,
    weights: ArrayLike | None = None,
    names: Sequence[str] | None = None,
    kinds: Mapping[int | str, str] | None = None,
{preset}    output: int | None = None,
    batch_size: int = 16384,
{options}
) -> {result}: ...
'''

# What an option is.
TYPES = {info["name"]: info["type"] for info in fe.options()}


def function(info: dict, result: str) -> str:
    """The signature of the function of one estimator."""
    names = [name for name in info["options"] if name != "jacobian"]
    options = [f"    {name}: {TYPES[name]} | None = None," for name in sorted(set(names))]
    return FUNCTION.format(
        name=info["name"].replace("-", "_"),
        preset="    preset: str | None = None,\n" if result == "Effect" else "",
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
