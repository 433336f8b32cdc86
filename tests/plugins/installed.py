"""Packages that are installed for one test: the files that an installer would leave behind."""

from __future__ import annotations

import importlib
import shutil
import tomllib
from pathlib import Path
from typing import Any

EXAMPLE = Path(__file__).parent / "example_package"


def install_example(folder: Path) -> None:
    """Install the example package into a folder, with the entry points that it declares."""
    shutil.copytree(EXAMPLE / "lapwing_example", folder / "lapwing_example")
    declared = tomllib.loads((EXAMPLE / "pyproject.toml").read_text("utf-8"))["project"]
    install(folder, declared["name"], declared["entry-points"])


def install(folder: Path, name: str, groups: dict[str, dict[str, Any]]) -> None:
    """Write the `dist-info` of a package."""
    about = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = []
    for group, entries in groups.items():
        lines += [f"[{group}]", *(f"{key} = {value}" for key, value in entries.items())]
    (about / "entry_points.txt").write_text("\n".join(lines) + "\n")
    importlib.invalidate_caches()
