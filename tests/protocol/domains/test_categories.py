"""Labels without an order, listed or only counted."""

from __future__ import annotations

import dataclasses
import json
import tracemalloc
from datetime import date, datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing import Categories, HashedStrings, Interval
from lapwing.decoders import Candidates
from lapwing.documents import canonical
from lapwing.errors import ArgumentError, DomainError
from lapwing.protocol.domains.domain_documents import build_domain
from lapwing.protocol.domains.label_text import label_text
from tests.mistaken import mistaken

STEADY = settings(deadline=None, max_examples=100, derandomize=True)

labels_lists = st.lists(
    st.one_of(st.text(max_size=5), st.integers(-(2**53) + 1, 2**53 - 1)),
    min_size=1,
    max_size=12,
    unique_by=lambda label: (type(label), label),
).filter(lambda labels: all(isinstance(x, int) or x.isprintable() for x in labels))


@STEADY
@given(labels_lists)
def test_every_label_has_its_own_symbol(labels: list[str | int]) -> None:
    domain = Categories(labels, missing="category")
    assert domain.index(labels).tolist() == list(range(len(labels)))
    assert domain.index([None, *labels, float("nan")])[[0, -1]].tolist() == [len(labels)] * 2
    again = build_domain(json.loads(json.dumps(domain.to_document())))
    assert again == domain and hash(again) == hash(domain)
    assert build_domain(json.loads(canonical(domain.to_document()))) == domain


def test_texts_and_whole_numbers_are_one_label() -> None:
    domain = Categories(["1", 2, "other", "a"], other="other")
    assert domain.index(["1", 1, 2.0, "2", "a", "a\0"]).tolist() == [0, 0, 1, 1, 3, 2]


def test_numbered_labels() -> None:
    domain = Categories(5, missing="category")
    assert (domain.size, domain.missing_index, domain.listed) == (6, 5, range(5))
    assert domain.index([4, 0, None, 2.0]).tolist() == [4, 0, 5, 2]
    assert domain.index(np.array([3, 1], dtype=np.uint8)).tolist() == [3, 1]
    assert Categories(np.int64(5), missing="category") == domain


def test_a_domain_too_large_to_list_takes_no_memory() -> None:
    tracemalloc.start()
    domain = Categories(2**40)
    symbols = domain.index(np.array([0, 2**40 - 1, 123_456_789_012]))
    assert domain.size == 2**40 and len(domain.listed) == 2**40
    assert symbols.tolist() == [0, 2**40 - 1, 123_456_789_012]
    with pytest.raises(DomainError, match="position 1"):
        domain.index([0, 2**40])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100_000
    assert build_domain(domain.to_document()) == domain


@pytest.mark.parametrize("domain", [Categories(["red", "green"]), Categories(2)])
@pytest.mark.parametrize(
    "wrong", ["violet", 7919, -1, 0.5, True, b"violet", float("inf"), ("red",)]
)
def test_an_unknown_label_is_refused_by_position_and_never_shown(domain: Any, wrong: Any) -> None:
    known = list(domain.listed)
    values = np.empty(4, dtype=object)
    values[:] = [known[0], known[1], wrong, "violet"]
    with pytest.raises(DomainError, match="position 2") as caught:
        domain.index(values)
    assert caught.value.position == 2
    for shown in ("violet", "7919", "0.5"):
        assert shown not in str(caught.value)


def test_numbers_outside_are_refused_by_position() -> None:
    for wrong in (5, -1):
        with pytest.raises(DomainError, match="position 1") as caught:
            Categories(5).index(np.array([0, wrong, 9]))
        assert caught.value.position == 1


def test_a_missing_label_is_refused_unless_declared() -> None:
    for missing in (None, float("nan")):
        with pytest.raises(DomainError, match="position 1") as caught:
            Categories(["a", "b"]).index(["a", missing])
        assert caught.value.position == 1
        assert Categories(["a"], missing="category").index(["a", missing]).tolist() == [0, 1]


@pytest.mark.parametrize(
    "values", [[], "red", ["red", ["red"]], [["red"]], np.array("red"), [[1], [1, 2]]]
)
def test_what_is_no_list_of_labels_is_refused(values: Any) -> None:
    with pytest.raises(DomainError):
        Categories(["red"]).index(values)


@pytest.mark.parametrize(
    "labels",
    [
        [],
        "red",
        b"red",
        None,
        2.0,
        {"red": 1},
        ["a", "a"],
        [1, 1],
        [True, False],
        [1.5],
        [None],
        [["a"]],
        [b"a"],
        0,
        -1,
        2**40 + 1,
        True,
        [2**53],
        [-(2**53)],
        ["\ud800"],
    ],
)
def test_illegal_labels(labels: Any) -> None:
    with pytest.raises(DomainError):
        Categories(labels)


@pytest.mark.parametrize(
    ("label", "says"),
    [
        (date(2026, 3, 4), 'is a date. Write dates as strings, such as "2026-01-02"'),
        (np.datetime64("2026-03-04"), 'Write dates as strings, such as "2026-01-02"'),
        (True, 'is a bool. Write truth values as "true" and "false"'),
        (np.bool_(True), 'Write truth values as "true" and "false"'),
        (datetime(2026, 3, 4), "is a datetime. Write it as a string"),
        (2.5, "is a float. Write it as a string"),
        (None, 'missing="category"'),
    ],
)
def test_what_is_no_label_is_told_how_to_be_written(label: Any, says: str) -> None:
    with pytest.raises(DomainError, match="the one at position 1 is") as refused:
        Categories(["a", label])
    assert says in str(refused.value) and "2026-03-04" not in str(refused.value)
    good = label_text(label)
    if good is not None:
        assert Categories(["a", good]).index([label]).tolist() == [1]


def test_labels_have_no_order() -> None:
    domain = Categories(["a", "b"])
    assert not domain.ordered and not domain.circular
    for side in ("left", "right"):
        with pytest.raises(DomainError, match="no order"):
            getattr(domain, side)


def test_nothing_can_be_changed() -> None:
    given_labels = ["a", "b"]
    domain = Categories(given_labels)
    given_labels.append("c")
    assert domain.labels == ("a", "b") and domain.size == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        mistaken(domain).missing = "category"
    assert domain != Categories(["b", "a"]) and domain != Categories(2)
    assert len({domain, Categories(("a", "b"))}) == 1


@pytest.mark.parametrize("unordered", [{"b", "a"}, frozenset({"b", "a"})], ids=["set", "frozenset"])
def test_a_set_has_no_order_and_makes_no_document(unordered: Any) -> None:
    """Its order, and with it the fingerprint of a survey, would change with the process."""
    with pytest.raises(DomainError, match=r"has no order\. Pass sorted"):
        Categories(unordered)
    numbers = type(unordered)({0, 1, 2})
    with pytest.raises(DomainError, match=r"edges must be a list, got a .*set, which"):
        Interval(edges=numbers)
    with pytest.raises(DomainError, match=r"atoms must be a list, got a .*set, which"):
        Interval(0, 10, bins=10, atoms=numbers)
    with pytest.raises(ArgumentError, match=r"values must be a list .*, got a .*set"):
        Candidates(unordered)


def test_what_has_an_order_is_a_list() -> None:
    labels = {"b": 1, "a": 2}
    for given_labels in (labels.keys(), iter(["b", "a"]), np.array(["b", "a"]), ("b", "a")):
        assert Categories(given_labels).labels == ("b", "a")  # type: ignore[arg-type]  # on purpose
    assert Categories(np.array([3, 1])).labels == (3, 1)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("values", "what"),
    [
        ("a", "one value alone. Put it in a list"),
        (1.0, "one value alone"),
        (np.str_("a"), "one value alone"),
        (np.array("a"), "one value alone"),
        (None, "one value alone"),
        ((label for label in "ab"), r"a generator, which can be read only once. Pass list\(...\)"),
        (map(str, [1]), "a map, which can be read only once"),
        ({"a", "b"}, "a set, which keeps each value once"),
        ({"a": 1}, "a dict. Pass list"),
        ({"a": "a"}.values(), "a dict_values"),
    ],
)
def test_what_is_no_list_of_values_is_said(values: Any, what: str) -> None:
    for domain in (Categories(["a", "b"]), Interval(0, 1, bins=1), HashedStrings(8)):
        with pytest.raises(DomainError, match=f"must be a list or an array, got {what}"):
            domain.index(values)


def test_numbers_that_are_no_labels_count_as_the_other_one_in_any_container() -> None:
    domain = Categories(5, other=3)
    for held in ([0, 7, -1, 4, 5], np.array([0, 7, -1, 4, 5]), np.array([0, 7, -1, 4, 5], object)):
        assert domain.index(held).tolist() == [0, 3, 3, 4, 3]
