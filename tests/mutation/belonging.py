"""Which tests belong to a file of the package: by names and imports, so that no table goes stale.

A test file belongs to a source file, in this order, when

0. it mirrors it: `test_<name>.py`, or `test_<name>_<more>.py`;
1. it imports it, or uses a public name that is defined there;
2. a file of the tests that it imports (contracts, adversaries, fixtures) does;
3. it mirrors a file that imports the source file; or it is a contract or an adversary, and belongs
   to one;
4. no file does by these rules, and it stands in the nearest folder that mirrors that of the source
   file, or is a contract or an adversary where there is no such folder.

The doctests of the source file belong to it, too. Tests that are far from all privacy (:data:`FAR`)
belong by rule 0 only: there are many, they are slow, and they look at something else.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

GENERIC = ("contracts", "adversary")
"""Folders of tests that run over everything of one kind, without naming it."""

FAR = ("benchmarks", "cli", "decoders", "test_decoder", "test_operator")
"""Folders and files of tests that use everything to test something else."""


@dataclass(frozen=True)
class Checkout:
    """The sources and tests below a folder, and who imports whom.

    Parameters
    ----------
    root : pathlib.Path
        Holds `src/lapwing` and `tests`.
    """

    root: Path
    _read: dict[Path, frozenset[str]] = field(default_factory=dict, repr=False)
    _direct: dict[str, dict[Path, int]] = field(default_factory=dict, repr=False)

    @cached_property
    def sources(self) -> dict[str, Path]:
        """Every file of the package by the name under which it is imported."""
        folder = self.root / "src"
        return {
            path.relative_to(folder).with_suffix("").as_posix().replace("/", "."): path
            for path in sorted((folder / "lapwing").rglob("*.py"))
            if path.stem not in ("__init__", "__main__")
        }

    @cached_property
    def tests(self) -> dict[str, Path]:
        """Every Python file of the tests by the name under which others import it."""
        return {
            path.relative_to(self.root).with_suffix("").as_posix().replace("/", "."): path
            for path in sorted((self.root / "tests").rglob("*.py"))
            if "mutation" not in path.parts and path.name != "test_mutation.py"
        }

    @cached_property
    def homes(self) -> dict[str, str]:
        """Where each public name is defined: read from the package's own `__init__` files."""
        found = {}
        for path in sorted((self.root / "src" / "lapwing").rglob("__init__.py*")):
            if path.suffix not in (".py", ".pyi"):
                continue
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.ImportFrom) and node.module:
                    home = node.module
                    if node.level:
                        package = path.parent.relative_to(self.root / "src").as_posix()
                        home = f"{package.replace('/', '.')}.{node.module}"
                    for alias in node.names:
                        found[alias.asname or alias.name] = home
        return found

    def uses(self, path: Path) -> frozenset[str]:
        """Return the files, of package and tests, that a file imports or uses by a public name."""
        if path not in self._read:
            tree = ast.parse(path.read_text("utf-8"))
            found = set(self._used(tree))
            if path.stem == "registered":  # it finds the rows beside the tests of their classes
                found |= {
                    n for n, other in self.tests.items() if other.stem.startswith("registered_")
                }
            self._read[path] = frozenset(found)
        return self._read[path]

    def _used(self, tree: ast.Module) -> Iterator[str]:
        aliases = {"lapwing"}
        nodes = list(ast.walk(tree))
        for node in nodes:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield alias.name
                    if alias.name == "lapwing" and alias.asname:
                        aliases.add(alias.asname)
            elif isinstance(node, ast.ImportFrom) and node.module:
                yield node.module
                for alias in node.names:
                    yield f"{node.module}.{alias.name}"
                    # From the package, or from one of its folders that hands on names.
                    if node.module not in self.sources and node.module.startswith("lapwing"):
                        yield self.homes.get(alias.name, "")
        for node in nodes:
            match node:
                case ast.Attribute(ast.Name(name), attribute) if name in aliases:
                    yield self.homes.get(attribute, "")

    @cached_property
    def users(self) -> dict[str, set[str]]:
        """The files, of package and tests, that use each file."""
        found: dict[str, set[str]] = {}
        for name, path in [*self.sources.items(), *self.tests.items()]:
            for used in self.uses(path):
                found.setdefault(used, set()).add(name)
        return found

    def users_of(self, names: Iterable[str]) -> set[str]:
        """Return the files that use one of these."""
        return set().union(*(self.users.get(name, ()) for name in names))

    def direct(self, source: str) -> dict[Path, int]:
        """Return the test files that belong to a source file by rule 0, 1 or 2."""
        if source not in self._direct:
            self._direct[source] = self._found(source)
        return self._direct[source].copy()

    def _found(self, source: str) -> dict[Path, int]:
        stem = source.rpartition(".")[2]
        found: dict[Path, int] = {}
        new = holders = self.users_of([source]) & self.tests.keys()
        indirect = set(holders)
        while new:
            new = self.users_of(new) & self.tests.keys() - indirect
            indirect |= new
        for name, path in self.tests.items():
            *_, own = folders = name.split(".")
            if not own.startswith("test_"):
                continue
            if own == f"test_{stem}" or own.startswith(f"test_{stem}_"):
                found[path] = 0
            elif not set(FAR).isdisjoint(folders):
                continue
            elif name in holders:
                found[path] = 1
            elif name in indirect:
                found[path] = 2
        return found

    def tests_of(self, source: str) -> dict[Path, int]:
        """Return the test files that belong to a source file, with the rule by which they do."""
        found = self.direct(source)
        level, passed = {source}, {source}
        while True:
            level = self.users_of(level) & self.sources.keys() - passed
            for name in sorted(level):
                for path, rule in self.direct(name).items():
                    if rule == 0 or path.parent.name in GENERIC:
                        found.setdefault(path, 3)
            passed |= level
            if found:
                return found
            if not level:
                return dict.fromkeys(self._beside(source), 4)

    def _beside(self, source: str) -> list[Path]:
        """Return the tests of the nearest folder that mirrors one above a source file."""
        folders = source.split(".")[1:-1]
        while folders:
            folder = self.root.joinpath("tests", *folders)
            near = [
                path
                for path in self.tests.values()
                if folder in path.parents and path.name.startswith("test_")
            ]
            if near:
                return near
            folders.pop()
        return [path for path in self.tests.values() if path.parent.name in GENERIC]
