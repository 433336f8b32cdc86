"""The files of the package and what they import, as the tests of the layout read them."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path


@dataclass(frozen=True)
class Source:
    """One file: its path below the package without ".py", its text, and that of its stub.

    A package that reads its names lazily imports what its stub (`__init__.pyi`) says.
    """

    name: str
    text: str
    stub: str = ""

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def stub_tree(self) -> ast.Module:
        return ast.parse(self.stub)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Everything in the tree, in the order of `ast.walk`."""
        return list(ast.walk(self.tree))

    @cached_property
    def imports(self) -> list[ast.Import | ast.ImportFrom]:
        """The imports of the file and of its stub."""
        everything = chain(self.nodes, ast.walk(self.stub_tree))
        return [node for node in everything if isinstance(node, ast.Import | ast.ImportFrom)]

    @cached_property
    def running(self) -> list[ast.AST]:
        """All nodes but those that only a type checker reads."""
        return list(running(self.tree))

    def says(self, node: ast.AST, message: str) -> str:
        return f"{self.name}.py:{getattr(node, 'lineno', 1)}: {message}"


def read_sources(folder: Path) -> list[Source]:
    paths = sorted(path for path in folder.rglob("*.py") if "__pycache__" not in path.parts)
    if not paths:
        raise AssertionError(f"no Python files below {folder}: nothing would be checked")
    sources = []
    for path in paths:
        name, stub = path.relative_to(folder).with_suffix("").as_posix(), path.with_suffix(".pyi")
        said = stub.read_text("utf-8") if stub.exists() else ""
        sources.append(Source(name, path.read_text("utf-8"), said))
    return sources


def running(node: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes but those that only a type checker reads."""
    for child in ast.iter_child_nodes(node):
        typing_only = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        if typing_only and child in node.body:
            continue
        yield child
        yield from running(child)


def _module(source: Source, node: ast.ImportFrom) -> str:
    """Return the full name of the module that names come from: stubs say it by dots."""
    if not node.level:
        return node.module or ""
    folder = ["lapwing", *source.name.split("/")][: -node.level]
    return ".".join([*folder, *([node.module] if node.module else [])])


def _is_file(module: str, known: Collection[str]) -> bool:
    path = module.removeprefix("lapwing.").replace(".", "/")
    return path in known or f"{path}/__init__" in known


def imported(source: Source, known: set[str]) -> Iterator[tuple[str, ast.AST]]:
    """Yield every file that a file imports: inside functions, for types and by its stub, too."""
    for node in source.imports:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            module = _module(source, node)
            names = [
                f"{module}.{alias.name}" if _is_file(f"{module}.{alias.name}", known) else module
                for alias in node.names
            ]
        for name in dict.fromkeys(names):
            if name == "lapwing":
                yield "__init__", node
            elif name.startswith("lapwing."):
                path = name.removeprefix("lapwing.").replace(".", "/")
                yield (path if path in known else f"{path}/__init__"), node


def cycles(graph: Mapping[str, Collection[str]]) -> list[str]:
    done: set[str] = set()

    def visit(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [f"import cycle: {' -> '.join([*path[path.index(name) :], name])}"]
        if name in done:
            return []
        found = [c for target in graph.get(name, ()) for c in visit(target, [*path, name])]
        done.add(name)
        return found

    return [cycle for name in sorted(graph) for cycle in visit(name, [])]
