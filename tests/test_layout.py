"""The layout of the package: levels, names, sizes, and where which import may stand.

`docs/layout.md` is the picture of it. After a change that is meant:
``python -m tests.test_layout`` writes the picture anew.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

from tests.layout_tables import LEVELS, SAME_LEVEL

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "lapwing"
PICTURE = ROOT / "docs" / "layout.md"

CONFINED: dict[str, tuple[str, ...]] = {
    "numba": ("kernels", "noise_kernels", "hash_kernels"),
    "matplotlib": ("plotting",),
    "pyarrow": ("cli/", "engines/"),
    "typer": ("cli/",),
    "rich": ("cli/",),
}
"""Packages that only these files import."""

MOST_LINES = 500
EMPTY_NAMES = {"utils", "util", "common", "misc", "helpers", "helper", "base", "core"}

FORBIDDEN_WORDS = {
    "measurement", "universe", "bucket", "oracle", "aggregate", "aggregator", "sketch",
    "accumulator", "estimator", "optimizer", "accountant", "metric", "util", "utils", "helper",
    "helpers", "manager",
}  # fmt: skip
"""The words that DESIGN rules out because another one stands for the concept, as far as they have
no second meaning in this code: "matrix" and "kernel" have, and "cell", several bins joined."""


@dataclass(frozen=True)
class Source:
    """One file: its path below the package without ".py", and its text."""

    name: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    def says(self, node: ast.AST, message: str) -> str:
        return f"{self.name}.py:{getattr(node, 'lineno', 1)}: {message}"


def read_sources(folder: Path) -> list[Source]:
    paths = sorted(path for path in folder.rglob("*.py") if "__pycache__" not in path.parts)
    if not paths:
        raise AssertionError(f"no Python files below {folder}: nothing would be checked")
    return [
        Source(path.relative_to(folder).with_suffix("").as_posix(), path.read_text("utf-8"))
        for path in paths
    ]


def running(node: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes but those that only a type checker reads."""
    for child in ast.iter_child_nodes(node):
        typing_only = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        if typing_only and child in node.body:
            continue
        yield child
        yield from running(child)


def imported(source: Source, known: set[str]) -> Iterator[tuple[str, ast.AST]]:
    """Yield every file of the package that a file imports, also inside functions."""
    for node in running(source.tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            names = [
                f"{module}.{alias.name}"
                if f"{module}.{alias.name}".removeprefix("lapwing.").replace(".", "/") in known
                else module
                for alias in node.names
            ]
        else:
            continue
        for name in dict.fromkeys(names):
            if name == "lapwing":
                yield "__init__", node
            elif name.startswith("lapwing."):
                path = name.removeprefix("lapwing.").replace(".", "/")
                yield (path if path in known else f"{path}/__init__"), node


def place(name: str) -> tuple[int, str] | None:
    """Return level and entry of a file in :data:`LEVELS`."""
    for level, entries in LEVELS.items():
        for entry in entries:
            if name == entry or (entry.endswith("/") and name.startswith(entry)):
                return level, entry
    return None


# Each rule takes all files of the package and returns what is wrong.


def levels(sources: list[Source]) -> list[str]:
    known = {source.name for source in sources}
    wrong = [f"{name} has no level: give it one in LEVELS" for name in known if not place(name)]
    for source in sources:
        here = place(source.name)
        for target, node in imported(source, known):
            there = place(target)
            if here is None or there is None or there[0] < here[0]:
                continue
            in_folder = here[1] == there[1] and here[1].endswith("/")
            if not in_folder and target not in SAME_LEVEL.get(source.name, ()):
                wrong.append(
                    source.says(
                        node, f"level {here[0]} must not import {target} of level {there[0]}"
                    )
                )
    return wrong


def absolute(sources: list[Source]) -> list[str]:
    return [
        source.says(node, "imports are absolute, so that levels can be read")
        for source in sources
        for node in ast.walk(source.tree)
        if isinstance(node, ast.ImportFrom) and node.level
    ]


def acyclic(sources: list[Source]) -> list[str]:
    known = {source.name for source in sources}
    return cycles({source.name: {t for t, _ in imported(source, known)} for source in sources})


def cycles(graph: Mapping[str, set[str] | tuple[str, ...]]) -> list[str]:
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


def unique_names(sources: list[Source]) -> list[str]:
    seen: dict[str, str] = {}
    wrong = []
    for source in sources:
        stem = source.name.rpartition("/")[2]
        if stem in seen and stem != "__init__":
            wrong.append(f"{source.name} and {seen[stem]} have one name")
        seen[stem] = source.name
    return wrong


def telling_names(sources: list[Source]) -> list[str]:
    return [
        f"{source.name}: a name says what is in it"
        for source in sources
        if EMPTY_NAMES & set(re.split(r"[/_]", source.name))
    ]


def short(sources: list[Source]) -> list[str]:
    return [
        f"{source.name}.py has {len(source.text.splitlines())} lines, more than {MOST_LINES}"
        for source in sources
        if len(source.text.splitlines()) > MOST_LINES
    ]


def init_names_only(sources: list[Source]) -> list[str]:
    wrong = []
    for source in sources:
        if source.name.rpartition("/")[2] != "__init__":
            continue
        for node in source.tree.body:
            text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            named = isinstance(node, ast.Assign) and all(
                isinstance(target, ast.Name) and target.id in ("__all__", "__version__", "_HOMES")
                for target in node.targets
            )
            # Names that are read when they are first used (PEP 562), and their types.
            lazy = isinstance(node, ast.FunctionDef) and node.name in ("__getattr__", "__dir__")
            lazy |= isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
            if not (text or named or lazy or isinstance(node, ast.Import | ast.ImportFrom)):
                wrong.append(source.says(node, "an __init__ holds names only"))
    return wrong


GENERATORS = {"default_rng", "Generator", "BitGenerator", "SeedSequence", "PCG64", "Philox"}


def asked_randomness(sources: list[Source]) -> list[str]:
    """No hidden state, and no generator that nobody seeded."""
    wrong = []
    for source in sources:
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) in (
                "np.random",
                "numpy.random",
            ):
                if node.attr not in GENERATORS:
                    wrong.append(source.says(node, f"np.random.{node.attr} is global state"))
            elif isinstance(node, ast.ImportFrom) and node.module in ("numpy.random", "random"):
                if node.module == "random" or {a.name for a in node.names} - GENERATORS:
                    wrong.append(source.says(node, "global randomness"))
            elif isinstance(node, ast.Import) and "random" in {a.name for a in node.names}:
                wrong.append(source.says(node, "global randomness"))
            if (
                isinstance(node, ast.Call)
                and ast.unparse(node.func).endswith("default_rng")
                and not (node.args or node.keywords)
            ):
                wrong.append(source.says(node, "default_rng() without a seed or a generator"))
    return wrong


def silent(sources: list[Source]) -> list[str]:
    return [
        source.says(node, "only the command line prints")
        for source in sources
        if not source.name.startswith("cli/")
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "print"
    ]


def confined(sources: list[Source]) -> list[str]:
    wrong = []
    for source in sources:
        for node in running(source.tree):
            modules = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                modules = [node.module or ""]
            for module in modules:
                places = CONFINED.get(module.partition(".")[0])
                if places and not any(
                    source.name == entry or (entry[-1] == "/" and source.name.startswith(entry))
                    for entry in places
                ):
                    wrong.append(
                        source.says(node, f"{module} is imported in {', '.join(places)} only")
                    )
    return wrong


def words(sources: list[Source]) -> list[str]:
    """One word for each concept, in the names that the code gives."""
    wrong = []
    for source in sources:
        for node in ast.walk(source.tree):
            name = None
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                name = node.name
            elif isinstance(node, ast.arg):
                name = node.arg
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                name = node.id
            for word in set(re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name or "")):
                singular = word.lower().removesuffix("s")
                if {singular, word.lower()} & FORBIDDEN_WORDS:
                    wrong.append(source.says(node, f"{name}: DESIGN has another word for it"))
    return wrong


RULES: dict[Callable[[list[Source]], list[str]], dict[str, str]] = {
    levels: {
        "domain": "from lapwing.tally import Counts",
        "reports": "def f():\n    from lapwing.survey import Survey",
        "local/x": "from lapwing.decoders import bands",
        "decoders/x": "import lapwing.local.square_wave",
        "laws": "from lapwing.distances import l1",
        "tally": "from lapwing import Counts",
        "stray": "x = 1",
    },
    absolute: {"laws": "from . import tally"},
    acyclic: {"local/x": "import lapwing.local.y", "local/y": "from lapwing.local import x"},
    unique_names: {"local/x": "", "decoders/x": ""},
    telling_names: {"decoders/utils": ""},
    short: {"x": "x = 1\n" * 501},
    init_names_only: {"local/__init__": '"""Names."""\nimport x\n\ndef f(): ...'},
    asked_randomness: {
        "a": "np.random.seed(1)",
        "b": "rng = np.random.default_rng()",
        "c": "from numpy.random import normal",
        "d": "import random",
        "e": "x = numpy.random.rand(3)",
        "f": "from random import shuffle",
    },
    silent: {"laws": "print(1)"},
    confined: {
        "linear/banded": "import numba",
        "distribution": "def f():\n    from matplotlib.figure import Figure",
        "tally": "import pyarrow.parquet",
        "survey": "import rich",
    },
    words: {
        "a": "class FrequencyOracle: ...",
        "b": "def f(bucket_sizes): ...",
        "c": "universes = 3",
        "d": "def f():\n    for measurement in x: ...",
        "e": "class HTTPHelpers: ...",
    },
}
"""Every rule, with files that it must reject, each of them (a pair at once where it takes two)."""

TOGETHER = {acyclic, unique_names}
"""Rules whose broken files are wrong only side by side."""

WHOLE = {levels, acyclic, unique_names}
"""Rules that look at all files at once."""

EVERYTHING = read_sources(PACKAGE)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_package_keeps_the_rule(rule: Callable[[list[Source]], list[str]]) -> None:
    assert len(EVERYTHING) > 30
    assert rule(EVERYTHING) == []


@pytest.mark.parametrize(
    ("rule", "broken"),
    [
        pytest.param(rule, part, id=f"{rule.__name__}-{'-'.join(part)}")
        for rule, files in RULES.items()
        for part in ([files] if rule in TOGETHER else [{n: t} for n, t in files.items()])
    ],
)
def test_the_rule_rejects_what_breaks_it(
    rule: Callable[[list[Source]], list[str]], broken: dict[str, str]
) -> None:
    kept = [source for source in EVERYTHING if rule in WHOLE and source.name not in broken]
    found = rule([*kept, *(Source(name, text) for name, text in broken.items())])
    new = set(found) - set(rule(kept))
    assert new, f"{rule.__name__} lets this pass"
    assert all(any(name in line for name in broken) for line in new)


def test_type_checking_imports_are_free() -> None:
    text = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from lapwing.survey import S"
    known = {source.name for source in EVERYTHING}
    assert list(imported(Source("domain", text), known)) == []
    assert list(imported(Source("domain", text.replace("if TYPE_CHECKING", "if 1")), known))


def test_the_else_of_type_checking_runs() -> None:
    text = "if TYPE_CHECKING:\n    import a\nelse:\n    import lapwing.survey"
    assert [t for t, _ in imported(Source("domain", text), {"survey"})] == ["survey"]


@pytest.mark.parametrize("folder", ["tests", "benchmarks", "examples"])
def test_other_files_are_short(folder: str) -> None:
    assert short(read_sources(ROOT / folder)) == []


def test_an_empty_scan_fails(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="nothing would be checked"):
        read_sources(tmp_path)


def test_the_tables_are_tight() -> None:
    known = {source.name for source in EVERYTHING}
    entries = [entry for group in LEVELS.values() for entry in group]
    assert len(entries) == len(set(entries))
    for entry in entries:
        assert any(n == entry or (entry[-1] == "/" and n.startswith(entry)) for n in known), entry
    used = {source.name: {t for t, _ in imported(source, known)} for source in EVERYTHING}
    for name, targets in SAME_LEVEL.items():
        place_of = place(name)
        assert place_of is not None and place_of[0] in (0, 1, 2, 4, 5)
        assert set(targets) <= used[name], f"{name} no longer imports all of {targets}"
    assert cycles(SAME_LEVEL) == []
    assert cycles({"a": ("b",), "b": ("c",), "c": ("a",)}) != []


def picture() -> str:
    """Return `docs/layout.md` as it must be: one line per file, from its own first sentence."""
    lines = [
        "# Layout",
        "",
        "Imports go downward: a file may import from lower levels, from its own folder, and, on",
        "levels 0 to 2, 4 and 5, along the few edges listed at the end. `tests/test_layout.py`",
        "checks it and writes this page: `python -m tests.test_layout`.",
    ]
    for level, entries in LEVELS.items():
        lines += ["", f"## Level {level}", "", "| file | what it is |", "|---|---|"]
        for entry in entries:
            for source in EVERYTHING:
                if source.name == entry or (entry[-1] == "/" and source.name.startswith(entry)):
                    says = (ast.get_docstring(source.tree) or "").partition("\n\n")[0]
                    if source.name.endswith("/__init__"):
                        continue
                    says = " ".join(says.split()).replace("|", "\\|")
                    lines.append(f"| `{source.name}.py` | {says} |")
    lines += ["", "## Imports within a level", ""]
    lines += [
        f"- `{name}` imports {', '.join(f'`{target}`' for target in targets)}"
        for name, targets in SAME_LEVEL.items()
    ]
    return "\n".join(lines) + "\n"


def test_the_picture_is_up_to_date() -> None:
    assert PICTURE.read_text("utf-8") == picture(), "run: python -m tests.test_layout"


if __name__ == "__main__":
    PICTURE.write_text(picture(), "utf-8")
