"""`lapwing recommend`, and the survey that `lapwing new --randomizer recommended` writes."""

from __future__ import annotations

import json
from typing import Any

import pytest

import lapwing as lw
from lapwing.planning.expected_error import error_text
from tests.cli.running import Program


def as_json(document: dict[str, Any]) -> dict[str, Any]:
    """A document as it is read back: lists for tuples."""
    found: dict[str, Any] = json.loads(json.dumps(document))
    return found


ASK = ("--low", "0", "--high", "100", "--bins", "256", "--epsilon", "1")


def test_it_says_what_the_library_says(done: Program) -> None:
    found = lw.recommend(lw.Interval(0, 100, bins=256), epsilon=1, users=100_000)
    document = done("recommend", *ASK, "--users", "100000", "--json").document
    assert document == {"command": "recommend", **as_json(found.to_document()), "warnings": []}
    shown = done("recommend", *ASK, "--users", "100000").out
    for word in ("multiscale-wave", "spectral-prior", "100,000", "spiky", found.reason[:40]):
        assert word in shown
    error = found.expected_error["wasserstein"]
    assert error_text("wasserstein", error.typical, found.randomizer.domain) in shown
    assert error_text("wasserstein", error.high, found.randomizer.domain) in shown
    assert done("recommend", *ASK, "--users", "100000", "--quiet").out == ""


def test_questions_are_refused_for_pairs(done: Program, lapwing: Program) -> None:
    for name in ("x", "y"):
        done(
            "new", "--domain-only", "--low", "0", "--high", "9", "--bins", "9", "-o", f"{name}.json"
        )
    pair = ("--domain", "x.json", "--domain", "y.json", "--epsilon", "1", "--users", "9000")
    refused = lapwing("recommend", *pair, "--ask", "quantile 0.5 of x given y above 2")
    assert refused.code == 2 and "--ask is for one attribute" in refused.err


def test_people_needed(done: Program) -> None:
    found = lw.recommend(lw.Interval(0, 100, bins=256), epsilon=1, error=0.005)
    document = done("recommend", *ASK, "--error", "0.005", "--json").document
    assert document["users"] == found.users
    assert document["expected_error"]["wasserstein"]["typical"] <= 0.005
    ks = ("--distance", "kolmogorov-smirnov", "--kind", "smooth")
    other = done("recommend", *ASK, "--error", "0.005", *ks, "--json").document
    assert other["expected_error"]["kolmogorov_smirnov"]["by_kind"]["smooth"] <= 0.005
    shown = " ".join(done("recommend", *ASK, "--error", "0.005").out.split())
    assert f"people needed {found.users:,}" in shown


def test_people_a_week_who_notice_a_change(done: Program, lapwing: Program) -> None:
    asked = ("--low", "0", "--high", "60", "--bins", "32", "--epsilon", "1", "--change", "0.1")
    found = lw.recommend(lw.Interval(0, 60, bins=32), epsilon=1, users=1)
    for weeks in (2, 4):
        people = lw.Watch(0.05).people_needed(found.randomizer, change=0.1, weeks=weeks)
        document = done("recommend", *asked, "--weeks", str(weeks), "--json").document
        assert document["users"] == document["noticing"]["people"] == people
        assert document["noticing"]["weeks"] == weeks
    shown = done("recommend", *asked).out
    assert f"{done('recommend', *asked, '--json').document['users']:,}" in shown
    assert "people a week" in shown and "within 2 weeks" in shown
    assert "--users" in lapwing("recommend", *asked, "--users", "9").err
    assert "--change" in lapwing("recommend", *ASK, "--weeks", "2").err
    labels = ("--categories", "a,b,c", "--epsilon", "1", "--change", "0.1")
    assert "numbers only" in lapwing("recommend", *labels).err


@pytest.mark.parametrize(("epsilon", "bins"), [("1", 360), ("2", 900)])
def test_without_bins_an_interval_gets_those_that_suit_epsilon(
    done: Program, epsilon: str, bins: int
) -> None:
    asked = ("--low", "0", "--high", "9", "--epsilon", epsilon, "--users", "1000", "--json")
    assert done("recommend", *asked).document["randomizer"]["domain"]["bins"] == bins


@pytest.mark.parametrize(
    ("options", "domain"),
    [
        (("--integers", "1", "6"), lw.Integers(1, 6)),
        (("--categories", "a,b,c"), lw.Categories(["a", "b", "c"])),
        (
            (
                *("--low", "00:00", "--high", "24:00", "--unit", "time-of-day"),
                *("--scale", "circular", "--bins", "24"),
            ),
            lw.Interval("00:00", "24:00", bins=24, unit="time-of-day", circular=True),
        ),
    ],
)
def test_domains_are_told_as_to_new(
    done: Program, options: tuple[str, ...], domain: object
) -> None:
    asked = (*options, "--epsilon", "1/2", "--users", "5000")
    document = done("recommend", *asked, "--json").document
    found = lw.recommend(domain, epsilon="1/2", users=5000)  # type: ignore[arg-type]
    assert document["randomizer"] == as_json(found.to_document())["randomizer"]
    name = ("-o", "survey.json", "--name", "n", "--randomizer", "recommended")
    done("new", *name, *asked)
    assert lw.Survey.load("survey.json") == lw.Survey("n", found.randomizer)


def test_a_recommended_survey_runs_to_its_answer(done: Program, ages: object) -> None:
    name = ("-o", "survey.json", "--name", "age", "--randomizer", "recommended")
    done("new", *name, "--epsilon", "2", "--low", "0", "--high", "100", "--bins", "64")
    assert isinstance(lw.Survey.load("survey.json").randomizer, lw.MultiscaleWave)
    done("randomize", "survey.json", "ages.csv", "-c", "age", "-o", "reports.lwr")
    done("tally", "survey.json", "reports.lwr", "-o", "tally.json")
    done("decode", "survey.json", "tally.json", "-o", "result.json")


@pytest.mark.parametrize(
    ("code", "said", "arguments"),
    [
        (2, "users must be a whole number from 1 to", (*ASK, "--users", "0")),
        (2, "error must be a number between 0 and 1", (*ASK, "--error", "0")),
        (2, "error must be a number between 0 and 1", (*ASK, "--error", "-1")),
        (2, "The smallest predicted error is", (*ASK, "--error", "1e-9")),
        (2, "give --users", ASK),
        (2, "Leave out --users", (*ASK, "--users", "9", "--error", "0.1")),
        (2, "--distance must be one of wasserstein", (*ASK, "--users", "9", "--distance", "l7")),
        (2, "kind must be", (*ASK, "--users", "9", "--kind", "rough")),
        (5, "epsilon must be", ("--integers", "0", "9", "--epsilon", "25", "--users", "9")),
        (5, "epsilon must be", ("--integers", "0", "9", "--epsilon", "0", "--users", "9")),
        (2, "--domain must name a survey file", ("--epsilon", "1", "--users", "9")),
        (
            3,
            "--low must be less than --high",
            ("--low", "9", "--high", "0", "--epsilon", "1", "--users", "9"),
        ),
        (
            3,
            "2 to 4096",
            ("--low", "0", "--high", "9", "--bins", "9999", "--epsilon", "1", "--users", "9"),
        ),
    ],
)
def test_bad_input_is_refused_in_a_line(
    lapwing: Program, code: int, said: str, arguments: tuple[str, ...]
) -> None:
    run = lapwing("recommend", *arguments)
    assert run.code == code
    assert said in run.complaint


def test_a_name_that_there_is_not_is_said_first(lapwing: Program) -> None:
    named = (
        *("new", "-o", "survey.json", "--name", "n", "--epsilon", "1", "--low", "0", "--high", "1"),
    )
    for typed, meant in (("recomended", "recommended"), ("sqare-wave", "square-wave")):
        run = lapwing(*named, "--randomizer", typed)  # without bins, which is said later
        assert run.code == 2 and f"(did you mean {meant}?)" in run.complaint


@pytest.mark.parametrize(
    ("said", "options"),
    [
        ("--set belongs to a randomizer", ("--randomizer", "recommended", "--set", "width=0.2")),
        ("--set belongs to a randomizer", ("--randomizer", "recommended", "--set", "size=3")),
        ("--users goes with", ("--randomizer", "square-wave", "--users", "5")),
        ("users must be", ("--randomizer", "recommended", "--users", "0")),
    ],
)
def test_new_refuses_what_does_not_go_together(
    lapwing: Program, said: str, options: tuple[str, ...]
) -> None:
    run = lapwing("new", "-o", "survey.json", "--name", "n", *ASK, *options)
    assert run.code == 2
    assert said in run.complaint
