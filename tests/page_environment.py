"""Python as the reader of a page has it: with the extras that the page names, and no more.

Run as a program, this file hides packages and then runs what its arguments say. It imports nothing
beside the standard library before that.
"""

from __future__ import annotations

import doctest
import io
import json
import re
import runpy
import shlex
import subprocess
import sys
import warnings
from functools import cache
from importlib import metadata
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

PROGRAM = Path(__file__)
_INSTALLED = re.compile(r"pip install [^\n`]*?'[^'\[]*\[([\w,]+)\]'")
_IN_WORDS = re.compile(r"\bextras?\]?(?:\(\S+\))? ((?:`\w+`(?:, | and |, and )?)+)")


def extras_named(page: str) -> frozenset[str]:
    """Return the extras of a page: of its lines that install, and of "the extras `a` and `b`"."""
    lines = [found.split(",") for found in _INSTALLED.findall(page)]
    words = [re.findall(r"`(\w+)`", found) for found in _IN_WORDS.findall(page)]
    return frozenset(extra for names in (*lines, *words) for extra in names)


@cache
def _distributions(extras: frozenset[str]) -> frozenset[str]:
    """Return the distributions that pip installs with lapwing and these extras."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    found: set[tuple[str, frozenset[str]]] = set()
    wanted = [("lapwing", extras)]
    while wanted:
        name, own = one = wanted.pop()
        if one in found:
            continue
        found.add(one)
        try:
            required = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue  # of another platform, or left out here
        for requirement in map(Requirement, required):
            marker = requirement.marker
            if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *own)):
                wanted.append((canonicalize_name(requirement.name), frozenset(requirement.extras)))
    return frozenset(name for name, _ in found)


@cache
def hidden(extras: frozenset[str]) -> tuple[str, ...]:
    """Return the importable names that none of these distributions brings."""
    from packaging.utils import canonicalize_name

    unknown = extras - {*(metadata.metadata("lapwing").get_all("Provides-Extra") or ())}
    assert not unknown, f"a page names extras that do not exist: {sorted(unknown)}"
    there = _distributions(extras)
    return tuple(
        sorted(
            name
            for name, owners in metadata.packages_distributions().items()
            if not any(canonicalize_name(owner) in there for owner in owners)
        )
    )


def command(page: str, *arguments: str) -> list[str]:
    """Return the command that runs arguments with the extras that a page names.

    The first is "doctest" with the name of the page, "exec" (both read standard input), "commands"
    (lines of `lapwing`, from there too), or "lapwing" with arguments of its own.
    """
    return [sys.executable, str(PROGRAM), json.dumps(hidden(extras_named(page))), *arguments]


def run(
    page: str, *arguments: str, text: str, folder: Path, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a text with the extras that a page names, in a folder."""
    from tests.cli.running import environment

    return subprocess.run(
        command(page, *arguments),
        input=text,
        cwd=folder,
        env={**environment(), "MPLBACKEND": "Agg", "PYTHONIOENCODING": "utf-8", **variables},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


class _Without:
    """A finder that does not find some packages."""

    def __init__(self, finder: Any, names: frozenset[str]) -> None:
        self.finder, self.names = finder, names

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name.partition(".")[0] in self.names:
            return None
        found: ModuleSpec | None = self.finder.find_spec(name, path, target)
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self.finder, name)


def _doctest(name: str) -> int:
    # The end of a code block is not output.
    examples = re.sub(r"^```.*$", "", sys.stdin.read(), flags=re.MULTILINE)
    test = doctest.DocTestParser().get_doctest(examples, {}, name, name, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    runner.run(test)
    return runner.failures


def _commands() -> int:
    from lapwing.cli import main

    for line in sys.stdin.read().replace("\\\n", " ").splitlines():
        program, *arguments = shlex.split(line)
        assert program == "lapwing", line
        print(f"$ {line}", flush=True)
        if code := main(arguments):
            return code
    return 0


def _main(names: str, kind: str, *arguments: str) -> int:
    sys.path.remove(str(PROGRAM.parent))  # the folder of the tests holds names of packages
    blocked = frozenset(json.loads(names))
    for name in [name for name in sys.modules if name.partition(".")[0] in blocked]:
        del sys.modules[name]  # what a file of site-packages imports at the start
    sys.meta_path[:] = [_Without(finder, blocked) for finder in sys.meta_path]  # type: ignore[misc]
    warnings.simplefilter("error")
    from lapwing.errors import WeakAnswerWarning

    warnings.simplefilter("ignore", WeakAnswerWarning)  # as in conftest.py
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    if kind == "doctest":
        return _doctest(*arguments)
    if kind == "commands":
        return _commands()
    if kind == "exec":
        exec(compile(sys.stdin.read(), "page", "exec"), {"__name__": "__main__"})
        return 0
    sys.argv = [kind, *arguments]
    runpy.run_module(kind, run_name="__main__", alter_sys=True)
    return 0


if __name__ == "__main__":
    sys.exit(_main(*sys.argv[1:]))
