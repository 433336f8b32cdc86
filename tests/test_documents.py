"""Strict JSON: canonical bytes, fingerprints, and classes from explicit tables only."""

from __future__ import annotations

import contextlib
import hashlib
import json
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lapwing import Categories, HashedStrings, Integers, Interval
from lapwing.documents import (
    MAXIMUM_DOCUMENT_BYTES,
    canonical,
    fingerprint,
    parse,
    read,
    require,
    require_format,
)
from lapwing.errors import DomainError, FormatError
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.domain_documents import DOMAINS, build, build_domain
from lapwing.protocol.domains.product import Product
from lapwing.protocol.domains.segmented import Segmented
from tests.damaged_documents import junk, mutants, spelled
from tests.mistaken import mistaken

STEADY = settings(deadline=None, max_examples=100, derandomize=True)


def test_canonical_json_is_that_of_the_standard() -> None:
    """The example of RFC 8785, section 3.2.2."""
    document = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": '\u20ac$\u000f\nA\'B"\\\\"/',
        "literals": [None, True, False],
    }
    expected = (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"\u20ac$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )
    assert canonical(document) == expected.encode()
    assert fingerprint(document) == hashlib.sha256(expected.encode()).hexdigest()


NESTED = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**54), 2**54)
    | st.floats()
    | st.text(st.characters(exclude_categories=())),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@settings(deadline=None, max_examples=40, derandomize=True)
@example([2**53])
@example({"\ufffd": 1, "\U00010000": 2})  # sorted by UTF-16
@given(NESTED | st.lists(st.text()) | st.lists(st.integers(-(2**53) - 1, 2**53 + 1)))
def test_canonical_json_is_that_of_the_reference(document: Any) -> None:
    import rfc8785

    try:
        expected = rfc8785.dumps(document)
    except (rfc8785.CanonicalizationError, UnicodeEncodeError):
        with pytest.raises(FormatError):
            canonical(document)
    else:
        assert canonical(document) == expected


def test_one_content_has_one_fingerprint() -> None:
    assert fingerprint({"b": 1.0, "a": -0.0}) == fingerprint({"a": 0, "b": 1})
    assert fingerprint({"a": 1}) != fingerprint({"a": "1"})
    assert fingerprint({"a": 1}) == (
        "015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862"
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "damaged or of another kind"),
        ("{", "damaged or of another kind"),
        ('{"a": 1} x', "damaged or of another kind"),
        (b"\xff\xfe\x00", "in UTF-16. Save it as UTF-8"),
        (b"PAR1\x00\x01", "damaged or of another kind"),
        ("[" * 100_000, "damaged or of another kind"),
        ('{"a": ' + "9" * 5000 + "}", "damaged or of another kind"),
        ("[1]", "a list"),
        ("3", "an int"),
        ("null", "a NoneType"),
        ('{"a": 1, "a": 1}', "a key twice"),
        ('{"b": {"a": 1, "c": 2, "a": 3}}', "a key twice"),
        ('{"a": NaN}', "NaN"),
        ('{"a": -Infinity}', "-Infinity"),
        ('{"a": 1e400}', "too large"),
    ],
)
def test_what_is_no_strict_json_is_refused(text: Any, says: str) -> None:
    with pytest.raises(FormatError) as caught:
        parse(text, name="income.json")
    assert "income.json" in str(caught.value) and says in str(caught.value)


@STEADY
@given(st.dictionaries(st.text(), junk.filter(lambda value: "\\ud800" not in json.dumps(value))))
def test_parsing_gives_back_what_was_written(document: dict[str, Any]) -> None:
    assert parse(json.dumps(document), name="x") == document
    assert parse(json.dumps(document).encode("utf-8-sig"), name="x") == document
    for encoding in ("utf-16", "utf-16-le", "utf-32"):
        with pytest.raises(FormatError):
            parse(json.dumps(document).encode(encoding), name="x")


@STEADY
@given(st.binary(max_size=60))
def test_random_bytes_raise_nothing_else(data: bytes) -> None:
    try:
        assert isinstance(parse(data, name="x"), dict)
    except FormatError as error:
        assert str(error).startswith("x must be a JSON")


def test_reading_a_file(tmp_path: Path) -> None:
    path = tmp_path / "survey.json"
    path.write_text('{"a": [1, 2.5]}')
    assert read(path) == {"a": [1, 2.5]}
    path.write_bytes(b"LWREPORT")
    with pytest.raises(FormatError, match=r"survey\.json"):
        read(path)
    with path.open("wb") as stream:
        stream.truncate(MAXIMUM_DOCUMENT_BYTES + 1)
    with pytest.raises(FormatError, match="too large"):
        read(path)


def test_keys_must_be_exactly_the_known_ones() -> None:
    require({"a": 1, "b": 2}, {"a", "b"}, name="a thing")
    with pytest.raises(FormatError, match=r"a thing has the unknown key 'c'. Known: a, b"):
        require({"a": 1, "b": 2, "c": 3}, {"a", "b"}, name="a thing")
    with pytest.raises(FormatError, match=r"a thing lacks the key 'b'"):
        require({"a": 1}, {"a", "b"}, name="a thing")
    for wrong in (None, [], "ab", 3):
        with pytest.raises(FormatError, match="JSON object"):
            require(mistaken(wrong), {"a"}, name="a thing")


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"format": "other", "version": 1},
        {"format": 3, "version": 1},
        {"format": "thing"},
        {"format": "thing", "version": 2},
        {"format": "thing", "version": 0},
        {"format": "thing", "version": "1"},
        {"format": "thing", "version": True},
        {"format": "thing", "version": 1.0},
        {"format": "thing", "version": [1]},
        {"format": "thing", "version": 10**50},
        [],
        None,
    ],
)
def test_foreign_formats_and_unknown_versions_are_refused(document: Any) -> None:
    require_format({"format": "thing", "version": 1}, name="thing", version=1)
    with pytest.raises(FormatError) as caught:
        require_format(document, name="thing", version=1)
    assert "thing" in str(caught.value) and len(str(caught.value)) < 150


@dataclass(frozen=True)
class Made:
    """A class with a domain, a positional and a keyword field."""

    domain: Domain
    number: int
    _: KW_ONLY
    word: str = "x"

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "class": "made",
            "domain": self.domain.to_document(),
            "number": self.number,
            "word": self.word,
        }


TABLE = {"made": Made}
MADE = {"class": "made", "domain": Integers(0, 1).to_document(), "number": 3, "word": "y"}


def test_building_from_a_table() -> None:
    assert build(MADE, TABLE, name="it") == Made(Integers(0, 1), 3, word="y")


@pytest.mark.parametrize(
    "change",
    [
        {"class": "other"},
        {"class": None},
        {"class": ["made"]},
        {"class": "os.system"},
        {"more": 1},
        {"_": 1},
        {"domain": None},
        {"domain": {"class": "made"}},
    ],
)
def test_what_the_table_does_not_know_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(FormatError):
        build({**MADE, **change}, TABLE, name="it")


@pytest.mark.parametrize("key", MADE)
def test_every_field_must_be_given(key: str) -> None:
    """Also those with a default: a default that changes would change what was agreed."""
    with pytest.raises(FormatError):
        build({k: v for k, v in MADE.items() if k != key}, TABLE, name="it")


@pytest.mark.parametrize("document", [None, [], "made", 3])
def test_what_is_no_object_is_refused(document: Any) -> None:
    with pytest.raises(FormatError, match="known class"):
        build(document, TABLE, name="it")


VALID_DOMAINS = [
    Interval(0, 1, bins=4, atoms=(0.5,), missing="bin").to_document(),
    Interval("00:00", "24:00", bins=4, unit="time-of-day", circular=True).to_document(),
    Integers(0, 5).to_document(),
    Categories(["a", "b", 3]).to_document(),
    Categories(2**40).to_document(),
    HashedStrings(40).to_document(),
    Segmented(Categories(["a", "b"], missing="category"), ["x", "y"]).to_document(),
    Product(x=Interval(0, 1, bins=2), y=Categories(["a", "b"])).to_document(),
]


def test_every_domain_is_in_the_table() -> None:
    assert {document["class"] for document in VALID_DOMAINS} == set(DOMAINS)


@pytest.mark.parametrize("valid", VALID_DOMAINS, ids=lambda document: document["class"])
def test_a_damaged_domain_is_refused_or_what_it_says(valid: dict[str, Any]) -> None:
    read_anyway = 0
    for document in mutants(valid, most=300, seed=2):
        with contextlib.suppress(FormatError, DomainError):
            assert spelled(build_domain(document).to_document()) == spelled(document)
            read_anyway += 1
    assert read_anyway
