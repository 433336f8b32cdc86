"""The layout of the package: floors, names, sizes, and where which import may stand.

`docs/project/architecture.md` is the picture of it. After a change that is meant:
``python -m tests.test_layout`` writes the picture anew.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise, takewhile
from pathlib import Path

import pytest

from lapwing.registry import DECODERS, MECHANISMS, RANDOMIZERS
from tests.home_of_pairs import pairs_at_home
from tests.package_imports import Source, cycles, imported, read_sources

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "lapwing"

PICTURE = ROOT / "docs" / "project" / "architecture.md"

FLOORS = (
    "__main__",
    "cli",
    "__init__",
    "stored_files",
    "public_names testing",
    "client engines papers plugins service shuffle tallies",
    "survey",
    "planning",
    "mechanisms decoders",
    "distances",
    "randomizers results",
    "questions",
    "protocol",
    "privacy",
    "registry",
    "stored_fields",
    "declared",
    "datasets documents linear",
    "atomic_files",
    "docstrings errors facts",
)
"""The folders of the package, and its files that stand in none, from the top to the ground.
Imports go down, also those inside functions and those that only a type checker reads; folders of
one floor know nothing of each other."""

CONFINED: dict[str, tuple[str, ...]] = {
    "numba": ("kernels", "kernel"),
    "matplotlib": ("plotting",),
    # A column of Arrow is asked for its zone by Arrow, which whoever holds one has, and labels are
    # looked up by it where it is there.
    # Tallies of segments are a table for whoever asks for one.
    "pyarrow": (
        *("cli/", "engines/", "domains/zoned_columns", "domains/label_columns"),
        "messages/group_table",
    ),
    "typer": ("cli/",),
    "rich": ("cli/",),
    "starlette": ("service/",),
    "msgspec": ("service/",),
    "uvicorn": ("service/",),
    "jinja2": ("service/",),
    "asyncpg": ("service/",),
    "sqlite3": ("service/storage/", "client/"),
    "certifi": ("client/",),
    "httpcore": ("client/",),
}
"""Packages that only these import: folders, and files whose names end so."""

MOST_LINES = 800
LONGER = {"results/uncertainty": 1100}
"""Files that hold one idea on more lines: bands and the error distributions that give them."""
EMPTY_NAMES = {"utils", "util", "common", "misc", "helpers", "helper", "base", "core"}

FORBIDDEN_WORDS = {
    "universe", "bucket", "oracle", "aggregate", "aggregator", "sketch",
    "accumulator", "estimator", "optimizer", "accountant", "metric", "util", "utils", "helper",
    "helpers", "manager",
}  # fmt: skip
"""The words that DESIGN rules out because another one stands for the concept, as far as they have
no second meaning in this code: "matrix" and "kernel" have, and "cell", several bins joined."""


def floor(name: str) -> int:
    """Return the number of a file's floor, from 1 at the ground; 0 when it has none."""
    room = name.partition("/")[0]
    for number, rooms in enumerate(reversed(FLOORS), 1):
        if room in rooms.split():
            return number
    return 0


# Each rule takes all files of the package and returns what is wrong.


def downward(sources: list[Source]) -> list[str]:
    known = {source.name for source in sources}
    wrong = [
        f"{name} is on no floor: give its folder one in FLOORS" for name in known if not floor(name)
    ]
    for source in sources:
        for target, node in imported(source, known):
            same = source.name.partition("/")[0] == target.partition("/")[0]
            if not same and floor(target) >= floor(source.name) > 0:
                wrong.append(source.says(node, f"imports {target}, which is not below it"))
    return wrong


def rooms(sources: list[Source]) -> list[str]:
    """Seen from any folder, no folder in it is part of a circle."""
    known = {source.name for source in sources}
    views: dict[str, dict[str, dict[str, str]]] = {}
    for source in sources:
        for target, _ in imported(source, known):
            ours, theirs = source.name.split("/"), target.split("/")
            pairs = zip(ours, theirs, strict=False)
            shared = len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))
            # A folder is written with its "/", so that it is told from a file.
            first, second = (
                part[shared] + "/" * (len(part) > shared + 1) for part in (ours, theirs)
            )
            view = views.setdefault("/".join(ours[:shared]), {})
            view.setdefault(first, {})[second] = source.name
    wrong = []
    for view in views.values():
        for cycle in cycles(view):
            steps = cycle.partition(": ")[2].split(" -> ")
            if "/" in cycle:
                by = ", ".join(view[first][second] for first, second in pairwise(steps))
                wrong.append(f"{cycle}, by {by}")
    return wrong


def absolute(sources: list[Source]) -> list[str]:
    return [
        source.says(node, "imports are absolute, so that levels can be read")
        for source in sources
        for node in source.nodes
        if isinstance(node, ast.ImportFrom) and node.level
    ]


def acyclic(sources: list[Source]) -> list[str]:
    known = {source.name for source in sources}
    return cycles({source.name: {t for t, _ in imported(source, known)} for source in sources})


def telling_names(sources: list[Source]) -> list[str]:
    return [
        f"{source.name}: a name says what is in it"
        for source in sources
        if EMPTY_NAMES & set(re.split(r"[/_]", source.name))
    ]


def short(sources: list[Source]) -> list[str]:
    return [
        f"{source.name}.py has {lines} lines, more than {most}"
        for source in sources
        if (lines := len(source.text.splitlines())) > (most := LONGER.get(source.name, MOST_LINES))
    ]


def init_names_only(sources: list[Source]) -> list[str]:
    wrong = []
    for source in sources:
        if source.name.rpartition("/")[2] != "__init__":
            continue
        for node in source.tree.body:
            text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            # __getattr__ and __dir__: names of a stub, read when they are first used (PEP 562).
            named = isinstance(node, ast.Assign) and {
                name.id for name in ast.walk(node.targets[0]) if isinstance(name, ast.Name)
            } <= {"__all__", "__version__", "__getattr__", "__dir__"}
            if not (text or named or isinstance(node, ast.Import | ast.ImportFrom)):
                wrong.append(source.says(node, "an __init__ holds names only"))
    return wrong


GENERATORS = {"default_rng", "Generator", "BitGenerator", "SeedSequence", "PCG64", "Philox"}


def asked_randomness(sources: list[Source]) -> list[str]:
    """No hidden state, and no generator that nobody seeded."""
    wrong = []
    for source in sources:
        for node in source.nodes:
            if (
                isinstance(node, ast.Attribute)
                and getattr(node.value, "attr", "") == "random"
                and ast.unparse(node.value) in ("np.random", "numpy.random")
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
                and not (node.args or node.keywords)
                and ast.unparse(node.func).endswith("default_rng")
            ):
                wrong.append(source.says(node, "default_rng() without a seed or a generator"))
    return wrong


FILLED = {"dict", "list", "set", "OrderedDict", "defaultdict", "deque", "WeakKeyDictionary"}


def nothing_kept(sources: list[Source]) -> list[str]:
    """Below the survey no module fills a container of its own: threads would tear it."""
    wrong = []
    for source in sources:
        for node in source.tree.body if floor(source.name) < floor("survey/x") else []:
            value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
            empty = isinstance(value, ast.Dict | ast.List) and not ast.unparse(value).strip("{}[]")
            made = isinstance(value, ast.Call) and ast.unparse(value.func).split(".")[-1] in FILLED
            if empty or (made and not value.args):
                wrong.append(source.says(node, "keep what a pure function found by memoized"))
        for node in source.nodes:
            if isinstance(node, ast.Global):
                wrong.append(source.says(node, "a module's names do not change"))
            if "lru_cache" in {getattr(node, key, "") for key in ("id", "attr", "name")}:
                wrong.append(source.says(node, "threads tear lru_cache. Use memoized"))
            locked = isinstance(node, ast.ImportFrom) and node.module == "functools"
            locked = locked and "cached_property" in {alias.name for alias in node.names}
            if locked and source.name != "linear/arrays":
                wrong.append(source.says(node, "it locks all instances. Use that of memoized"))
    return wrong


def silent(sources: list[Source]) -> list[str]:
    return [
        source.says(node, "only the command line prints")
        for source in sources
        if not source.name.startswith("cli/")
        for node in source.nodes
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "print"
    ]


def confined(sources: list[Source]) -> list[str]:
    wrong = []
    for source in sources:
        for node in source.running:
            modules = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                modules = [node.module or ""]
            for module in modules:
                places = CONFINED.get(module.partition(".")[0])
                if places and not any(
                    source.name.startswith(entry)
                    if entry[-1] == "/"
                    else source.name.endswith(entry)
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
        for node in source.nodes:
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


EMPTY_WORDS = {
    "found", "made", "held", "kept", "given", "told", "said", "shown", "asked", "known", "chosen",
    "drawn", "seen", "taken", "meant", "sent", "one", "part", "others", "theirs", "what", "who",
}  # fmt: skip
"""Participles and pronouns: alone, as the name of something public, they do not say what it is."""

NOT_YET_UNIQUE: dict[str, int] = {"Connection": 2, "KindOptions": 2, "Reading": 2}
"""Class names and how many classes still have them. It only gets shorter."""

NOT_YET_ALONE: set[str] = {
    *("cli/reading/options", "decoders/empirical_bayes/mixture_prior"),
    *("planning/defaults", "results/plotting"),
}
"""Files with a constant whose docstring needs the one before it. It only gets shorter."""


def unique_classes(sources: list[Source]) -> list[str]:
    """A class name means one class."""
    seen: dict[str, list[str]] = {}
    for source in sources:
        for node in source.nodes:
            if isinstance(node, ast.ClassDef):
                seen.setdefault(node.name, []).append(source.name)
    return [
        f"{', '.join(files)}: {len(files)} classes are called {name}"
        for name, files in seen.items()
        if len(files) > NOT_YET_UNIQUE.get(name, 1)
    ]


def _public(source: Source) -> Iterator[tuple[str, ast.AST]]:
    """Yield what a file defines for others: functions and classes, their methods and fields."""
    for node in source.tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            for member in node.body:
                if isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield f"{node.name}.{member.name}", member
                elif isinstance(member, ast.AnnAssign) and isinstance(member.target, ast.Name):
                    yield f"{node.name}.{member.target.id}", member


OF_THE_FIELD = {"JointDistribution.given"}
"""Names that are empty words elsewhere: a conditional distribution is read "x given y"."""


def nouns(sources: list[Source]) -> list[str]:
    """No public name is a bare participle or pronoun."""
    return [
        source.says(node, f"{name}: write the noun")
        for source in sources
        for name, node in _public(source)
        if name.rpartition(".")[2].lower() in EMPTY_WORDS and name not in OF_THE_FIELD
    ]


def constants_alone(sources: list[Source]) -> list[str]:
    """The docstring of a constant is read alone, where a reader jumped to it."""
    return [
        source.says(text, "say what it is without the constant before it")
        for source in sources
        if source.name not in NOT_YET_ALONE
        for constant, text in pairwise(source.tree.body)
        if isinstance(constant, ast.Assign | ast.AnnAssign)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and str(text.value.value).startswith("The same")
    ]


TYPING = (
    "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from lapwing.survey.survey import S"
)

WINGS = ("papers/", "service/", "engines/")
"""Folders that nothing below them enters. They import the core."""

DOORS = ("__init__", "cli/", "testing/", "registry", "stored_files")
"""Files that may name what is in a wing: programs, contracts, and the tables of names."""


def wings_apart(sources: list[Source]) -> list[str]:
    """The core imports no wing, and names none of the papers' classes in a string."""
    known = {source.name for source in sources}
    wrong = []
    for source in sources:
        own = next((wing for wing in WINGS if source.name.startswith(wing)), None)
        if not source.name.startswith(DOORS):
            for target, node in imported(source, known):
                if target.startswith(WINGS) and (own is None or not target.startswith(own)):
                    wrong.append(source.says(node, f"imports {target}, which is in a wing"))
        if own is None and not source.name.startswith(DOORS):
            wrong += [
                source.says(node, f"names {node.value!r}, which is in a wing")
                for node in source.nodes
                if isinstance(node, ast.Constant) and node.value in OF_WINGS
            ]
    return wrong


OF_WINGS = {
    name
    for table in (RANDOMIZERS, DECODERS, MECHANISMS)
    for key, made in table.items()
    if made.__module__.startswith("lapwing.papers.")
    for name in (key, made.__name__)
} - {"threshold"}
"""Classes of the papers and their names in documents, but for a word with other meanings."""

NAMED_IMPORTS = ("registry", "public_names", "cli/command_list", "engines/spark/job_errors")
"""Files that import by a name in a string: the tables of names, and what a worker is sent."""


def plain_imports(sources: list[Source]) -> list[str]:
    """An import by a name in a string hides an arrow, so only the tables of names have one."""
    return [
        source.says(node, "import it by its name, or through lapwing.registry")
        for source in sources
        if source.name not in NAMED_IMPORTS
        for node in source.nodes
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).split(".")[-1] in ("import_module", "__import__")
    ]


RULES: dict[Callable[[list[Source]], list[str]], dict[str, str]] = {
    downward: {
        "protocol/x": "from lapwing.results.uncertainty import Band",
        "privacy/x": "def f():\n    from lapwing.survey.survey import Survey",
        "planning/x": TYPING,
        "randomizers/x": "from lapwing.results.uncertainty import Band",
        "decoders/x": "from lapwing.mechanisms import prefix_sums",
        "survey/x": "from lapwing import CountTally",
        "stray": "x = 1",
    },
    rooms: {"privacy/sampling/x": "import lapwing.privacy.integer_noise"},
    absolute: {"laws": "from . import tally"},
    acyclic: {
        "randomizers/x": "import lapwing.randomizers.y",
        "randomizers/y": "if TYPE_CHECKING:\n    from lapwing.randomizers import x",
    },
    telling_names: {"decoders/utils": ""},
    short: {"x": "x = 1\n" * 801},
    init_names_only: {
        "randomizers/__init__": '"""Names."""\nimport x\n\ndef f(): ...',
        "mechanisms/__init__": "x, __all__ = 1, 2",
    },
    asked_randomness: {
        "a": "np.random.seed(1)",
        "b": "rng = np.random.default_rng()",
        "c": "from numpy.random import normal",
        "d": "import random",
        "e": "x = numpy.random.rand(3)",
        "f": "from random import shuffle",
    },
    nothing_kept: {
        "decoders/x": "_roots: dict[str, int] = {}",
        "randomizers/x": "from collections import OrderedDict\n_kept = OrderedDict()",
        "linear/x": "_seen = []",
        "cli/x": "def f():\n    global x\n    x = 1",
        "privacy/x": "from functools import lru_cache",
        "mechanisms/x": "import functools\n@functools.lru_cache(maxsize=4)\ndef f(x): ...",
        "survey/x": "from functools import cached_property",
    },
    wings_apart: {
        "planning/x": "from lapwing.papers.wavelet import Wavelet",
        "survey/x": "def f():\n    from lapwing.engines.spark import spark_rows",
        "client/x": "hashed = name == 'local-hashing'",
        "papers/baselines/x": "from lapwing.service import app",
    },
    plain_imports: {"protocol/x": "import_module('lapwing.planning.defaults')"},
    silent: {"laws": "print(1)"},
    pairs_at_home: {
        "randomizers/x": "class X:\n    name = 'wavelet'\n    tree = 'tree-consistency'",
        "survey/x": "from lapwing.randomizers import Wavelet\nfrom lapwing.decoders import Wiener",
        "planning/x": "if randomizer.name == 'wavelet':\n    decoder = WaveletClip()",
        "cli/x": "import lapwing as lw\nx = {lw.mechanisms.HistogramQuery: lw.decoders.CellCounts}",
        "engines/x": "decoders = {'square-wave': 'spectral-prior'}",
    },
    confined: {
        "linear/banded": "import numba",
        "distribution": "def f():\n    from matplotlib.figure import Figure",
        "tally": "import pyarrow.parquet",
        "survey": "import rich",
    },
    unique_classes: {"decoders/x": "class Survey: ..."},
    nouns: {
        "privacy/a": "def found(): ...",
        "privacy/b": "class Asked: ...",
        "privacy/c": "class Series:\n    made: int",
        "privacy/d": "class Series:\n    def kept(self): ...",
    },
    constants_alone: {"linear/x": 'A = 1\n"""A size."""\n\nB = 2\n"""The same for more."""'},
    words: {
        "a": "class FrequencyOracle: ...",
        "b": "def f(bucket_sizes): ...",
        "c": "universes = 3",
        "d": "def f():\n    for aggregate in x: ...",
        "e": "class HTTPHelpers: ...",
    },
}
"""Every rule, with files that it must reject, each of them (a pair at once where it takes two)."""

TOGETHER = {acyclic}
"""Rules whose broken files are wrong only side by side."""

WHOLE = {downward, rooms, acyclic, unique_classes, wings_apart}
"""Rules that look at all files at once."""

EVERYTHING = read_sources(PACKAGE)


@pytest.fixture(scope="module", autouse=True)
def _trees() -> Iterator[None]:
    """Forget the syntax trees of all files after the last test: a hundred megabytes."""
    yield
    for source in EVERYTHING:
        for name in ("tree", "stub_tree", "nodes", "imports", "running"):
            vars(source).pop(name, None)


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


def test_the_lists_of_what_is_not_yet_right_only_get_shorter() -> None:
    """What is right by now is struck from its list."""
    classes = Counter(
        node.name
        for source in EVERYTHING
        for node in source.nodes
        if isinstance(node, ast.ClassDef)
    )
    assert {name: classes[name] for name in NOT_YET_UNIQUE} == NOT_YET_UNIQUE
    alone = {source.name for source in EVERYTHING if '\n"""The same' in source.text}
    assert alone >= NOT_YET_ALONE


def test_imports_for_types_are_imports() -> None:
    known = {source.name for source in EVERYTHING}
    assert [target for target, _ in imported(Source("x", TYPING), known)] == ["survey/survey"]


def test_the_imports_of_a_stub_count() -> None:
    others = [source for source in EVERYTHING if source.name != "randomizers/__init__"]
    up = Source("randomizers/__init__", "", stub="from ..results.uncertainty import Band as Band")
    (found,) = downward([*others, up])
    assert "results/uncertainty, which is not below" in found
    (names,) = (source for source in EVERYTHING if source.name == "__init__")
    targets = {target for target, _ in imported(names, {source.name for source in EVERYTHING})}
    assert {
        "survey/survey",
        "randomizers/__init__",
        "shuffle",
    } <= targets and "__init__" not in targets


def test_the_else_of_type_checking_runs() -> None:
    text = "if TYPE_CHECKING:\n    import rich\nelse:\n    import typer"
    (found,) = confined([Source("protocol/x", text)])
    assert "typer" in found


@pytest.mark.parametrize("folder", ["tests", "benchmarks", "examples"])
def test_other_files_are_short(folder: str) -> None:
    assert short(read_sources(ROOT / folder)) == []


def test_an_empty_scan_fails(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="nothing would be checked"):
        read_sources(tmp_path)


def test_every_floor_is_lived_on() -> None:
    names = [name for rooms in FLOORS for name in rooms.split()]
    assert len(names) == len(set(names))
    assert set(names) == {source.name.partition("/")[0] for source in EVERYTHING}


def test_tests_stand_where_their_file_stands() -> None:
    """A test named after a file that it imports: in the folder that mirrors its, or one above."""
    homes: dict[str, list[str]] = {}
    for source in EVERYTHING:
        homes.setdefault(source.name.rpartition("/")[2], []).append(source.name)
    seen = 0
    for test in read_sources(ROOT / "tests"):
        folder, _, name = test.name.rpartition("/")
        if not name.startswith("test_") or folder == "contracts":
            continue  # the contracts are for all classes of a kind
        own = [
            home
            for home in homes.get(name.removeprefix("test_"), [])
            if re.search(rf"\blapwing\.{home.replace('/', '.')}\b", test.text)
        ]
        if own:
            seen += 1
            near = [home.startswith(f"{folder}/") if folder else "/" not in home for home in own]
            assert any(near), test.name
    assert seen > 60


def picture() -> str:
    """Return the page of the architecture as it must be: floors, and a line for each folder."""
    says: dict[str, str] = {}
    for source in EVERYTHING:
        if "/" not in source.name or source.name.endswith("/__init__"):
            text = (ast.get_docstring(source.tree) or "").partition("\n\n")[0]
            says[source.name.removesuffix("/__init__") + "/" * ("/" in source.name)] = text
    stairs, lines = [], []
    for depth, rooms in enumerate(FLOORS):
        shown = [room for room in says if room.removesuffix("/") in rooms.split()]
        stairs.append(f"{len(FLOORS) - depth:2} {'  ' * depth}{', '.join(shown)}")
        for room in shown:
            lines.append(f"- **{room}**: {says[room]}")
            lines += [
                f"  - {inner}: {says[inner]}" for inner in says if inner[:-1].startswith(room)
            ]
    return PAGE.format(stairs="\n".join(stairs), lines="\n".join(lines))


PAGE = """# Architecture

<!-- Generated by `python -m tests.test_layout`. Do not edit. -->

Each file is in the folder that names its purpose. It imports only from the levels below its own,
and folders of one level do not import each other. `tests/test_layout.py` checks this, even for
imports inside functions, and writes this page. [The life of a
value](../privacy/life-of-a-value.md) follows one value from the device to the estimate.

```text
{stairs}
```

{lines}
"""


def test_the_picture_is_up_to_date() -> None:
    assert PICTURE.read_text("utf-8") == picture(), "run: python -m tests.test_layout"


if __name__ == "__main__":
    PICTURE.write_text(picture(), "utf-8")
