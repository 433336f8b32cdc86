"""Facts about an object, for a terminal and for a notebook."""

from __future__ import annotations

import html
from collections.abc import Mapping


def lines_of(facts: Mapping[str, str]) -> str:
    """Return facts for a terminal, one a line.

    >>> print(lines_of({"people": "1,000", "median": "40 (38 to 41)"}))
    people  1,000
    median  40 (38 to 41)
    """
    width = max(map(len, facts))
    return "\n".join(f"{name:<{width}}  {fact}" for name, fact in facts.items())


def html_of(facts: Mapping[str, str]) -> str:
    """Return facts as a table of HTML, for a notebook. Labels cannot break out of it."""
    cell = "style='text-align:left'"
    rows = (
        f"<tr><th {cell}>{html.escape(name)}</th><td {cell}>{html.escape(fact)}</td></tr>"
        for name, fact in facts.items()
    )
    return f"<table>{''.join(rows)}</table>"
