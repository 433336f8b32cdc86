"""The examples of the pages on large data, which the tests of each engine run."""

from __future__ import annotations

import re
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "docs" / "guides" / "operate"
PAGE = FOLDER / "arrow.md"


def example(engine: str) -> str:
    """Return the blocks of Python of the section that imports an engine."""
    return next(code for code in map(_code, _sections()) if _imports(code, engine))


def code_under(heading: str) -> str:
    """Return the blocks of Python of the section with a heading."""
    return next(_code(section) for section in _sections() if section.startswith(heading))


def _sections() -> list[str]:
    pages = [PAGE, FOLDER / "spark.md"]
    first, *others = (re.split("^## ", page.read_text("utf-8"), flags=re.M) for page in pages)
    return [*first, *("".join(sections) for sections in others)]


def _code(section: str) -> str:
    return "".join(re.findall(r"^```python\n(.*?)^```$", section, re.M | re.S))


def _imports(code: str, engine: str) -> bool:
    lines = re.findall(r"^from lapwing\.engines\S*\b.*", code, re.M)
    return any(engine in line for line in lines)
