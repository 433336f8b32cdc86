"""The papers' pages have a row for all that the papers describe, and say what runs and holds."""

from __future__ import annotations

import csv
import importlib
import re
from pathlib import Path

import pytest

import lapwing as lw
from tests import test_methods_claims
from tests.page_environment import run
from tests.rows import each
from tests.test_docs_names import headings as anchors

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs" / "papers"
BENCHMARKS = ROOT / "docs" / "benchmarks"
OVERVIEW = (DOCS / "index.md").read_text(encoding="utf-8")
ROWS_PER_PAPER = {
    "wavelet.md": ("WE", 48),
    "convolution.md": ("CF", 52),
    "functional-approximation.md": ("FA", 54),
    "square-wave.md": ("SW", 39),
    "compressive.md": ("CP", 33),
}
PAGES = {name: (DOCS / name).read_text(encoding="utf-8") for name in sorted(ROWS_PER_PAPER)}
NOT_BUILT = "not built"


def overview_rows(text: str) -> dict[str, list[str]]:
    """Return the rows of the table of what is not built, by their names."""
    lines = [line for line in text.splitlines() if re.match(r"\| [A-Z]{2}-\d\d \|", line)]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    assert all(len(row) == 3 for row in cells), "a row needs 3 cells"
    assert len({row[0] for row in cells}) == len(cells), "a row is there twice"
    return {row[0]: row for row in cells}


with (DOCS / "methods.csv").open(encoding="utf-8", newline="") as _file:
    TABLE = list(csv.reader(_file))[1:]
ROWS = {row[1]: row[1:] for row in TABLE}
REASONS = overview_rows(OVERVIEW.split("## What is not built, and why")[1])


def test_every_row_is_there_once_with_its_paper() -> None:
    assert {f"{row[0]}.md" for row in TABLE} == set(ROWS_PER_PAPER)
    for page, (paper, count) in ROWS_PER_PAPER.items():
        names = [row[1] for row in TABLE if f"{row[0]}.md" == page]
        assert names == [f"{paper}-{number:02d}" for number in range(1, count + 1)]
        assert f"`methods.csv` has {count} rows of this paper" in PAGES[page]
    assert len(ROWS) == len(TABLE) == 226


def test_the_overview_lists_each_paper_once_with_its_number_of_rows() -> None:
    listed = re.findall(r"^\| \[[^]]+\]\((\S+\.md)\)[^|]*\| (\w\w), (\d+) \|", OVERVIEW, re.M)
    assert len(listed) == len(ROWS_PER_PAPER)
    assert {page: (paper, int(count)) for page, paper, count in listed} == ROWS_PER_PAPER


@each("row", ROWS.values(), ids=lambda row: row[0])
def test_every_status_is_one_of_two(row: list[str]) -> None:
    if row[4] != NOT_BUILT:
        assert row[4].startswith("works"), row[4]
        assert "`" in row[3], "a row that works names what does it"


def test_what_is_not_built_has_its_reason_on_the_overview() -> None:
    assert set(REASONS) == {name for name, row in ROWS.items() if row[4] == NOT_BUILT}
    assert {"SW-13", "WE-22", "CF-09", "CF-18", "FA-24", "FA-54"} < set(REASONS)
    for name, (_, what, why) in REASONS.items():
        assert what.endswith(f"({ROWS[name][2]})"), f"{name} is said to stand elsewhere"
        assert why.startswith("Not built because "), f"{name} needs its reason"


SOURCE = re.compile(r"{source}`(?:[^`<]*<)?([^`>#]+)#?([^`>]*)>?`")
"""A link to a file of the repository: its path, and a heading of it."""

NAMED_FILE = re.compile(r"\(((?:benchmarks|tests|docs|examples)/[\w./-]+)#?([\w%-]*)\)")
"""The same in a table to download."""


def dead(text: str) -> list[str]:
    """Return the files that a text links in the repository and that have no such heading."""
    found = []
    for path, heading in [*SOURCE.findall(text), *NAMED_FILE.findall(text)]:
        file = ROOT / path
        if not file.exists() or (heading and heading not in anchors(file.read_text("utf-8"))):
            found.append(f"{path}#{heading}")
    return found


@pytest.mark.parametrize(
    "page", [*sorted(DOCS.glob("*.md")), DOCS / "methods.csv", *sorted(BENCHMARKS.glob("*.md"))]
)
def test_links_to_files_reach_a_heading(page: Path) -> None:
    assert dead(page.read_text(encoding="utf-8")) == []


def test_dead_links_to_files_are_noticed() -> None:
    assert dead("{source}`README.md`, {source}`a <docs/papers/index.md#papers>`") == []
    assert dead("{source}`a <README.md#no>` {source}`no.md`") == ["README.md#no", "no.md#"]
    assert dead("see (tests/gone.py) and (docs/papers/index.md#no)") == [
        "tests/gone.py#",
        "docs/papers/index.md#no",
    ]
    assert dead("see (docs/papers/index.md#papers)") == []


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


@each("row", [*ROWS.values(), *REASONS.values()], ids=lambda row: row[0])
def test_what_a_row_names_exists(row: list[str]) -> None:
    for name in re.findall(r"`([^`]+)`", SOURCE.sub("", " ".join(row[2:]))):
        assert exists(name), f"{row[0]} names {name}, which does not exist"


def test_the_check_of_names_can_fail() -> None:
    assert not exists("Wavelettes")
    assert not exists("SquareWave.publish")
    assert not exists("benchmarks/no_such_file.py")


@pytest.mark.parametrize(
    "row",
    [row for row in [*ROWS.values(), *REASONS.values()] if "[checked" in row[-1]],
    ids=lambda row: row[0],
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


# The examples.


def example(page: str) -> tuple[str, str]:
    """Return the code of a page's example and what the page says it prints."""
    found = re.findall(r"^```(\w+)\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    assert [language for language, _ in found] == ["python", "text"], "one example, one output"
    return found[0][1], found[1][1]


def printed(page: str) -> str:
    """Return what the example of a page prints; one reads a table of the checkout."""
    ran = run(page, "exec", text=example(page)[0], folder=ROOT)
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout


@pytest.mark.parametrize("name", PAGES)
def test_the_example_of_a_paper_prints_what_its_page_says(name: str) -> None:
    code, output = example(PAGES[name])
    assert printed(PAGES[name]) == output
    lines = [line for line in code.splitlines() if line]
    assert len(lines) <= 20, "an author reads it in a minute"


@each("name", [*PAGES, "baseline.md"])
def test_an_example_counts_values_by_the_domain(name: str) -> None:
    """Bins of a domain hold their right edge, those of NumPy the left: values on edges move."""
    assert "np.histogram" not in (DOCS / name).read_text("utf-8")


def test_a_wrong_example_is_noticed() -> None:
    page = "```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n"
    assert printed(page) != example(page)[1]


@each("name", PAGES)
def test_a_page_says_what_holds_before_what_does_not(name: str) -> None:
    headings = re.findall(r"^## (.+)$", PAGES[name], re.MULTILINE)
    assert headings == [
        *("Run it", "What holds", "Where we differ, and why"),
        *("What does not hold here, or stays undecided", "Pictures", "Every method of the paper"),
    ]


PICTURES = re.compile(r"!\[([^\]]+)\]\((\S+)\)")


@each("name", PAGES)
def test_a_page_shows_the_pictures_of_its_paper_with_their_finding(name: str) -> None:
    shown = PICTURES.findall(PAGES[name])
    folders = {(DOCS / path).resolve().parent for _, path in shown}
    assert len(folders) == 1, "the pictures of one paper"
    drawn = {path.name for path in folders.pop().glob("*.png")}
    linked_only = {
        f"figure-{number}.png" for number in range(11, 28)
    }  # of one paper: other columns
    assert {Path(path).name for _, path in shown} == drawn - linked_only
    for finding, _ in shown:
        assert len(finding.split()) >= 6, f"{finding!r} says too little to who cannot see it"
