"""The examples of the page on large data, which the tests of each engine run."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "engines.md"


def example(engine: str) -> str:
    """Return the blocks of Python that import an engine, and those that continue them."""
    own: list[str] = []
    for block in re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S):
        imported = re.findall(r"^from lapwing\.engines\S*\b.*", block, re.M)
        if any(engine in line for line in imported) or (own and not imported):
            own.append(block)
        elif own:
            break
    return "".join(own)
