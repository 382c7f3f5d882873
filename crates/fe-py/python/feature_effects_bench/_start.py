"""The program ``fe-bench`` in a process of its own, without the package: NumPy and all else would take longer than it."""

import importlib.machinery
import importlib.util
import os
import sys

STARTER = [sys.executable, "-S", os.path.abspath(__file__)]
"""The words that start it."""


def main() -> int:
    """Runs the program on the arguments of this process, and returns its exit status."""
    here = os.path.dirname(os.path.abspath(__file__))
    endings = tuple(importlib.machinery.EXTENSION_SUFFIXES)
    names = [name for name in os.listdir(here) if name.startswith("_native.") and name.endswith(endings)]
    spec = importlib.util.spec_from_file_location("_native", os.path.join(here, names[0]))
    assert spec is not None and spec.loader is not None
    native = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(native)
    status: int = native.program(["fe-bench", *sys.argv[1:]], STARTER)
    return status


if __name__ == "__main__":
    sys.exit(main())
