"""One constant says how to install, and nothing sends a reader to a package that is not ours."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

from lapwing.errors import INSTALL

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("src", "docs", "examples", "clients", "benchmarks", "tests")
TEXTS = {".py", ".md", ".mjs", ".ts", ".json", ".toml", ".html", ".ipynb", ".yml", ".yaml", ".sh"}
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
    "optional-dependencies"
]

UNPUBLISHED = re.compile(
    r"\b(?:pip3?|uv|pipx|poetry|conda)\s+(?:\w+\s+)?(?:install|add|run|download|wheel)\b"
    r"(?:\s+-\S+)*\s+['\"]?lapwing\b(?![/.-])|\blapwing\[[\w, ]+\]"
)
"""A command that asks an index for the name, or the name with extras."""

LINE = re.compile(r"pip install [^\n`]*?'([^'\[]*)\[([\w,]+)\]'")
"""A command that installs extras: of which folder, and which."""


def texts() -> Iterator[tuple[str, str]]:
    """Return each file that a reader or a developer meets, without the history of the changes."""
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*")]
    for path in sorted([*paths, *ROOT.glob("*.md"), ROOT / "Makefile"]):
        named = path.suffix in TEXTS or "ockerfile" in path.name or path.name == "Makefile"
        if named and path.is_file() and path != ROOT / "CHANGELOG.md" and path != Path(__file__):
            yield path.relative_to(ROOT).as_posix(), path.read_text("utf-8").replace("\\\n", " ")


def asks_an_index(text: str) -> list[str]:
    """Return what in a text would install somebody else's package."""
    return [found[0] for found in UNPUBLISHED.finditer(text)]


def test_nothing_installs_a_package_of_a_stranger() -> None:
    found = {name: asked for name, text in texts() if (asked := asks_an_index(text))}
    assert found == {}


def test_every_line_that_installs_is_the_one_of_the_constant() -> None:
    lines = [(name, *found) for name, text in texts() for found in LINE.findall(text)]
    readers = [row for row in lines if not row[0].startswith("tests/")]
    assert len({name for name, *_ in readers}) >= 6
    for name, folder, extras in lines:
        assert set(extras.split(",")) <= {*EXTRAS}, (name, extras)
        # The container has no working folder that is the checkout.
        container = folder == "/checkout" and name == "docs/guides/operate/deploy.md"
        assert container or f"'{folder}[{extras}]'" in INSTALL.format(extras), name


def test_the_repository_is_cloned_in_one_place() -> None:
    assert [name for name, text in texts() if "git clone" in text] == ["docs/start/install.md"]


def test_a_command_that_asks_an_index_is_noticed() -> None:
    for wrong in (
        *("pip install lapwing", "pip install 'lapwing[data]'"),
        *("python -m pip install --no-cache-dir --upgrade lapwing==0.1", "uv pip install lapwing"),
        *("uv add lapwing", 'pictures "lapwing[plot]"'),
    ):
        assert asks_an_index(wrong), wrong
    for right in ("pip install '.[data]'", "pip install lapwing/", "pip installs lapwing"):
        assert not asks_an_index(right), right
