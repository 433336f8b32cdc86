"""One upload: some reports of one survey and one segment, as packed bytes or as JSON.

::

    8 bytes  "LWUPLOAD"
    u16      version, 1
    u16      segment: 0 for none, i for the i-th of the survey, counted from 1
    u32      reports n, 1..65536
    32 bytes fingerprint of the survey
    n * w    records, n * w at most 2^24 bytes
    u32      CRC-32 of everything above

All numbers are little-endian. The batch carries no name, no time and no number of its sender. Its
id is in the address to which it is sent, and only serves to count it once.
"""

from __future__ import annotations

import json
import re
import struct
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from typing import Final

import numpy as np

from lapwing.documents import parse, quoted
from lapwing.errors import ArgumentError, BatchError, FormatError
from lapwing.linear.memoized import cached_property
from lapwing.protocol.domains.label_text import place_of
from lapwing.protocol.messages.reports import Reports

MEDIA_TYPE = "application/vnd.lapwing.batch"
JSON_MEDIA_TYPE = "application/json"

STORED: Final = "stored"
ALREADY: Final = "already stored"
"""What a collector says of a batch that it has: stored now, or before with the same bytes."""

MAGIC = b"LWUPLOAD"
VERSION = 1
MOST_REPORTS = 65_536
MOST_BYTES = 2**24
"""Of the records of one batch."""

NO_SEGMENT = 0

MOST_REFUSED = 100
"""Wrong reports that an answer names, at most."""

_HEADER = struct.Struct("<8sHHI32s")
_CHECKSUM = struct.Struct("<I")
_FINGERPRINT = re.compile(r"[0-9a-f]{64}")
LARGEST_JSON = 2**14
"""Bytes of the largest batch in JSON that a collector reads."""
# Larger ones are sent packed. Measured: JSON that is made to be slow takes 0.1 ms for each KiB, so
# this is at most 2 ms.

EPOCH_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{0,63}")
_HEX = re.compile(r"[0-9a-f]+")
_KEYS = {"survey", "segment", "reports"}

LARGEST_BATCH = _HEADER.size + MOST_BYTES + _CHECKSUM.size
"""Bytes of the largest packed batch. A longer one is refused before it is read."""


EPOCH_NAME_RULE = (
    "1 to 64 of the characters a-z, 0-9, '.' and '-', starting with a letter or digit, such as "
    "2026-12"
)
"""What a message says of a name that is not legal."""


def check_epoch_name(name: object) -> None:
    """Raise ArgumentError unless this is a name of an epoch."""
    if not isinstance(name, str) or not EPOCH_NAME.fullmatch(name):
        raise ArgumentError(f"the name of an epoch must be {EPOCH_NAME_RULE}")


@dataclass(frozen=True)
class Batch:
    """Reports that are sent, stored and counted together, or not at all.

    survey: Fingerprint of the survey, 64 hex digits.
    segment: 0 without a segment or for all others, i for the i-th of the survey, counted from 1.
    records: The reports, one behind the other.
    reports: How many, 1..65536.

    Raises BatchError when the records cannot be divided into so many reports of one width, or are
    too many.
    """

    survey: str
    segment: int
    records: bytes
    reports: int

    def __post_init__(self) -> None:
        """Check the sizes."""
        if not 1 <= self.reports <= MOST_REPORTS:
            raise BatchError(
                f"a batch must have 1 to {MOST_REPORTS} reports, got {self.reports}. Send several"
            )
        size = len(self.records)
        if not 1 <= size <= MOST_BYTES or size % self.reports:
            raise BatchError(
                f"the records of {self.reports} reports must have the same width and at most "
                f"{MOST_BYTES} bytes together, got {size}"
            )
        if not 0 <= self.segment < 2**16 or not _FINGERPRINT.fullmatch(self.survey):
            raise BatchError("a batch names its survey by 64 hex digits, and a segment in 0..65535")

    def __repr__(self) -> str:
        """Return one line. The reports themselves stay unprinted."""
        return f"<Batch of {self.reports} report(s) for survey {self.survey[:12]}>"

    @property
    def width(self) -> int:
        """Bytes per report."""
        return len(self.records) // self.reports

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of what the batch says, whichever form it came in: 32 bytes."""
        return sha256(self._header() + self.records).digest()

    def to_reports(self, randomizer: str) -> Reports:
        """Return the records as reports of a randomizer, given by its fingerprint."""
        records = np.frombuffer(self.records, dtype=np.uint8).reshape(self.reports, -1)
        return Reports(records, randomizer, self.survey)

    @classmethod
    def of(cls, reports: Reports, *, survey: str, segment: int = NO_SEGMENT) -> Batch:
        """Return the batch of some reports."""
        return cls(survey, segment, np.ascontiguousarray(reports.data).tobytes(), len(reports))

    def _header(self) -> bytes:
        survey = bytes.fromhex(self.survey)
        return _HEADER.pack(MAGIC, VERSION, self.segment, self.reports, survey)

    def to_bytes(self) -> bytes:
        """Return the packed form."""
        body = self._header() + self.records
        return body + _CHECKSUM.pack(zlib.crc32(body))

    @staticmethod
    def intact(data: bytes) -> bool:
        """Return whether bytes have arrived as a client packed them: their checksum is right."""
        body, checksum = data[: -_CHECKSUM.size], data[-_CHECKSUM.size :]
        return len(body) >= _HEADER.size and checksum == _CHECKSUM.pack(zlib.crc32(body))

    @classmethod
    def from_bytes(cls, data: bytes, *, segments: Sequence[str] | None = ()) -> Batch:
        """Return the batch in its packed form.

        segments: Segments of the survey. A number beyond them counts as none. None: any number is
            kept.

        Raises BatchError when it is not a batch, of an unknown version, too large or damaged.
        """
        if data[: len(MAGIC)] != MAGIC:
            raise BatchError(
                "a batch must begin with LWUPLOAD, but this one does not. Send a packed batch"
            )
        if len(data) < _HEADER.size + _CHECKSUM.size:
            raise BatchError("the batch ends within its header. Send all of its bytes")
        _, version, segment, reports, survey = _HEADER.unpack_from(data)
        if version != VERSION:
            raise BatchError(
                f"this is a batch of version {version}, but this software reads {VERSION}. "
                "Update lapwing"
            )
        records = data[_HEADER.size : -_CHECKSUM.size]
        if zlib.crc32(data[: -_CHECKSUM.size]) != _CHECKSUM.unpack_from(data, len(data) - 4)[0]:
            raise BatchError("the batch is damaged: its checksum does not match. Send it again")
        known = segments is None or segment <= len(segments)
        return cls(survey.hex(), segment if known else NO_SEGMENT, records, reports)

    def to_json(self, *, segments: Sequence[str] = ()) -> bytes:
        """Return the JSON form as bytes, ready to be sent as they are (UTF-8).

        segments: Those of the survey.
        """
        digits, step = self.records.hex(), 2 * self.width
        return json.dumps(
            {
                "survey": self.survey,
                "segment": segments[self.segment - 1] if self.segment else None,
                "reports": [digits[at : at + step] for at in range(0, len(digits), step)],
            },
            ensure_ascii=False,
            separators=(",", ":"),
        ).encode()

    @classmethod
    def from_json(cls, text: bytes | str, *, segments: Sequence[str] = ()) -> Batch:
        """Return the batch in its JSON form.

        segments: Segments of the survey. Any other label is read as no label.

        Raises BatchError when it is not a batch, with the positions of reports that are not written
        in hex.
        """
        try:
            document = parse(text, name="a batch")
        except FormatError as error:
            raise BatchError(str(error)) from None
        if not document.keys() <= _KEYS or not document.keys() >= {"survey", "reports"}:
            unknown = sorted(document.keys() - _KEYS)
            came = f"got the unknown key {quoted(unknown[0])}" if unknown else "one is missing"
            raise BatchError(f'a batch has the keys "survey", "reports" and "segment", {came}')
        survey, label, written = document["survey"], document.get("segment"), document["reports"]
        if not isinstance(survey, str) or not _FINGERPRINT.fullmatch(survey):
            raise BatchError("a batch must name its survey by 64 lowercase hex digits")
        if not isinstance(label, str | None):
            raise BatchError("the segment of a batch must be a string or null")
        if not isinstance(written, list) or not 1 <= len(written) <= MOST_REPORTS:
            raise BatchError(f"a batch must contain a list of 1 to {MOST_REPORTS} reports")
        place = None if label is None else place_of(label, segments)
        segment = NO_SEGMENT if place is None else place + 1
        return cls(survey, segment, _records(written), len(written))


def _records(written: list[object]) -> bytes:
    """Return the bytes of reports in hex. BatchError names those that are not."""
    texts = [text for text in written if isinstance(text, str)]
    sizes = set(map(len, texts))
    digits = "".join(texts)
    if len(texts) == len(written) and len(sizes) == 1 and not max(sizes) % 2:
        if len(digits) > 2 * MOST_BYTES:
            raise BatchError(
                f"a batch must have at most {MOST_BYTES} bytes of reports. Send several"
            )
        if _HEX.fullmatch(digits):
            return bytes.fromhex(digits)
    # What most of them are is taken for what all should be.
    size = Counter(map(len, texts)).most_common(1)[0][0] if texts else 0
    wrong = (
        (position, reason)
        for position, text in enumerate(written)
        if (reason := _wrong(text, size)) is not None
    )
    refused = tuple(islice(wrong, MOST_REFUSED))
    raise BatchError(
        "every report must be a string of lowercase hex digits, two per byte and equally long "
        f"in all reports. The one at position {refused[0][0]} is not",
        refused=refused,
    )


def _wrong(text: object, size: int) -> str | None:
    if not isinstance(text, str):
        return "a report must be a string"
    if not _HEX.fullmatch(text) or len(text) % 2:
        return "a report must be lowercase hex digits, two per byte"
    return "all reports of a batch must have the same width" if len(text) != size else None
