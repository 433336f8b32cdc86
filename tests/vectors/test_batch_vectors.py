"""The vectors of batches: what this library makes, and enough for a port of a few lines."""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest

from lapwing.errors import BatchError
from lapwing.protocol.messages.batch import Batch

FILE: dict[str, Any] = json.loads(
    (Path(__file__).parent / "v1" / "batches.json").read_text(encoding="utf-8")
)
SEGMENTS = FILE["segments"]
each = pytest.mark.parametrize("case", FILE["batches"], ids=lambda case: case["why"])


@each
def test_library_reads_and_writes_both_forms(case: dict[str, Any]) -> None:
    fields = case["survey"], case["segment"], bytes.fromhex(case["records"]), case["reports"]
    batch = Batch(*fields)
    assert batch.to_bytes().hex() == case["packed"] and batch.digest.hex() == case["digest"]
    assert Batch.from_bytes(bytes.fromhex(case["packed"]), segments=SEGMENTS) == batch
    assert json.loads(batch.to_json(segments=SEGMENTS)) == json.loads(case["json"])
    assert Batch.from_json(case["json"], segments=SEGMENTS) == batch


@each
def test_a_port_written_from_the_page_makes_the_same_bytes(case: dict[str, Any]) -> None:
    survey = bytes.fromhex(case["survey"])
    head = struct.pack("<8sHHI32s", b"LWUPLOAD", 1, case["segment"], case["reports"], survey)
    body = head + bytes.fromhex(case["records"])
    assert (body + struct.pack("<I", zlib.crc32(body))).hex() == case["packed"]
    assert hashlib.sha256(body).hexdigest() == case["digest"]


def test_bad_batches_are_refused_in_both_forms() -> None:
    for case in FILE["bad"]:
        with pytest.raises(BatchError):
            Batch.from_bytes(bytes.fromhex(case["packed"]), segments=SEGMENTS)
            pytest.fail(case["why"])
    for case in FILE["bad_json"]:
        with pytest.raises(BatchError):
            Batch.from_json(case["text"], segments=SEGMENTS)
            pytest.fail(case["why"])
    assert len(FILE["bad"]) >= 10 and len(FILE["bad_json"]) >= 10
