"""The public names that the pages of the reference list, and the docstrings that a reader meets."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

REFERENCE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "api"


def listed() -> list[str]:
    """Return the names that the pages of the reference list. Methods stand for their class."""
    return [
        name
        for page in sorted(REFERENCE.glob("*.md"))
        for name in dict.fromkeys(
            re.sub(r"(\.[A-Z]\w*)\.\w+$", r"\1", listed)
            for listed in re.findall(r"^   (lapwing\.[\w.]+)$", page.read_text("utf-8"), re.M)
        )
    ]


def named(name: str) -> object:
    """Return what a listed name stands for."""
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(module), last)


def public(name: str) -> Iterator[str]:
    """Return a name, and those of the members of a class that are ours."""
    yield name
    owner = named(name)
    if inspect.isclass(owner):
        for member, value in inspect.getmembers(owner):
            static = inspect.getattr_static(owner, member)
            ours = str(getattr(value, "__module__", "")).startswith("lapwing")
            if not member.startswith("_") and (
                isinstance(static, property) or (callable(value) and ours)
            ):
                yield f"{name}.{member}"


def public_docstrings() -> set[str]:
    """Return the docstrings of the listed names, of their members and of their modules."""
    found: set[str | None] = set()
    for name in listed():
        owner = named(name)
        found.add(importlib.import_module(name.rpartition(".")[0]).__doc__)
        found.add(owner.__doc__)
        for full in public(name):
            member = full.removeprefix(name).removeprefix(".")
            found.add(inspect.getattr_static(owner, member).__doc__ if member else None)
    return {doc for doc in found if doc}
