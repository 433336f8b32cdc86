"""Pages name files, modules, members and headings that are there, in lines that are short."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from functools import cache
from pathlib import Path

import pytest

import lapwing
from lapwing.registry import GROUPS
from tests.rows import each

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "lapwing"
PAGES = [ROOT / "README.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINKING = [
    *PAGES,
    ROOT / "CHANGELOG.md",  # names what has gone, too
    *sorted((ROOT / "benchmarks").rglob("README.md")),
    ROOT / "examples" / "data" / "README.md",
    ROOT / "tests" / "vectors" / "README.md",
]

ELSEWHERE = {"demo-output/"}
"""Folders that a command makes."""

OTHER_WORDS = {
    *GROUPS,
    *(f"lapwing.{key}" for key in ("format", "version", "survey", "randomizer", "standing")),
    "lapwing.batch",
}
"""What looks like a module: groups of entry points, the metadata of a Parquet file of reports
(one of whose keys is a folder of ours, too), and the end of a type of media."""


def missing_files(text: str) -> set[str]:
    """Return the paths in backticks or drawings that neither the repository nor the package has."""
    named = set(re.findall(r"`([\w-]+/[\w./-]*)`", text)) - ELSEWHERE
    named = {name for name in named if not name.startswith(("application/", "image/", "text/"))}
    for line in re.findall(r"^ {4,}.*$", text, re.M):
        named |= set(re.findall(r"(?<![\w./-])(\w+(?:/\w+)*(?:/(?!\w)|\.py\b))", line))
    return {path for path in named if not ((ROOT / path).exists() or (PACKAGE / path).exists())}


def missing_modules(text: str) -> set[str]:
    """Return the dotted names below `lapwing` that cannot be imported."""
    named = set(re.findall(r"(?<![\w/@])lapwing(?:\.[A-Za-z_]\w*)+", text)) - OTHER_WORDS
    return {name for name in named if not _imports(name)}


def _imports(name: str) -> bool:
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        rest = parts[cut:]
        return not rest or (hasattr(found, rest[0]) and _members(getattr(found, rest[0]), rest[1:]))
    return False


def _members(thing: object, names: list[str]) -> bool:
    fields = getattr(thing, "__dataclass_fields__", {})
    return not names or names[0] in fields or hasattr(thing, names[0])


@cache
def classes() -> dict[str, list[type]]:
    """Return all classes of the package by their names."""
    found: dict[str, list[type]] = {}
    for module in pkgutil.walk_packages(lapwing.__path__, "lapwing."):
        if not module.name.endswith("__main__"):
            for name, made in inspect.getmembers(
                importlib.import_module(module.name), inspect.isclass
            ):
                if made.__module__ == module.name:
                    found.setdefault(name, []).append(made)
    return found


def missing_members(text: str) -> set[str]:
    """Return each `Class.member` of a class of ours that has no such member."""
    named = set(re.findall(r"`(?:lw\.)?([A-Z]\w*)\.([a-z_]\w*)", text))
    return {
        f"{owner}.{member}"
        for owner, member in named
        if owner in classes()
        and not any(
            _members(made, [member]) or f"self.{member} = " in inspect.getsource(made)
            for made in classes()[owner]
        )
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_names_is_there(page: Path) -> None:
    text = page.read_text("utf-8")
    assert missing_files(text) == set()
    assert missing_modules(text) == set()
    assert missing_members(text) == set()


def test_wrong_names_are_noticed() -> None:
    right = "`survey/survey.py`, `lapwing.randomizers.two_level.TwoLevel._near`, `Release.people`"
    assert not missing_files(right) | missing_modules(right) | missing_members(right)
    assert missing_files("`survey/surveys.py`") == {"survey/surveys.py"}
    assert missing_files("    device  remote/ -> results/, remote.py") == {"remote/", "remote.py"}
    assert missing_modules("`lapwing.randomizers.three_level`") == {
        "lapwing.randomizers.three_level"
    }
    assert missing_modules("lapwing.randomizers.two_level.Two") == {
        "lapwing.randomizers.two_level.Two"
    }
    assert missing_members("`Release.publish()`") == {"Release.publish"}


LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)")


def headings(text: str) -> set[str]:
    """Return the anchors of a page's headings, as repository hosts make them."""
    lines = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", line.strip().lower()).replace(" ", "-") for line in lines}


def dead_links(text: str, folder: Path, own: str) -> list[str]:
    """Return the relative links to a file that is not there, or to no heading of it."""
    dead = []
    for target, anchor in LINK.findall(text):
        if "://" in target or target.startswith("mailto:"):
            continue
        path = folder / (target or own)
        if not path.exists() or (anchor and anchor not in headings(path.read_text("utf-8"))):
            dead.append(f"{target}#{anchor}" if anchor else target)
    return dead


@each("page", LINKING, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_reach_a_file_and_a_heading(page: Path) -> None:
    assert dead_links(page.read_text("utf-8"), page.parent, page.name) == []


def test_dead_links_are_noticed() -> None:
    docs = ROOT / "docs" / "reference"
    live = "[a](glossary.md#verbs) [b](#verbs) [c](https://example.org/x#y) [d](../../README.md)"
    assert dead_links(live, docs, "glossary.md") == []
    dead = "[a](glossary.md#verbes) [b](#nowhere) [c](gone.md)"
    assert dead_links(dead, docs, "glossary.md") == ["glossary.md#verbes", "#nowhere", "gone.md"]


WIDEST = 118


def long_lines(text: str) -> list[int]:
    """Return the numbers of the lines of prose that are too long, and of rows that break."""
    unseen = re.compile(r"^```.*?^```$|<!--.*?-->", re.M | re.S)
    prose = unseen.sub(lambda block: "\n" * block[0].count("\n"), text)
    return [
        at
        for at, line in enumerate(prose.splitlines(), 1)
        if (not line.endswith("|") if line.startswith("|") else len(line) > WIDEST)
        and not line.startswith("    ")
    ]


BY_HAND = [
    page
    for page in [*PAGES, ROOT / "CHANGELOG.md"]
    if "<!-- Generated by" not in page.read_text("utf-8") and page.parent.name != "cli"
]


@pytest.mark.parametrize("page", BY_HAND, ids=lambda page: str(page.relative_to(ROOT)))
def test_lines_of_prose_are_short(page: Path) -> None:
    assert long_lines(page.read_text("utf-8")) == []


def test_long_lines_are_noticed() -> None:
    code = f"```text\n{'x' * 200}\n```\n"
    assert long_lines(f"short\n{code}| {'x' * 200} |\n") == []
    assert long_lines(f"short\n{code}{'word ' * 30}\n") == [5]
    assert long_lines("| a row | that\ngoes on |\n") == [1]
