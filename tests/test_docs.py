"""The documentation keeps up with the code: nothing public goes unmentioned, nothing is stale."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import lapwing
from lapwing import errors
from lapwing.cli.command_list import COMMANDS
from tests.rows import each

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = {
    path.relative_to(DOCS).as_posix(): path.read_text("utf-8")
    for path in sorted(DOCS.rglob("*.md"))
}
EVERYTHING = "\n".join(PAGES.values())
ERRORS = [
    name
    for name, made in vars(errors).items()
    if isinstance(made, type) and made.__module__ == errors.__name__
]


def mentioned(name: str, text: str) -> bool:
    """Whether a name stands in a text as a word of its own."""
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) is not None


@each("name", lapwing.__all__)
def test_every_public_name_is_in_the_documentation(name: str) -> None:
    assert mentioned(name, EVERYTHING), f"no page of docs/ mentions {name}"


@pytest.mark.parametrize("name", ERRORS)
def test_every_error_is_in_the_documentation(name: str) -> None:
    assert mentioned(name, EVERYTHING), f"no page of docs/ mentions {name}"


@pytest.mark.parametrize("command", list(COMMANDS))
def test_every_command_is_in_the_documentation(command: str) -> None:
    by_hand = "\n".join(text for name, text in PAGES.items() if "reference/cli/" not in name)
    by_hand += (ROOT / "README.md").read_text("utf-8")
    assert PAGES[f"reference/cli/{command}.md"].startswith(f"# lapwing {command}\n")
    assert mentioned(f"lapwing {command}", by_hand), f"no page by hand mentions lapwing {command}"


def test_a_word_inside_a_word_is_no_mention() -> None:
    assert mentioned("l1", "the distance `l1`.") and mentioned("lapwing new", "`lapwing new -o`")
    assert not mentioned("l1", "l10 and xl1") and not mentioned("Band", "BandWidth, band")
    assert not mentioned("lapwing new", "lapwing newest")


def test_every_word_of_the_glossary_means_one_thing() -> None:
    concepts = PAGES["reference/glossary.md"].split("## Verbs")[0]
    words = re.findall(r"^\| \*\*(.+?)\*\* \|", concepts, re.MULTILINE)
    assert len(words) > 50
    assert sorted(words) == sorted(set(words))


def test_there_is_something_to_check() -> None:
    assert len(PAGES) >= 5 and len(ERRORS) >= 15 and len(COMMANDS) >= 10


# Generated pages.


@pytest.fixture
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_generate", DOCS / "generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_generated_pages_are_up_to_date() -> None:
    ran = subprocess.run(
        [sys.executable, str(DOCS / "generate.py"), "--check"],
        env={"PYTHONPATH": str(ROOT / "src"), "COLUMNS": "40", "TERM": "dumb"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_a_stale_or_absent_page_is_named_and_written_anew(
    generator: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for old in (None, "old"):
        for name in generator.PAGES:
            path = tmp_path / name
            path.unlink(missing_ok=True)
            if old is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(old)
        assert generator.main(["--check"], folder=tmp_path) == 1
        (line,) = capsys.readouterr().err.splitlines()
        assert all(f"docs/{name}" in line for name in generator.PAGES)
        written = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert sorted(path.relative_to(tmp_path).as_posix() for path in written) == sorted(
            [] if old is None else generator.PAGES
        )
        assert generator.main([], folder=tmp_path) == 0
        assert generator.main(["--check"], folder=tmp_path) == 0
    assert generator.main(["--chek"], folder=tmp_path) == 2


def test_generated_pages_hold_no_escapes_and_no_machine_s_paths(generator: ModuleType) -> None:
    for name in generator.PAGES:
        page = (DOCS / name).read_text("utf-8")
        assert "\x1b" not in page
        assert str(ROOT) not in page and str(Path.home()) not in page
