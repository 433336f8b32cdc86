"""What tests of the program share: how a run ended, and the files they run on."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import numpy as np

from lapwing import Interval, SquareWave, Survey
from lapwing.cli.command_list import _built


@dataclass(frozen=True)
class Run:
    """How a run ended."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        found = json.loads(self.out)
        assert isinstance(found, dict)
        return found

    @property
    def complaint(self) -> str:
        """The only line on stderr, of a run that was refused and printed nothing else."""
        assert self.out == ""
        lines = self.err.splitlines()
        assert len(lines) == 1, self.err
        assert "Traceback" not in self.err
        return lines[0].removeprefix("lapwing: ")


Program = Callable[..., Run]

_commands = cache(_built)


def built_once(path: str, function: Callable[..., None]) -> Any:
    """Return a command as a process has it that runs it first. Building it takes longest."""
    command = _commands(path, function)
    command.typed_as.clear()
    return command


@cache
def installed_once(path: tuple[str, ...]) -> Any:
    """Return the entry points of what is installed in the folders of sys.path."""
    return entry_points()


def environment() -> dict[str, str]:
    """The environment of a process that runs this checkout's code."""
    source = str(Path(__file__).parents[2] / "src")
    return {**os.environ, "PYTHONPATH": source, "OMP_NUM_THREADS": "1"}


def the_survey() -> Survey:
    """A survey of numbers 0..100."""
    return Survey("age", SquareWave(Interval(0, 100, bins=20), epsilon=2))


def write_ages(folder: Path) -> np.ndarray:
    """Write 3000 numbers as ages.csv and ages.parquet, and return them."""
    import pyarrow as pa
    from pyarrow import parquet

    numbers = np.round(np.random.default_rng(5).gamma(4, 8, 3000), 1)
    lines = "".join(f"{number}\n" for number in numbers)
    (folder / "ages.csv").write_text(f"age\n{lines}")
    table = pa.table({"age": numbers, "row": np.arange(3000)})
    parquet.write_table(table, folder / "ages.parquet")
    return numbers


def listing(folder: Path) -> dict[str, bytes]:
    """Every file of a folder, hidden ones too, with its content."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def written_once(folder: Path, kept: dict[str, bytes], make: Callable[[], None]) -> None:
    """Write the files that `make` writes. Only the first call makes them, and keeps them."""
    if not kept:
        make()
        kept.update(listing(folder))
    for name, content in kept.items():
        (folder / name).write_bytes(content)


_WORDS = {"--integers": 2} | {
    f"--{name}": 1
    for name in (
        *("low", "high", "bins", "unit", "scale", "atom", "edges", "closed", "categories"),
        *("other", "outside", "missing", "segments"),
    )
}
"""The options of a domain, each with how many words follow."""

_UNITS = ("number", "date", "datetime", "time-of-day")


def domain_apart(words: list[str]) -> tuple[list[str], list[str]]:
    """Return the options of a domain among the words of a command, and all other words.

    Commands take a domain in a file. Tests type it where it is used, and it is written first.
    """
    domain: list[str] = []
    rest: list[str] = []
    left = iter(words)
    for word in left:
        if word == "--segments":
            domain += [part for label in next(left).split(",") for part in ("--segment", label)]
        elif word == "--unit" and (following := next(left)) not in _UNITS:
            rest += [word, following]  # a column, of release and count
        elif word == "--unit":
            domain += [word, following]
        elif word in _WORDS:
            domain += [word, *(next(left) for _ in range(_WORDS[word]))]
        else:
            rest.append(word)
    return domain, rest
