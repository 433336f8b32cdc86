"""Every screen, table and picture says whom its intervals are about, and can be asked for both."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.results.counted import whom
from tests.cli.running import Program, written_once

PROMISE = ("--epsilon", "1", "--neighbors", "replace-one")
WORDS = {"empirical": "the people in the data", "population": "the population"}


_MADE: dict[str, bytes] = {}


@pytest.fixture(autouse=True)
def files(tmp_path: Path, done: Program) -> None:
    written_once(tmp_path, _MADE, lambda: _make(tmp_path, done))


def _make(tmp_path: Path, done: Program) -> None:
    rng = np.random.default_rng(5)
    days, kinds = np.round(rng.gamma(4, 8, 6000), 1), rng.choice(list("abc"), 6000)
    where = rng.choice(["north", "south"], 6000)
    rows = zip(days.tolist(), kinds, where, strict=True)
    lines = [f"{day},{kind},{place}\n" for day, kind, place in rows]
    (tmp_path / "visits.csv").write_text("days,kind,place\n" + "".join(lines))
    bounds = ("--low", 0, "--high", 90, "--bins", 30)
    done("new", "--domain-only", *bounds, "-o", "days-domain.json")
    done("new", "--domain-only", "--categories", "a,b,c", "-o", "kind-domain.json")
    for name in ("days", "kind"):
        given = ("-c", name, "--domain", f"{name}-domain.json", *PROMISE)
        for output in (f"{name}.json", f"{name}2.json"):
            done("release", "visits.csv", *given, "-o", output)


def cells(path: Path) -> list[dict[str, str]]:
    with path.open() as stream:
        return list(csv.DictReader(stream))


def widths(rows: list[dict[str, Any]], low: str = "low", high: str = "high") -> float:
    return sum(float(row[high]) - float(row[low]) for row in rows if row[low])


ASKED = [
    ("answer", "days.json", "--at-most", "30"),
    ("answer", "days.json", "--quantile", "0.5"),
    ("answer", "kind.json", "--share", "a"),
    ("show", "days.json"),
    ("show", "kind.json"),
    ("series", "days.json", "days2.json"),
    ("series", "kind.json", "kind2.json"),
]


@pytest.mark.parametrize("words", ASKED, ids=" ".join)
def test_a_screen_its_table_and_its_json_say_about_whom(
    words: tuple[str, ...], done: Program, tmp_path: Path
) -> None:
    found = {}
    for target, about in WORDS.items():
        said = done(*words, "--target", target, "--csv", "table.csv", "--force").out
        assert re.search(rf"^intervals .*about {about}$", said, re.M), said
        rows = cells(tmp_path / "table.csv")
        assert {row["about"] for row in rows if row["interval"]} == {about}
        assert done(*words, "--target", target, "--json").document["about"] == about
        ends = ("median_low", "median_high") if "median_low" in rows[0] else ("low", "high")
        ends = ("a_low", "a_high") if "a_low" in rows[0] else ends
        found[target] = widths(rows, *ends)
    assert 0 < found["empirical"] <= found["population"]  # of quantiles whole bins
    assert "kind" not in words[1] or found["empirical"] < found["population"]
    assert done(*words).out == done(*words, "--target", "empirical").out


@pytest.mark.parametrize("name", ["days", "kind"])
def test_pictures_say_it_also(name: str, tmp_path: Path) -> None:
    made = lw.survey.Publication(lw.Release.load(tmp_path / f"{name}.json"))
    for target, about in WORDS.items():
        for picture in made.distribution._pictures(target=target):  # type: ignore[arg-type]
            assert str(picture.title).splitlines()[1] == f"intervals about {about}"
    exact = lw.Distribution.of_counts([3, 1], lw.Categories(["no", "yes"]))
    assert "about" not in str(exact._pictures()[0].title)


@pytest.mark.parametrize("command", ["answer", "show", "plot", "series"])
def test_another_target_is_refused(command: str, lapwing: Program) -> None:
    more = {"answer": ("--at-most", "30"), "plot": ("-o", "it.png")}.get(command, ())
    run = lapwing(command, "days.json", *more, "--target", "people")
    assert run.code == 2
    assert "--target must be 'population' or 'empirical', got 'people'" in run.err


def test_a_release_by_segment_says_what_its_intervals_are(done: Program) -> None:
    """It ended "intervals none", below two tables of intervals."""
    domain = ("--low", 0, "--high", 90, "--segment", "north", "--segment", "south")
    done("new", "--domain-only", *domain, "-o", "by.json")
    given = ("-c", "days", "--by", "place", "--domain", "by.json", *PROMISE)
    released = done("release", "visits.csv", *given, "-o", "by-out.json").out
    for said in (released, done("show", "by-out.json").out):
        assert re.search("^intervals .*in each segment: .*about the people in the data", said, re.M)
        assert len(re.findall("^intervals ", said, re.M)) == 1


def test_rows_of_a_unit_are_about_the_counted_rows() -> None:
    unit = lw.privacy.PrivacyUnit("patient", 1)
    promise = lw.Guarantee(1, 0, "add-or-remove-one", "central", unit=unit)
    assert whom("empirical", promise, 22_000) == (
        "the 22,000 counted rows, at most 1 of each patient. They may be too narrow or too wide "
        "for the population, because rows of one patient are alike"
    )
    assert whom("population", promise.to_document(), 22_000) == (
        "the population. They may be too narrow or too wide, because rows of one patient are alike"
    )


FEW = ("--epsilon", "0.1", "--neighbors", "add-or-remove-one")

BY_SEGMENT = [
    ("answer", "few.json", "--segment", "north", "--at-most", "30"),
    ("plot", "few.json", "-o", "few.png"),
    ("compare", "few.json", "few.json", "--segment", "north", "--segment", "south"),
]


@pytest.mark.parametrize("words", BY_SEGMENT, ids=lambda words: str(words[0]))
def test_a_warning_is_one_line_without_a_path(
    words: tuple[str, ...], done: Program, lapwing: Program, tmp_path: Path
) -> None:
    """It was Python's own warning, with the path of a file of lapwing and a line of its code."""
    rows = (tmp_path / "visits.csv").read_text().splitlines(keepends=True)
    (tmp_path / "rows.csv").write_text("".join(rows[:60]))
    domain = ("--low", 0, "--high", 90, "--bins", 30, "--segment", "north", "--segment", "south")
    done("new", "--domain-only", *domain, "-o", "by.json")
    given = ("-c", "days", "--by", "place", "--domain", "by.json", *FEW)
    done("release", "rows.csv", *given, "-o", "few.json")
    said = lapwing(*words).err.splitlines()
    assert said and all(line.startswith("lapwing: ") for line in said)
    assert said[0].startswith("lapwing: warning: north, south: too few people")


@pytest.mark.parametrize(
    ("outside", "where"), [("overflow", "at the ends"), ("clip", "in the first and last bin")]
)
def test_sample_says_where_values_outside_are(
    outside: str, where: str, done: Program, tmp_path: Path
) -> None:
    domain = ("--low", 0, "--high", 30, "--bins", 30, "--outside", outside)
    done("new", "--domain-only", *domain, "-o", "short.json")
    done("release", "visits.csv", "-c", "days", "--domain", "short.json", *PROMISE, "-o", "s.json")
    said = done("sample", "s.json", "--size", 2000, "--seed", 1, "-o", "rows.csv").out
    assert f"outside 0 to 30 written {where}" in " ".join(said.split())
    values = [row["value"] for row in cells(tmp_path / "rows.csv")]
    assert (max(float(value) for value in values if value) == 30) == (outside == "overflow")
