"""The command line and the collector give one answer, in one schema, for every kind of result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

import lapwing as lw
from lapwing.papers.baselines import PrefixHashing
from lapwing.randomizers import RandomizedResponse
from lapwing.service.app import ENDPOINTS
from lapwing.service.decoding import Kept, carried_out
from lapwing.service.decoding_orders import Key, Material, Order
from lapwing.service.openapi import openapi_document
from tests.cli.running import Program

DOCUMENT = openapi_document(ENDPOINTS)

COLLECTOR = {"survey", "name", "epoch", "segment", "look", "warnings"}
"""What the collector says beside the answer."""

NUMBERS = lw.Interval(0, 64, bins=32, atoms=(0,), missing="bin")
DAYS = lw.Interval("2026-01-01", "2026-03-02", bins=60, unit="date")
COLORS = lw.Categories(["red", "green", "blue"], missing="category")

CASES: dict[str, tuple[Any, list[Any]]] = {
    "numbers": (RandomizedResponse(NUMBERS, 4), [0, 0, 3.5, 20, 42, None]),
    "dates": (RandomizedResponse(DAYS, 5), ["2026-01-05", "2026-02-01", "2026-02-20"]),
    "labels": (RandomizedResponse(COLORS, 3), ["red", "red", "blue", None]),
    "many labels": (RandomizedResponse(lw.Categories(50), 4), list(range(25)) * 2 + [3] * 30),
    "heavy hitters": (
        PrefixHashing(lw.HashedStrings(bits=24), epsilon=6),
        ["curlew", "curlew", "lapwing"],
    ),
}


def written(name: str, survey: lw.Survey, values: list[Any], seed: int) -> lw.Tally:
    """Write a survey and a tally as files, and return the tally."""
    people = values * (3000 // len(values))
    tally = survey.tally(survey.randomize(people, rng=lw.seeded(seed)))
    Path("survey.json").write_text(survey.to_json())
    Path(f"{name}.json").write_text(json.dumps(tally.to_document()))
    return tally


def of_collector(survey: lw.Survey, *tallies: lw.Tally, ranges: Any = ()) -> dict[str, Any]:
    """Return what the collector says of one tally, or of two of different people."""
    keys = [Key(survey.fingerprint, f"e{n}", None, each.total) for n, each in enumerate(tallies)]
    document = survey.to_json().encode()
    materials = {key: Material(document, tally) for key, tally in zip(keys, tallies, strict=True)}
    order = Order(
        keys[0],
        keys[1] if len(keys) > 1 else None,
        *("different", "population", "json", 0.95, ranges),
        (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95),
        "title",
        ("first", "second"),
    )
    answer = carried_out(order, materials, Kept(), most=4)
    assert isinstance(answer, dict)
    return answer


def valid(answer: dict[str, Any]) -> None:
    """Check an answer against the collector's published schema."""
    head = dict.fromkeys(COLLECTOR, "a" * 64) | {"epoch": "e", "segment": None, "warnings": []}
    head["notice"] = {}
    head["look"] = {"reports": 3000, "hour": None, "final": True, "next": None, "complete": True}
    result = DOCUMENT["paths"]["/v1/surveys/{survey}/results/{epoch}"]["get"]["responses"]["200"]
    schema = result["content"]["application/json"]["schema"]
    schema = {**schema, "components": DOCUMENT["components"]}
    jsonschema_rs.Draft202012Validator(schema).validate(json.loads(json.dumps(head | answer)))


def same(one: Any, other: Any, where: str = "") -> None:
    """Check that two documents are equal but for the last digits that a file does not keep."""
    if isinstance(one, dict):
        assert one.keys() == other.keys(), where
        for key in one:
            same(one[key], other[key], f"{where}.{key}")
    elif isinstance(one, list | tuple):
        assert len(one) == len(other), where
        for number, pair in enumerate(zip(one, other, strict=True)):
            same(*pair, f"{where}[{number}]")
    elif isinstance(one, float):
        assert one == pytest.approx(other, rel=1e-6, abs=1e-9), where
    else:
        assert one == other, where


@pytest.mark.parametrize("case", CASES)
def test_a_decoded_result_is_one_document(case: str, done: Program) -> None:
    randomizer, values = CASES[case]
    survey = lw.Survey("birds", randomizer)
    tally = written("tally", survey, values, seed=1)
    answer = of_collector(survey, tally)
    shown = done("decode", "survey.json", "tally.json", "-o", "result.json", "--json").document
    valid(answer)
    own = {name: shown[name] for name in answer}
    same(json.loads(json.dumps(answer)), own)
    assert set(shown) - set(answer) <= {"command", "survey", "fingerprint", "output", "warnings"}


def test_a_question_is_one_document(done: Program) -> None:
    randomizer, values = CASES["dates"]
    survey = lw.Survey("birds", randomizer)
    tally = written("tally", survey, values, seed=2)
    done("decode", "survey.json", "tally.json", "-o", "result.json")
    ranges = (("2026-01-31", "2026-02-20"),)
    answer = of_collector(survey, tally, ranges=ranges)
    asked = ("--from", ranges[0][0], "--before", ranges[0][1], "--quantile", "0.5")
    shown = done("answer", "result.json", *asked, "--json").document
    same(shown["questions"], json.loads(json.dumps(answer["questions"])))
    same(shown["quantiles"], [row for row in answer["quantiles"] if row["probability"] == 0.5])
    own = {name: shown[name] for name in answer}
    valid(own)


@pytest.mark.parametrize("case", ["numbers", "dates", "labels", "many labels"])
def test_a_comparison_is_one_document(case: str, done: Program) -> None:
    randomizer, values = CASES[case]
    survey = lw.Survey("birds", randomizer)
    tallies = [written(f"tally{seed}", survey, values[seed:], seed=seed) for seed in (0, 1)]
    answer = of_collector(survey, *tallies)
    for number in (0, 1):
        done("decode", "survey.json", f"tally{number}.json", "-o", f"result{number}.json")
    people = ("--people", "different")
    shown = done("compare", "result0.json", "result1.json", *people, "--json").document
    valid(answer)
    assert answer["target"] == "population"
    same(json.loads(json.dumps(answer)), {name: shown[name] for name in answer})
