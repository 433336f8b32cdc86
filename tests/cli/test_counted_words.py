"""With a unit an answer counts rows, and every screen says so; without one it counts people."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import lapwing as lw
from tests.cli.running import Program

UNIT = ("--unit", "patient", "--most", "3")
PROMISE = ("--epsilon", "2", "--delta", "1e-6", "--neighbors", "add-or-remove-one")
NOTE = "because rows of one patient are alike"
COUNTS_PEOPLE = re.compile(
    r"of (all|the) people|^people|people in the data|[0-9] (people|persons?)\b|many people", re.M
)


@pytest.fixture(autouse=True)
def tables(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    for name, shift in (("a", 0), ("b", 3)):
        days = np.round(rng.gamma(4, 8, 6000) + shift, 1).astype(str)
        days[:120] = ""
        lines = [f"{day},{number // 2},{'xy'[number % 2]}\n" for number, day in enumerate(days)]
        (tmp_path / f"{name}.csv").write_text("days,patient,kind\n" + "".join(lines))


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("unit", [UNIT, ()], ids=["rows", "people"])
def test_every_screen_says_what_is_counted(
    unit: tuple[str, ...], done: Program, tmp_path: Path
) -> None:
    bounds = ("--low", 0, "--high", 90, "--bins", 30, "--atom", 0, "--missing", "bin")
    done("new", "--domain-only", *bounds, "-o", "days.json")
    given = ("-c", "days", "--domain", "days.json", *PROMISE, *unit)
    screens = [done("release", f"{x}.csv", *given, "-o", f"{x}.json").out for x in "ab"]
    screens += [done("release", "a.csv", *given, "--dry-run", 6000).out]
    screens += [done("show", "a.json").out, done("show", "a.json", "--detail").out]
    screens += [done("answer", "a.json", "--at-most", 30).out]
    screens += [done("compare", "a.json", "b.json").out]
    for screen in screens:
        counts_people = COUNTS_PEOPLE.search(screen)
        assert (counts_people is None) == bool(unit), screen
    once = [flat(screen).count(NOTE) for screen in screens]
    assert once == ([1, 1, 0, 1, 1, 1, 1] if unit else [0] * 7)
    result = lw.survey.Publication(lw.Release.load(tmp_path / "a.json"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        texts = [result._repr_html_(), str(result.distribution.summary())]
        texts += [picture.title or "" for picture in result.distribution._pictures()]
    for text in texts:
        plain = re.sub("<[^>]*>", " ", text)
        assert ("people" in plain) != bool(unit) and ("rows" in plain) == bool(unit), plain
    difference = result.distribution.difference(result.distribution)
    words = str(difference._pictures()[0].title)
    assert ("people" in words) != bool(unit)


def test_rows_are_not_called_people_beside_people(done: Program) -> None:
    bounds = ("--low", 0, "--high", 90, "--bins", 30)
    done("new", "--domain-only", *bounds, "-o", "days.json")
    given = ("-c", "days", "--domain", "days.json", *PROMISE)
    done("release", "a.csv", *given, *UNIT, "-o", "a.json")
    done("release", "b.csv", *given, "-o", "b.json")
    said = flat(done("compare", "a.json", "b.json").out)
    assert re.search(r"counted [0-9,]+ rows and [0-9,]+ people", said) and NOTE in said


def test_labels_and_segments_of_units_are_rows(done: Program, tmp_path: Path) -> None:
    domain = ("--categories", "x,y", "--missing", "category")
    done("new", "--domain-only", *domain, "-o", "kind.json")
    said = done("release", "a.csv", "-c", "kind", "--domain", "kind.json", *PROMISE, *UNIT,
                "-o", "kind-out.json").out  # fmt: skip
    assert COUNTS_PEOPLE.search(said) is None and "share of all rows" in said
    bounds = ("--low", 0, "--high", 90, "--bins", 8, "--segment", "x", "--segment", "y")
    done("new", "--domain-only", *bounds, "-o", "by.json")
    said = done("release", "a.csv", "-c", "days", "--by", "kind", "--domain", "by.json", *PROMISE,
                *UNIT, "-o", "by-out.json").out  # fmt: skip
    assert COUNTS_PEOPLE.search(said) is None and re.search("about [0-9,]+ rows", said)
    html = lw.survey.Publication(lw.Release.load(tmp_path / "by-out.json"))._repr_html_()
    assert "rows" in html and "people" not in html


NOISE = "too few values: the numbers are all noise"


@pytest.mark.parametrize("most", [100_000, 3])
def test_far_too_many_rows_of_a_unit_are_said_to_be_noise(
    most: int, done: Program, tmp_path: Path
) -> None:
    """It printed quantiles of nothing but noise without a word, and the ledger was charged."""
    done("new", "--domain-only", "--low", 0, "--high", 90, "--bins", 30, "-o", "days.json")
    done("new", "--domain-only", "--categories", "x,y", "-o", "kind.json")
    for column in ("days", "kind"):
        promise = ("--epsilon", "0.1" if most > 3 else "1", *PROMISE[2:], "--unit", "patient")
        given = ("-c", column, "--domain", f"{column}.json", *promise, "--most", most)
        tried = flat(done("release", "a.csv", *given, "--dry-run", 6000).err)
        assert ("the result would be all noise" in tried) == (most > 3)
        assert (f"a smaller --most (now {most:,})" in tried) == (most > 3)
        if column == "kind":
            continue
        for _ in range(20):  # noise that happens to be large and positive looks like many rows
            run = done("release", "a.csv", *given, "-o", "a.json", "--force")
            if done("show", "a.json", "--json").document["all_noise"] or most == 3:
                break
        screens = [run.err, run.out, done("show", "a.json").out]
        screens += [done("answer", "a.json", "--at-most", 30).out]
        for screen in screens:
            assert (NOISE in flat(screen)) == (most > 3), (column, screen)
        assert done("show", "a.json", "--json").document["all_noise"] == (most > 3)


def test_a_release_without_any_unit_is_said_to_be_noise() -> None:
    days = np.random.default_rng(1).gamma(4, 8, 3000)
    with pytest.warns(lw.errors.RowsWarning):
        made = lw.release(days, lw.Interval(0, 90), unit=[None] * 3000, most=3, epsilon=1,
                          delta=1e-6, neighbors="replace-one", rng=lw.seeded(1))  # fmt: skip
    with pytest.warns(lw.errors.WeakAnswerWarning, match=NOISE):
        result = made.distribution
    assert NOISE in str(result.summary()) and NOISE in made._repr_html_()
