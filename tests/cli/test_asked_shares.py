"""What `lapwing answer` says of whom: of dates, of values, of segments, of heavy hitters."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import lapwing as lw
from lapwing.results.rounding import percent
from lapwing.results.symbols import missing_share
from tests.cli.running import Program


def of_counts(name: str, counts: list[int], domain: lw.Interval | lw.Categories) -> lw.Distribution:
    response = lw.RandomizedResponse(domain, 6)
    made = lw.LeastSquares().decode(response.channel, lw.simulate(response, counts, rng=5))
    assert isinstance(made, lw.Distribution)
    Path(name).write_text(made.to_json())
    return made


def test_a_whole_day_counts(done: Program) -> None:
    days = lw.Interval("2025-06-28", "2025-07-02", bins=4, unit="date")
    made = of_counts("r.json", [400, 300, 200, 100], days)
    asked = ("--at-most", "2025-06-30", "--json")
    (row,) = done("answer", "r.json", *asked).document["questions"]
    assert row["share"] == pytest.approx(float(made.mass[:3].sum()))
    assert row["share"] == pytest.approx(float(made.cdf("2025-06-30")))
    assert row["high"] - row["low"] < 0.05
    asked = ("--from", "2025-06-29", "--before", "2025-06-30")
    (row,) = done("answer", "r.json", *asked, "--json").document["questions"]
    assert row["share"] == pytest.approx(float(made.mass[1]))
    assert "from 2025-06-29, before 2025-06-30" in done("answer", "r.json", *asked).out
    asked = ("--from", "2025-06-29", "--at-most", "2025-06-30")
    (row,) = done("answer", "r.json", *asked, "--json").document["questions"]
    assert row["share"] == pytest.approx(float(made.mass[1:3].sum()))
    shown = done("answer", "r.json", "--quantile", "0.5")
    assert "2025-06-29" in shown.out
    assert str(made.quantile(0.5)) == "2025-06-29"


def test_all_shares_are_of_those_present(done: Program) -> None:
    labels = lw.Categories(["red", "blue"], missing="category")
    made = of_counts("l.json", [400, 400, 200], labels)
    run = done("answer", "l.json", "--share", "red")
    assert "share of those present" in run.out and "(missing), of all people" in run.out
    document = done("answer", "l.json", "--share", "red", "--json").document
    (row,) = document["questions"]
    assert row["share"] == pytest.approx(float(made.mass[0] / made.mass[:2].sum()))
    ends = made.share_interval("red", among="present")
    assert (row["low"], row["high"]) == pytest.approx(ends)
    assert document["missing"]["share"] == missing_share(made)
    numbers = lw.Interval(0, 2, bins=2, missing="bin")
    made = of_counts("n.json", [400, 400, 200], numbers)
    asked = ("answer", "n.json", "--at-most", "1", "--share", "0.5", "--json")
    at_most, value = done(*asked).document["questions"]
    assert at_most["share"] == pytest.approx(value["share"])
    assert (value["left"], value["right"]) == (None, 1)  # values below 0 were moved into it
    assert "0.5, in its bin 1 or less" in done(*asked[:-1]).out
    whole = of_counts("w.json", [4, 4], lw.Interval(0, 2, bins=2))
    assert missing_share(whole) == 0
    document = done("answer", "w.json", "--at-most", "1", "--json").document
    assert document["missing"] is None


def test_an_atom_has_a_share(done: Program) -> None:
    incomes = lw.Interval(0, 4, bins=2, atoms=[0])
    made = of_counts("a.json", [500, 300, 200], incomes)
    (row,) = done("answer", "a.json", "--share", "0", "--json").document["questions"]
    assert (
        row["label"] == 0
        and row["left"] is None
        and row["share"] == pytest.approx(float(made.mass[0]))
    )


def test_what_is_counted_in_other_is_told(lapwing: Program) -> None:
    of_counts("l.json", [400, 400], lw.Categories(["red", "rest"], other="rest"))
    run = lapwing("answer", "l.json", "--share", "pink")
    assert run.code != 0 and "counted in 'rest'" in run.complaint


def test_a_range_goes_round_the_end_of_the_day(done: Program) -> None:
    clock = lw.Interval("00:00", "24:00", bins=4, unit="time-of-day", circular=True)
    made = of_counts("c.json", [4, 3, 2, 1], clock)
    asked = ("--from", "18:00", "--before", "06:00")
    (row,) = done("answer", "c.json", *asked, "--json").document["questions"]
    assert row["share"] == pytest.approx(float(made.mass[3] + made.mass[0]))
    assert row["inside"] == []
    asked = ("--from", "22:00", "--before", "06:00")
    (row,) = done("answer", "c.json", *asked, "--json").document["questions"]
    assert row["inside"] == [{"end": "22:00", "left": 64_800, "right": 86_400}]
    shown = " ".join(done("answer", "c.json", *asked).out.split())
    assert "22:00 is inside" in shown


def test_an_open_end_on_a_circle_is_named(done: Program) -> None:
    clock = lw.Interval("00:00", "24:00", bins=4, unit="time-of-day", circular=True)
    made = of_counts("c.json", [4, 3, 2, 1], clock)
    for asked, says, symbols in (
        (("--from", "18:00"), "from 18:00, before 24:00", [3]),
        (("--before", "06:00"), "from 00:00, before 06:00", [0]),
    ):
        (row,) = done("answer", "c.json", *asked, "--json").document["questions"]
        assert row["share"] == pytest.approx(float(made.mass[symbols].sum()))
        assert says in " ".join(done("answer", "c.json", *asked).out.split())


def test_whole_numbers_are_named_by_the_first_and_the_last(done: Program) -> None:
    made = of_counts("w.json", [4, 3, 2, 1], lw.Integers(1, 4))
    for asked, says, symbols in (
        (("--above", "1", "--at-most", "3"), "from 2 to 3", [1, 2]),
        (("--at-least", "2", "--below", "4"), "from 2 to 3", [1, 2]),
        (("--above", "1", "--below", "3"), "2", [1]),
        (("--at-least", "1.5"), "at least 2", [1, 2, 3]),
        (("--below", "3"), "at most 2", [0, 1]),
        (("--above", "2", "--at-most", "2"), "above 2, at most 2: no whole number", []),
    ):
        (row,) = done("answer", "w.json", *asked, "--csv", "a.csv", "--json", "--force").document[
            "questions"
        ]
        assert row["share"] == pytest.approx(float(made.mass[symbols].sum()))
        assert row["inside"] == []
        assert Path("a.csv").read_text().splitlines()[1].startswith(f'"{says}",')


def test_the_last_number_of_clipped_values_is_open(done: Program) -> None:
    of_counts("w.json", [40, 30, 20, 100], lw.Integers(1, 4))
    shown = done("answer", "w.json", "--quantile", "0.9", "--at-most", "4").out
    assert "4 or more" in shown and "4 is inside the bin 4 or more" in " ".join(shown.split())
    (row,) = done("answer", "w.json", "--at-most", "4", "--json").document["questions"]
    assert row["share"] == 1 == row["high"] and row["low"] < 0.7


def test_heavy_hitters_are_asked_by_name(done: Program, lapwing: Program) -> None:
    found = lw.HeavyHitters(
        lw.HashedStrings(32),
        np.array([7, 3]),
        np.array([0.5, 0.25]),
        np.array([0.01, 0.01]),
        threshold=0.06,
        searched=100,
        reports=100_000,
        labels=["lapwing", "curlew"],
    )
    Path("h.json").write_text(found.to_json())
    (row,) = done("answer", "h.json", "--share", "curlew", "--json").document["questions"]
    assert row["share"] == 0.25 and row["low"] < 0.25 < row["high"]
    assert "(simultaneous)" in done("answer", "h.json", "--share", "curlew").out
    run = lapwing("answer", "h.json", "--share", "curlw")
    assert run.code == 2 and "did you mean curlew?" in run.complaint and "6.00%" in run.complaint
    run = lapwing("answer", "h.json", "--at-most", "1")
    assert run.code == 2 and "--share" in run.complaint


class TestSegments:
    @pytest.fixture
    def table(self, tmp_path: Path) -> lw.survey.Publication:
        rng = np.random.default_rng(1)
        ages, by = rng.uniform(0, 4, 4000), rng.choice(["north", "south"], 4000)
        ages[by == "south"] /= 2
        made = lw.release(
            ages,
            lw.Interval(0, 4, bins=4),
            by=by,
            segments=["north", "south"],
            neighbors="replace-one",
            epsilon=2,
            rng=lw.seeded(1),
        )
        Path("t.json").write_text(json.dumps(made.release.to_document()))
        return made

    def test_each_is_answered(
        self, done: Program, lapwing: Program, table: lw.survey.Publication
    ) -> None:
        north, south = (table.by_segment()[name] for name in ("north", "south"))
        given = ("t.json", "--segment", "north")
        (row,) = done("answer", *given, "--at-most", "2", "--json").document["questions"]
        assert row["share"] == pytest.approx(float(north.cdf(2)))
        (row,) = done("answer", *given, "--quantile", "0.5", "--json").document["quantiles"]
        assert row["value"] == pytest.approx(float(north.quantile(0.5)))
        done("plot", *given, "-o", "n.svg")
        both = ("t.json", "t.json", "--segment", "north", "--segment", "south")
        document = done("compare", *both, "--people", "different", "--json").document
        assert document["mean"]["shift"] == pytest.approx(north.mean() - south.mean())
        assert "t north minus t south" in done("compare", *both).out
        # Nobody is in two segments of one release, so its guarantee covers both together.
        document = done("compare", *both, "--json").document
        assert document["people"] == "different" and document["guarantee"]["epsilon"] == "2"
        assert north.difference(south).people == "different"
        assert north.difference(table.by_segment()["north"]).people == "same"
        document = done("compare", *both, "--people", "same", "--json").document
        assert document["people"] == "same" and document["guarantee"]["epsilon"] == "4"
        other = lw.release(
            [1.0, 3.0],
            lw.Interval(0, 4, bins=4),
            by=["north", "south"],
            segments=["north", "south"],
            neighbors="replace-one",
            epsilon=2,
            rng=lw.seeded(2),
        )
        assert north.difference(other.by_segment()["south"]).people == "same"
        document = done("compare", "t.json", "t.json", "--segment", "north", "--json").document
        assert document["mean"]["shift"] == 0
        run = lapwing("answer", "t.json", "--segment", "(no segment)", "--at-most", "2")
        assert run.code == 2 and "no rows outside its segments" in run.complaint

    def test_without_one_they_are_listed(
        self, lapwing: Program, table: lw.survey.Publication
    ) -> None:
        listed = "north, south, (no segment)"
        for asked in (
            ("answer", "t.json", "--at-most", "2"),
            ("answer", "t.json", "--quantile", "0.5"),
        ):
            run = lapwing(*asked)
            assert run.code == 2 and "--segment" in run.complaint and listed in run.complaint
        run = lapwing("answer", "t.json", "--at-most", "2", "--segment", "nort")
        assert run.code == 2 and "mean north?" in run.complaint and listed in run.complaint
        run = lapwing("compare", "t.json", "t.json", *("--segment", "north") * 3)
        assert run.code == 2 and "once for both" in run.complaint


def test_a_poll_and_a_release_of_the_same_labels(lapwing: Program) -> None:
    labels = ["red", "blue"]
    of_counts("poll.json", [400, 400], lw.Categories(labels))
    released = lw.release(
        ["red"] * 50, lw.Categories(labels), neighbors="replace-one", epsilon=1, rng=lw.seeded(1)
    )
    Path("out.json").write_text(json.dumps(released.release.to_document()))
    run = lapwing("compare", "poll.json", "out.json")
    assert run.code == 4 and "missing='category'" in run.complaint
    assert "same bins" not in run.complaint
    of_counts("counted.json", [400, 400, 50], lw.Categories(labels, missing="category"))
    assert lapwing("compare", "counted.json", "out.json").code == 0


def test_the_top_of_a_domain_is_everybody() -> None:
    assert percent(0.9999999999999998) == percent(1 + 4e-16) == "100.00%"


def test_several_ranges_are_a_table_of_edges_of_ones_own(lapwing: Program, done: Program) -> None:
    values = np.repeat(np.arange(10), 100)
    result = lw.Distribution.of_values(values, lw.Integers(0, 9))
    result.save("r.json", exact=True)
    pairs = ("--at-least", 1, "--below", 3, "--at-least", 3, "--below", 9)
    run = done("answer", "r.json", *pairs, "--csv", "t.csv", "--json")
    asked = [(row["at_least"], row["below"]) for row in run.document["questions"]]
    assert asked == [("1", "3"), ("3", "9")]
    with Path("t.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert [row["question"] for row in rows] == ["from 1 to 2", "from 3 to 8"]
    assert [float(row["share"]) for row in rows] == pytest.approx([0.2, 0.6])
    for wrong in (
        ("--at-least", 0, "--below", 3, "--at-least", 3),
        ("--at-least", 0, "--below", 3, "--above", 3, "--below", 5),
    ):
        refused = lapwing("answer", "r.json", *wrong)
        assert refused.code == 2 and "For example: --at-least 0 --below 18" in refused.err
