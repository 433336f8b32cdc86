"""docs/methods.md has a row for everything the papers describe, and names only what exists."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

import lapwing as lw
from tests import test_methods_claims
from tests.rows import each

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "methods.md").read_text(encoding="utf-8")
ROWS_PER_PAPER = {"WE": 48, "CF": 52, "FA": 54, "SW": 39, "CP": 33}


def rows() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in PAGE.splitlines():
        if re.match(r"\| [A-Z]{2}-\d\d \|", line) and line.count("|") > 5:
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            assert len(cells) == 5, f"a row needs five cells: {line}"
            assert cells[0] not in found, f"{cells[0]} stands twice"
            found[cells[0]] = cells
    return found


ROWS = rows()


def test_every_row_stands_exactly_once() -> None:
    expected = {
        f"{paper}-{number:02d}"
        for paper, count in ROWS_PER_PAPER.items()
        for number in range(1, count + 1)
    }
    assert set(ROWS) == expected
    assert len(expected) == 226


@each("row", ROWS.values(), ids=lambda row: row[0])
def test_every_status_is_one_of_two(row: list[str]) -> None:
    status = row[4]
    if status.startswith("**works**"):
        assert "`" in row[3], "a row that works names what does it"
    else:
        assert status.startswith("not built. "), status
        assert re.search(r"\b[Bb]ecause\b", status), "what is not built needs its reason"


def exists(name: str) -> bool:
    if "/" in name:
        return (ROOT / name).exists()
    if name.startswith("lapwing."):
        module, _, attribute = name.rpartition(".")
        return hasattr(importlib.import_module(module), attribute)
    found: object = lw
    for part in name.split("."):
        if not hasattr(found, part):
            return False
        found = getattr(found, part)
    return True


@each(
    "row", [row for row in ROWS.values() if row[4].startswith("**works**")], ids=lambda row: row[0]
)
def test_what_works_exists(row: list[str]) -> None:
    for name in re.findall(r"`([^`]+)`", row[3] + row[4]):
        assert exists(name), f"{row[0]} names {name}, which does not exist"


def test_the_check_of_names_can_fail() -> None:
    assert not exists("Wavelettes")
    assert not exists("SquareWave.publish")
    assert not exists("benchmarks/no_such_file.py")


@pytest.mark.parametrize(
    "row", [row for row in ROWS.values() if "[checked" in row[4]], ids=lambda row: row[0]
)
def test_what_is_said_to_be_checked_has_its_test(row: list[str]) -> None:
    name = row[0].lower().replace("-", "_")
    tests = vars(test_methods_claims)
    mentioned = [
        function
        for function, test in tests.items()
        if function.startswith(f"test_{name}_") or row[0] in (getattr(test, "__doc__", "") or "")
    ]
    assert mentioned, f"no test of {row[0]} in test_methods_claims.py"
