"""A CSV without a header loses nobody, and no error shows what may be somebody's value."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import lapwing as lw
from tests.cli.running import Program

PEOPLE = ["alice", "bob", "carol", "alice", "bob", "alice"]
"""The labels of six people; the first of them may be taken for the name of a column."""

EXACT = ("--epsilon", "24", "--randomizer", "randomized-response", "--name", "who")
NUMBERS = ("--low", "0", "--high", "8", "--bins", "8")


@pytest.fixture
def labels(tmp_path: Path, done: Program) -> Path:
    """Labels alone, beside a number, and the same with a header; and a survey for them."""
    (tmp_path / "bare.csv").write_text("".join(f"{label}\n" for label in PEOPLE))
    rows = "".join(f"{label};{row}.5\n" for row, label in enumerate(PEOPLE))
    (tmp_path / "bare-two.csv").write_text(rows)
    (tmp_path / "named.csv").write_text("who\n" + (tmp_path / "bare.csv").read_text())
    (tmp_path / "named-two.csv").write_text(f"who;number\n{rows}")
    done("new", *EXACT, "--categories", "alice,bob,carol", "-o", "survey.json")
    return tmp_path


@pytest.mark.parametrize("names", [(), ("--column", "who"), ("--column", "alic"), ("--by", "bo")])
@pytest.mark.parametrize("file", ["bare.csv", "bare-two.csv"])
def test_no_error_about_columns_shows_the_first_row(
    labels: Path, lapwing: Program, file: str, names: tuple[str, ...]
) -> None:
    run = lapwing("randomize", "survey.json", file, *names, "-o", "reports.csv")
    assert run.code in (2, 4) and "--no-header" in run.complaint
    assert "alice" not in run.complaint and "0.5" not in run.complaint
    assert not (labels / "reports.csv").exists()


@pytest.mark.parametrize(
    ("file", "names"),
    [
        ("bare.csv", ("--no-header",)),
        ("bare.csv", ("--no-header", "--column", "1")),
        ("bare-two.csv", ("--no-header", "--column", "1")),
        ("named.csv", ("--column", "who")),
        ("named-two.csv", ("--column", "who")),
    ],
)
def test_nobody_is_lost(labels: Path, done: Program, file: str, names: tuple[str, ...]) -> None:
    run = done("randomize", "survey.json", file, *names, "-o", "reports.csv", "--json")
    assert run.document["reports"] == len(PEOPLE)
    simulated = done("simulate", "survey.json", file, *names, "-o", "tally.json", "--json")
    assert simulated.document["people"] == len(PEOPLE)


def test_names_are_listed_once_one_of_them_is_there(labels: Path, lapwing: Program) -> None:
    by = ("--by", "number", "-o", "reports.csv")
    run = lapwing("randomize", "survey.json", "named-two.csv", *by)
    assert run.code == 2 and "who, number" in run.complaint
    run = lapwing("randomize", "survey.json", "named-two.csv", "--column", "whu", *by)
    assert run.code == 2 and "did you mean who" in run.complaint
    run = lapwing("randomize", "survey.json", "bare-two.csv", "--no-header", "-o", "reports.csv")
    assert run.code == 2 and "bare-two.csv: 1, 2" in run.complaint


@pytest.mark.parametrize(
    "first", ["12", "NA", "", "-inf", "5 kg", "$3", "12:30", "2019-01-01", "?"]
)
def test_a_column_of_numbers_needs_no_name_only_where_its_header_is_none_of_them(
    tmp_path: Path, lapwing: Program, first: str
) -> None:
    quoted = f'"{first}"'  # an empty line before the header is no line
    (tmp_path / "bare.csv").write_text(f"{quoted}\n1\n2\n")
    run = lapwing("count", "bare.csv", *NUMBERS, "-o", "out.lws")
    assert run.code == 4 and "--no-header" in run.complaint
    assert not first or first not in run.complaint.replace("columns 1, 2, 3", "")
    assert lapwing("count", "bare.csv", *NUMBERS, "--no-header", "-o", "out.lws").code == 0
    counts = lw.protocol.ExactCounts.load(tmp_path / "out.lws").counts
    assert counts.sum() == 3


@pytest.mark.parametrize("content", ["3\n5\n", "\ufeff3\n5\n", '"3"\r\n5', "3,a\n\n5,b\n"])
def test_a_file_without_a_header_counts_every_line(
    tmp_path: Path, done: Program, content: str
) -> None:
    (tmp_path / "bare.csv").write_text(content, encoding="utf-8")
    read = ("bare.csv", "--no-header", "--column", "1")
    done("count", *read, *NUMBERS, "-o", "out.lws")
    counts = lw.protocol.ExactCounts.load(tmp_path / "out.lws").counts
    expected = np.zeros_like(counts)
    expected[[2, 4]] = 1  # of the bins (2, 3] and (4, 5]
    assert counts.tolist() == expected.tolist()


def test_every_command_that_reads_a_table_reads_one_without_a_header(
    tmp_path: Path, done: Program, lapwing: Program
) -> None:
    (tmp_path / "bare.csv").write_text("".join(f"{number % 8}\n" for number in range(4000)))
    promise = ("--epsilon", "1", "--neighbors", "replace-one")
    done("release", "bare.csv", "--no-header", *NUMBERS, *promise, "-o", "r.json")
    done("bounds", "bare.csv", "--no-header", *promise)
    truth = ("r.json", "--truth", "bare.csv", "--no-header")
    assert done("compare", *truth, "--json").document["people"] == 4000
    done("plot", *truth, "-o", "r.png")
    (tmp_path / "counts.csv").write_text("3,2\n5,40\n")
    done("new", *EXACT[:4], "--name", "n", "--integers", "0", "8", "-o", "survey.json")
    counts = ("counts.csv", "--no-header", "--count-column", "2")
    run = done("simulate", "survey.json", *counts, "-o", "tally.json", "--json")
    assert run.document["people"] == 42
    run = lapwing("compare", "r.json", "--truth", "r.json", "--no-header")
    assert run.code == 2 and "is for a table" in run.complaint


def test_an_error_names_the_row_of_the_file(tmp_path: Path, lapwing: Program) -> None:
    (tmp_path / "ragged.csv").write_text("1,2\n3,4\n5,6,7\n")
    read = ("ragged.csv", "--no-header", "--column", "1", *NUMBERS, "-o", "out.lws")
    run = lapwing("count", *read)
    assert run.code == 4 and "row 3 has not" in run.complaint


@pytest.mark.parametrize("content", ["", "\n", "3,4\n"])
def test_a_curators_table_of_nobody_is_one(tmp_path: Path, done: Program, content: str) -> None:
    """Whether anybody stands in it is not told by the way a command ends."""
    (tmp_path / "bare.csv").write_text(content)
    column = "1" if content == "\n" else "2"
    done("count", "bare.csv", "--no-header", "--column", column, *NUMBERS, "-o", "out.lws")


def test_a_parquet_has_names(tmp_path: Path, ages: np.ndarray, lapwing: Program) -> None:
    run = lapwing("count", "ages.parquet", "--no-header", "-c", "1", *NUMBERS, "-o", "out.lws")
    assert run.code == 2 and "is for CSV" in run.complaint
