"""Python as the reader of a page has it: with the extras that the page names, and no more.

Run as a program, this file hides packages and then runs what its arguments say. It imports nothing
beside the standard library before that. One such program waits in each process of tests: it has
decoded once with the core alone, and each run is a fork of it, which hides what its page lacks.
"""

from __future__ import annotations

import atexit
import doctest
import io
import json
import os
import re
import runpy
import shlex
import signal
import subprocess
import sys
import warnings
from functools import cache
from importlib import metadata
from importlib.machinery import ModuleSpec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

PROGRAM = Path(__file__)
_INSTALLED = re.compile(r"pip install [^\n`]*?'[^'\[]*\[([\w,]+)\]'")
_IN_WORDS = re.compile(r"\bextras?\]?(?:\(\S+\))?\s+((?:`\w+`(?:,?\s+and\s+|,\s+)?)+)")


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
    (lines of `lapwing`, from there too), "file" with the path of a program and its arguments, or
    "lapwing" with arguments of its own.
    """
    return _command(hidden(extras_named(page)), *arguments)


def _command(names: tuple[str, ...], *arguments: str) -> list[str]:
    return [sys.executable, str(PROGRAM), json.dumps(names), *arguments]


def run(
    page: str, *arguments: str, text: str, folder: Path, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a text with the extras that a page names, in a folder."""
    return _run(hidden(extras_named(page)), *arguments, text=text, folder=folder, **variables)


def run_program(path: Path, *arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program of Python with every package, in a folder."""
    return _run((), "file", str(path), *arguments, text="", folder=folder)


_SECONDS = 300


def _run(
    names: tuple[str, ...], *arguments: str, text: str, folder: Path, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run a fork of the waiting process."""
    waiting = _waiting()
    assert waiting.stdin is not None and waiting.stdout is not None
    environment = {**_environment(), **variables}
    with TemporaryDirectory() as files:
        streams = [Path(files) / name for name in ("stdin", "stdout", "stderr")]
        for stream, content in zip(streams, (text, "", ""), strict=True):
            stream.write_text(content, "utf-8")
        request = [names, arguments, str(folder), environment, [*map(str, streams)]]
        waiting.stdin.write(json.dumps(request) + "\n")
        waiting.stdin.flush()
        code = int(waiting.stdout.readline())
        printed, complained = (stream.read_text("utf-8") for stream in streams[1:])
    assert code != -signal.SIGALRM, f"it took more than {_SECONDS} seconds: {printed}{complained}"
    return subprocess.CompletedProcess([*arguments], code, printed, complained)


def _environment() -> dict[str, str]:
    from tests.cli.running import environment

    return {**environment(), "MPLBACKEND": "Agg", "PYTHONIOENCODING": "utf-8"}


@cache
def _waiting() -> subprocess.Popen[str]:
    """Return the process that forks for each run of this process of tests."""
    waiting = subprocess.Popen(
        _command(hidden(frozenset()), "wait"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env=_environment(),
    )
    atexit.register(waiting.communicate)  # it ends with its input
    return waiting


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


def _wait() -> int:
    """Fork for each line of standard input, and print how each fork ended. A fork returns."""
    import lapwing as lw
    from lapwing.cli import main  # noqa: F401

    domain = lw.Interval(0, 1, bins=32)
    survey = lw.Survey("x", lw.recommend(domain, epsilon=2, users=1000))
    survey.decode(lw.simulate(survey.randomizer, [30] * 32, rng=1)).confidence_band(0.95)
    lw.release([0.5] * 100, domain, epsilon=1, delta=1e-6, neighbors="replace-one")
    for line in sys.stdin:
        if (fork := os.fork()) == 0:
            return _forked(*json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(fork, 0)[1]), flush=True)
    return 0


def _forked(
    names: list[str], arguments: list[str], folder: str, environment: dict[str, str], *streams: Any
) -> int:
    """Become a process of one's own and run what `_main` runs."""
    signal.alarm(_SECONDS)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for number, path in enumerate(streams[0]):
        os.dup2(os.open(path, os.O_RDWR | os.O_APPEND), number)
    sys.stdin = sys.__stdin__ = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = sys.__stdout__ = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    return _main(json.dumps(names), *arguments)


def _main(names: str, kind: str, *arguments: str) -> int:
    # The folder of the tests holds names of packages.
    sys.path[:] = [path for path in sys.path if path != str(PROGRAM.parent)]
    blocked = frozenset(json.loads(names))
    for name in [name for name in sys.modules if name.partition(".")[0] in blocked]:
        del sys.modules[name]  # what a file of site-packages imports at the start
    finders = [getattr(finder, "finder", finder) for finder in sys.meta_path]
    sys.meta_path[:] = [_Without(finder, blocked) for finder in finders]  # type: ignore[misc]
    warnings.simplefilter("error")
    from lapwing.errors import WeakAnswerWarning

    warnings.simplefilter("ignore", WeakAnswerWarning)  # as in conftest.py
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)
    if kind == "wait":
        return _wait()
    if kind == "doctest":
        return _doctest(*arguments)
    if kind == "commands":
        return _commands()
    if kind == "exec":
        exec(compile(sys.stdin.read(), "page", "exec"), {"__name__": "__main__"})
        return 0
    sys.argv = [kind, *arguments]
    if kind == "file":
        sys.argv = [*arguments]
        sys.path.insert(0, str(Path(arguments[0]).parent))
        runpy.run_path(arguments[0], run_name="__main__")
    else:
        runpy.run_module(kind, run_name="__main__", alter_sys=True)
    return 0


if __name__ == "__main__":
    sys.exit(_main(*sys.argv[1:]))
