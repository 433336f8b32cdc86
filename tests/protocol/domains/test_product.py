"""Pairs of values as one domain: every form of a table, bad pairs, documents, limits."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import lapwing as lw
from lapwing.errors import ArgumentError, DomainError
from lapwing.protocol.domains.domain_documents import build_domain
from lapwing.protocol.domains.product import MOST_CELLS
from lapwing.results.joint_conditions import read_joint
from tests.mistaken import mistaken
from tests.rows import each

LINES = lw.Product(delay=lw.Interval(0, 60, bins=6), hour=lw.Integers(0, 23))
LABELS = lw.Product(hour=lw.Integers(0, 23), region=lw.Categories(["north", "south", "east"]))
APART = lw.Product(
    wait=lw.Interval(0, 10, bins=5, outside="overflow", missing="bin"),
    time=lw.Interval("00:00", "24:00", bins=4, unit="time-of-day", circular=True, missing="bin"),
)
SECRET = 987_654.25

DELAYS, HOURS = [0.5, 59.0, 33.0, 90.0], [0, 23, 7, 8]
"""Values whose cells are worked out by hand: a delay above the range is clipped."""

CELLS = [0, 5 * 24 + 23, 3 * 24 + 7, 5 * 24 + 8]

FORMS: dict[str, Callable[[], Any]] = {
    "tuples": lambda: list(zip(DELAYS, HOURS, strict=True)),
    "lists": lambda: [list(pair) for pair in zip(DELAYS, HOURS, strict=True)],
    "rows by name": lambda: [
        {"hour": hour, "delay": delay, "name": "a"}
        for delay, hour in zip(DELAYS, HOURS, strict=True)
    ],
    "array": lambda: np.array([DELAYS, HOURS]).T,
    "array of objects": lambda: np.array([DELAYS, HOURS], dtype=object).T,
    "list of arrays": lambda: list(np.array([DELAYS, HOURS]).T),
    "mapping": lambda: {"hour": HOURS, "delay": DELAYS, "name": ["a"] * 4},
    "mapping of arrays": lambda: {"delay": np.array(DELAYS), "hour": np.array(HOURS)},
    "pandas": lambda: pd.DataFrame({"hour": HOURS, "delay": DELAYS}, index=[4, 3, 2, 1]),
    "polars": lambda: pl.DataFrame({"hour": HOURS, "delay": DELAYS}),
    "Arrow": lambda: pa.table({"hour": HOURS, "delay": DELAYS}),
    "Arrow, in chunks": lambda: pa.concat_tables(
        [pa.table({"delay": DELAYS[a:b], "hour": HOURS[a:b]}) for a, b in ((0, 1), (1, 4))]
    ),
}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_of_a_table_gives_the_cells_by_hand(name: str) -> None:
    values = FORMS[name]()
    assert LINES.index(values).tolist() == CELLS
    assert LINES.index_or_missing(values).tolist() == CELLS
    assert LINES.index(values).dtype == np.int64


def test_columns_that_are_exchanged_would_be_noticed() -> None:
    swapped: Any = {"delay": HOURS, "hour": [round(delay) for delay in DELAYS]}
    assert LINES.index(swapped).tolist() != CELLS


def test_shape_axes_and_names() -> None:
    assert (LINES.size, LINES.shape) == (144, (6, 24)) and LINES.names == ("delay", "hour")
    assert dict(LINES.axes) == {"delay": LINES.domains[0], "hour": LINES.domains[1]}
    assert (LINES.axis_number("delay"), LINES.axis_number("hour")) == (0, 1)
    assert APART.shape == (8, 5) and APART.missing_index is None and not APART.ordered
    assert repr(LABELS).startswith("Product(hour=Integers(") and "region=Categories(" in repr(
        LABELS
    )
    with pytest.raises(ArgumentError, match="the axes are delay and hour, got 'minute'"):
        LINES.axis_number("minute")
    with pytest.raises(ArgumentError, match="the axes are delay and hour, got an int"):
        LINES.axis_number(mistaken(0))


def test_the_order_of_the_axes_is_part_of_the_domain() -> None:
    turned = lw.Product(hour=LINES.domains[1], delay=LINES.domains[0])
    assert turned != LINES and turned.to_document() != LINES.to_document()
    assert lw.Product(**LINES.axes) == LINES and hash(lw.Product(**LINES.axes)) == hash(LINES)


def test_outside_and_missing_symbols_of_each_axis() -> None:
    pairs = [(-1, 0.0), (11, 0.0), (None, 0.0), (5, None), (None, None), (5, 25 * 3600.0)]
    rows = [0, 6, 7, 3, 7, 3]  # below, above, missing, and the bin from 4 to 6
    columns = [0, 0, 0, 4, 4, 0]
    assert APART.index(pairs).tolist() == [5 * a + b for a, b in zip(rows, columns, strict=True)]


@each("name", ["left", "right"])
def test_pairs_have_no_order(name: str) -> None:
    with pytest.raises(DomainError, match="pairs have no order"):
        getattr(LINES, name)


BAD: dict[str, tuple[Any, int | None, str]] = {
    "one of the two is missing": ([(1, 2), (None, 3)], 1, "axis delay: .* position 1 is missing"),
    "the other is missing": ([(1, 2), (3, None)], 1, "axis hour: .* position 1 is missing"),
    "a number that is no hour": ([(1, 2), (1, 2), (1, 2.5)], 2, "axis hour: .* position 2"),
    "both, and the second axis first": ([(1, 2), (3, None), (None, 4)], 1, "axis hour: "),
    "a text": ([(1, 2), ("secret", 3)], 1, "axis delay: .* position 1"),
    "three of them": ([(1, 2), (1, 2, SECRET)], 1, "the one at position 1 has 3 entries"),
    "one of them": ([(SECRET,)], 0, "the one at position 0 has 1 entries"),
    "a row without one of them": ([{"delay": SECRET}], 0, "at position 0 lacks hour"),
    "a number alone": ([(1, 2), SECRET], 1, "the one at position 1 is not a pair"),
    "a text of two characters": ([(1, 2), "98"], 1, "the one at position 1 is not a pair"),
    "one column": (np.array([[SECRET], [1.0]]), None, "an array of two columns"),
    "no columns": (np.array([SECRET, 1.0]), None, "an array of two columns"),
    "no table": (SECRET, None, "must be pairs of delay and hour"),
    "one text": ("secret", None, "must be pairs of delay and hour"),
    "a pair alone": ((SECRET, 2), 0, "the one at position 0 is not a pair"),
    "nothing": ([], None, "at least one"),
    "a column is lacking": ({"delay": [SECRET]}, None, "it lacks hour"),
    "both are lacking": (pa.table({"secret": [SECRET]}), None, "it lacks delay and hour"),
    "columns of two lengths": (
        {"delay": [SECRET, 1.0], "hour": [1]},
        None,
        "both columns must have as many rows, got 2 and 1",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_pairs_are_refused_by_position_and_never_shown(name: str) -> None:
    values, position, words = BAD[name]
    with pytest.raises(DomainError, match=words) as caught:
        LINES.index(values)
    assert caught.value.position == position
    assert "987" not in str(caught.value) and "secret" not in str(caught.value)


def test_a_point_outside_on_one_axis_only_is_refused_there() -> None:
    strict = lw.Product(x=lw.Interval(0, 1, bins=4, outside="refuse"), y=lw.Interval(0, 1, bins=4))
    assert strict.index([(0.4, 9.0)]).tolist() == [4 * 1 + 3]
    with pytest.raises(DomainError, match=r"axis x: .*position 1") as caught:
        strict.index([(0.4, 9.0), (9.0, 0.4)])
    assert caught.value.position == 1


def test_values_of_no_axis_count_as_missing_where_an_axis_counts_them() -> None:
    cells = APART.index_or_missing([("secret", "06:30"), (3, "secret"), (3, "23:59")])
    assert cells.tolist() == [7 * 5 + 1, 2 * 5 + 4, 2 * 5 + 3]
    with pytest.raises(DomainError):
        LINES.index_or_missing([("secret", 3)])


def test_the_domain_of_a_curator_refuses_no_pair() -> None:
    kept = LINES.for_curator()
    assert kept.names == LINES.names and kept.shape == (7, 25)
    assert kept.index([(None, 3), (3, None)]).tolist() == [6 * 25 + 3, 0 * 25 + 24]


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no axis": ({}, "must have two named axes, got 0"),
    "one axis": ({"x": lw.Integers(0, 3)}, "must have two named axes, got 1"),
    "three axes": (dict.fromkeys("xyz", lw.Integers(0, 3)), "must have two named axes, got 3"),
    "no domain": ({"x": lw.Integers(0, 3), "y": [0, 3]}, "domain must be an Interval"),
    "a class": ({"x": lw.Integers(0, 3), "y": lw.Integers}, "domain must be an Interval"),
    "hashed strings": (
        {"x": lw.Integers(0, 3), "y": lw.HashedStrings(4)},
        "must be an Interval, Integers or Categories, got hashed-strings",
    ),
    "a product": ({"x": lw.Integers(0, 3), "y": LINES}, "got product"),
    "a name with a line break": (
        {"x": lw.Integers(0, 3), "y\n": lw.Integers(0, 3)},
        "1 to 100 printable characters",
    ),
    "an empty name": ({"x": lw.Integers(0, 3), "": lw.Integers(0, 3)}, "1 to 100 printable"),
    "a long name": ({"x": lw.Integers(0, 3), "y" * 101: lw.Integers(0, 3)}, "1 to 100 printable"),
    "too many cells": (
        {"x": lw.Integers(0, 1021), "y": lw.Integers(0, 1022)},
        r"at most 1,048,576 cells, got 1,049,600 \(1,024 times 1,025\). Use fewer bins",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_axes_are_refused(name: str) -> None:
    axes, words = WRONG[name]
    with pytest.raises(DomainError, match=words):
        lw.Product(**axes)


def test_an_axis_whose_bins_are_open_is_kept_but_not_used() -> None:
    still = lw.Product(x=lw.Integers(0, 3), y=lw.Interval(0, 1))
    assert still.names == ("x", "y")
    for use in (
        lambda: still.size,
        lambda: still.index([(1, 0.5)]),
        lambda: lw.randomizers.MultiscaleBoxes(still, 1),
        lambda: lw.randomizers.BoxWave(still, 1, widths=(1, 1)),
    ):
        with pytest.raises(DomainError, match="number of bins is missing"):
            use()


def test_as_many_cells_as_are_allowed() -> None:
    assert lw.Product(x=lw.Integers(0, 1021), y=lw.Integers(0, 1021)).size == MOST_CELLS


@pytest.mark.parametrize("domain", [LINES, LABELS, APART], ids=lambda one: " x ".join(one.names))
def test_documents_both_ways(domain: lw.Product) -> None:
    document = json.loads(json.dumps(domain.to_document()))
    again = build_domain(document)
    assert again == domain and isinstance(again, lw.Product) and again.names == domain.names
    assert again.to_document() == document


def test_a_product_is_frozen_and_has_copies() -> None:
    with pytest.raises(AttributeError):
        LINES.names = ("a", "b")  # type: ignore[misc]
    with pytest.raises(TypeError):
        mistaken(LINES.axes)["delay"] = lw.Integers(0, 3)
    assert pickle.loads(pickle.dumps(LINES)) == LINES == copy.deepcopy(LINES)


COMPOSED, APART_MARK = "caf\u00e9", "cafe\u0301"
"""One name in two Unicode forms."""


@pytest.mark.parametrize("typed", [COMPOSED, APART_MARK])
def test_an_axis_is_known_in_whichever_unicode_form(typed: str) -> None:
    domain = lw.Product(**{COMPOSED: lw.Integers(0, 3), "hour": lw.Integers(0, 2)})
    assert domain.names == (COMPOSED, "hour") and domain.axis_number(typed) == 0
    pairs = [(0, 2), (3, 1)]
    rows: list[Any] = [
        [{typed: one, "hour": two} for one, two in pairs],
        {typed: [0, 3], "hour": [2, 1]},
        pd.DataFrame(pairs, columns=[typed, "hour"]),
        pa.table({"hour": [2, 1], typed: [0, 3]}),
    ]
    for values in rows:
        assert domain.index(values).tolist() == domain.index(pairs).tolist()
    asked = read_joint(f"share {typed} above 1 and hour below 2", domain)
    assert [*asked.conditions] == [COMPOSED, "hour"]
    assert read_joint(f"mean of {typed}", domain).axis == COMPOSED
    stored = lw.Product(**{typed: lw.Integers(0, 3), "hour": lw.Integers(0, 2)})
    assert build_domain(stored.to_document()).to_document() == stored.to_document()


def test_axes_whose_names_differ_in_unicode_form_only_are_refused() -> None:
    axes = {COMPOSED: lw.Integers(0, 3), APART_MARK: lw.Integers(0, 2)}
    with pytest.raises(DomainError, match="differ in more than Unicode form"):
        lw.Product(**axes)
