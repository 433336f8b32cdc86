"""Each command says what the library says."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import lapwing as lw
from lapwing.registry import RANDOMIZERS
from lapwing.results.rounding import percent
from lapwing.results.weak_parameters import posterior
from tests.cli.running import Program


def read_survey(path: str = "survey.json") -> lw.Survey:
    return lw.Survey.load(path)


# new

INTERVAL = ("--low", "1", "--high", "16", "--bins", "8")


@pytest.mark.parametrize(
    ("randomizer", "options", "domain"),
    [
        ("square-wave", INTERVAL, lw.Interval(1, 16, bins=8)),
        ("square-wave", (*INTERVAL, "--scale", "log"), lw.Interval(1, 16, bins=8, scale="log")),
        (
            "square-wave",
            (*INTERVAL, "--scale", "circular"),
            lw.Interval(1, 16, bins=8, circular=True),
        ),
        (
            "square-wave",
            (*INTERVAL, "--atom", "1", "--atom", "2.5", "--missing", "bin"),
            lw.Interval(1, 16, bins=8, atoms=(1, 2.5), missing="bin"),
        ),
        (
            "unary-encoding",
            (*INTERVAL, "--outside", "refuse"),
            lw.Interval(1, 16, bins=8, outside="refuse"),
        ),
        (
            "square-wave",
            ("--low", "-1e3", "--high", "1e3", "--bins", "4"),
            lw.Interval(-1000, 1000, bins=4),
        ),
        (
            "square-wave",
            (
                *("--unit", "date", "--low", "2019-01-01", "--high", "2019-03-01"),
                *("--bins", "59", "--atom", "2019-02-01"),
            ),
            lw.Interval("2019-01-01", "2019-03-01", bins=59, unit="date", atoms=["2019-02-01"]),
        ),
        (
            "square-wave",
            ("--unit", "time-of-day", "--low", "00:00", "--high", "24:00", "--bins", "48"),
            lw.Interval("00:00", "24:00", bins=48, unit="time-of-day"),
        ),
        ("square-wave", ("--integers", "-5", "5"), lw.Integers(-5, 5)),
        (
            "randomized-response",
            ("--categories", "a, b b,c", "--missing", "category"),
            lw.Categories(["a", "b b", "c"], missing="category"),
        ),
        ("unary-encoding", ("--categories", "12"), lw.Categories(12)),
        ("unary-encoding", ("--categories", "12,-3"), lw.Categories([12, -3])),
        ("unary-encoding", ("--categories", "12,03"), lw.Categories(["12", "03"])),
        ("unary-encoding", ("--categories", "file:l.txt"), lw.Categories(["x, y", "z"])),
    ],
)
def test_new_writes_the_survey_of_the_library(
    done: Program, tmp_path: Path, randomizer: str, options: tuple[str, ...], domain: Any
) -> None:
    (tmp_path / "l.txt").write_text("\ufeffx, y\r\n\r\nz\r\n", "utf-8")
    name = ("--name", "n", "--randomizer", randomizer, "--epsilon", "0.1")
    done("new", "-o", "survey.json", *name, *options)
    classes = {made.name: made for made in RANDOMIZERS.values()}
    assert read_survey() == lw.Survey("n", classes[randomizer](domain, "0.1"))


@pytest.mark.parametrize(("typed", "exact"), [("0.1", "1/10"), ("1/3", "1/3"), ("2", "2")])
def test_epsilon_is_what_was_typed(done: Program, typed: str, exact: str) -> None:
    made = ("--name", "n", "--randomizer", "square-wave", "--epsilon", typed)
    done("new", "-o", "survey.json", *made, *INTERVAL)
    assert read_survey().randomizer.epsilon == Fraction(exact)


def test_knobs_are_set(done: Program) -> None:
    made = ("--name", "n", "--randomizer", "square-wave", "--epsilon", "1", "--set", "grid=16")
    done("new", "-o", "survey.json", *made, *INTERVAL, "--set", "width=.25")
    domain = lw.Interval(1, 16, bins=8)
    assert read_survey().randomizer == lw.SquareWave(domain, 1, width=0.25, grid=16)


@pytest.mark.parametrize(
    ("randomizer", "setting", "made"),
    [
        (
            "multiscale-wave",
            'components=[["wave", 0.5, 0.75], ["subset", 4, 0.25]]',
            lw.MultiscaleWave(
                lw.Interval(1, 16, bins=8), 1, components=[("wave", 0.5, 0.75), ("subset", 4, 0.25)]
            ),
        ),
        (
            "general-wave",
            "shape=[0.5,1,0.5]",
            lw.papers.square_wave.GeneralWave(lw.Interval(1, 16, bins=8), 1, shape=(0.5, 1, 0.5)),
        ),
        (
            "hierarchical",
            "branching=2",
            lw.papers.square_wave.Hierarchical(lw.Interval(1, 16, bins=8), 1, branching=2),
        ),
    ],
)
def test_knobs_that_are_lists_are_json(
    done: Program, randomizer: str, setting: str, made: Any
) -> None:
    name = ("--name", "n", "--randomizer", randomizer, "--epsilon", "1")
    done("new", "-o", "survey.json", *name, *INTERVAL, "--set", setting)
    assert read_survey() == lw.Survey("n", made)


# verify


def test_verify_states_the_exact_ratio(done: Program, survey: lw.Survey) -> None:
    certificate = survey.randomizer.certificate()
    document = done("verify", "survey.json", "--json").document
    ratio = Fraction(int(document["ratio"]["numerator"]), int(document["ratio"]["denominator"]))
    assert ratio == certificate.ratio
    assert document["holds"] is True and document["loss"] == certificate.loss
    # Cut off, not rounded: both decimals are lower bounds, and 30 digits are right.
    for text, exact in ((document["ratio"]["decimal"], ratio),
                        (document["e^epsilon"], certificate.bound)):  # fmt: skip
        assert 0 <= exact - Fraction(Decimal(text)) < Fraction(1, 10**28)
    assert document["e^epsilon"].startswith("7.389056098930650227")
    shown = done("verify", "survey.json").out
    assert str(certificate.ratio) in shown and document["ratio"]["decimal"] in shown
    assert f"{survey.randomizer._thresholds['near']:#018x}" in shown


def test_verify_shows_what_many_reports_of_a_lifetime_can_tell(lapwing: Program) -> None:
    given = ["--name", "page", "--epsilon", "1", "--categories", "a,b,c", "--set", "lifetime=3"]
    lapwing("new", "-o", "page.json", "--randomizer", "rappor", *given)
    epsilons = [
        row["epsilon"] for row in lapwing("verify", "page.json", "--json").document["repeats"]
    ]
    assert epsilons[0] == pytest.approx(1) and 1 < epsilons[1] < 2
    assert epsilons == sorted(epsilons) and 2.9 < epsilons[-1] <= 3
    assert "reports from one device file" in lapwing("verify", "page.json").out


@pytest.mark.parametrize("remembered", ["round", "report"])
def test_a_run_of_randomize_promises_nothing_of_the_next(
    lapwing: Program, tmp_path: Path, remembered: str
) -> None:
    """Every run draws new permanent rounds, or reports: two runs cost the epsilon of one twice."""
    how = {"round": ["--randomizer", "rappor"], "report": ["--remembered"]}[remembered]
    lapwing("new", "-o", "s.json", "--name", "s", "--epsilon", "0.5", "--categories", "a,b", *how)
    (tmp_path / "x.csv").write_text("x\n" + "a\n" * 200)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "x.csv").write_text("x\na\n")
    for values, output in (("x.csv", "x.lwr"), ("folder", "reports")):
        out = lapwing("randomize", "s.json", values, "-c", "x", "-o", output).out
        assert "together" not in out and "epsilon = 0.5, pure" in out
        drawn = {"round": "permanent rounds", "report": "reports"}[remembered]
        assert f"draws new {drawn} and costs each person epsilon = 0.5 again" in out
    survey = lw.Survey.load(tmp_path / "s.json")
    assert "together: epsilon" in str(survey.guarantee)
    # The same people again: nothing of the first run is used.
    first, second = (survey.randomize(["a"] * 200) for _ in range(2))
    assert (first.data != second.data).any()
    lapwing("new", "-o", "f.json", "--name", "f", "--epsilon", "0.5", "--categories", "a,b")
    run = lapwing("randomize", "f.json", "x.csv", "-c", "x", "-o", "f.lwr")
    assert run.code == 0 and "another run" not in run.out


def test_a_truth_in_seconds_is_drawn_as_texts_says(lapwing: Program, tmp_path: Path) -> None:
    day = ["--low", "00:00", "--high", "24:00", "--bins", "24", "--unit", "time-of-day"]
    hours = [6, 7, 7, 8, 19] * 100  # of fewer, a release may say that hardly anybody has a value
    (tmp_path / "clock.csv").write_text("x\n" + "".join(f"{h:02d}:00\n" for h in hours))
    (tmp_path / "seconds.csv").write_text("x\n" + "".join(f"{3600 * h}\n" for h in hours))
    promise = ["--epsilon", "1", "--neighbors", "replace-one"]
    lapwing("release", "clock.csv", *day, *promise, "-o", "day.json")
    drawn = []
    for truth in (["clock.csv"], ["seconds.csv", "--texts", "seconds"]):
        run = lapwing("plot", "day.json", "-o", "day.png", "--force", "--truth", *truth)
        assert run.code == 0, run.complaint
        drawn.append((tmp_path / "day.png").read_bytes())
    assert drawn[0] == drawn[1]
    run = lapwing("plot", "day.json", "-o", "day.png", "--force", "--truth", "seconds.csv")
    assert run.code == 2 and "all mass is on missing values" in run.complaint


def test_verify_shows_what_repeated_answers_cost(done: Program, survey: lw.Survey) -> None:
    document = done("verify", "survey.json", "--json").document
    assert [row["answers"] for row in document["repeats"]] == [1, 2, 5, 10, 50]
    for row in document["repeats"]:
        assert row["epsilon"] == 2 * row["answers"]
        assert row["odds_factor"] == pytest.approx(math.exp(row["epsilon"]))
        for belief in row["beliefs"]:
            prior, odds = belief["prior"], math.exp(row["epsilon"])
            expected = prior * odds / (1 - prior + prior * odds)
            assert belief["posterior"] == pytest.approx(expected, rel=1e-12)


def test_the_posterior_bound_is_reached_by_the_randomizer_itself() -> None:
    response = lw.RandomizedResponse(lw.Categories(2), 2)
    inside, outside = response._probabilities
    for prior in (0.01, 0.1, 0.5):
        bayes = prior * inside / (prior * inside + (1 - prior) * outside)
        assert posterior(prior, 2.0) == pytest.approx(bayes, rel=1e-12)


def test_the_largest_epsilon_overflows_nothing(done: Program) -> None:
    made = ("--name", "n", "--randomizer", "square-wave", "--epsilon", "24")
    done("new", "-o", "survey.json", *made, *INTERVAL)
    document = done("verify", "survey.json", "--json").document
    assert document["repeats"][-1]["odds_factor"] is None
    assert document["repeats"][-1]["beliefs"][0]["posterior"] == 1.0
    assert "x 1.4e+521" in done("verify", "survey.json").out


def test_a_share_below_one_never_reads_as_one() -> None:
    assert percent(0.999_999) == "> 99.99%" and percent(1.0) == "100.00%"
    assert percent(0.0) == "0.00%" and percent(1e-5) == "0.0010%"


# simulate


def test_simulate_is_the_library_s_simulation(
    done: Program, survey: lw.Survey, ages: np.ndarray
) -> None:
    domain = survey.randomizer.domain
    people = np.bincount(domain.index(ages), minlength=domain.size)
    expected = lw.simulate(survey.randomizer, people, rng=7).to_document()
    done("simulate", "survey.json", "ages.csv", "--seed", 7, "-o", "tally.json")
    assert json.loads(Path("tally.json").read_text()) == expected
    shown = done("simulate", "survey.json", "ages.csv", "-o", "fresh.json", "--json").document
    done("simulate", "survey.json", "ages.csv", "--seed", shown["seed"], "-o", "again.json")
    assert Path("fresh.json").read_bytes() == Path("again.json").read_bytes()


def test_a_simulated_tally_never_joins_collected_ones(
    done: Program, lapwing: Program, survey: lw.Survey, ages: np.ndarray
) -> None:
    done("simulate", "survey.json", "ages.csv", "-o", "simulated.json")
    done("randomize", "survey.json", "ages.csv", "-o", "reports.lwr")
    done("tally", "survey.json", "reports.lwr", "-o", "tally.json")
    assert lapwing("merge", "tally.json", "simulated.json", "-o", "m.json").code == 4
    done("decode", "survey.json", "simulated.json")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_table_of_counts_is_a_population(
    done: Program, survey: lw.Survey, ages: np.ndarray, ending: str
) -> None:
    done("simulate", "survey.json", "ages.csv", "--seed", 7, "-o", "tally.json")
    values, counts = np.unique(ages, return_counts=True)
    names = {"age": values, "people": counts}
    if ending == "csv":
        rows = "".join(f"{value},{count}\n" for value, count in zip(values, counts, strict=True))
        Path("counts.csv").write_text(f"age,people\n{rows}")
    else:
        parquet.write_table(pa.table(names), "counts.parquet")
    table = (f"counts.{ending}", "--count-column", "people")
    for more in ((), ("--column", "age", "--force")):
        done("simulate", "survey.json", *table, *more, "--seed", 7, "-o", "counted.json")
        assert Path("counted.json").read_bytes() == Path("tally.json").read_bytes()


@pytest.mark.parametrize("wrong", ["-1", "1.5", "many", ""])
def test_a_count_that_is_none_is_refused_by_row(
    lapwing: Program, survey: lw.Survey, wrong: str
) -> None:
    Path("counts.csv").write_text(f"age,count\n30,2\n40,{wrong}\n")
    run = lapwing(
        "simulate", "survey.json", "counts.csv", "--count-column", "count", "-o", "t.json"
    )
    assert run.code == 3 and "at row 2 is not" in run.complaint
    Path("counts.csv").write_text("age,count\n30,0\n")
    run = lapwing(
        "simulate", "survey.json", "counts.csv", "--count-column", "count", "-o", "t.json"
    )
    assert run.code == 3 and "must contain at least one person" in run.complaint
    assert not Path("t.json").exists()


# decode


@pytest.mark.parametrize(
    ("options", "decoder"),
    [
        (
            (
                *("--decoder", "expectation-maximization", "--set", "smoothed=true"),
                *("--set", "tolerance=.1"),
            ),
            lw.ExpectationMaximization(smoothed=True, tolerance=0.1),
        ),
        (("--decoder", "expectation-maximization"), lw.ExpectationMaximization()),
        (
            ("--decoder", "least-squares", "--set", "weighted=false"),
            lw.LeastSquares(weighted=False),
        ),
        (
            ("--decoder", "penalized-likelihood", "--set", "roughness=10"),
            lw.papers.baselines.PenalizedLikelihood(roughness=10),
        ),
    ],
)
def test_decode_uses_the_decoder_that_was_named(
    done: Program, survey: lw.Survey, ages: np.ndarray, options: tuple[str, ...], decoder: Any
) -> None:
    done("simulate", "survey.json", "ages.csv", "--seed", 7, "-o", "tally.json")
    done("decode", "survey.json", "tally.json", "-o", "result.json", *options)
    tally = lw.tallies.CountTally.from_document(json.loads(Path("tally.json").read_text()))
    expected = survey.decode(tally, decoder=decoder)
    result = lw.Distribution.from_json(Path("result.json").read_text())
    assert np.array_equal(result.mass, expected.mass)


@pytest.mark.parametrize("decoder", ["least-squares", "wiener"])
def test_a_signed_estimate_is_shown_and_stored(
    done: Program, survey: lw.Survey, ages: np.ndarray, decoder: str
) -> None:
    response = lw.RandomizedResponse(survey.randomizer.domain, 3)
    Path("survey.json").write_text(lw.Survey("ages", response).to_json())
    done("simulate", "survey.json", "ages.csv", "--seed", 7, "-o", "tally.json")
    decode = ("decode", "survey.json", "tally.json", "-o", "result.json", "--decoder", decoder)
    plain = done(*decode, "--json").document
    assert "signed" not in plain and "signed" not in json.loads(Path("result.json").read_text())
    document = done(*decode, "--set", "signed=true", "--force", "--json").document
    assert document["quantiles"] == plain["quantiles"]
    read = lw.Survey.from_json(Path("survey.json").read_text())
    tally = lw.tallies.CountTally.from_document(json.loads(Path("tally.json").read_text()))
    kind = {"least-squares": lw.LeastSquares, "wiener": lw.papers.convolution.Wiener}[decoder]
    expected = read.decode(tally, decoder=kind(signed=True))
    stored = lw.Distribution.from_json(Path("result.json").read_text())
    assert stored == expected and stored.signed is not None
    assert document["signed"] == stored.signed.mass.tolist()
    assert "negative masses" in done(*decode, "--set", "signed=true", "--force").out


def test_decoders_without_a_signed_estimate_say_so(
    lapwing: Program, done: Program, survey: lw.Survey, ages: np.ndarray
) -> None:
    done("simulate", "survey.json", "ages.csv", "--seed", 7, "-o", "tally.json")
    decode = ("decode", "survey.json", "tally.json", "--set", "signed=true")
    assert "Add --decoder" in lapwing(*decode).err
    run = lapwing(*decode, "--decoder", "expectation-maximization")
    assert run.code == 2 and "parameter 'signed'" in run.err


# distances


def test_distances_are_those_of_the_library(
    done: Program, survey: lw.Survey, ages: np.ndarray
) -> None:
    done("simulate", "survey.json", "ages.csv", "--seed", 7, "-o", "tally.json")
    done("decode", "survey.json", "tally.json", "-o", "result.json")
    run = done("compare", "result.json", "--truth", "ages.parquet", "-c", "age", "--json")
    found = {name: row["value"] for name, row in run.document["distances"].items()}
    result = lw.Distribution.from_json(Path("result.json").read_text())
    exact = lw.results.Cumulative.of_values(np.clip(ages, 0, 100))
    binned = lw.Distribution.of_values(ages, survey.randomizer.domain)
    expected = {
        "wasserstein": lw.distances.wasserstein(result, exact),
        "wasserstein, domain scaled to 1": lw.distances.wasserstein(result, exact) / 100,
        "kolmogorov-smirnov": lw.distances.kolmogorov_smirnov(result, exact),
        "wasserstein on 256 points, scaled to 1": lw.distances.wasserstein(result, exact, grid=256),
        "kolmogorov-smirnov on 256 points": lw.distances.kolmogorov_smirnov(
            result, exact, grid=256
        ),
        "energy": lw.distances.energy(result, exact),
        "error of range queries of width 0.1": lw.distances.range_query_error(
            result, exact, width=0.1
        ),
        "error of range queries of width 0.4": lw.distances.range_query_error(
            result, exact, width=0.4
        ),
        "error of the mean": lw.distances.mean_error(result, exact),
        "error of the variance": lw.distances.variance_error(result, exact),
        "error of the deciles": lw.distances.decile_error(result, exact),
        "wasserstein between bins, scaled to 1": lw.distances.wasserstein(result, binned) / 100,
        "kolmogorov-smirnov between bins": lw.distances.kolmogorov_smirnov(result, binned),
        "l1": lw.distances.l1(binned, result),
        "l2": lw.distances.l2(binned, result),
        "mean squared error": lw.distances.mean_squared_error(binned, result),
        "kullback-leibler of truth from result": lw.distances.kullback_leibler(binned, result),
    }
    # JSON has no infinity: null stands for it.
    assert found == {
        name: value if math.isfinite(value) else None for name, value in expected.items()
    }


def test_what_is_forecast_does_not_count_the_steps_inside_bins(done: Program) -> None:
    """All hold 5 in a bin from 0 to 10: its shares are right, its curve is off by a half."""
    domain = lw.Interval(0, 100, bins=10)
    Path("right.json").write_text(lw.Distribution.of_values([5.0] * 9, domain).to_json())
    Path("fives.csv").write_text("value\n" + "5\n" * 9)
    run = done("compare", "right.json", "--truth", "fives.csv", "-c", "value", "--json")
    found = {name: row["value"] for name, row in run.document["distances"].items()}
    assert found["kolmogorov-smirnov"] == pytest.approx(0.5)
    assert found["kolmogorov-smirnov between bins"] == pytest.approx(0)
    assert found["wasserstein between bins, scaled to 1"] == pytest.approx(0)
    told = done("recommend", "--low", 0, "--high", 100, "--epsilon", 1, "--users", 1000).out
    assert "expected error between bins" in " ".join(told.split())
    assert "wasserstein" in told and "points" in told
    pair = lw.recommend(domain, epsilon=1, users=1000)
    assert "mean error of a quantile: " in str(pair) and "% of the range) averaged" in str(pair)
    assert "largest error of the share below any value: " in str(pair)
    assert "percentage points averaged over kinds of columns, " in str(pair)
    assert ". 9 of 10 columns of the hardest kind stay below " in str(pair)


def test_two_results_with_other_bins_are_compared_by_their_curves(done: Program) -> None:
    for name, bins in (("coarse.json", 8), ("fine.json", 32)):
        domain = lw.Interval(0, 1, bins=bins)
        result = lw.Distribution.of_counts(np.ones(bins), domain)
        Path(name).write_text(result.to_json())
    run = done("compare", "coarse.json", "--truth", "fine.json", "--json")
    found = run.document["distances"]
    assert found["wasserstein"]["value"] == pytest.approx(0, abs=1e-15)
    assert found["l1"]["value"] is None
    assert "other bins" in done("compare", "coarse.json", "--truth", "fine.json").out


def test_infinity_is_said_and_is_null_in_json(done: Program) -> None:
    domain = lw.Categories(["a", "b"])
    Path("a.json").write_text(lw.Distribution.of_counts([1, 0], domain).to_json())
    Path("b.json").write_text(lw.Distribution.of_counts([1, 1], domain).to_json())
    arguments = ("compare", "a.json", "--truth", "b.json")
    assert "infinite" in done(*arguments).out
    found = done(*arguments, "--json").document["distances"]
    assert found["kullback-leibler of truth from result"]["value"] is None
    assert found["l1"]["value"] == 1.0


def test_results_of_other_kinds_are_not_compared(lapwing: Program) -> None:
    domains = {
        "number": lw.Interval(0, 1, bins=2),
        "date": lw.Interval("2019-01-01", "2019-01-03", bins=2, unit="date"),
        "ab": lw.Categories(["a", "b"]),
        "cd": lw.Categories(["c", "d"]),
    }
    for name, domain in domains.items():
        result = lw.Distribution.of_counts([1, 1], domain)
        Path(f"{name}.json").write_text(result.to_json())
    for one, two in (("number", "date"), ("number", "ab"), ("ab", "cd"), ("cd", "date")):
        for command in (("compare",), ("plot", "-o", "x.png")):
            run = lapwing(command[0], f"{one}.json", *command[1:], "--truth", f"{two}.json")
            assert run.code == 4 and f"{two}.json must be about" in run.complaint


# plot


@pytest.mark.parametrize("ending", ["svg", pytest.param("pdf", marks=pytest.mark.soak)])
def test_the_same_result_gives_the_same_picture(
    done: Program, survey: lw.Survey, ages: np.ndarray, ending: str
) -> None:
    done("simulate", "survey.json", "ages.csv", "--seed", 7, "-o", "tally.json")
    done("decode", "survey.json", "tally.json", "-o", "result.json")
    for name in ("a", "b"):
        done("plot", "result.json", "-o", f"{name}.{ending}")
    with_truth = ("--truth", "ages.csv", "--level", ".5")
    done("plot", "result.json", "-o", f"c.{ending}", *with_truth)
    pictures = [Path(f"{name}.{ending}").read_bytes() for name in "abc"]
    if ending == "svg":  # matplotlib numbers its clip paths anew each time
        assert len(pictures[0]) == len(pictures[1])
    else:
        assert pictures[0] == pictures[1]
    assert pictures[2] != pictures[0]


def test_a_picture_says_what_its_values_are(
    done: Program, survey: lw.Survey, ages: np.ndarray
) -> None:
    done("simulate", "survey.json", "ages.csv", "--seed", 7, "-o", "tally.json")
    done("decode", "survey.json", "tally.json", "-o", "result.json")
    done("plot", "result.json", "-o", "a.svg", "--title", "Who came", "--label", "age, years")
    drawn = Path("a.svg").read_text()
    # Letters are drawn as shapes; what they say stands in comments.
    assert "<!-- age, years -->" in drawn and "<!-- Who came -->" in drawn
    assert f"{ages.size:,} people; epsilon = " in drawn
