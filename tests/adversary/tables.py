"""Files and commands, file in and file out: one changed row, the same noise on both sides."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

import lapwing as lw
from lapwing.cli import main
from lapwing.protocol.messages.tally import Tally
from tests.adversary.coupling import Tape, injected


@dataclass(frozen=True)
class Column:
    """A kind of column: usual cells, nasty ones, and the domain they are asked in."""

    usual: tuple[str, ...]
    nasty: tuple[str, ...]
    asked: tuple[str, ...]


COLUMNS = {
    "date": Column(
        ("2019-05-01", "2020-06-02", "2021-07-03", "2022-08-04"),
        (
            "2019-02-30",
            "9999-12-31",
            "0001-01-01",
            "17897",
            "inf",
            "",
            "secret",
            "2019-05-01T25:00",
        ),
        ("--unit", "date", "--low", "2019-01-01", "--high", "2023-01-01", "--bins", "4"),
    ),
    "compact date": Column(
        ("20190501", "20200602", "20210703", "20220804"),
        ("20190230", "20191301", "2020-06-02", "20200602", "5", ""),
        ("--unit", "date", "--low", "2019-01-01", "--high", "2023-01-01", "--bins", "4"),
    ),
    "number": Column(
        ("1", "3.5", "6", "8.25"),
        ("inf", "-inf", "nan", "", "secret", "1e400", "2019-05-01", "1,5", "0x10", "-0.0", "true"),
        ("--low", "0", "--high", "10", "--bins", "4"),
    ),
    "number with overflow": Column(
        ("1", "3.5", "-6", "8.25"),
        ("inf", "-inf", "nan", "", "secret", "1e400", "11", "-1e-300", "10", "true"),
        ("--low", "0", "--high", "10", "--bins", "4", "--outside", "overflow"),
    ),
    "time-of-day": Column(
        ("01:30", "09:30", "13:00:01", "23:59"),
        ("24:00", "25:00", "inf", "", "secret", "3600", "2019-05-01"),
        ("--unit", "time-of-day", "--low", "00:00", "--high", "24:00", "--bins", "4"),
    ),
}
MECHANISM = ("--mechanism", "histogram-query", "--set", "bins=4", "--set", "interpolate=false")
PROMISE = ("--epsilon", "1", "--neighbors", "replace-one")


def write_csv(cells: list[str], path: Path) -> Path:
    """Write a CSV of one column."""
    path = path.with_suffix(".csv")
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([["x", "row"], *([cell, 0] for cell in cells)])
    return path


def write_parquet(cells: list[str], path: Path) -> Path:
    """Write a Parquet file of one column of texts."""
    path = path.with_suffix(".parquet")
    parquet.write_table(pa.table({"x": pa.array(cells, pa.string())}), path)
    return path


def write_dictionary(cells: list[str], path: Path) -> Path:
    """Write a Parquet file of one column of texts that are coded by a dictionary."""
    path = path.with_suffix(".parquet")
    parquet.write_table(pa.table({"x": pa.array(cells, pa.string()).dictionary_encode()}), path)
    return path


WRITERS: dict[str, Callable[[list[str], Path], Path]] = {
    "csv": write_csv,
    "parquet": write_parquet,
    "dictionary": write_dictionary,
}


def run(*arguments: object) -> None:
    """Run a command that must succeed, in this process."""
    code = main([str(argument) for argument in arguments])
    assert code == 0, f"refused with {code}: {arguments}"


def domain_of(file: Path, column: Column) -> tuple[object, ...]:
    """Return the option of a command that names the domain, which is written beside the table."""
    out = file.with_suffix(".domain")
    if not out.exists():
        run("new", "--domain-only", *column.asked, "-o", out, "--quiet")
    return ("--domain", out)


def summarized(file: Path, column: Column) -> np.ndarray:
    """Return the exact counts that `count` keeps of a file."""
    out = file.with_suffix(".lws")
    out.unlink(missing_ok=True)
    run("count", file, "--column", "x", *domain_of(file, column), "-o", out, "--quiet")
    return lw.protocol.ExactCounts.load(out).counts


def released(file: Path, column: Column) -> tuple[np.ndarray, float]:
    """Return the numbers that `release` publishes with noise of zero, and what epsilon hides."""
    out = file.with_suffix(".json")
    out.unlink(missing_ok=True)
    tape = Tape(np.random.default_rng(1), given=[])
    asked = domain_of(file, column)
    with injected(tape):
        run("release", file, "--column", "x", *asked, *PROMISE, *MECHANISM, "-o", out)
    document = json.loads(out.read_text())
    ((kind, scale),) = set(tape.laws)
    assert kind == "laplace"
    return np.array(document["answers"]), scale * float(PROMISE[1])


def randomized(file: Path, column: Column) -> np.ndarray | None:
    """Return the counts of the reports of a file at an epsilon at which nearly all are true.

    None when a cell is refused: on a device that tells nobody anything.
    """
    out, survey = file.with_suffix(".lwr"), file.with_suffix(".survey")
    out.unlink(missing_ok=True)
    if not survey.exists():
        asked = ("--epsilon", "24", "--randomizer", "randomized-response")
        missing = ("--missing", "bin")
        run("new", "--name", "s", *column.asked, *asked, *missing, "-o", survey)
    code = main(["randomize", str(survey), str(file), "--column", "x", "-o", str(out)])
    if code:
        return None
    tally = out.with_suffix(".tally")
    tally.unlink(missing_ok=True)
    run("tally", survey, out, "-o", tally)
    (counts,) = Tally.from_document(json.loads(tally.read_text())).blocks
    return np.array(counts)


def moved(first: np.ndarray, second: np.ndarray) -> int:
    """Return the L1 distance: 2 when one row has another symbol."""
    assert first.shape == second.shape
    return int(np.abs(first.astype(np.int64) - second.astype(np.int64)).sum())
