"""The script that compares times: its clocks."""

from __future__ import annotations

import importlib.util
import time
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

SCRIPT = Path(__file__).resolve().parents[3] / "scripts" / "peers" / "compare.py"


@pytest.fixture
def compare() -> ModuleType:
    spec = importlib.util.spec_from_file_location("compare", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("tick", "takes"), [(16e-6, 1e-6), (16e-6, 40e-6), (4e-3, 1e-6), (1e-9, 2.0)])
def test_a_clock_may_stand_still(
    compare: ModuleType, monkeypatch: pytest.MonkeyPatch, tick: float, takes: float
) -> None:
    now = 0.0

    def work(x: np.ndarray) -> str:
        nonlocal now
        now += takes
        return "done"

    monkeypatch.setattr(time, "perf_counter", lambda: now)
    monkeypatch.setattr(time, "process_time", lambda: now // tick * tick)
    seconds, wall, found = compare.timed(work, np.zeros(1))
    assert wall == pytest.approx(takes)
    assert seconds == pytest.approx(takes, rel=0.5)
    assert found == "done"


def test_times_are_shown_with_their_range(compare: ModuleType) -> None:
    assert compare.shown([0.003, 0.001, 0.0015]) == "1.5 (1 to 3)"
