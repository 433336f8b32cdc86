"""Every public name has one page in the reference, and a docstring that numpydoc can read."""

from __future__ import annotations

import importlib
import inspect
import json
from collections import Counter
from pathlib import Path

import pytest
from numpydoc.validate import validate

import lapwing
from lapwing.registry import PAPERS
from tests.reference_names import listed, named, public, public_docstrings

ROOT = Path(__file__).resolve().parents[1]
ALLOWED = ROOT / "tests" / "docstrings_allowed.json"
CODES = ("GL", "SS", "PR", "RT", "YD")
"""What is checked: layout, summary, parameters, returns and yields."""

MODULES = (
    *("randomizers", "decoders", "mechanisms", "privacy", "protocol", "results", "planning"),
    *("survey", "client", "distances", "shuffle", "tallies", "testing", "plugins", "datasets"),
    "questions",
    *(f"papers.{paper}" for paper in PAPERS),
)


def faults(name: str) -> list[str]:
    """Return the codes of what is wrong with the docstring of a name."""
    return sorted({code for code, _ in validate(name)["errors"] if code.startswith(CODES)})


def test_every_public_name_is_on_one_page() -> None:
    names = Counter(listed())
    assert [name for name, number in names.items() if number > 1] == []
    objects = {id(named(name)) for name in names}
    for module in MODULES:
        for name in importlib.import_module(f"lapwing.{module}").__all__:
            full = f"lapwing.{module}.{name}"
            assert id(named(full)) in objects, f"no page of the reference lists {full}"
    for name in lapwing.__all__:
        if not inspect.ismodule(getattr(lapwing, name)):
            assert f"lapwing.{name}" in names, f"no page of the reference lists lapwing.{name}"


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


def test_a_reader_s_examples_are_told_from_those_of_helpers() -> None:
    """What src/conftest.py asks before it lends an example the names of its module."""
    from lapwing.results.rounding import number_text
    from lapwing.survey.watch import Watch

    docs = public_docstrings()
    readers = (lapwing.Survey, lapwing.load, lapwing.release, Watch.people_needed)
    assert {one.__doc__ for one in (*readers, lapwing.distances)} <= docs
    assert number_text.__doc__ not in docs
