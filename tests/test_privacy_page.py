"""Every claim of the privacy pages has tests, which exist: `tests/evidence.csv` names them.

A claim is what stands under a heading, or under a name in bold at the start of a paragraph or of
an item of a list. Files of tests are named without their folders, which may change.
"""

from __future__ import annotations

import ast
import csv
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = (
    *("guarantee", "limits", "exact-arithmetic", "central", "ledgers"),
    *("rows-and-people", "shuffling"),
)
with (ROOT / "tests" / "evidence.csv").open(encoding="utf-8", newline="") as stream:
    EVIDENCE = list(csv.DictReader(stream))

NO_PROMISE = {
    *("What epsilon means", "What this does not cover", "Metadata", "Collusion"),
    *("Labels of segments", "Side channels", "What lies outside one release"),
    *("What a shuffler would add: Count honest people only", "Sources"),
}
"""What says where promises end, or whose words they are."""

NAMED = re.compile(r"(?:- )?\*\*([^*]+?)\.\*\*\s*")


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
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
            and child.name.startswith("test_")
        }
    return frozenset(found)


def exists(reference: str) -> bool:
    file, _, name = reference.partition("::")
    return file.startswith("test_") and file.endswith(".py") and name in names_in(file)


def claims(page: str) -> set[str]:
    """Return the claims of a page."""
    text = (ROOT / "docs" / "privacy" / f"{page}.md").read_text("utf-8")
    return set(promises(text))


@pytest.mark.parametrize("page", PAGES)
def test_every_claim_has_tests_and_every_row_a_claim(page: str) -> None:
    backed = {row["claim"] for row in EVIDENCE if row["page"] == page}
    assert claims(page) - NO_PROMISE == backed


def test_every_test_that_is_named_exists() -> None:
    missing = {row["test"] for row in EVIDENCE if not exists(row["test"])}
    assert missing == set()
    assert {row["page"] for row in EVIDENCE} == {*PAGES} and len(EVIDENCE) > 200
    assert all(row["sentence"] for row in EVIDENCE)


def test_what_promises_nothing_is_on_a_page() -> None:
    assert set().union(*map(claims, PAGES)) >= NO_PROMISE


PAGE = """
# Title

Not a claim.

## One

Something holds.

**Two.** It is so.

- **Three.** And so.
  More of it.
- **Four.** Another.

```python
## no heading
```
"""


def test_the_check_finds_what_is_missing() -> None:
    assert list(promises(PAGE)) == ["One", "One: Two", "One: Three", "One: Four"]
    assert exists("test_bit_reports.py::test_certain_bits")
    assert not exists("test_bit_reports.py::certain_bits") and not exists("conftest.py::test_x")
    assert not exists("test_privacy_page.py::test_nothing")
    with pytest.raises(AssertionError, match="0 files"):
        exists("test_no_such_file.py::test_x")
