#!/usr/bin/env python3
"""Writes the licences of all that the Python package is compiled from into crates/fe-py/THIRD-PARTY.txt.

With --check it only says whether the file is current. Texts are those in the packages, each once.
"""

import json
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WRITTEN = ROOT / "crates" / "fe-py" / "THIRD-PARTY.txt"
TARGETS = ["x86_64-unknown-linux-gnu", "x86_64-pc-windows-msvc", "aarch64-apple-darwin"]
NAMES = re.compile(r"(?i)^(licen[cs]e|copying|unlicense|notice)")


def packages() -> list[dict]:
    """What the package depends on, on any of the platforms it is built for, but for what only builds or tests."""
    found = {}
    for target in TARGETS:
        command = ["cargo", "tree", "--locked", "--package", "fe-py", "--edges", "normal", "--target", target]
        lines = subprocess.run(
            [*command, "--prefix", "none", "--format", "{p}"], cwd=ROOT, check=True, capture_output=True, text=True
        ).stdout
        found |= {tuple(line.split()[:2]): None for line in lines.splitlines() if line}
    command = ["cargo", "metadata", "--locked", "--format-version", "1"]
    metadata = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)
    known = {(package["name"], f"v{package['version']}"): package for package in metadata["packages"]}
    others = [known[key] for key in found if known[key]["source"] is not None]
    return sorted(others, key=lambda package: (package["name"], package["version"]))


def text() -> str:
    """The whole file."""
    by_text = defaultdict(list)
    lines = ["What the compiled part of this package is made of, and under which licences.", ""]
    for package in packages():
        name = f"{package['name']} {package['version']}"
        lines.append(f"{name}: {package['license'] or 'see its licence below'}")
        folder = Path(package["manifest_path"]).parent
        for path in sorted(folder.iterdir()):
            if path.is_file() and NAMES.match(path.name):
                by_text[path.read_text(encoding="utf-8", errors="replace").strip()].append(name)
    for words, names in sorted(by_text.items(), key=lambda entry: entry[1][0]):
        lines += ["", "=" * 100, ", ".join(sorted(set(names))), "=" * 100, "", words]
    return "\n".join(line.rstrip() for line in "\n".join(lines).splitlines()) + "\n"


if __name__ == "__main__":
    now = text()
    if sys.argv[1:] == ["--check"]:
        if not WRITTEN.is_file() or WRITTEN.read_text(encoding="utf-8") != now:
            sys.exit(f"{WRITTEN.relative_to(ROOT)} is not current: run scripts/third-party.py")
    else:
        WRITTEN.write_text(now, encoding="utf-8")
