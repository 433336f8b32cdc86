"""The examples of the page on large data, which the tests of each engine run."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "engines.md"


def example(engine: str) -> str:
    """Return the one block of Python that uses an engine."""
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S)
    (found,) = (
        block for block in blocks if re.search(rf"^from lapwing\S*\b.*{engine}", block, re.M)
    )
    return found
