"""The rule that one place says which decoder goes with what: a rule of `test_layout.py`."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from lapwing.registry import DECODERS, MECHANISMS, RANDOMIZERS, Registry
from tests.package_imports import Source, read_sources

PACKAGE = Path(__file__).parent.parent / "src" / "lapwing"

HOMES = {"planning/defaults", "planning/release_defaults"}
REGISTRY = "registry"
"""It lists all of them by name, and joins nothing."""

PAPERS = "papers/"
"""A paper's own methods belong together, so its folder may join them."""


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


def _listed(*tables: Registry) -> set[str]:
    """Return the classes of tables, and their names in documents."""
    return {
        word for table in tables for name, made in table.items() for word in (name, made.__name__)
    }


OBSERVED = _public("randomizers", "mechanisms") | _listed(RANDOMIZERS, MECHANISMS)
"""Randomizers and mechanisms."""

JOINED = (_public("decoders") | _listed(DECODERS)) - {
    "threshold",
    "candidates",
}  # words with other meanings, too


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
        observed, decoders = sorted(OBSERVED & named.keys()), sorted(JOINED & named.keys())
        home = source.name in {*HOMES, REGISTRY} or source.name.startswith(PAPERS)
        if observed and decoders and not home:
            pair = f"{observed[0]} and {decoders[0]} are joined in {' and '.join(sorted(HOMES))}"
            wrong.append(source.says(named[decoders[0]], f"{pair} only"))
    return wrong
