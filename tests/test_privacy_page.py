"""docs/privacy.md names, for every promise, the tests that back it.

A promise is what stands under a heading, or under a name in bold at the start of a paragraph or of
an item of a list. It ends with a paragraph of its own, in one form:

    Tests: `test_file.py::test_name`, `test_file.py::TestClass::test_name`.

Files are named without their folders, which may change.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "privacy.md").read_text("utf-8")

NO_PROMISE = {
    "The central model: What this does not cover",
    "What lies outside one report: Metadata",
    "What lies outside one report: Collusion",
    "What lies outside one report: Labels of segments",
    "What lies outside one report: Side channels",
    "What a shuffler would add: Count honest people only",
    "Sources",
}
"""What says where promises end, or whose words they are."""

NAMED = re.compile(r"(?:- )?\*\*([^*]+?)\.\*\*\s*")
TESTS = re.compile(r"Tests: (`[^`]+`(?:, `[^`]+`)*)\.")


def promises(page: str) -> dict[str, list[str]]:
    """Return the paragraphs of every promise, by its heading and, where it has one, its name."""
    found: dict[str, list[str]] = {}
    heading = name = ""
    for paragraph in re.split(r"\n\s*\n", re.sub(r"^```.*?^```$", "", page, flags=re.M | re.S)):
        for part in re.split(r"\n(?=- )", paragraph.strip("\n")):
            if part.startswith("#"):
                heading, name = part.lstrip("# "), ""
                if part.startswith("# "):  # the title
                    heading = ""
                continue
            if named := NAMED.match(part):
                name = named[1]
            if heading and part.strip():
                key = f"{heading}: {name}" if name else heading
                found.setdefault(key, []).append(part.strip())
    return found


def references(paragraphs: list[str]) -> list[str]:
    """Return the tests that the last paragraph of a promise names; none where it has no such."""
    last = " ".join(paragraphs[-1].split())
    told = TESTS.fullmatch(last)
    return re.findall(r"`([^`]+)`", told[1]) if told else []


@cache
def names_in(file: str) -> frozenset[str]:
    """Return the tests of the one file of this name: "test_name" or "TestClass::test_name"."""
    paths = list((ROOT / "tests").rglob(file))
    assert len(paths) == 1, f"{len(paths)} files of the tests are called {file}"
    found = set()
    for node in ast.parse(paths[0].read_text("utf-8")).body:
        inside = [(node, "")]
        if isinstance(node, ast.ClassDef):
            inside = [(child, f"{node.name}::") for child in node.body]
        found |= {
            prefix + child.name
            for child, prefix in inside
            if isinstance(child, ast.FunctionDef) and child.name.startswith("test_")
        }
    return frozenset(found)


def exists(reference: str) -> bool:
    file, _, name = reference.partition("::")
    return file.startswith("test_") and file.endswith(".py") and name in names_in(file)


PROMISES = promises(PAGE)


@pytest.mark.parametrize("promise", sorted(set(PROMISES) - NO_PROMISE))
def test_every_promise_names_tests_that_exist(promise: str) -> None:
    named = references(PROMISES[promise])
    assert named, f'"{promise}" must end with a paragraph "Tests: `test_file.py::test_name`."'
    for reference in named:
        assert exists(reference), f'"{promise}" names {reference}, which does not exist'


def test_what_promises_nothing_names_no_test_and_is_on_the_page() -> None:
    assert set(PROMISES) >= NO_PROMISE
    for name in NO_PROMISE:
        assert not references(PROMISES[name]), f'"{name}" has a test, so it is a promise'


def test_every_list_of_tests_ends_a_promise() -> None:
    found = sum(len(references(paragraphs)) for paragraphs in PROMISES.values())
    assert found == len(re.findall(r"`test_\w+\.py::", PAGE)) > 40
    assert len(re.findall(r"Tests:\s", PAGE)) == sum(
        bool(references(each)) for each in PROMISES.values()
    )


BROKEN = """
# Title

Not a promise.

## One

Something holds.

**Two.** It is so.

Tests: `test_privacy_page.py::test_nothing`.

- **Three.** And so.

  Tests: `test_privacy_page.py::test_the_check_finds_what_is_missing`,
  `test_bit_reports.py::test_certain_bits`.
- **Four.** Not in the form: tests are `test_bit_reports.py::test_certain_bits`.

**Five.** Not at the end.

Tests: `test_bit_reports.py::test_certain_bits`.

And more.
"""


def test_the_check_finds_what_is_missing() -> None:
    found = promises(BROKEN)
    assert list(found) == ["One", "One: Two", "One: Three", "One: Four", "One: Five"]
    assert not references(found["One"]) and not references(found["One: Four"])
    assert not references(found["One: Five"])
    (missing,) = references(found["One: Two"])
    assert not exists(missing)
    three = references(found["One: Three"])
    assert len(three) == 2 and all(map(exists, three))
    assert not exists("test_bit_reports.py::certain_bits") and not exists("conftest.py::test_x")
    with pytest.raises(AssertionError, match="0 files"):
        exists("test_no_such_file.py::test_x")
