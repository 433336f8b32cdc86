"""One loader for the columns the benchmarks measure on.

``load(name)`` gives a :class:`Column` from one of three places:

- a **stand-in**: a real column of the optional data folder (``../shared/data`` beside the
  repository, or the folder the environment variable ``LAPWING_DATA`` names; its README gives every
  source and its terms);
- a **paper's file**: the public file a paper used, if a user put it in that folder or names it;
- a **synthetic** population, drawn from a seed.

Every column carries the rule by which its values were kept, so that a table of results can print
it, and says whether it is a stand-in: never write "as in the paper" over one.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.data_catalog import (
    COUNT_TABLES,
    PAPER_FILES,
    STAND_INS,
    CountTable,
    PaperFile,
    StandIn,
)
from benchmarks.paper_files import (
    DataFileError,
    Rows,
    read_click_counts,
    read_count_table,
    read_parquet_column,
)

DATA_VARIABLE = "LAPWING_DATA"
DEFAULT_FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data"
KOSARAK_ITEMS = 41_270
"""The whole Kosarak domain (Fang 2023, V-A): ``load("kosarak").padded(KOSARAK_ITEMS)``."""

_SYNTHETIC_SIZE = 100_000


class DataFolderError(FileNotFoundError):
    """The data folder, or a file in it, is not there."""


class NoPaperFileError(DataFolderError):
    """The data folder is there and holds no file of the name that a paper's file has."""


@dataclass(frozen=True, eq=False)
class Column:
    """One attribute of many people: their values, or how many people hold each of some categories.

    Parameters
    ----------
    name : str
        What it is loaded by.
    values : ndarray of float64 or int64, shape (kept,), or None
        Each person's value, in the order of the file, all in [low, high).
    counts : ndarray of int64, shape (high - low,), or None
        Entry ``i`` counts category ``low + i``. Exactly one of ``values`` and ``counts`` is given.
    low, high : float
        The domain [low, high). For values it is fixed by the rule, never read off the data; for
        counts it is the length of the table.
    circular : bool
        True if ``high`` is ``low`` again (time of day, angle).
    kept, dropped : int
        People the column describes; rows of the file that were left out.
    rule : str
        The sentence that states the treatment.
    source : str
        The file and where it comes from.
    is_stand_in : bool
        True if the column takes the place of a paper's data set without being it.

    Raises
    ------
    ValueError
        If these statements contradict each other.
    """

    name: str
    values: NDArray[Any] | None
    low: float
    high: float
    kept: int
    dropped: int
    rule: str
    source: str
    is_stand_in: bool
    circular: bool = False
    counts: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        if (self.values is None) == (self.counts is None):
            raise ValueError("a column must have either values or counts")
        if self.values is not None:
            if self.values.dtype not in (np.float64, np.int64):
                raise ValueError(f"values must be float64 or int64, not {self.values.dtype}")
            people = self.values.size
            inside = (self.values >= self.low) & (self.values < self.high)
            if not inside.all():  # also catches NaN
                raise ValueError(f"value {int(np.argmin(inside))} must lie in [low, high)")
            self.values.setflags(write=False)
        elif self.counts is not None:
            people = int(self.counts.sum())
            if self.counts.shape != (self.high - self.low,) or (self.counts < 0).any():
                raise ValueError("counts must have one entry, not negative, for each category")
            self.counts.setflags(write=False)
        if people != self.kept or people == 0 or self.dropped < 0:
            raise ValueError(f"the column must describe its {self.kept} kept people, not {people}")

    def padded(self, size: int) -> Column:
        """Return the count table with zeros after its last category, up to ``size`` categories.

        Raises
        ------
        ValueError
            If this is no count table, or already has more than ``size`` categories.
        """
        if self.counts is None or size < self.counts.size:
            raise ValueError(f"only a count table of at most {size:,} categories can be padded")
        added = size - self.counts.size
        return replace(
            self,
            counts=np.pad(self.counts, (0, added)),
            high=self.low + size,
            rule=f"{self.rule}; {added:,} categories with count 0 added",
        )

    def drawn(self, size: int, *, seed: int, with_replacement: bool) -> Column:
        """Return ``size`` people drawn from this column: a paper's subsample, or a paper's n.

        Tao 2026 draws 22,603 of 226,030 listings and 31,909 of 638,179 yaws, without replacement.
        With replacement any size is possible, but the atoms stay those of the ``kept`` people.
        The rule of the result says what was done.

        Raises
        ------
        ValueError
            If this is a count table, or ``size`` is not positive, or above ``kept`` when drawing
            without replacement.
        """
        if self.values is None:
            raise ValueError("people are drawn from values; this column is a count table")
        if size < 1 or (size > self.kept and not with_replacement):
            raise ValueError(f"size must be 1 to {self.kept:,} without replacement, not {size:,}")
        rng = np.random.default_rng(seed)
        how = f"{'with' if with_replacement else 'without'} replacement, seed {seed}"
        return replace(
            self,
            values=rng.choice(self.values, size, replace=with_replacement),
            kept=size,
            rule=f"{self.rule}; {size:,} of these {self.kept:,} drawn {how}",
        )


# What each draws. Only populations whose definition is complete are here.
_SYNTHETIC: dict[str, tuple[str, Callable[[np.random.Generator], NDArray[np.float64]]]] = {
    "beta52": ("Beta(5, 2)", lambda rng: rng.beta(5, 2, _SYNTHETIC_SIZE)),
    "uniform": ("uniform law", lambda rng: rng.random(_SYNTHETIC_SIZE)),
}
_KOSARAK_FILE = "kosarak_fimi"


def names() -> tuple[str, ...]:
    """Return every name that :func:`load` knows: synthetic, stand-ins, counts, papers' files."""
    return (*_SYNTHETIC, *STAND_INS, *COUNT_TABLES, *PAPER_FILES, _KOSARAK_FILE)


def load(name: str, folder: str | os.PathLike[str] | None = None, *, seed: int = 0) -> Column:
    """Return a column by its name.

    Parameters
    ----------
    name : str
        One of :func:`names`.
    folder : path, optional
        The data folder, or for a paper's file the path of the file itself. Default: the folder
        named by the environment variable ``LAPWING_DATA``, else ``../shared/data`` beside the
        repository.
    seed : int
        For a synthetic column (100,000 people) only.

    Raises
    ------
    ValueError
        If the name is unknown.
    DataFolderError
        If the folder or the file is not there, or several files could be meant.
    DataFileError
        If a file has another format, or no row of it is kept.

    Notes
    -----
    Cost: the time to read the file; memory of one column (for CSV, of its text too).
    """
    if name in _SYNTHETIC:
        return _synthetic(name, seed)
    if name in STAND_INS:
        return _stand_in(name, STAND_INS[name], data_folder(folder))
    if name in COUNT_TABLES:
        return _count_table(name, COUNT_TABLES[name], data_folder(folder))
    if name in PAPER_FILES:
        return _paper_file(name, PAPER_FILES[name], folder)
    if name == _KOSARAK_FILE:
        return _kosarak(name, folder)
    raise ValueError(f"the name of a column must be one of {', '.join(names())}; not {name!r}")


def load_own(name: str) -> Column | None:
    """Return a paper's own file as a column, or None where the data folder holds none.

    Nothing else is passed over: a file of another format, several that could be meant, and a
    folder that is not there are errors, as in :func:`load`.

    Parameters
    ----------
    name : str
        A name of a paper's file: one of ``PAPER_FILES``, or "kosarak_fimi".

    Raises
    ------
    ValueError
        If the name is not that of a paper's file.
    """
    if name not in (*PAPER_FILES, _KOSARAK_FILE):
        raise ValueError(f"a paper's file must be named, {name!r} is none")
    try:
        return load(name)
    except NoPaperFileError:
        return None


def _synthetic(name: str, seed: int) -> Column:
    law, draw = _SYNTHETIC[name]
    values = draw(np.random.default_rng(seed))
    return Column(
        name=name,
        values=values,
        low=0.0,
        high=1.0,
        kept=values.size,
        dropped=0,
        rule=f"{values.size:,} independent draws by NumPy's default generator, seed {seed}",
        source=f"synthetic: {law} on [0, 1]",
        is_stand_in=False,
    )


def _stand_in(name: str, spec: StandIn, folder: Path) -> Column:
    path = _existing(folder / spec.file)
    rows, left_out = read_parquet_column(path, spec.column, at_most=spec.at_most, above=spec.above)
    only = f", rows with {spec.at_most[0]} <= {spec.at_most[1]}" if spec.at_most else ""
    only += f", rows with {spec.above[0]} > {spec.above[1]}" if spec.above else ""
    return _kept(
        name,
        spec,
        [rows],
        left_out=left_out,
        what=spec.column + only,
        files=spec.file,
        is_stand_in=spec.in_a_paper,
    )


def _paper_file(name: str, spec: PaperFile, folder: str | os.PathLike[str] | None) -> Column:
    paths = _paper_paths(spec.patterns, folder, several=spec.several)
    return _kept(
        name,
        spec,
        [spec.read(path) for path in paths],
        left_out=0,
        what=spec.what,
        files=", ".join(path.name for path in paths),
        is_stand_in=False,
    )


def _kept(
    name: str,
    spec: StandIn | PaperFile,
    parts: list[Rows],
    *,
    left_out: int,
    what: str,
    files: str,
    is_stand_in: bool,
) -> Column:
    """Apply the legal range and write the sentence that says so: the two cannot disagree."""
    low, high = spec.span
    values = np.concatenate([part.values for part in parts])
    inside = values[(values >= low) & (values < high)]
    span = f"[{_edge(low)}, {_edge(high)})"
    if inside.size == 0:
        raise DataFileError(f"{files}: at least one row must have a {what} in {span}; none has")
    rule = f"{what}: values in {span} kept, missing and all others dropped"
    missing = sum(part.missing for part in parts)
    return Column(
        name=name,
        values=inside,
        low=low,
        high=high,
        circular=spec.circular,
        kept=inside.size,
        dropped=left_out + missing + values.size - inside.size,
        rule=f"{rule}; {spec.note}" if spec.note else rule,
        source=f"{files} ({spec.source})",
        is_stand_in=is_stand_in,
    )


def _count_table(name: str, spec: CountTable, folder: Path) -> Column:
    path = _existing(folder / spec.file)
    keys, found = read_count_table(path, key=spec.key, count="count")
    if spec.first is None:
        low, counts = 0, found
        numbered = f"category i is the {spec.key} of rank i, from 0"
    else:
        low, numbered = spec.first, f"category i is {spec.key} i"
        if keys[0] < low:
            raise DataFileError(f"{spec.file}: column {spec.key!r} must not be below {low}")
        counts = np.zeros(int(keys[-1]) - low + 1, dtype=np.int64)
        counts[keys - low] = found
    return Column(
        name=name,
        values=None,
        counts=counts,
        low=low,
        high=low + counts.size,
        kept=int(counts.sum()),
        dropped=0,
        rule=f"every count kept, {numbered}; {spec.note}",
        source=f"{spec.file} ({spec.source})",
        is_stand_in=spec.in_a_paper,
    )


def _kosarak(name: str, folder: str | os.PathLike[str] | None) -> Column:
    (path,) = _paper_paths(("kosarak.dat", "kosarak.dat.gz"), folder, several=False)
    counts = read_click_counts(path)
    return Column(
        name=name,
        values=None,
        counts=counts,
        low=1,
        high=1 + counts.size,
        kept=int(counts.sum()),
        dropped=0,
        rule="every click is a value, repeated ones too; "
        "Fang 2023 reports 8,019,015 clicks on 41,270 items",
        source=f"{path.name} (FIMI repository, kosarak)",
        is_stand_in=False,
    )


def _edge(value: float) -> str:
    return {math.pi: "pi", -math.pi: "-pi"}.get(value) or f"{value:,}"


def data_folder(folder: str | os.PathLike[str] | None = None) -> Path:
    """The folder that was asked for, else the variable's, else the default one; it exists."""
    if folder is not None:
        chosen, what = Path(folder), "the data folder asked for"
    elif os.environ.get(DATA_VARIABLE):
        chosen, what = Path(os.environ[DATA_VARIABLE]), f"the data folder {DATA_VARIABLE} names"
    else:
        chosen, what = DEFAULT_FOLDER, f"({DATA_VARIABLE} is not set) the data folder"
    if not chosen.is_dir():
        raise DataFolderError(
            f"{what} must exist; {chosen} does not. Set {DATA_VARIABLE} to the folder that holds "
            "the data files, or put them in ../shared/data beside the repository"
        )
    return chosen


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise DataFolderError(f"the data folder must hold {path.name}; {path.parent} does not")
    return path


def _paper_paths(
    patterns: tuple[str, ...], folder: str | os.PathLike[str] | None, *, several: bool
) -> list[Path]:
    """The files of a paper: the one that was named, else the first pattern that matches any."""
    if folder is not None and Path(folder).is_file():
        return [Path(folder)]
    place = data_folder(folder)
    for pattern in patterns:
        found = sorted(place.glob(pattern))
        if len(found) > 1 and not several:
            raise DataFolderError(
                f"one file must match {pattern}, {len(found)} do: pass the path of the right one"
            )
        if found:
            return found
    raise NoPaperFileError(
        f"a file must be named {' or '.join(patterns)}, and none in {place} is: "
        "put the publisher's file there, or pass its path"
    )
