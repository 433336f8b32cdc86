"""The examples of the page on large data, which the tests of each engine run."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "engines.md"


def example(engine: str) -> str:
    """Return the blocks of Python of the section that imports an engine."""
    return next(code for code in map(_code, _sections()) if _imports(code, engine))


def code_under(heading: str) -> str:
    """Return the blocks of Python of the section with a heading."""
    return next(_code(section) for section in _sections() if section.startswith(heading))


def _sections() -> list[str]:
    return re.split("^## ", PAGE.read_text("utf-8"), flags=re.M)


def _code(section: str) -> str:
    return "".join(re.findall(r"^```python\n(.*?)^```$", section, re.M | re.S))


def _imports(code: str, engine: str) -> bool:
    lines = re.findall(r"^from lapwing\.engines\S*\b.*", code, re.M)
    return any(engine in line for line in lines)
