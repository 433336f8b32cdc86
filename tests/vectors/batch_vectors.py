"""Uploads, packed and as JSON, good ones and ones that must be refused."""

from __future__ import annotations

import zlib
from typing import Any

from lapwing.protocol.messages.batch import Batch

SEGMENTS = ["north", "süd 🐦"]
ONE = "0123456789abcdef" * 4


def batches() -> dict[str, Any]:
    """Return what `batches.json` holds beside its format."""
    return {"segments": SEGMENTS, "batches": _good(), "bad": _bad(), "bad_json": _bad_json()}


def _good() -> list[dict[str, Any]]:
    made = {
        "three reports of two bytes, no segment": Batch(ONE, 0, bytes(range(6)), 3),
        "one report of one byte, the first segment": Batch("0" * 64, 1, b"\x07", 1),
        "the second segment, whose label is no ASCII": Batch("f" * 64, 2, b"\xff" * 33, 1),
        "a hundred reports": Batch(ONE, 0, bytes(100), 100),
    }
    return [
        {
            "survey": batch.survey,
            "segment": batch.segment,
            "reports": batch.reports,
            "records": batch.records.hex(),
            "packed": batch.to_bytes().hex(),
            "json": batch.to_json(segments=SEGMENTS).decode(),
            "digest": batch.digest.hex(),
            "why": why,
        }
        for why, batch in made.items()
    ]


def _summed(body: bytes) -> bytes:
    """Return what a packed batch would be with these bytes before its checksum."""
    return body + zlib.crc32(body).to_bytes(4, "little")


def _bad() -> list[dict[str, str]]:
    sound = Batch(ONE, 1, bytes(range(6)), 3).to_bytes()
    body = sound[:-4]
    cases = {
        "nothing": b"",
        "another beginning": _summed(b"LWREPORT" + body[8:]),
        "version 2": _summed(body[:8] + b"\2\0" + body[10:]),
        "a changed record": sound[:50] + b"\xff" + sound[51:],
        "a changed checksum": sound[:-1] + bytes([sound[-1] ^ 1]),
        "cut in the header": sound[:30],
        "cut in the records": sound[:-5],
        "one byte too many": sound + b"\0",
        "no reports": _summed(body[:12] + bytes(4) + body[16:48]),
        "no reports, but records": _summed(body[:12] + bytes(4) + body[16:]),
        "records that are no whole number for each report": _summed(body + b"\0"),
        "more reports than bytes": _summed(body[:12] + b"\7" + body[13:]),
    }
    return [{"packed": packed.hex(), "why": why} for why, packed in cases.items()]


def _bad_json() -> list[dict[str, str]]:
    survey = f'"survey":"{ONE}"'
    cases = {
        "a list": "[]",
        "no reports": f'{{{survey},"reports":[]}}',
        "no list of reports": f"{{{survey}}}",
        "no survey": '{"reports":["00"]}',
        "a survey in capitals": f'{{"survey":"{ONE.upper()}","reports":["00"]}}',
        "a key that nobody knows": f'{{{survey},"reports":["00"],"device":"a"}}',
        "a key twice": f'{{{survey},{survey},"reports":["00"]}}',
        "a segment by its number": f'{{{survey},"segment":1,"reports":["00"]}}',
        "a report that is a number": f'{{{survey},"reports":[0]}}',
        "half a byte": f'{{{survey},"reports":["000"]}}',
        "capitals": f'{{{survey},"reports":["AB"]}}',
        "reports of two widths": f'{{{survey},"reports":["00","0000"]}}',
        "a report without bytes": f'{{{survey},"reports":[""]}}',
    }
    return [{"text": text, "why": why} for why, text in cases.items()]
