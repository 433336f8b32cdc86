"""Every number on a screen passes `lapwing.results.rounding`: nothing else formats one."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import lapwing

SOURCE = Path(lapwing.__path__[0])

ROUNDING = SOURCE / "results" / "rounding.py"

SCREENS = [
    *(SOURCE / "cli").rglob("*.py"),
    *(SOURCE / "results").glob("*.py"),
    *(SOURCE / "service" / "pages").glob("*.py"),
    SOURCE / "service" / "results.py",
    SOURCE / "service" / "survey_states.py",
]
"""What people read is written here."""

NUMERIC = re.compile(r"[,_.]|[eEfFgGn%]$")
"""A format of numbers; widths and hexadecimal digits are none."""


def formatted_numbers(text: str) -> list[int]:
    """Return the lines on which Python code formats a number by itself."""
    found = []
    for node in ast.walk(ast.parse(text)):
        value = isinstance(node, ast.FormattedValue) and node.conversion < 0  # `!r` is a text
        if value and isinstance(node.format_spec, ast.JoinedStr):
            parts = [one.value for one in node.format_spec.values if isinstance(one, ast.Constant)]
            if NUMERIC.search("".join(map(str, parts))):
                found.append(node.lineno)
        if not isinstance(node, ast.Call):
            continue
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name == "format" or (name == "round" and len(node.args) > 1):
            found.append(node.lineno)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "format":
            value = node.func.value
            if isinstance(value, ast.Constant) and re.search(r"\{[^}]*:[^}]*\}", str(value.value)):
                found.append(node.lineno)
    return found


@pytest.mark.parametrize(
    "text",
    ['f"{x:.2f}"', 'f"{x:,}"', 'f"{x:g}"', 'f"{x:.0%}"', "round(x, 3)", '"{:.3g}".format(x)'],
)
def test_a_number_that_is_formatted_elsewhere_is_noticed(text: str) -> None:
    assert formatted_numbers(text) == [1]


def test_names_and_widths_are_no_numbers() -> None:
    assert not formatted_numbers('f"{name:<{width}} {word:#018x} {clock:02d}"; round(x)')


def test_every_number_on_a_screen_passes_one_module() -> None:
    assert ROUNDING in SCREENS
    found = {
        f"{path.relative_to(SOURCE)}:{line}"
        for path in SCREENS
        if path != ROUNDING
        for line in formatted_numbers(path.read_text(encoding="utf-8"))
    }
    assert found == set()
