"""The rule that one place says which decoder goes with what: a rule of `test_layout.py`."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.package_imports import Source, read_sources

PACKAGE = Path(__file__).parent.parent / "src" / "lapwing"

HOMES = {"planning/defaults", "planning/release_defaults"}
REGISTRY = "planning/registry"
"""It lists all of them by name, and joins nothing."""


def _public(*folders: str) -> set[str]:
    """Return the classes that the stubs of folders make public, and their names in documents."""
    classes = {
        alias.name
        for folder in folders
        for source in read_sources(PACKAGE / folder)
        if source.name == "__init__"
        for node in source.stub_tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name[0].isupper()
    }
    return classes | {re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower() for name in classes}


OBSERVED = _public("randomizers", "mechanisms")
"""Randomizers and mechanisms."""

DECODERS = _public("decoders") - {"threshold", "candidates"}  # words with other meanings, too


def _own_decoders(source: Source) -> set[ast.AST]:
    """Return what a randomizer's class says of its own decoder."""
    if not source.name.startswith("randomizers/"):
        return set()
    members = [
        node
        for each in source.nodes
        if (isinstance(each, ast.AnnAssign) and ast.unparse(each.target) == "decoder")
        or (isinstance(each, ast.FunctionDef) and each.name == "decoder")
        for node in ast.walk(each)
    ]
    return set(members)


def _named(source: Source) -> dict[str, ast.AST]:
    """Return names and whole texts of a file; not those of the classes that it defines."""
    own = _own_decoders(source)
    return {
        name: node
        for node in source.nodes
        if not isinstance(node, ast.ClassDef) and node not in own
        for key in ("id", "attr", "name", "value")
        if isinstance(name := getattr(node, key, None), str)
    }


def pairs_at_home(sources: list[Source]) -> list[str]:
    """Only homes name a decoder with a randomizer or mechanism; a randomizer names its own."""
    wrong = []
    for source in sources:
        named = _named(source)
        observed, decoders = sorted(OBSERVED & named.keys()), sorted(DECODERS & named.keys())
        if observed and decoders and source.name not in {*HOMES, REGISTRY}:
            pair = f"{observed[0]} and {decoders[0]} are joined in {' and '.join(sorted(HOMES))}"
            wrong.append(source.says(named[decoders[0]], f"{pair} only"))
    return wrong
