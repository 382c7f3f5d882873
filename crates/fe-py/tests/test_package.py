"""The package itself: types, signatures, documentation and examples."""

from __future__ import annotations

import doctest
import importlib.util
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import feature_effects_bench as fe

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def run(*arguments: str) -> str:
    """Runs Python in the folder of the package."""
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_types_are_right() -> None:
    pytest.importorskip("mypy")
    run("-m", "mypy", "--strict", "python", "examples")


def test_stubs_say_what_is_there() -> None:
    pytest.importorskip("mypy")
    options = ["--mypy-config-file=pyproject.toml", "--allowlist=stubtest-allowlist.txt"]
    run("-m", "mypy.stubtest", "feature_effects_bench", *options)


def test_signatures_of_estimators_are_up_to_date() -> None:
    run("stubs.py", "--check")


@pytest.mark.parametrize("name", fe.__all__)
def test_everything_is_documented(name: str) -> None:
    thing = getattr(fe, name)
    assert inspect.getdoc(thing)
    if inspect.isclass(thing) and not issubclass(thing, Exception | tuple):
        for member, value in vars(thing).items():
            if not member.startswith("_"):
                assert inspect.getdoc(value), f"{name}.{member}"


def test_functions_of_estimators_say_their_options() -> None:
    assert "discount" in inspect.signature(fe.rhale).parameters
    assert "discount" not in inspect.signature(fe.pdp).parameters
    assert "discount" in (fe.rhale.__doc__ or "")
    assert fe.regional_ale.__name__ == "regional_ale"


@pytest.mark.parametrize("module", ["_api", "_benchmark", "_program", "_scenario"])
def test_examples_of_the_documentation(module: str) -> None:
    found = getattr(fe, module)
    assert doctest.testmod(found, optionflags=doctest.ELLIPSIS).failed == 0


@pytest.mark.parametrize("folder", [ROOT.parents[1], ROOT], ids=["workspace", "package"])
def test_the_examples_of_the_readme_print_what_they_say(folder: Path) -> None:
    text = (folder / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    # What a line prints is in its comment, up to a colon.
    said = re.findall(r"^print\(.*\)  +# ([^:\n]*)", code, flags=re.MULTILINE)
    assert len(said) == code.count("print(") > 0
    assert run("-W", "error", "-c", code).splitlines() == said


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run(example: Path) -> None:
    needed = {
        "frames": ["pandas", "matplotlib", "sklearn"],
        "keras_network": ["keras", "jax"],
        "partial": ["polars", "distributed"],
        "pytorch": ["torch"],
        "scikit_learn": ["sklearn"],
    }
    for module in needed.get(example.stem, []):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    assert run(str(example))
