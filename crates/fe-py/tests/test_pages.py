"""The pages of the documentation: their code runs, and prints what they say."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[3] / "docs"
PAGES = sorted([*(DOCS / "python").glob("*.md"), DOCS / "ci.md"])


def said_by(code: str) -> list[str]:
    """What the lines print: their comments, up to a colon and a space."""
    comments = re.findall(r"^ *print\(.*\)\s+# (.*)$", code, flags=re.MULTILINE)
    return [re.split(r": (?=[a-z])", comment)[0].rstrip() for comment in comments]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_code_prints_what_the_page_says(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for module in ("pandas", "sklearn"):
        if (module in text or "fe.benchmark" in text) and importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    for code in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=DOCS.parent, check=False)
        assert done.returncode == 0, code + done.stderr
        assert done.stdout.splitlines() == said_by(code), code


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for link in re.findall(r"\]\((?!http)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / link).exists(), f"{page.name}: {link}"
