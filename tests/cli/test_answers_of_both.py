"""The collector and the command line say the same of one tally: same keys, same numbers."""

from __future__ import annotations

import csv
import io
import json
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.results.answer_documents import PROBABILITIES
from lapwing.service.decoding import carried_out
from lapwing.service.decoding_orders import Form, Key, Material, Order
from tests.cli.running import Program

DOMAINS: dict[str, Any] = {
    "numbers": lw.Interval(0, 80, bins=16, atoms=[0], outside="overflow"),
    "clipped": lw.Interval(0, 80, bins=16, outside="clip", missing="bin"),
    "own edges": lw.Interval(edges=[0, 18, 25, 65, 100], closed="left"),
    "integers": lw.Integers(0, 9),
    "times": lw.Interval("06:00", "12:00", bins=12, unit="time-of-day"),
    "timestamps": lw.Interval("2026-01-01", "2026-01-03", bins=12, unit="datetime"),
    "dates": lw.Interval("2026-01-01", "2027-01-01", bins=12, unit="date"),
    "circle": lw.Interval("00:00", "24:00", bins=24, unit="time-of-day", circular=True),
    "labels": lw.Categories(["pear", "apple", "fig"], missing="category"),
    "many labels": lw.Categories(60),
    "hashes": lw.HashedStrings(8),
}


@pytest.mark.parametrize("name", DOMAINS)
def test_the_collector_and_the_command_line_say_the_same(name: str, done: Program) -> None:
    survey = lw.Survey("s", lw.SubsetSelection(DOMAINS[name], 3))
    size = DOMAINS[name].size
    people = np.random.default_rng(1).multinomial(3000, np.full(size, 1 / size))
    tally = lw.simulate(survey.randomizer, people, rng=1)
    Path("s.json").write_text(survey.to_json())
    tally.save("t.json")
    key = Key(survey.fingerprint, "e", None, 3000)

    def collected(form: Form) -> Any:
        order = Order(key, None, "same", "empirical", form, 0.9, (), PROBABILITIES, "s", ("", ""))
        material = Material(survey.to_json().encode(), tally)
        return carried_out(order, {key: material}, OrderedDict(), most=1)

    expected = json.loads(json.dumps(collected("json")))
    decoded = ("decode", "s.json", "t.json", "--level", "0.9", "--json")
    for asked in (
        (*decoded, "-o", "r.json", "--csv", "decoded.csv"),
        ("show", "r.json", "--level", "0.9", "--json", "--csv", "shown.csv"),
    ):
        document = done(*asked).document
        assert _near(document, expected)
    tables = [Path("decoded.csv").read_text(), Path("shown.csv").read_text(), collected("csv")]
    one, two, three = (list(csv.DictReader(io.StringIO(table))) for table in tables)
    assert one == three and len(one) >= size
    assert [list(row) for row in one] == [list(row) for row in two]


def _near(document: Any, expected: Any) -> bool:
    """Return whether two documents say the same; a file does not hold the last digits."""
    if isinstance(expected, dict):
        return all(key in document and _near(document[key], expected[key]) for key in expected)
    if isinstance(expected, list):
        return len(document) == len(expected) and all(map(_near, document, expected))
    if isinstance(expected, float):
        return bool(document == pytest.approx(expected, rel=1e-6, abs=1e-9))
    return bool(document == expected)
