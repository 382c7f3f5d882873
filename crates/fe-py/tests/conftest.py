"""What the tests share: the program, whose answers are the same as those of the bindings."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]


def _program() -> Path | None:
    """The program fe-bench, if it was built."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    candidates = [target / "release" / "fe-bench", target / "debug" / "fe-bench"]
    if "FE_BENCH" in os.environ:
        candidates = [Path(os.environ["FE_BENCH"])]
    return next((path for path in candidates if path.is_file()), None)


@pytest.fixture(scope="session")
def program() -> Path:
    """The program fe-bench."""
    found = _program()
    if found is None:
        pytest.skip("fe-bench is not built: cargo build --release -p fe-bench")
    return found


@pytest.fixture(scope="session")
def fe_bench(program: Path) -> Callable[..., Any]:
    """Calls the program and reads its JSON."""

    def answer(*arguments: object) -> Any:
        command = [str(program), *map(str, arguments), "--format", "json"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return answer
