"""Every public name has one page in the reference, and a docstring that numpydoc can read."""

from __future__ import annotations

import importlib
import inspect
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from numpydoc.validate import validate

import lapwing

ROOT = Path(__file__).resolve().parents[1]
ALLOWED = ROOT / "tests" / "docstrings_allowed.json"
CODES = ("GL", "SS", "PR", "RT", "YD")
"""What is checked: layout, summary, parameters, returns and yields."""

MODULES = (
    *("randomizers", "decoders", "mechanisms", "privacy", "protocol", "results", "planning"),
    *("survey", "client", "distances", "shuffle", "tallies", "testing", "plugins", "datasets"),
)


def listed() -> list[str]:
    """Return the names that the pages of the reference list."""
    pages = sorted((ROOT / "docs" / "reference" / "api").glob("*.md"))
    return [
        name
        for page in pages
        for name in re.findall(r"^   (lapwing\.[\w.]+)$", page.read_text("utf-8"), re.M)
    ]


def public(name: str) -> Iterator[str]:
    """Return a name, and those of the members of a class that are ours."""
    yield name
    module, _, last = name.rpartition(".")
    owner = getattr(importlib.import_module(module), last)
    if inspect.isclass(owner):
        for member, value in inspect.getmembers(owner):
            static = inspect.getattr_static(owner, member)
            ours = str(getattr(value, "__module__", "")).startswith("lapwing")
            if not member.startswith("_") and (
                isinstance(static, property) or (callable(value) and ours)
            ):
                yield f"{name}.{member}"


def faults(name: str) -> list[str]:
    """Return the codes of what is wrong with the docstring of a name."""
    return sorted({code for code, _ in validate(name)["errors"] if code.startswith(CODES)})


def test_every_public_name_is_on_one_page() -> None:
    names = Counter(listed())
    assert [name for name, number in names.items() if number > 1] == []
    objects = {id(_object(name)) for name in names}
    for module in MODULES:
        for name in importlib.import_module(f"lapwing.{module}").__all__:
            full = f"lapwing.{module}.{name}"
            assert id(_object(full)) in objects, f"no page of the reference lists {full}"
    for name in lapwing.__all__:
        if not inspect.ismodule(getattr(lapwing, name)):
            assert f"lapwing.{name}" in names, f"no page of the reference lists lapwing.{name}"


def _object(name: str) -> object:
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(module), last)


def test_docstrings_are_as_numpydoc_reads_them() -> None:
    """What is not yet is on a list that only shrinks."""
    found = {name: codes for each in listed() for name in public(each) if (codes := faults(name))}
    allowed = json.loads(ALLOWED.read_text("utf-8"))
    worse = {name: codes for name, codes in found.items() if set(codes) - {*allowed.get(name, [])}}
    assert worse == {}
    better = {name for name, codes in allowed.items() if set(codes) - {*found.get(name, [])}}
    assert better == set(), f"take these from {ALLOWED.name}"


@pytest.mark.filterwarnings("ignore:Unknown section Cost")
@pytest.mark.parametrize(
    ("doc", "code"),
    [
        ("Sum of two.\n\nParameters\n----------\na : int\n    One.\n", "PR01"),
        ("Sum of two.\n\nParameters\n----------\na : int\n    One.\nb : int\n    Two.\n", "RT01"),
        ("Sum of two.\n\nCost\n----\nLittle.\n", "GL06"),
        ("sum of two.\n", "SS02"),
    ],
)
def test_a_fault_is_noticed(doc: str, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def total(a: int, b: int) -> int:
        return a + b

    total.__doc__ = doc
    monkeypatch.setattr(lapwing.distances, "total", total, raising=False)
    assert code in faults("lapwing.distances.total")
