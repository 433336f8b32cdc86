"""An upload: two forms of one meaning, and nothing else is taken for one."""

from __future__ import annotations

import json
import struct
import zlib
from http import HTTPStatus

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lapwing as lw
from lapwing.errors import BatchError
from lapwing.privacy.sampling.randomness import seeded
from lapwing.protocol.messages.batch import LARGEST_BATCH, MOST_BYTES, MOST_REPORTS, Batch
from lapwing.protocol.messages.problems import UPLOAD_PROBLEMS, Problem

SURVEY = lw.Survey("x", lw.RandomizedResponse(lw.Categories(1000), 1), segments=["DE"])
FP = SURVEY.fingerprint
SEGMENTS = SURVEY.segments
REPORTS = SURVEY.randomize([0, 1, 2], rng=seeded(1))
BATCH = Batch.of(REPORTS, survey=FP, segment=1)
WHOLE = BATCH.to_bytes()

batches = st.builds(
    lambda width, reports, segment, data: Batch(
        FP, segment, (data * (width * reports))[: width * reports], reports
    ),
    st.integers(1, 9),
    st.integers(1, 40),
    st.sampled_from([0, 1]),
    st.binary(min_size=1, max_size=30),
)


def resealed(data: bytes) -> bytes:
    return data[:-4] + struct.pack("<I", zlib.crc32(data[:-4]))


@settings(deadline=None, max_examples=200, derandomize=True)
@given(batches)
def test_both_forms_say_the_same(batch: Batch) -> None:
    packed = Batch.from_bytes(batch.to_bytes(), segments=SEGMENTS)
    written = Batch.from_json(batch.to_json(segments=SEGMENTS), segments=SEGMENTS)
    assert packed == written == batch
    assert packed.digest == written.digest == batch.digest


def test_the_bytes_are_those_of_the_page() -> None:
    assert WHOLE[:16].hex() == "4c5755504c4f4144" + "0100" + "0100" + "03000000"
    assert WHOLE[16:48].hex() == FP and WHOLE[48:54] == REPORTS.data.tobytes()
    assert WHOLE[54:] == struct.pack("<I", zlib.crc32(WHOLE[:54]))
    assert LARGEST_BATCH == 48 + MOST_BYTES + 4
    again = Batch.from_bytes(WHOLE, segments=SEGMENTS).to_reports(SURVEY.randomizer.fingerprint)
    assert np.array_equal(again.data, REPORTS.data)
    assert json.loads(BATCH.to_json(segments=SEGMENTS)) == {
        "survey": FP,
        "segment": "DE",
        "reports": [bytes(row).hex() for row in REPORTS.data],
    }


def test_the_digest_covers_survey_segment_number_and_records() -> None:
    others = [
        Batch("0" * 64, 1, BATCH.records, 3),
        Batch(FP, 0, BATCH.records, 3),
        Batch(FP, 1, BATCH.records, 2),
        Batch(FP, 1, BATCH.records, 6),
        Batch(FP, 1, BATCH.records[::-1], 3),
    ]
    assert len({batch.digest for batch in [BATCH, *others]}) == 6
    assert len(BATCH.digest) == 32


def test_an_unknown_segment_is_none_in_both_forms() -> None:
    far = Batch(FP, 7, b"ab", 2)
    assert Batch.from_bytes(far.to_bytes(), segments=SEGMENTS).segment == 0
    for label in ('"FR"', "null", '"other"', '""'):
        text = f'{{"survey":"{FP}","segment":{label},"reports":["61","62"]}}'
        assert Batch.from_json(text, segments=SEGMENTS) == Batch(FP, 0, b"ab", 2)
    absent = f'{{"survey":"{FP}","reports":["61","62"]}}'
    assert Batch.from_json(absent, segments=SEGMENTS) == Batch(FP, 0, b"ab", 2)
    assert Batch.from_bytes(far.to_bytes(), segments=SEGMENTS).digest == (
        Batch.from_json(absent, segments=SEGMENTS).digest
    )


def test_a_segment_in_the_other_unicode_form_is_that_segment() -> None:
    sent = {"survey": SURVEY.fingerprint, "segment": "cafe\u0301", "reports": ["0000"]}
    for listed, number in (("caf\u00e9", 2), ("cafe\u0301", 2), ("cafe", 0)):
        assert Batch.from_json(json.dumps(sent), segments=["tea", listed]).segment == number


def test_every_damaged_byte_is_noticed() -> None:
    for place in range(len(WHOLE)):
        for flipped in (1, 0x80):
            damaged = bytearray(WHOLE)
            damaged[place] ^= flipped
            with pytest.raises(BatchError):
                Batch.from_bytes(bytes(damaged), segments=SEGMENTS)
    for size in range(len(WHOLE)):
        with pytest.raises(BatchError):
            Batch.from_bytes(WHOLE[:size], segments=SEGMENTS)
    with pytest.raises(BatchError, match="checksum"):
        Batch.from_bytes(WHOLE + b"\0")


@pytest.mark.parametrize(
    ("place", "data", "match"),
    [
        (8, struct.pack("<H", 2), "batch of version 2, but this software reads 1"),
        (12, struct.pack("<I", 0), "1 to 65536 reports, got 0"),
        (12, struct.pack("<I", MOST_REPORTS + 1), "1 to 65536 reports, got 65537"),
        (12, struct.pack("<I", 4), "must have the same width"),
        (12, struct.pack("<I", 7), "must have the same width"),
    ],
)
def test_a_sealed_batch_that_cannot_be_is_refused(place: int, data: bytes, match: str) -> None:
    made = bytearray(WHOLE)
    made[place : place + len(data)] = data
    with pytest.raises(BatchError, match=match):
        Batch.from_bytes(resealed(bytes(made)), segments=SEGMENTS)


def test_a_batch_has_a_largest_size() -> None:
    largest = Batch(FP, 0, bytes(MOST_BYTES), MOST_REPORTS)
    assert len(largest.to_bytes()) == LARGEST_BATCH
    assert Batch.from_bytes(largest.to_bytes()) == largest
    with pytest.raises(BatchError, match="at most 16777216 bytes"):
        Batch(FP, 0, bytes(MOST_BYTES + 1), 1)
    text = f'{{"survey":"{FP}","reports":["{"00" * (MOST_BYTES + 1)}"]}}'
    with pytest.raises(BatchError, match="at most 16777216 bytes"):
        Batch.from_json(text)


@settings(deadline=None, max_examples=400, derandomize=True)
@given(st.binary(max_size=120), st.booleans(), st.booleans())
def test_bytes_of_anybody_are_a_batch_or_a_batch_error(
    data: bytes, headed: bool, sealed: bool
) -> None:
    data = WHOLE[:12] + data if headed else data
    data = resealed(data + bytes(4)) if sealed else data
    for read in (Batch.from_bytes, Batch.from_json):
        try:
            batch = read(data, segments=SEGMENTS)
        except BatchError as error:
            assert str(error)
        else:
            assert len(batch.records) == batch.reports * batch.width > 0


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


@settings(deadline=None, max_examples=400, derandomize=True)
@given(
    JSON
    | st.fixed_dictionaries(
        {},
        optional={
            "survey": JSON | st.just(FP),
            "segment": JSON,
            "reports": JSON | st.lists(st.sampled_from(["00", "0g", "AB", "0", "", "é0"])),
        },
    )
)
def test_documents_of_anybody_are_a_batch_or_a_batch_error(document: object) -> None:
    try:
        Batch.from_json(json.dumps(document), segments=SEGMENTS)
    except BatchError as error:
        assert all(type(place) is int and reason for place, reason in error.refused)


def test_wrong_reports_are_named_by_their_places() -> None:
    good = ["0001", "0002", "0003"]
    wrong = [*good, 5, "00", "zz11", "ABCD", "12 34", " 1234", "00010"]
    document = {"survey": FP, "reports": wrong}
    with pytest.raises(BatchError, match="The one at position 3 is not") as raised:
        Batch.from_json(json.dumps(document))
    places = [place for place, _ in raised.value.refused]
    assert places == list(range(3, 10))
    assert "zz11" not in str(raised.value) + str(raised.value.refused)
    document["reports"] = ["0"] * 500
    with pytest.raises(BatchError) as raised:
        Batch.from_json(json.dumps(document))
    assert len(raised.value.refused) == 100


@pytest.mark.parametrize("report", ["AB", "0g", "1 ", " 1", "\u0661\u0662", "é0"])
def test_a_report_is_written_in_one_way(report: str) -> None:
    with pytest.raises(BatchError, match="lowercase hex digits") as raised:
        Batch.from_json(json.dumps({"survey": FP, "reports": [report, report]}))
    assert [place for place, _ in raised.value.refused] == [0, 1]


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("[]", "must be a JSON object"),
        ("{", "damaged"),
        (b"\xff\xfe", "UTF-16"),
        (f'{{"survey":"{FP}"}}', "one is missing"),
        (f'{{"survey":"{FP}","reports":["00"],"device":"x"}}', "unknown key 'device'"),
        (f'{{"survey":"{FP}","reports":["00"],"reports":["00"]}}', "has a key twice"),
        (f'{{"survey":"{FP.upper()}","reports":["00"]}}', "64 lowercase hex digits"),
        (f'{{"survey":"{FP}","reports":[]}}', "list of 1 to 65536"),
        (f'{{"survey":"{FP}","reports":"00"}}', "list of 1 to 65536"),
        (f'{{"survey":"{FP}","segment":1,"reports":["00"]}}', "a string or null"),
    ],
)
def test_other_documents_are_refused(text: str | bytes, match: str) -> None:
    with pytest.raises(BatchError, match=match):
        Batch.from_json(text)


def test_problems_say_what_a_device_does() -> None:
    assert len({problem.sentence for problem in Problem}) == len(Problem)
    # Written out once more: a word that enters the list by mistake destroys reports.
    assert {problem.value for problem in Problem if problem.final} == {
        *("malformed-batch", "batch-changed", "other-text", "reports-refused"),
        *("epoch-closed", "epoch-deleted", "survey-deleted"),
    }
    assert all(problem in UPLOAD_PROBLEMS for problem in Problem if problem.final)
    assert Problem.CHANGED.urn == "urn:lapwing:problem:batch-changed"
    assert Problem.FULL.status is HTTPStatus.INSUFFICIENT_STORAGE
    assert all(problem.status >= 400 for problem in Problem)
