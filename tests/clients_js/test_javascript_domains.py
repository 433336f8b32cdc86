"""Domains of the JavaScript client: every value has the symbol that Python gives it."""

from __future__ import annotations

import json
import math
import sys
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.errors import DomainError
from lapwing.protocol.domains import label_text
from lapwing.protocol.domains.units import check_plain_number
from tests.clients_js.programs import ask, node
from tests.vectors import time_vectors

pytestmark = pytest.mark.service

V1 = Path(__file__).parent.parent / "vectors" / "v1"


def _load(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((V1 / name).read_text(encoding="utf-8"))
    return document


def test_edges_are_those_of_the_vectors() -> None:
    listed = _load("edges.json")["edges"]
    tasks: list[tuple[Any, ...]] = [("edges", case["domain"]) for case in listed]
    tasks += [("symbols", case["domain"], [v for v, _ in case["inputs"]]) for case in listed]
    answers = ask(*tasks)
    for case, edges in zip(listed, answers[: len(listed)], strict=True):
        apart = [abs(a - b) / math.ulp(b) for a, b in zip(edges, case["edges"], strict=True)]
        assert max(apart) <= case["units"], case["why"]
    for case, symbols in zip(listed, answers[len(listed) :], strict=True):
        assert symbols == [symbol for _, symbol in case["inputs"]], case["why"]


def test_values_on_edges_lie_in_the_bin_that_is_closed_there() -> None:
    listed = _load("closed.json")["intervals"]
    answers = ask(*(("symbols", c["domain"], [v for v, _ in c["inputs"]]) for c in listed))
    for case, symbols in zip(listed, answers, strict=True):
        assert symbols == [symbol for _, symbol in case["inputs"]], case["why"]


def test_texts_of_dates_and_times_are_those_of_the_vectors() -> None:
    listed = _load("times.json")["intervals"]
    answers = ask(*(("symbols", c["domain"], [text for text, _ in c["inputs"]]) for c in listed))
    for case, symbols in zip(listed, answers, strict=True):
        for (text, wanted), found in zip(case["inputs"], symbols, strict=True):
            if wanted is None:
                assert found["error"] == "DomainError", (case["why"], text)
            else:
                assert found == wanted, (case["why"], text)


def test_labels_are_compared_in_one_unicode_form() -> None:
    listed = _load("unicode_labels.json")
    listed["refused"].append({"labels": [1, "1"], "why": "as strings, not in a CSV"})
    tasks: list[tuple[Any, ...]] = [
        ("symbols", case["domain"], [value for value, _ in case["inputs"]])
        for case in listed["labels"]
    ]
    domain = {"class": "categories", "missing": "refuse"}
    tasks += [("symbols", domain | {"labels": case["labels"]}, []) for case in listed["refused"]]
    answers = ask(*tasks)
    for case, symbols in zip(listed["labels"], answers, strict=False):
        assert symbols == [symbol for _, symbol in case["inputs"]], case["why"]
    for case, refused in zip(listed["refused"], answers[len(listed["labels"]) :], strict=True):
        assert "labels must all be different" in str(refused), case["why"]
    illegal = listed["illegal"]
    answers = ask(*(("symbols", domain | {"labels": [case["label"]]}, []) for case in illegal))
    for case, refused in zip(illegal, answers, strict=True):
        assert f"every label must {case['rule']}" in str(refused), case["why"]


def test_both_packages_have_the_same_table_of_unicode() -> None:
    module = Path(__file__).parents[2] / "clients" / "js" / "lapwing" / "labels.mjs"
    tables = module.read_text().split("`")
    assert tables[1].split() == label_text._UNASSIGNED.split()
    assert tables[3].split() == label_text._MARKS.split()
    if unicodedata.unidata_version == "14.0.0":
        unassigned = label_text._unassigned()
        for point in range(sys.maxunicode + 1):
            told = unicodedata.category(chr(point)) == "Cn"
            assert bool(unassigned.match(chr(point))) == told, hex(point)


ODD = [
    None, {"$": "nan"}, {"$": "undefined"}, {"$": "infinity"}, {"$": "-infinity"}, True, "red",
    "7", 7, 7.5, -0.0, 1e300, -1e300, {"$whole": "7"}, "Kiebitz 🐦",
]  # fmt: skip
PYTHON = {"nan": math.nan, "undefined": None, "infinity": math.inf, "-infinity": -math.inf}

DOMAINS = [
    lw.Interval(0, 10, bins=7),
    lw.Interval(-3, 1e9, bins=1000, outside="refuse", missing="bin"),
    lw.Interval(1e-3, 1e3, bins=24, scale="log", closed="left"),
    lw.Interval(0, 360, bins=90, circular=True),
    lw.Interval(0, 360, bins=7, circular=True, closed="right", missing="bin", atoms=(0, 90, 91)),
    lw.Interval(0, 100, bins=20, atoms=(0, 5, 7, 100), missing="bin"),
    lw.Interval(0, 100, bins=20, atoms=(0, 5, 7, 100), closed="left"),
    lw.Interval(edges=[0, 18, 25, 65, 100], atoms=(18, 30)),
    lw.Interval(edges=[-1.5, 0, 1e-300, 7, 1e100], closed="left"),
    lw.Interval(0, 1, bins=2**17),
    lw.Interval(-3, 9, bins=6, whole=True, missing="bin"),
    lw.Integers(-5, 90),
    lw.Integers(0, 9, outside="refuse", missing="bin"),
    lw.Categories(["red", "green", 7, "8"]),
    lw.Categories(["red", "other", 7], other="other", missing="category"),
    lw.Categories(10, other=3),
    lw.Categories(10, missing="category"),
    lw.HashedStrings(40),
    lw.HashedStrings(7, missing="category"),
]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return int(value["$whole"]) if "$whole" in value else PYTHON[value["$"]]
    return value


def _python(domain: Any, value: Any) -> Any:
    try:
        return int(domain.index([_plain(value)])[0])
    except DomainError:
        return "DomainError"


def test_symbols_are_python_s_whatever_the_value() -> None:
    rng = np.random.default_rng(3)
    asked = []
    for domain in DOMAINS:
        values = list(ODD)
        if domain.ordered:
            ends = np.unique([*domain.left, *domain.right])[:400]
            near = [np.nextafter(ends, side) for side in (-np.inf, np.inf)]
            spread = ends[0] + (ends[-1] - ends[0]) * rng.uniform(-0.3, 1.3, 400)
            numbers = np.concatenate([ends, *near, spread])
            # Of a logarithmic scale the last places of an edge are the machine's.
            values += (spread if getattr(domain, "scale", "") == "log" else numbers).tolist()
            # A text that holds a number is read on the server; a device has numbers.
            values = [v for v in values if not (isinstance(v, str) and v.isdigit())]
            values = [v for v in values if v is not True]
        asked.append(values)
    answers = ask(*(("symbols", d.to_document(), v) for d, v in zip(DOMAINS, asked, strict=True)))
    for domain, values, found in zip(DOMAINS, asked, answers, strict=True):
        symbols = [answer if isinstance(answer, int) else answer["error"] for answer in found]
        assert symbols == [_python(domain, value) for value in values], domain


MOMENT = 1_795_253_400.0
"""2026-11-21T09:30 in seconds."""

OF_UNITS = [
    lw.Interval("1970-01-01", "2030-01-01", bins=21_915, unit="date"),
    lw.Interval(0, 86_400, bins=1440, circular=True, unit="time-of-day"),
    lw.Interval(0, 2**31, bins=2**20, unit="datetime"),
    lw.Interval(0, 2**31, bins=64, unit="datetime", outside="overflow", missing="bin"),
    lw.Interval(0, 604_800, bins=7, unit="datetime", circular=True),
    # It reaches so far itself.
    lw.Interval(0, 2e12, bins=64, unit="datetime"),
]


def test_numbers_of_dates_and_times_are_python_s() -> None:
    """A device refuses milliseconds (Date.now()) for seconds, which were paid for and far off."""
    values = [
        7.0, 1e9, -1, MOMENT, 1000 * MOMENT, {"$whole": "1795253400000"}, -1000 * MOMENT, 1e11,
        math.nextafter(1e11, 2e11), -1e11, 1e300, {"$": "infinity"}, {"$": "-infinity"},
        {"$whole": "9" * 400},
    ]  # fmt: skip
    answers = ask(*(("symbols", domain.to_document(), values) for domain in OF_UNITS))
    refused = set()
    for domain, found in zip(OF_UNITS, answers, strict=True):
        for value, answer in zip(values, found, strict=True):
            symbol = answer if isinstance(answer, int) else answer["error"]
            assert symbol == _of_a_device(domain, value), (domain, value)
            if not isinstance(answer, int) and "milliseconds by 1000" in answer["message"]:
                refused.add(domain)
    assert refused == set(OF_UNITS[2:5])


def _of_a_device(domain: Any, value: Any) -> Any:
    """Return the symbol of a value that a person answers."""
    try:
        if domain.unit == "datetime":  # numbers of the other units are refused by the device
            check_plain_number(_plain(value), domain=domain)
    except DomainError:
        return "DomainError"
    return _python(domain, value)


def test_a_device_refuses_numbers_in_texts_that_a_curator_reads_besides() -> None:
    documents = [domain.to_document() for domain in OF_UNITS if domain.missing == "refuse"]
    answers = ask(*(("symbols", each, ["20000"]) for each in documents))
    assert {answer["error"] for found in answers for answer in found} == {"DomainError"}


DATES = (
    *("2026-11-21", "20261121", "2026-W47-6", "2026-W47", "2026W476", "2026W47", "2026-W476"),
    *("2026W47-6", "2026-W53-1", "2020-W53-7", "0001-W01-1", "9999-W52-5", "9999-W52-6"),
    *("+012345-06-07", "00000101", "00010101", "20260229", "99991231", "2026-325"),
)
CLOCKS = (
    *("", "T09", "T0930", "T093015", "t093015.25", " 09:30", "T09:30:15", "T09:30:15,1234567"),
    *("T09:3015", "T0930:15", "T09.5", "T24", "T2400", "T240000.0", "T2401", "T0960"),
)
ZONES = (
    *("", "Z", "+05", "+0530", "+05:30", "+05:30:15", "+053015", "+05:3015", "+0530:15"),
    *("-00:00:30", "+05:30:60", "+24", "-23:59:59", " UTC", "+5", "z"),
)


def test_every_form_of_a_date_with_every_clock_and_zone_is_read_as_python_reads_it() -> None:
    texts = [date + clock + zone for date in DATES for clock in CLOCKS for zone in ZONES]
    domains = [domain for _, domain in time_vectors.DOMAINS]
    answers = ask(*(("symbols", domain.to_document(), texts) for domain in domains))
    for domain, symbols in zip(domains, answers, strict=True):
        for text, symbol in zip(texts, symbols, strict=True):
            wanted = time_vectors.symbol_of(domain, text)
            assert (symbol if isinstance(symbol, int) else None) == wanted, (domain.unit, text)


def test_a_date_of_the_device_is_the_one_on_its_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "import {buildDomain} from '../../clients/js/lapwing/domains.mjs';"
        "const of = (unit, low, high, bins) => buildDomain({class: 'interval', low, high, bins,"
        " circular: false, scale: 'linear', atoms: [], outside: 'refuse', missing: 'refuse',"
        " unit});"
        "const moment = new Date('2026-11-21T23:30:00Z');"
        "console.log(of('date', 0, 32768, 32768).index(moment),"
        " of('time-of-day', 0, 86400, 1440).index(moment),"
        " of('datetime', 0, 2 ** 31, 2 ** 20).index(moment))"
    )
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    found = node("--input-type=module", "-e", code)
    # 22 November, 08:30 there; the instant is the same everywhere.
    assert found.split() == ["20779", "510", str(1_795_303_800 // 2048)]
