"""Shells complete commands and options; typer's own two options install it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.running import environment

SHELL = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}


def run(folder: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "lapwing", *arguments],
        env={**environment(), "HOME": str(folder), **SHELL, **more},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize(
    ("words", "place", "found"),
    [
        ("lapwing ran", 1, ["randomize"]),
        ("lapwing randomize --dec", 2, ["--decimal"]),
        ("lapwing no", 1, []),
    ],
)
def test_words_are_completed(tmp_path: Path, words: str, place: int, found: list[str]) -> None:
    ran = run(tmp_path, _LAPWING_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=str(place))
    assert (ran.returncode, ran.stderr) == (0, "") and ran.stdout.split() == found


def test_it_is_shown_and_installed(tmp_path: Path) -> None:
    shown = run(tmp_path, "--show-completion", "bash")
    assert shown.returncode == 0 and "_LAPWING_COMPLETE=complete_bash" in shown.stdout
    assert not list(tmp_path.iterdir())
    installed = run(tmp_path, "--install-completion", "bash")
    assert installed.returncode == 0, installed.stderr
    assert "lapwing" in (tmp_path / ".bashrc").read_text()
