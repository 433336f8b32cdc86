"""A number with separators of thousands and signs is read as declared."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import lapwing as lw
from lapwing.engines.arrow import Reading
from lapwing.engines.arrow.text_columns import numbers_in_texts
from lapwing.errors import ArgumentError, RowsWarning
from tests.cli.running import Program
from tests.rows import each

COMMAS = {
    "1,234": 1234.0,
    " 1,234.50 ": 1234.5,
    "-1,234,567.25": -1234567.25,
    "12,34,567": 1234567.0,
    "$1,234": 1234.0,
    "-$1,234": -1234.0,
    "$-1,234": -1234.0,
    "US$1,234": None,
    "€ 1,234.5": 1234.5,
    "1,234 €": 1234.0,
    "12%": 12.0,
    "12.5%": 12.5,
    "7": 7.0,
    "1.5e3": 1500.0,
    "1,234e3": None,
    "45,23": None,
    "1234,567": None,
    "1,,234": None,
    ",234": None,
    "1,234,": None,
    "1,2345": None,
    "1'234": None,
    "1 234": None,
    "--1,234": None,
    "(1,234)": None,
    "12 mg": None,
    "$": None,
    "1.234,5": None,
}

POINTS = {
    "1.234,5": 1234.5,
    "1.234.567": 1234567.0,
    "12,5": 12.5,
    "12,5 €": 12.5,
    "1.5": None,
    "1.5e3": None,
    "1,234.5": None,
}

APOSTROPHES = {"1'234.50": 1234.5, "1’234": 1234.0, "1'23": None, "1,234": None}

BLANKS = {"1 234": 1234.0, "1\u00a0234": 1234.0, "1\u202f234 567": 1234567.0, "1 23": None}

FORMS = [(".", ",", COMMAS), (",", ".", POINTS), (".", "'", APOSTROPHES), (".", " ", BLANKS)]


@each(
    "form, decimal, thousands, right",
    [(form, *marks, right) for *marks, forms in FORMS for form, right in forms.items()],
)
def test_a_number_is_read_as_declared(
    form: str, decimal: str, thousands: str, right: float | None
) -> None:
    for cells in (pa.array([form]), pa.array([form.encode()]), pa.array(["5", None, form])):
        numbers, unreadable = numbers_in_texts(
            cells, unit="number", texts="iso", decimal=decimal, thousands=thousands
        )
        assert (None if unreadable[-1] else float(numbers[-1])) == right


def test_bytes_that_are_no_characters_are_a_matter_of_their_row() -> None:
    cells = pa.array([b"1,234", b"\xff1,234", b"\xe2\x82", b"7"])
    numbers, unreadable = numbers_in_texts(cells, unit="number", texts="iso", thousands=",")
    assert unreadable.tolist() == [False, True, True, False]
    assert numbers[[0, 3]].tolist() == [1234, 7]


DOMAIN = ("--low", "0", "--high", "10000", "--bins", "100")


DECLARED = lw.Interval(0, 10_000, bins=100).for_curator()
EXPECTED = sorted(DECLARED.index([1234.0, 7.0]).tolist())


def counts(path: Path) -> list[int]:
    held = lw.protocol.ExactCounts.load(path)
    return [int(place) for place in np.repeat(np.arange(held.counts.size), held.counts)]


@pytest.mark.parametrize(
    ("content", "more"),
    [
        ("x;y\n$1,234;1\n7;1\n", ("--thousands", ",")),
        ('x,y\n"$1,234",1\n7,1\n', ("--thousands", ",")),
        ("x\n$1,234\n7\n", ("--thousands", ",")),
        ("x;y\n1.234,0;1\n7;1\n", ("--thousands", ".")),
        ("x;y\n1.234,0;1\n7;1\n", ("--thousands", ".", "--decimal", ",")),
        ("x;y\n1'234;1\n7;1\n", ("--thousands", "'", "--decimal", ".")),
        ("x\n1 234\n7\n", ("--thousands", " ")),
    ],
)
def test_every_command_reads_them(
    content: str, more: tuple[str, ...], tmp_path: Path, done: Program
) -> None:
    (tmp_path / "t.csv").write_text(content)
    (tmp_path / "plain.csv").write_text("x\n1234\n7\n")
    done("new", "--domain-only", *DOMAIN, "-o", "d.json")
    done("count", "t.csv", "-c", "x", *more, "--domain", "d.json", "-o", "a.lws")
    assert counts(tmp_path / "a.lws") == EXPECTED
    seed = ("--seed", "1", "--force")
    done("new", "--name", "x", "--epsilon", "2", *DOMAIN, "-o", "s.json")
    done("simulate", "s.json", "t.csv", "-c", "x", *more, "-o", "t.json", *seed)
    done("simulate", "s.json", "plain.csv", "-o", "p.json", *seed)
    assert (tmp_path / "t.json").read_bytes() == (tmp_path / "p.json").read_bytes()
    done("randomize", "s.json", "t.csv", "-c", "x", *more, "-o", "r.lwr")
    options = ("--epsilon", "1", "--neighbors", "replace-one")
    done("bounds", "t.csv", "-c", "x", *more, *options)
    words = ("--domain", "d.json", *options, "-o", "release.json")
    done("release", "t.csv", "-c", "x", *more, *words)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--thousands", ";"), "--thousands must be"),
        (("--thousands", ",", "--decimal", ","), "must be different marks, but both are ,"),
        (("--thousands", ".", "--decimal", "."), "use --decimal=','"),
    ],
)
def test_marks_that_cannot_be_are_refused(
    more: tuple[str, ...], said: str, lapwing: Program, tmp_path: Path
) -> None:
    (tmp_path / "t.csv").write_text("x\n7\n")
    lapwing("new", "--domain-only", *DOMAIN, "-o", "d.json")
    run = lapwing("count", "t.csv", "-c", "x", "--domain", "d.json", *more, "-o", "a.lws")
    assert run.code == 2 and said in run.complaint
    lapwing("new", "--domain-only", "--categories", "a,b", "-o", "l.json")
    run = lapwing(
        *("count", "t.csv", "-c", "x", "--domain", "l.json", "--thousands", ",", "-o", "a.lws")
    )
    assert run.code == 2 and "--thousands is for numbers" in run.complaint


def test_python_reads_them_in_files_and_in_memory(tmp_path: Path) -> None:
    domain, reading = lw.Interval(0, 10_000, bins=100), Reading(thousands=",")
    table = pa.table({"x": ["$1,234", "7"]})
    held = lw.engines.arrow.summarize(table, domain, reading=reading)
    assert held == lw.protocol.ExactCounts.of_values([1234.0, 7.0], domain)
    (tmp_path / "t.csv").write_text('x\n"$1,234"\n7\n')
    stored = lw.engines.arrow.summarize(tmp_path / "t.csv", domain, reading=reading)
    assert stored == held
    with pytest.raises(ArgumentError, match="different marks"):
        Reading(thousands=",", decimal=",")


@each("thousands, cells", [(",", ["1,234", "7"]), (".", ["1.234", "7"]), ("'", ["1'234", "7"])])
def test_whole_numbers_have_groups_of_digits(thousands: str, cells: list[str]) -> None:
    whole = lw.Integers(0, 9_999)
    held = lw.engines.arrow.summarize(
        pa.table({"x": cells}), whole, reading=Reading(thousands=thousands)
    )
    assert held == lw.protocol.ExactCounts.of_values([1234, 7], whole)


def test_a_warning_leads_to_the_option(tmp_path: Path) -> None:
    domain = lw.Interval(0, 100, bins=10)
    cells = pa.table({"x": ["45,231"] * 200})
    with pytest.warns(RowsWarning, match="--thousands"):
        lw.engines.arrow.summarize(cells, domain, reading=Reading(decimal=","))
    with pytest.warns(RowsWarning, match="--thousands"):
        lw.engines.arrow.summarize(cells, domain)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lw.engines.arrow.summarize(
            cells, lw.Interval(0, 1e5, bins=10), reading=Reading(thousands=",")
        )
