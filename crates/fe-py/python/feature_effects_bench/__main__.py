"""The program ``fe-bench``: ``python -m feature_effects_bench --help``."""

from __future__ import annotations

import sys

from . import _native


def main() -> int:
    """Runs the program on the arguments of this process, and returns its exit status."""
    return _native.program(["fe-bench", *sys.argv[1:]], [sys.executable, "-m", "feature_effects_bench"])


if __name__ == "__main__":
    sys.exit(main())
