"""Pairs of attributes in the JavaScript client: values by position and by name, bad documents."""

from __future__ import annotations

import json
from typing import Any

import pytest

import lapwing as lw
from lapwing.errors import DomainError
from tests.clients_js.programs import ask, node
from tests.clients_js.surveys import changed, survey_text

pytestmark = pytest.mark.service

STARTS = lw.Product(
    ms=lw.Interval(0, 5000, bins=16, outside="refuse"),
    hour=lw.Interval("00:00", "24:00", bins=24, unit="time-of-day", circular=True, missing="bin"),
)
APART = lw.Product(
    kind=lw.Categories(["a", "b", "c"], missing="category"),
    ms=lw.Integers(-2, 5, outside="overflow", missing="bin"),
)
LABELS = lw.Product(
    kind=lw.Categories([f"kind {number}" for number in range(32)]),
    ms=lw.Interval(0, 5000, bins=2**12),
)


@pytest.mark.parametrize("domain", [STARTS, APART])
def test_a_pair_has_the_cell_that_python_gives_it(domain: lw.Product) -> None:
    first: list[Any] = [0, 800, 4999.5, -1, "a", "c", "x", None]
    second: list[Any] = ["00:00", "23:59", -5, 0, 9, None, "noon"]
    pairs = [[one, other] for one in first for other in second]
    names = domain.names
    named = [dict(zip(names, pair, strict=True)) | {"more": 1} for pair in pairs]
    swapped = [dict(reversed(each.items())) for each in named]
    task = [("symbols", domain.to_document(), each) for each in (pairs, named, swapped)]
    by_place, by_name, in_any_order = ask(*task)
    cells = 0
    for pair, symbol in zip(pairs, by_place, strict=True):
        try:
            wanted: Any = int(domain.index([pair])[0])
            cells += 1
        except DomainError:
            wanted = "DomainError"
        assert (symbol if isinstance(symbol, int) else symbol["error"]) == wanted, pair
    assert cells >= 15
    assert by_place == by_name == in_any_order


def test_what_is_no_pair_is_refused() -> None:
    values: list[Any] = [[1], [1, 2, 3], 5, "text", None, {}, {"ms": 3}, {"hour": 3}, []]
    for value, answer in zip(
        values, ask(("symbols", STARTS.to_document(), values))[0], strict=True
    ):
        assert answer["error"] == "DomainError" and "ms and hour" in answer["message"], value


def _set(place: list[Any], value: Any) -> Any:
    def change(document: dict[str, Any]) -> None:
        part: Any = document["randomizer"]
        for key in place[:-1]:
            part = part[key]
        part[place[-1]] = value

    return change


AXES = ["domain", "axes"]
BAD: list[tuple[list[Any], Any]] = [
    (AXES, []),
    (AXES, None),
    (AXES, [None, None]),
    ([*AXES, 0, "name"], "hour"),
    ([*AXES, 0, "name"], ""),
    ([*AXES, 0, "name"], "level"),
    ([*AXES, 0, "name"], 3),
    ([*AXES, 0, "more"], 3),
    ([*AXES, 0, "domain"], STARTS.to_document()),
    ([*AXES, 0, "domain"], {"class": "hashed-strings", "bits": 4, "missing": "refuse"}),
    ([*AXES, 0, "domain"], None),
    ([*AXES, 0, "domain", "bins"], 17),
    ([*AXES, 0, "domain", "bins"], 2**16),  # times 25 is more than a device takes
    (["components"], []),
    (["components"], None),
    (["components", 0], ["box", [3, 3]]),
    (["components", 0, 0], "wave"),
    (["components", 0, 1], [3]),
    (["components", 0, 1], [0, 3]),
    (["components", 0, 1], [None, None]),
    (["components", 0, 1], [17, 3]),
    (["components", 0, 1], [2.5, 3]),
    (["components", 0, 2], 0),
    (["components", 0, 2], "1"),
]


def test_documents_of_pairs_that_are_damaged_are_refused() -> None:
    text = survey_text(lw.randomizers.MultiscaleBoxes(STARTS, 1))
    (sound,) = ask(("read", text))
    assert sound["width"] > 1
    texts = [changed(text, _set(place, value)) for place, value in BAD]
    for case, answer in zip(BAD, ask(*(("read", each) for each in texts)), strict=True):
        assert answer.get("error") in ("FormatError", "UnsupportedError"), case


def test_the_costliest_sets_of_labels_take_little_memory_and_time() -> None:
    """255 groups that name 4,960 sets of labels each, which must not be listed once a group."""
    rows = [("box", (3, width), 1 / 255) for width in range(1, 256)]
    survey = lw.Survey("sets", lw.randomizers.MultiscaleBoxes(LABELS, 1, components=rows))
    task = {
        "options": {"epsilonCap": 4, "budget": 4, "collector": "http://localhost:1"},
        "surveys": {"sets": survey.to_json()},
        "steps": [["answer", "sets", "e", {"kind": "kind 3", "ms": 800}], ["memory"]],
    }
    answer, memory = json.loads(node("device_driver.mjs", text=json.dumps(task)))
    assert answer["state"] == "waiting" and memory < 200


def test_large_sets_of_labels_are_not_listed() -> None:
    domain = lw.Product(kind=lw.Categories(100), ms=lw.Interval(0, 5000, bins=16))
    rows = [("box", (98, 7), 1)]  # 4,950 sets of 98 labels
    survey = lw.Survey("sets", lw.randomizers.MultiscaleBoxes(domain, 1, components=rows))
    task = {
        "options": {"epsilonCap": 4, "budget": 4, "collector": "http://localhost:1"},
        "surveys": {"sets": survey.to_json()},
        "steps": [["memory"], ["answer", "sets", "e", {"kind": 3, "ms": 800}], ["memory"]],
    }
    before, answer, after = json.loads(node("device_driver.mjs", text=json.dumps(task)))
    assert answer["state"] == "waiting" and after - before < 60
