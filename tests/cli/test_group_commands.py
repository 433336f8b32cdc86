"""Groups on the command line: --by and difference; and what decode says of atoms."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import lapwing as lw
from tests.cli.running import Program

ODD = 'Île, "de"'
"""A label that a CSV must quote."""


@pytest.fixture
def survey(tmp_path: Path) -> lw.Survey:
    made = lw.Survey("age", lw.SquareWave(lw.Interval(0, 100, bins=20), epsilon=2))
    (tmp_path / "survey.json").write_text(made.to_json())
    return made


@pytest.fixture
def people(tmp_path: Path) -> pa.Table:
    """900 people in three groups and some without, as people.parquet and people.csv."""
    rng = np.random.default_rng(3)
    labels = ["north"] * 500 + ["south"] * 300 + [ODD] * 60 + [None] * 40
    ages = np.round(rng.gamma(4, 8, 900), 1)
    order = rng.permutation(900)
    table = pa.table({"age": ages[order], "region": [labels[i] for i in order]})
    parquet.write_table(table, tmp_path / "people.parquet")
    quoted = ODD.replace('"', '""')
    rows = [
        f'{age},"{quoted}"' if label == ODD else f"{age},{label or ''}"
        for age, label in zip(table["age"].to_pylist(), table["region"].to_pylist(), strict=True)
    ]
    (tmp_path / "people.csv").write_text("\n".join(["age,region", *rows]) + "\n", "utf-8")
    return table


def labeled(reports: str) -> pa.Table:
    """The reports as bytes, and the label of each."""
    if reports.endswith(".parquet"):
        return parquet.read_table(reports)
    rows = csv.DictReader(Path(reports).read_text("utf-8").splitlines()[1:])
    cells = [(bytes.fromhex(row["report"]), row["region"]) for row in rows]
    return pa.table({"report": [one for one, _ in cells], "region": [one for _, one in cells]})


@pytest.mark.parametrize("values", ["people.csv", "people.parquet"])
@pytest.mark.parametrize("reports", ["reports.csv", "reports.parquet"])
def test_labels_stand_beside_their_reports(
    done: Program, survey: lw.Survey, people: pa.Table, values: str, reports: str
) -> None:
    run = done("randomize", "survey.json", values, "-c", "age", "--by", "region", "-o", reports)
    assert "in the clear" in run.out and "region" in run.out
    table = labeled(reports)
    found = [label or None for label in table["region"].to_pylist()]
    assert found == people["region"].to_pylist()
    # Without --by it is an ordinary file of reports.
    done("tally", "survey.json", reports, "-o", "all.json")
    options = ("--by", "region", "--segment-minimum", 100, "-o", "tally.json", "--json")
    document = done("tally", "survey.json", reports, *options).document
    assert [(row["group"], row["reports"]) for row in document["groups"]] == [
        ("north", 500),
        ("south", 300),
        ("other", 100),
    ]
    assert document["labels"] == 4 and document["reports"] == 900
    assert document["output"] == "tally.json"
    tallies = lw.tallies.GroupTallies.load("tally.json")
    assert list(tallies) == ["north", "south", "other"]
    assert sum(tallies.values()) == lw.Tally.load("all.json")  # type: ignore[arg-type]
    data = np.frombuffer(b"".join(table["report"].to_pylist()), np.uint8).reshape(900, -1)
    data = data[[label == "north" for label in found]]
    assert tallies["north"] == survey.tally(lw.Reports(data, survey.randomizer.fingerprint))


def test_a_small_rest_is_kept_and_said(done: Program, survey: lw.Survey, people: pa.Table) -> None:
    made = ("randomize", "survey.json", "people.csv", "-c", "age", "--by", "region")
    done(*made, "-o", "reports.csv")
    run = done(
        *("tally", "survey.json", "reports.csv", "--by", "region", "--segment-minimum", 200),
        *("-o", "t.json"),
    )
    assert "'other' has 100 reports, fewer than 200" in run.err
    assert list(lw.load("t.json")) == ["north", "south", "other"]


def test_one_segment_is_decoded_and_all_are_merged(
    lapwing: Program, done: Program, survey: lw.Survey, people: pa.Table
) -> None:
    made = ("randomize", "survey.json", "people.csv", "-c", "age", "--by", "region")
    done(*made, "-o", "reports.csv")
    options = ("--by", "region", "--segment-minimum", 50, "-o", "tally.json", "--json")
    document = done("tally", "survey.json", "reports.csv", *options).document
    assert ODD in {row["group"] for row in document["groups"]}
    tallies = lw.load("tally.json")
    for name in ("north", ODD, "other"):
        done("decode", "survey.json", "tally.json", "--segment", name, "-o", "r.json", "--force")
        assert lw.load("r.json").mass.tolist() == survey.decode(tallies[name]).mass.tolist()
    done("decode", "survey.json", "tally.json", "--segment", "north", "-o", "n.json")
    compared = done("compare", "n.json", "r.json", "--json").document
    assert compared["people"] == "different"
    assert compared["guarantee"]["epsilon"] == str(survey.guarantee.epsilon)
    Path("again.json").write_bytes(Path("tally.json").read_bytes())
    equal = ("--allow-equal", "again.json")
    done("merge", "tally.json", "again.json", *equal, "-o", "twice.json")
    assert lw.load("twice.json") == tallies + lw.load("again.json")
    weeks = ("series", "survey.json", "tally.json", "twice.json", "--names", "a,b")
    document = done(*weeks, "--segment", "north", "--json").document
    assert [week["week"] for week in document["weeks"]] == ["a", "b"]
    assert "north" in done("show", "tally.json").out

    tallies["north"].save("north.json")
    for words, complaint in [
        (("decode", "survey.json", "tally.json"), "Choose one with --segment: north"),
        (("decode", "survey.json", "tally.json", "--segment", "noth"), "did you mean north?"),
        (("decode", "survey.json", "north.json", "--segment", "north"), "has no segments"),
    ]:
        run = lapwing(*words)
        assert run.code == 2 and complaint in run.complaint
    run = lapwing("merge", "north.json", "tally.json", "-o", "sum.json")
    assert run.code == 4 and "some have segments and some do not" in run.complaint
    run = lapwing("merge", "tally.json", "north.json", "-o", "sum.json")
    assert run.code == 4 and "some have segments and some do not" in run.complaint


def test_groups_may_be_numbers_or_days_but_no_fractions(
    lapwing: Program, done: Program, survey: lw.Survey
) -> None:
    import datetime

    table = pa.table(
        {
            "age": [1.0, 2.0],
            "version": [7, 8],
            "day": [datetime.date(2026, 1, 1)] * 2,
            "weight": [0.5, 0.7],
        }
    )
    parquet.write_table(table, "p.parquet")
    for column, expected in (("version", ["7", "8"]), ("day", ["2026-01-01"])):
        made = ("randomize", "survey.json", "p.parquet", "-c", "age", "--by", column)
        done(*made, "-o", "r.parquet", "--force")
        options = ("--by", column, "--segment-minimum", 1, "-o", f"{column}.json", "--json")
        document = done("tally", "survey.json", "r.parquet", *options).document
        assert [row["group"] for row in document["groups"]] == expected
    made = ("randomize", "survey.json", "p.parquet", "-c", "age", "--by", "weight")
    run = lapwing(*made, "-o", "r.csv")
    assert run.code == 2 and "strings, whole numbers or dates" in run.complaint


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("randomize", "survey.json", "people.csv", "-c", "age", "--by", "region", "-o", "r.lwr"),
         "must end in .parquet, .arrow, .feather or .csv"),
        (("randomize", "survey.json", "people.csv", "-c", "age", "--by", "age", "-o", "r.csv"),
         "--by must differ"),
        (("randomize", "survey.json", "people.csv", "-c", "age", "--by", "x", "-o", "r.csv"),
         "no column 'x'"),
        (("tally", "survey.json", "plain.csv", "--by", "region", "-o", "t.json"),
         "no column 'region' alongside the reports"),
        (("tally", "survey.json", "labeled.csv", "--by", "place", "-o", "t.json"),
         "the column of labels 'region'"),
        (("tally", "survey.json", "plain.lwr", "--by", "region", "-o", "t.json"),
         "randomize --by"),
        (("tally", "survey.json", "plain.csv", "--segment-minimum", "5", "-o", "t.json"),
         "--by"),
        (("tally", "survey.json", "plain.csv", "--by", "region", "--salvage", "-o", "t.json"),
         "--salvage"),
        (("tally", "survey.json", "labeled.csv", "--by", "region", "--segment-minimum", "0",
          "-o", "t.json"), "at least 1"),
    ],
)  # fmt: skip
def test_what_cannot_be_grouped_is_refused(
    lapwing: Program,
    done: Program,
    survey: lw.Survey,
    people: pa.Table,
    arguments: tuple[str, ...],
    complaint: str,
) -> None:
    made = ("randomize", "survey.json", "people.csv", "-c", "age")
    for name, by in (("plain.csv", ()), ("plain.lwr", ()), ("labeled.csv", ("--by", "region"))):
        done(*made, *by, "-o", name)
    before = {path.name for path in Path().iterdir()}
    run = lapwing(*arguments)
    assert run.code == 2 and complaint in run.complaint
    assert {path.name for path in Path().iterdir()} == before


def test_a_report_that_cannot_occur_is_named_by_its_row(
    lapwing: Program, done: Program, survey: lw.Survey, people: pa.Table
) -> None:
    made = ("randomize", "survey.json", "people.csv", "-c", "age", "--by", "region")
    done(*made, "-o", "r.csv")
    lines = Path("r.csv").read_text("utf-8").splitlines()
    lines[2 + 41] = "ff," + lines[2 + 41].partition(",")[2]
    Path("r.csv").write_text("\n".join(lines) + "\n", "utf-8")
    run = lapwing("tally", "survey.json", "r.csv", "--by", "region", "-o", "t.json")
    assert "row 42 " in run.complaint and not list(Path().glob("t*.json"))


# difference


def decoded(name: str, counts: list[int], domain: lw.Interval | lw.Categories) -> lw.Distribution:
    response = lw.RandomizedResponse(domain, 4)
    made = lw.LeastSquares().decode(response.channel, lw.simulate(response, counts, rng=len(name)))
    assert isinstance(made, lw.Distribution)
    Path(name).write_text(made.to_json())
    return made


def test_the_difference_shown_is_that_of_the_library(done: Program) -> None:
    domain = lw.Interval(0, 4, bins=4)
    first = decoded("a.json", [400, 300, 200, 100], domain)
    second = decoded("bb.json", [1000, 2000, 3000, 4000], domain)
    made = first.difference(second, people="different")
    options = ("--people", "different", "--level", ".9")
    document = done("compare", "a.json", "bb.json", *options, "--json").document
    assert document["mean"]["shift"] == pytest.approx(made.mean())
    assert document["target"] == "population"
    low, high = made.mean_interval(level=0.9) or (0, 0)
    # Read back, the law has a last digit that the fresh one has not.
    assert (document["mean"]["low"], document["mean"]["high"]) == pytest.approx((low, high))
    for row in document["quantiles"]:
        assert row["shift"] == pytest.approx(float(made.quantile(row["probability"])))
        found = made.quantile_interval(row["probability"], level=0.9)
        assert found is not None
        ends = [None if math.isinf(end) else end for end in found]  # clipped values are open
        assert [row["low"], row["high"]] == ends
    assert document["differ"] is True and document["reports"] == 1000
    assert document["against_reports"] == 10_000
    assert document["guarantee"]["epsilon"] == "4"
    same = done("compare", "a.json", "bb.json", "--json").document
    options = (*options, "--target", "empirical")
    those = done("compare", "a.json", "bb.json", *options, "--json").document
    these = first.difference(second, people="different", target="empirical")
    assert those["mean"]["low"] == pytest.approx((these.mean_interval(level=0.9) or (0, 0))[0])
    assert (same["target"], those["target"]) == ("population", "empirical")
    assert same["people"] == "same" and same["guarantee"]["epsilon"] == "8"
    shown = done("compare", "a.json", "bb.json").out
    assert "a minus bb" in shown and "excludes zero" in shown
    assert "about the population" in shown
    assert "treated as independent" in " ".join(shown.split())
    shown = done("compare", "a.json", "bb.json", "--target", "empirical").out
    assert "about the people in the data" in shown


def test_halves_of_one_table_are_said_to_differ_as_people_only(done: Program) -> None:
    # Reports so honest that the two sets of people are seen apart, which chance alone parted.
    domain = lw.Interval(0, 4, bins=4)
    for name, counts in (
        ("a.json", [5100, 4900, 5050, 4950]),
        ("b.json", [4900, 5100, 4950, 5050]),
    ):
        response = lw.RandomizedResponse(domain, 12)
        tally = lw.simulate(response, counts, rng=1)
        made = lw.LeastSquares().decode(response.channel, tally)
        assert isinstance(made, lw.Distribution)
        Path(name).write_text(made.to_json())
    command = ("compare", "a.json", "b.json", "--json")
    assert done(*command).document["differ"] is False
    assert done(*command, "--target", "empirical").document["differ"] is True


def test_equal_groups_are_not_said_to_differ(done: Program) -> None:
    domain = lw.Interval("00:00", "24:00", bins=4, unit="time-of-day")
    decoded("a.json", [500, 500, 500, 500], domain)
    decoded("bb.json", [500, 500, 500, 500], domain)
    run = done("compare", "a.json", "bb.json", "-o", "d.png")
    assert "contains zero at every point" in run.out
    assert Path("d.png").read_bytes().startswith(b"\x89PNG")


def test_labels_are_compared_by_their_shares(done: Program) -> None:
    domain = lw.Categories(["x", "y", "z"])
    first = decoded("a.json", [500, 300, 100], domain)
    second = decoded("bb.json", [300, 300, 300], domain)
    document = done("compare", "a.json", "bb.json", "-o", "d.svg", "--json").document
    gaps = {row["label"]: row["difference"] for row in document["shares"]}
    assert gaps == pytest.approx(dict(zip("xyz", first.mass - second.mass, strict=True)))
    assert "<?xml" in Path("d.svg").read_text()
    assert "difference" in done("compare", "a.json", "bb.json").out


def test_without_an_error_law_that_is_said(done: Program) -> None:
    domain = lw.Interval(0, 1, bins=2)
    for name in ("a.json", "b.json"):
        Path(name).write_text(lw.Distribution.of_counts([1, 1], domain).to_json())
    run = done("compare", "a.json", "b.json")
    assert "not known" in run.out
    assert done("compare", "a.json", "b.json", "--json").document["differ"] is None


def test_what_cannot_be_compared_is_refused(lapwing: Program) -> None:
    decoded("a.json", [1, 2], lw.Interval(0, 1, bins=2))
    decoded("b.json", [1, 2, 3], lw.Interval(0, 1, bins=3))
    run = lapwing("compare", "a.json", "b.json")
    assert run.code == 4 and "a.json and b.json" in run.complaint and "same bins" in run.complaint
    run = lapwing("compare", "a.json", "a.json", "--people", "both")
    assert run.code == 2 and "'same' or 'different'" in run.complaint
    run = lapwing("compare", "a.json", "a.json", "--target", "all")
    assert run.code == 2 and "'population' or 'empirical'" in run.complaint
    for output, complaint in (("d.gif", ".png, .svg or .pdf"), ("a.json", ".png, .svg or .pdf")):
        run = lapwing("compare", "a.json", "b.json", "-o", output)
        assert run.code == 2 and complaint in run.complaint


# decode


def test_decode_tells_of_intervals_and_atoms(done: Program) -> None:
    domain = lw.Interval(0, 64, bins=32, atoms=(0,), outside="clip")
    counts = np.full(domain.size, 400)
    counts[0], counts[21] = 3000, 6000
    survey = lw.Survey("s", lw.RandomizedResponse(domain, 6))
    Path("s.json").write_text(survey.to_json())
    tally = lw.simulate(survey.randomizer, counts, rng=1)
    Path("t.json").write_text(json.dumps(tally.to_document()))
    decode = ("decode", "s.json", "t.json", "--decoder", "least-squares", "-o", "r.json")
    document = done(*decode, "--json").document
    result = lw.Distribution.from_json(Path("r.json").read_text())
    # Read back, the law has a last digit that the fresh one has not.
    roots = np.sqrt(result.variance_interval())
    for name, ends in (("mean", result.mean_interval()), ("std", roots)):
        assert (document[name]["low"], document[name]["high"]) == pytest.approx(ends)
    bounds = lw.distances.range_error_bounds(result)
    assert bounds is not None
    assert document["range_error_bounds"] == pytest.approx(bounds._asdict())
    assert [(atom["left"], atom["right"], atom["declared"]) for atom in document["atoms"]] == [
        (0, 0, True),
        (40, 42, False),
    ]
    shown = done(*decode, "--force").out
    assert "in 40 to 42" in shown and "detected" in shown and "declared" in shown
    assert "standard deviation" in shown and "error of the share of a range" not in shown
    shown = done("show", "r.json", "--detail").out
    assert "error of the share of a range" in shown and "estimate in its interval" in shown
    half = done("show", "r.json", "--level", "0.5", "--json").document["atoms"]
    for narrow, wide in zip(half, document["atoms"], strict=True):
        assert wide["low"] < narrow["low"] <= narrow["high"] < wide["high"]
    assert "50% interval" in done("show", "r.json", "--level", "0.5").out.split("atoms")[1]


def test_two_columns_of_labels_are_one_segment_for_each_pair(
    done: Program, lapwing: Program, survey: lw.Survey
) -> None:
    people = {"PT": 30, "DE": 20}
    for country, number in people.items():
        folder = Path("values") / f"country={country}"
        folder.mkdir(parents=True)
        months = ["2026-01"] * 10 + ["2026-02"] * (number - 10)
        table = pa.table({"age": np.linspace(0, 99, number), "month": months})
        parquet.write_table(table, folder / "people.parquet")
        made = ("randomize", "survey.json", folder, "-c", "age", "--by", "month")
        Path(f"reports/country={country}").mkdir(parents=True)
        done(*made, "-o", f"reports/country={country}/people.parquet")
    both = ("--by", "country", "--by", "month", "--segment-minimum", 1)
    document = done("tally", "survey.json", "reports", *both, "-o", "t.parquet", "--json").document
    assert document["by"] == ["country", "month"]
    assert {row["group"]: row["reports"] for row in document["groups"]} == {
        "country=DE/month=2026-01": 10,
        "country=DE/month=2026-02": 10,
        "country=PT/month=2026-01": 10,
        "country=PT/month=2026-02": 20,
    }
    done("decode", "survey.json", "t.parquet", "--segment", "country=PT/month=2026-02")
    twice = ("--by", "country", "--by", "country", "-o", "u.json")
    assert (
        "--by must not name a column more than once"
        in lapwing("tally", "survey.json", "reports", *twice).complaint
    )
    made = ("randomize", "survey.json", "values", "-c", "age", "--by", "country", "--by", "month")
    assert "--by must be given once" in lapwing(*made, "-o", "both").complaint
    assert not Path("both").exists() and not Path(".both.unpublished").exists()
