"""One spelling for every document, plain JSON only, and exact numbers with bounds."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest

from lapwing.documents import (
    DEEPEST,
    LARGEST,
    LARGEST_EXACT,
    canonical,
    describe_value,
    require_plain,
    require_spelling,
    spelled_number,
)
from lapwing.errors import FormatError
from tests.rows import each


def nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels - 1):
        value = [value]
    return value


PLAIN = [
    {},
    {"a": [1, -2.5, True, None, "ü", {"b": []}]},
    [LARGEST, -LARGEST],
    [0.5, 1, "x"],
    (1, 2),
    nested(DEEPEST),
    5e-324,
]


@pytest.mark.parametrize("document", PLAIN, ids=describe_value)
def test_plain_json_passes(document: Any) -> None:
    require_plain(document, name="it")
    require_spelling(document, document, name="it")


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ({"a": [math.nan]}, "finite"),
        ([1.0, math.inf], "finite"),
        ({"a": -math.inf}, "finite"),
        ([LARGEST + 1], "2\\^63 - 1"),
        ([0, -LARGEST - 1, 5], "2\\^63 - 1"),
        ({"a": 10**5000}, "2\\^63 - 1"),
        ({"a": ["x", {"b": "\udcff"}]}, "surrogate"),
        ({"\ud800": 1}, "surrogate"),
        ({3: 1}, "keys"),
        ({None: 1}, "keys"),
        ({"a": b"x"}, "bytes"),
        ([{1, 2}], "set"),
        ([Fraction(1)], "Fraction"),
        (nested(DEEPEST + 1), "levels"),
        (nested(100_000), "levels"),
    ],
    ids=lambda value: describe_value(value)[:30],
)
def test_what_is_no_plain_json_is_refused(document: Any, says: str) -> None:
    with pytest.raises(FormatError, match=says) as caught:
        require_plain(document, name="it")
    assert str(caught.value).startswith("it ") and len(str(caught.value)) < 200


ALIKE = [(1, 1.0), (0, -0.0), ([1, 2.0], [1.0, 2]), ({"a": 16}, {"a": 16.0}), ((1,), [1])]


@pytest.mark.parametrize(("came", "written"), ALIKE, ids=describe_value)
def test_numbers_have_one_spelling_whatever_their_type(came: Any, written: Any) -> None:
    """As in canonical JSON, whose bytes are the fingerprint's."""
    require_spelling(came, written, name="it")
    assert canonical(came) == canonical(written)


APART = [
    (1, True),
    (False, 0),
    (None, False),
    (1, "1"),
    ("1", "1.0"),
    ("a", "A"),
    ("ü", "u\u0308"),
    ([1], [1, 1]),
    ([1, 2], [2, 1]),
    ([1, True], [1, 1]),
    ([1], {"0": 1}),
    ({"a": 1}, {"a": 1, "b": 1}),
    ({"a": {"b": [0, 1]}}, {"a": {"b": [0, 2]}}),
    (2**53 + 1, 2.0**53),
    (0.1, 0.1 + 2**-56),
]


@pytest.mark.parametrize(("came", "written"), APART, ids=describe_value)
def test_everything_else_is_another_spelling(came: Any, written: Any) -> None:
    for ours, theirs in ((came, written), (written, came)):
        with pytest.raises(FormatError, match="must be written"):
            require_spelling(ours, theirs, name="it")


def test_the_message_names_the_place_what_came_and_what_to_write() -> None:
    came = {"randomizer": {"epsilon": "0_1", "parts": [1, "2/2"]}}
    written = {"randomizer": {"epsilon": "0.1", "parts": [1, "1"]}}
    with pytest.raises(FormatError) as caught:
        require_spelling(came, written, name="the survey")
    assert str(caught.value) == (
        'the randomizer.epsilon of the survey must be written "0.1", got "0_1". A document has a '
        "single spelling, so that it has a single fingerprint"
    )
    came["randomizer"]["epsilon"] = "0.1"
    with pytest.raises(FormatError, match=r'the randomizer\.parts\[1\] of .* "1", got "2/2"'):
        require_spelling(came, written, name="the survey")
    with pytest.raises(FormatError, match="a list of 2, got an object of 1 keys"):
        require_spelling({"a": 1}, [1, 2], name="it")
    with pytest.raises(FormatError, match=r"\\uff11") as caught:
        require_spelling("\uff11" * 5000, "1", name="it")
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize("text", ["0", "3", "1/3", "22/7", str(LARGEST_EXACT), f"1/{10**100}"])
def test_spelled_numbers(text: str) -> None:
    assert str(spelled_number(text, name="it")) == text


OTHERS = [
    *("", "1.0", "1e0", "+1", "-1", "1_0", "0_1", " 1", "1\n", "01", "2/2", "2/4", "1/1", "0/5"),
    *("1/0", "0/0", "1//2", "1/2/3", "/2", "1/", "\uff11", "\u0661", "1e999999999", "nan", "inf"),
    *("9" * 102, "1/" + "9" * 102, "9" * 10**6, 1, 1.0, True, None, ["1"], b"1"),
]


@each("text", OTHERS, ids=lambda value: describe_value(value)[:20])
def test_other_spellings_of_spelled_numbers_are_refused(text: Any) -> None:
    with pytest.raises(FormatError, match="it must be") as caught:
        spelled_number(text, name="it")
    assert len(str(caught.value)) < 250
