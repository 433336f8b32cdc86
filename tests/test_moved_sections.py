"""What stood in the pages before the site has a place in it."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
TABLES = sorted((ROOT / "tests" / "moved_sections").glob("*.csv"))


def lost(rows: list[dict[str, str]]) -> list[str]:
    """Return the sections whose new page or heading does not exist."""
    missing = []
    for row in rows:
        page = DOCS / row["page"]
        if not page.is_file() or row["heading"] not in titles(page.read_text("utf-8")):
            missing.append(f"{row['section']}: {row['page']}, {row['heading']}")
    return missing


def titles(text: str) -> list[str]:
    """Return the headings of a page, outside code."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    return [line.strip() for line in re.findall(r"^#+ (.+)$", prose, re.M)]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.stem)
def test_every_section_of_an_old_page_has_its_place(table: Path) -> None:
    with table.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert rows and lost(rows) == []
    assert not (DOCS / f"{table.stem}.md").exists(), "the old page is still there"


def test_a_lost_section_is_noticed() -> None:
    here = {"section": "Which randomizer", "page": "reference/index.md", "heading": "Reference"}
    assert lost([here]) == []
    assert lost([{**here, "page": "reference/nowhere.md"}]) != []
    assert lost([{**here, "heading": "Nowhere"}]) != []
