"""`--like`: a public column chooses the parts, in `lapwing recommend` and `lapwing new`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.cli.console import Output
from lapwing.cli.reading.like_options import FEW, LikeOptions
from lapwing.errors import DomainError, MismatchError
from tests.cli.running import Program

LINE = lw.Interval(0, 48, bins=48)
COUNTS = (4000 * np.exp(-(((np.arange(48) - 20) / 10) ** 2))).astype(np.int64)
"""Smooth, so that its components are not the default mixture at epsilon 4."""

ASK = ("--low", "0", "--high", "48", "--bins", "48", "--epsilon", "4")


@pytest.fixture
def public(tmp_path: Path) -> Path:
    """One column in each form: a result, a table of values, and one of counts."""
    (tmp_path / "last.json").write_text(lw.Distribution.of_counts(COUNTS, LINE).to_json())
    values = np.repeat(np.arange(48) + 0.5, COUNTS)
    lines = "".join(f"x,{value}\n" for value in values)
    (tmp_path / "values.csv").write_text(f"who,age\n{lines}")
    rows = "".join(f"{bin + 0.5};{count}\n" for bin, count in enumerate(COUNTS))
    (tmp_path / "counts.csv").write_text(f"age;people\n{rows}".replace(".", ","))
    return tmp_path


FORMS: dict[str, dict[str, Any]] = {
    "last.json": {},
    "values.csv": {"column": "age"},
    "counts.csv": {"count_column": "people", "decimal": ","},
}


@pytest.mark.parametrize("name", FORMS)
def test_each_form_is_the_same_column(public: Path, name: str) -> None:
    found = LikeOptions(like=public / name, **FORMS[name]).masses(LINE, Output())
    assert found is not None and found.dtype == np.float64
    meant = LINE.with_nobody_outside(COUNTS)
    np.testing.assert_allclose(found / found.sum(), meant / meant.sum(), atol=1e-12)


def test_it_says_what_the_library_says(public: Path, done: Program) -> None:
    asked = ("recommend", *ASK, "--users", "300000", "--like", "values.csv", "-c", "age")
    document = done(*asked, "--json").document
    found = lw.recommend(LINE, epsilon=4, users=300_000, like=COUNTS)
    meant = {"command": "recommend", **found.to_document(), "like": "values.csv", "warnings": []}
    assert document == json.loads(json.dumps(meant))


def test_new_writes_the_survey_that_recommend_names(public: Path, done: Program) -> None:
    goal = (*ASK, "--users", "300000", "--like", "last.json")
    name = ("--name", "age", "--randomizer", "recommended")
    shown = done("new", "-o", "survey.json", *name, *goal).out
    assert "chosen by last.json" in shown and "mixture components" in shown
    made = lw.Survey.load(public / "survey.json").randomizer
    found = lw.recommend(LINE, epsilon=4, users=300_000, like=COUNTS, repeats=1)
    assert made == found.randomizer != lw.MultiscaleWave(LINE, 4)
    assert isinstance(made, lw.MultiscaleWave) and made.components
    for kind, size, share in made.components:
        assert f"{kind:<9}   {size:14g}   {100 * share:5.2f}%" in shown
    # Of a column without smoothness the parts stay, and both commands say so.
    spiky = np.where(np.arange(48) % 6 == 3, 10**5, 10)
    (public / "spiky.json").write_text(lw.Distribution.of_counts(spiky, LINE).to_json())
    goal = (*ASK, "--users", "3000", "--like", "spiky.json")
    found = lw.recommend(LINE, epsilon=4, users=3000, like=spiky, repeats=1)
    usual = found.randomizer == lw.MultiscaleWave(LINE, 4)
    for command in (("new", "-o", "other.json", *name), ("recommend",)):
        assert ("the default mixture" in done(*command, *goal).out) is usual


def test_of_labels_errors_are_of_that_population(tmp_path: Path, done: Program) -> None:
    (tmp_path / "labels.csv").write_text("v\n" + "a\na\nb\n" * 20)
    asked = ("recommend", "--categories", "a,b,c", "--epsilon", "1", "--users", "3000")
    document = done(*asked, "--like", "labels.csv", "-c", "v", "--json").document
    found = lw.recommend(lw.Categories(["a", "b", "c"]), epsilon=1, users=3000, like=[2, 1, 0])
    assert document["expected_error"] == found.to_document()["expected_error"]
    assert document["warnings"] == []  # few rows are warned of where parts are chosen by them


@pytest.mark.parametrize(("here", "there"), [("refuse", "bin"), ("bin", "refuse"), ("bin", "bin")])
def test_how_missing_values_are_treated_need_not_agree(
    tmp_path: Path, here: Any, there: Any
) -> None:
    given = lw.Interval(0, 48, bins=48, missing=there, outside="clip")
    asked = lw.Interval(0, 48, bins=48, missing=here, outside="refuse")
    counts = np.arange(1, given.size + 1)
    (tmp_path / "r.json").write_text(lw.Distribution.of_counts(counts, given).to_json())
    found = LikeOptions(like=tmp_path / "r.json").masses(asked, Output())
    meant = np.zeros(asked.size)
    meant[:48] = np.arange(1, 49)
    if here == there:
        meant[48] = 49
    assert found is not None
    np.testing.assert_allclose(found / found.sum(), meant / meant.sum(), atol=1e-12)


TREATED: dict[tuple[Any, Any], tuple[list[int], list[int]]] = {
    ("overflow", "clip"): ([9, 1, 2, 3, 8, 5], [10, 2, 11, 5]),
    ("overflow", "refuse"): ([9, 1, 2, 3, 8, 5], [1, 2, 3, 5]),
    ("overflow", "overflow"): ([9, 1, 2, 3, 8, 5], [9, 1, 2, 3, 8, 5]),
    ("clip", "overflow"): ([1, 2, 3, 5], [0, 1, 2, 3, 0, 5]),
    ("refuse", "overflow"): ([1, 2, 3, 5], [0, 1, 2, 3, 0, 5]),
}
"""Counts of a result, and what they are in a domain that treats values outside otherwise."""


@pytest.mark.parametrize("how", TREATED)
def test_how_values_outside_are_treated_need_not_agree(tmp_path: Path, how: Any) -> None:
    given, asked = (lw.Interval(0, 3, bins=3, missing="bin", outside=each) for each in how)
    counts, meant = (np.array(each) for each in TREATED[how])
    (tmp_path / "r.json").write_text(lw.Distribution.of_counts(counts, given).to_json())
    found = LikeOptions(like=tmp_path / "r.json").masses(asked, Output())
    assert found is not None
    np.testing.assert_allclose(found * counts.sum(), meant, atol=1e-12)


OTHERS: dict[str, lw.Interval] = {
    "bins": lw.Interval(0, 48, bins=24),
    "ends": lw.Interval(1, 48, bins=48),
    "atoms": lw.Interval(0, 48, bins=48, atoms=(0,)),
    "circle": lw.Interval(0, 48, bins=48, circular=True),
    "sides": lw.Interval(0, 48, bins=48, closed="left"),
}


@pytest.mark.parametrize("what", OTHERS)
def test_a_result_on_other_bins_is_refused(tmp_path: Path, what: str) -> None:
    other = OTHERS[what]
    result = lw.Distribution.of_counts(np.ones(other.size, dtype=int), other)
    (tmp_path / "r.json").write_text(result.to_json())
    with pytest.raises(MismatchError, match=r"r\.json must have the domain asked about"):
        LikeOptions(like=tmp_path / "r.json").masses(LINE, Output())


def test_a_table_of_few_values_is_warned_of(public: Path, capsys: pytest.CaptureFixture) -> None:
    for people, warned in ((FEW * 48 - 1, True), (FEW * 48, False)):
        (public / "few.csv").write_text("age\n" + "7\n" * people)
        out = Output()
        LikeOptions(like=public / "few.csv").masses(LINE, out)
        assert bool(out.warnings) is warned
    assert f"{FEW * 48 - 1:,} values for 48 bins" in capsys.readouterr().err


def test_what_is_missing_is_no_value_that_a_bin_has(public: Path) -> None:
    domain = lw.Interval(0, 48, bins=48, missing="bin")
    (public / "few.csv").write_text("age\n" + "7\n" * (FEW * 48 - 1) + "NA\n" * 99)
    out = Output()
    LikeOptions(like=public / "few.csv").masses(domain, out)
    assert len(out.warnings) == 1


@pytest.mark.parametrize("name", ["last.json", "LAST.JSON"])
def test_a_result_is_one_by_its_ending_and_not_warned_of(public: Path, name: str) -> None:
    (public / "last.json").rename(public / name)
    out = Output()
    found = LikeOptions(like=public / name).masses(LINE, out)
    assert found is not None and out.warnings == []


def test_counts_are_read_as_the_options_say(tmp_path: Path) -> None:
    days = lw.Interval("2026-01-01", "2026-01-05", bins=4, unit="date")
    (tmp_path / "days.csv").write_text("20455,30\n20457,70\n")  # since 1970
    given: dict[str, Any] = {"count_column": "2", "no_header": True, "texts": "days"}
    found = LikeOptions(like=tmp_path / "days.csv", **given).masses(days, Output())
    assert found is not None and found.sum() == 100 and found.max() == 70


def test_more_people_than_a_tally_holds_are_refused(tmp_path: Path) -> None:
    # Their sum overflows to as many as there are in a bin.
    rows = f"7.5,{2**53 - 1}\n" * 2100
    (tmp_path / "counts.csv").write_text(f"age,people\n{rows}")
    with pytest.raises(DomainError, match=r"counts\.csv: the counts must add up to at most 9007"):
        LikeOptions(like=tmp_path / "counts.csv", count_column="people").masses(LINE, Output())
    (tmp_path / "counts.csv").write_text(f"age,people\n7.5,{2**53 - 2}\n8.5,1\n")
    found = LikeOptions(like=tmp_path / "counts.csv", count_column="people").masses(LINE, Output())
    assert found is not None and found.max() == 2**53 - 2


def series_in(folder: Path) -> None:
    survey = lw.Survey("x", lw.SquareWave(lw.Interval(0, 9, bins=8), 2))
    weeks = [(survey, lw.simulate(survey.randomizer, np.full(8, 50), rng=seed)) for seed in (1, 2)]
    (folder / "series.json").write_text(lw.decode_series(weeks).to_json())


@pytest.mark.parametrize(
    ("code", "said", "arguments"),
    [
        (4, "24 bins", (*ASK[:5], "24", *ASK[6:], "--like", "last.json")),
        (4, "a, b, c", ("--categories", "a,b,c", "--epsilon", "1", "--like", "last.json")),
        (4, "it is a series", (*ASK, "--like", "series.json")),
        (4, "it is a survey", (*ASK, "--like", "survey.json")),
        (4, "broken.json", (*ASK, "--like", "broken.json")),
        (4, "empty.csv is empty", (*ASK, "--like", "empty.csv")),
        (3, "header.csv", (*ASK, "--like", "header.csv")),
        (3, "must contain at least one", (*ASK, "--like", "none.csv", "--missing", "bin")),
        (3, "row 2", (*ASK, "--like", "words.csv")),
        (7, "no.json", (*ASK, "--like", "no.json")),
        (7, "no.csv", (*ASK, "--like", "no.csv")),
        (2, "has no column 'agee'", (*ASK, "--like", "values.csv", "-c", "agee")),
        (2, "--column must name one", (*ASK, "--like", "values.csv")),
        (2, "has no column 'n'", (*ASK, "--like", "counts.csv", "--count-column", "n")),
        (2, "values besides", (*ASK, "--like", "words.csv", "--count-column", "age")),
        (
            2,
            "--column and --count-column must be different",
            (*ASK, "--like", "values.csv", "-c", "age", "--count-column", "age"),
        ),
        (2, "Add --like", (*ASK, "-c", "age")),
        (2, "Add --like", (*ASK, "--count-column", "people")),
        (2, "--no-header describes the table", (*ASK, "--no-header")),
        (2, "--decimal describes the table", (*ASK, "--decimal", ",")),
        (2, "--texts describes the table", (*ASK, "--texts", "days")),
        (2, "--column is for a table", (*ASK, "--like", "last.json", "-c", "age")),
        (2, "Leave out --kind", (*ASK, "--like", "last.json", "--kind", "smooth")),
        (2, "and --like", (*ASK, "--like", "last.json", "--change", "0.1")),
        (
            2,
            "at most 262144",
            ("--categories", "hash:32", "--epsilon", "1", "--like", "values.csv", "-c", "age"),
        ),
    ],
)
def test_bad_input_is_refused_in_a_line(
    public: Path, lapwing: Program, code: int, said: str, arguments: tuple[str, ...]
) -> None:
    written: dict[str, str] = {
        "broken.json": "{",
        "empty.csv": "",
        "header.csv": "age\n",
        "none.csv": "age\nNA\nNA\n",
        "words.csv": "age\n3\nseven\n",
        "survey.json": lw.Survey("x", lw.SquareWave(LINE, 2)).to_json(),
    }
    for name, text in written.items():
        (public / name).write_text(text)
    if "series.json" in arguments:
        series_in(public)
    run = lapwing("recommend", *arguments, "--users", "1000")
    assert run.code == code, run.err
    assert said in run.complaint


@pytest.mark.parametrize(
    ("said", "options"),
    [
        ("--like goes with", ("--randomizer", "square-wave", *ASK)),
        ("is recommended here", ("--randomizer", "recommended", *ASK[:5], "3", *ASK[6:])),
    ],
)
def test_new_refuses_a_column_that_chooses_nothing(
    public: Path, lapwing: Program, said: str, options: tuple[str, ...]
) -> None:
    like = ("--like", "values.csv", "-c", "age")
    run = lapwing("new", "-o", "survey.json", "--name", "n", *options, *like)
    assert run.code == 2 and said in run.complaint
    assert not (public / "survey.json").exists()


@pytest.mark.parametrize("command", ["recommend", "new"])
def test_the_help_says_that_it_must_be_public(command: str, done: Callable[..., Any]) -> None:
    shown = " ".join(done(command, "--help").out.replace("│", " ").split())
    assert "It must be public" in shown and "not private" in shown


def test_no_input_is_written_over(public: Path, lapwing: Program) -> None:
    before = (public / "values.csv").read_bytes()
    like = (*ASK, "--like", "values.csv", "-c", "age", "--force")
    named = ("new", "--name", "n", "--randomizer", "recommended")
    for command in ((*named, "-o", "values.csv"), ("recommend", "--csv", "values.csv")):
        assert lapwing(*command, *like).code == 2
        assert (public / "values.csv").read_bytes() == before
