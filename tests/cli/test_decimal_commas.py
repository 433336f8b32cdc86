"""A number with a decimal comma is read as that number, or the option for it is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from lapwing import Interval, Survey
from lapwing.protocol import ExactCounts
from tests.cli.running import Program

HALVES = [1.5, 2.25, 40.0, 7.0]
DOMAIN = ("--low", "0", "--high", "64", "--bins", "256")
SQUARE = ("--name", "x", "--epsilon", "2", "--randomizer", "square-wave")

FILES = {
    "semicolons.csv": "who;age\na;1,5\nb;2,25\nc;40\nd;7,0\n",
    "tabs.tsv": "who\tage\na\t1,5\nb\t2,25\nc\t40\nd\t7,0\n",
    "alone.csv": "age\n1,5\n2,25\n40\n7,0\n",
    "quoted.csv": 'who,age\na,"1,5"\nb,"2,25"\nc,40\nd,"7,0"\n',
}


@pytest.fixture(autouse=True)
def tables(tmp_path: Path) -> None:
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)


def counted(*values: float) -> ExactCounts:
    return ExactCounts.of_values(list(values), Interval(0, 64, bins=256).for_curator())


def same(path: Path, expected: ExactCounts) -> bool:
    return bool((ExactCounts.load(path).counts == expected.counts).all())


@pytest.mark.parametrize("file", FILES)
def test_decimal_commas_are_read_as_declared(tmp_path: Path, done: Program, file: str) -> None:
    done("count", file, "-c", "age", "--decimal", ",", *DOMAIN, "-o", "a.lws")
    assert same(tmp_path / "a.lws", counted(*HALVES))


def test_a_line_without_a_header_is_one_column(tmp_path: Path, done: Program) -> None:
    (tmp_path / "bare.csv").write_text("1,5\n2,25\n40\n7,0\n")
    done("count", "bare.csv", "--no-header", "--decimal", ",", *DOMAIN, "-o", "a.lws")
    assert same(tmp_path / "a.lws", counted(*HALVES))


@pytest.mark.parametrize("command", ["count", "randomize", "simulate", "bounds", "release"])
def test_semicolons_between_fields_need_the_mark(
    lapwing: Program, survey: Survey, tmp_path: Path, command: str
) -> None:
    """Also where a value that cannot be read would count as missing, so nobody would notice."""
    promise = ("--epsilon", "1", "--neighbors", "replace-one")
    given = {
        "count": ("semicolons.csv", *DOMAIN, "-o", "out"),
        "randomize": ("survey.json", "semicolons.csv", "-o", "out.lwr"),
        "simulate": ("survey.json", "semicolons.csv", "-o", "out"),
        "bounds": ("semicolons.csv", *promise),
        "release": ("semicolons.csv", *promise, *DOMAIN, "-o", "out"),
    }[command]
    run = lapwing(command, *given, "-c", "age")
    assert run.code == 4 and "--decimal ," in run.complaint and "1,5" in run.complaint
    assert not list(tmp_path.glob("out*"))


def test_whole_numbers_and_labels_between_semicolons_need_none(
    tmp_path: Path, done: Program
) -> None:
    (tmp_path / "whole.csv").write_text("who;age\na;1\nb;2\n")
    done("count", "whole.csv", "-c", "age", "--integers", "0", "9", "-o", "a.lws")
    done("count", "whole.csv", "-c", "who", "--categories", "a,b", "-o", "b.lws")
    assert ExactCounts.load(tmp_path / "b.lws").counts.tolist() == [1, 1, 0]


def test_a_point_says_that_semicolons_are_all(tmp_path: Path, done: Program) -> None:
    (tmp_path / "points.csv").write_text("who;age\na;1.5\nb;2.25\nc;40\nd;7\n")
    done("count", "points.csv", "-c", "age", "--decimal", ".", *DOMAIN, "-o", "a.lws")
    assert same(tmp_path / "a.lws", counted(*HALVES))


@pytest.mark.parametrize(
    ("file", "more"),
    [
        ("alone.csv", ()),
        ("quoted.csv", ("-c", "age")),
        ("tabs.tsv", ("-c", "age")),
        ("semicolons.csv", ("-c", "age", "--decimal", ".")),
    ],
)
def test_an_error_about_a_comma_names_the_option(
    lapwing: Program, survey: Survey, file: str, more: tuple[str, ...]
) -> None:
    run = lapwing("randomize", "survey.json", file, *more, "-o", "out.lwr")
    assert run.code in (3, 4) and "use --decimal ," in run.complaint and "row 1" in run.complaint


@pytest.mark.parametrize("cell", ["1.500,5", "1.5", "1,5,0", ",", "1_5"])
def test_a_point_among_decimal_commas_is_no_number(
    tmp_path: Path, lapwing: Program, survey: Survey, cell: str
) -> None:
    """Nothing tells the thousands of 1.500 from its fraction."""
    (tmp_path / "odd.csv").write_text(f"age\n2,5\n{cell}\n")
    run = lapwing("randomize", "survey.json", "odd.csv", "--decimal", ",", "-o", "out.lwr")
    assert run.code == 3 and "row 2" in run.complaint and "12,5" in run.complaint
    assert cell == "," or cell not in run.complaint


@pytest.mark.parametrize(
    ("mark", "domain", "said"),
    [(";", DOMAIN, "must be , or ."), (",", ("--categories", "a,b"), "labels")],
)
def test_a_mark_that_is_none_is_refused(
    lapwing: Program, mark: str, domain: tuple[str, ...], said: str
) -> None:
    run = lapwing("count", "alone.csv", "-c", "age", "--decimal", mark, *domain, "-o", "a.lws")
    assert run.code == 2 and said in run.complaint


def test_a_truth_and_a_table_of_counts_may_have_commas(tmp_path: Path, done: Program) -> None:
    done("new", *SQUARE, *DOMAIN, "-o", "survey.json")
    done("simulate", "survey.json", "alone.csv", "--decimal", ",", "-o", "t.json", "--seed", "1")
    (tmp_path / "counts.csv").write_text("age;count\n1,5;1\n2,25;1\n40;1\n7,0;1\n")
    counts = (
        *("counts.csv", "--count-column", "count", "--decimal", ",", "-o", "u.json", "--seed", "1"),
    )
    done("simulate", "survey.json", *counts)
    assert (tmp_path / "t.json").read_bytes() == (tmp_path / "u.json").read_bytes()
    done("decode", "survey.json", "t.json", "-o", "r.json", "--decoder", "least-squares")
    truth = ("--truth", "semicolons.csv", "-c", "age", "--decimal", ",")
    assert done("compare", "r.json", *truth, "--json").document["command"] == "compare"


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        (["45,231", " 1,000", "7"] * 40, True),
        (["45,231", "1,5", "7"] * 40, False),
        (["0,125", "0,250"] * 60, False),
        (["45", "7"] * 60, False),
        (["45,231"] * 99, False),
    ],
    ids=["thousands", "tenths", "less than one", "whole", "too few"],
)
def test_commas_that_may_separate_thousands_are_told_of(
    cells: list[str], told: bool, lapwing: Program, tmp_path: Path
) -> None:
    lapwing("new", "--domain-only", "--low", "0", "--high", "100", "-o", "domain.json", "--force")
    (tmp_path / "t.csv").write_text("a;x\n" + "".join(f"1;{cell}\n" for cell in cells))
    words = ("-c", "x", "--domain", "domain.json", "--decimal", ",", "-o", "c.lws", "--force")
    made = lapwing("count", "t.csv", *words)
    assert made.code == 0
    assert ("decimal commas before exactly three digits" in made.err) == told
    assert ("If the comma separates thousands" in made.err) == told
