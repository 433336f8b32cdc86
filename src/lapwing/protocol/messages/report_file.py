"""The compact report file: a header, then fixed-width records in checksummed blocks.

::

    header   8 bytes  "LWREPORT"
             u16      version, 1
             u16      0, reserved
             u32      bytes per report
             32 bytes fingerprint of the survey
             32 bytes fingerprint of the randomizer
             u32      CRC-32 of everything above
    block    u32      reports in the block, 1..65536
             u32      CRC-32 of the four bytes above and of the records
             records  reports * bytes per report

All numbers are little-endian. Blocks repeat until the end of the file. A file may be appended to;
if a writer dies, only its last block is torn, which the checksum shows. A damaged byte costs the
reports of its block, so blocks are written small; those behind it are found again.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import FormatError, MismatchError, TornFileError
from lapwing.protocol.messages.reports import Reports
from lapwing.protocol.messages.rereading import Rereading

MAGIC = b"LWREPORT"
VERSION = 1
LARGEST_BLOCK = 65_536
LARGEST_BLOCK_BYTES = 16 * 2**20
LARGEST_WIDTH = 2**24

WRITTEN_BLOCK = 1024
WRITTEN_BLOCK_BYTES = 64 * 2**10
"""Of the blocks that are written: a damaged byte costs this many reports, and the eight bytes of
each block are less than one in a hundred."""

_HEADER = struct.Struct("<8sHHI32s32s")
_CHECKSUM = struct.Struct("<I")
_BLOCK = struct.Struct("<II")
_NAMED = 5
"""Damaged blocks that a message names."""
_PROBED = 16
"""Damaged blocks in a row behind which reading still goes on."""


@dataclass(frozen=True)
class Header:
    """What the file says about its records.

    Parameters
    ----------
    width : int
        Bytes per report.
    survey, randomizer : str
        Fingerprints, 64 hex digits.
    """

    width: int
    survey: str
    randomizer: str

    def to_bytes(self) -> bytes:
        """Return the 84 bytes at the start of a file."""
        survey, randomizer = bytes.fromhex(self.survey), bytes.fromhex(self.randomizer)
        header = _HEADER.pack(MAGIC, VERSION, 0, self.width, survey, randomizer)
        return header + _CHECKSUM.pack(zlib.crc32(header))


def reports_per_block(width: int) -> int:
    """Return how many reports of a width a block may hold: at most 65536 and 16 MiB."""
    return max(1, min(LARGEST_BLOCK, LARGEST_BLOCK_BYTES // width))


def written_per_block(width: int) -> int:
    """Return how many reports of a width are written into one block: at most 1024 and 64 KiB."""
    return max(1, min(WRITTEN_BLOCK, WRITTEN_BLOCK_BYTES // width))


def write(stream: IO[bytes], header: Header, batches: Iterable[Reports]) -> int:
    """Write a header and batches of reports; return the number of reports.

    Parameters
    ----------
    stream : binary file
    header : Header
    batches : iterable of Reports
        Each is written as one or more blocks.

    Raises
    ------
    MismatchError
        When a batch is not of the header's randomizer and width; the batches before it stand.
    """
    stream.write(header.to_bytes())
    total = 0
    size = written_per_block(header.width)
    for batch in batches:
        if (batch.fingerprint, batch.width) != (header.randomizer, header.width):
            raise MismatchError(
                f"this file holds reports of {header.width} bytes by randomizer "
                f"{header.randomizer[:12]}, got a batch of {batch.width} bytes by "
                f"{batch.fingerprint[:12]}"
            )
        for start in range(0, len(batch), size):
            records = np.ascontiguousarray(batch.data[start : start + size])
            count = struct.pack("<I", records.shape[0])
            stream.write(count + _CHECKSUM.pack(zlib.crc32(records.data, zlib.crc32(count))))
            stream.write(records.data)
            total += records.shape[0]
    return total


def read_header(stream: IO[bytes], *, name: str) -> Header:
    """Return the header of a report file.

    Raises
    ------
    FormatError
        When it is not a report file, of an unknown version or damaged.
    """
    data = stream.read(_HEADER.size + _CHECKSUM.size)
    if not data:
        raise FormatError(f"{name} is empty; a file of no reports has a header")
    if data[: len(MAGIC)] != MAGIC:
        raise FormatError(f"{name} must be a report file of lapwing, it is not; check the name")
    if len(data) < _HEADER.size + _CHECKSUM.size:
        raise FormatError(f"{name} ends within its header; no reports can be read from it")
    _, version, reserved, width, survey, randomizer = _HEADER.unpack_from(data)
    if version != VERSION:
        raise FormatError(
            f"{name} is a report file of version {version}, this software reads {VERSION}; "
            "update lapwing"
        )
    if _CHECKSUM.unpack_from(data, _HEADER.size)[0] != zlib.crc32(data[: _HEADER.size]):
        raise FormatError(f"the header of {name} is damaged; no reports can be read from it")
    if reserved:
        raise FormatError(
            f"{name} uses a reserved field of the header, which version {VERSION} does not know; "
            "update lapwing"
        )
    if not 1 <= width <= LARGEST_WIDTH:
        raise FormatError(f"the header of {name} states {width} bytes per report, an absurd width")
    return Header(width, survey.hex(), randomizer.hex())


def read_blocks(stream: IO[bytes], header: Header, *, path: Path) -> Iterator[Reports]:
    """Yield the blocks of a file, each checked before it is yielded.

    A block that fails its checksum is left out, and reading goes on behind it where a whole block
    follows. Of a stream that cannot be read twice, what is looked through for one is kept: at most
    1 MiB of blocks as they are written.

    Raises
    ------
    TornFileError
        After all intact blocks were yielded, when one ends early or fails its checksum; it says
        which reports are lost and how many are intact.
    """
    lost: list[_Lost] = []
    source: IO[bytes] | Rereading = stream if stream.seekable() else Rereading(stream)
    intact, first, block, usual = 0, 0, 0, written_per_block(header.width)
    while head := source.read(_BLOCK.size):
        block += 1
        start = source.tell() - len(head)
        records = _records(source, head, header.width)
        if records is not None:
            usual = count = records.shape[0]
            intact += count
            yield Reports(records, header.randomizer)
        else:
            count = _behind(source, start, head, header.width, usual)
            lost.append(_Lost(block, first + 1, first + count if count else None))
            if not count:
                break
        first += count
        if isinstance(source, Rereading):
            source.forget()
    if lost:
        raise TornFileError(
            _said(lost, intact, path.name), path=path, block=lost[0].block, intact=intact
        )


class _Lost(NamedTuple):
    """A damaged block, and its reports, counted from 1; last is None where none behind is found."""

    block: int
    first: int
    last: int | None


def _said(lost: list[_Lost], intact: int, name: str) -> str:
    """Return which blocks are damaged, which reports are lost, and what is intact."""
    number, first, last = lost[0]
    if last is None and len(lost) == 1:
        return (
            f"block {number} of {name} is torn, and reports from {first} on are lost; the {intact} "
            "reports in the blocks before it are intact"
        )
    named = ", ".join(str(one.block) for one in lost[:_NAMED])
    places = ", ".join(
        f"{one.first} to {one.last}" if one.last else f"from {one.first} on"
        for one in lost[:_NAMED]
    )
    more = f" and {len(lost) - _NAMED} more" if len(lost) > _NAMED else ""
    blocks, are = ("blocks", "are") if len(lost) > 1 else ("block", "is")
    return (
        f"{blocks} {named}{more} of {name} {are} damaged, and the reports {places}{more} are lost; "
        f"the {intact} reports in its other blocks are intact"
    )


def _behind(stream: IO[bytes] | Rereading, start: int, head: bytes, width: int, usual: int) -> int:
    """Return how many reports a damaged block holds, and go to its end; 0 where nobody can tell.

    Its number of reports may be what is damaged. So a number is believed when a whole block
    follows: that which is stated (also where the file ends there), that of the block before, that
    which is written today. Between may stand more damaged blocks of the same number.
    """
    stated = _BLOCK.unpack(head)[0] if len(head) == _BLOCK.size else 0
    for count in dict.fromkeys((stated, usual, written_per_block(width))):
        if not 1 <= count <= reports_per_block(width):
            continue
        size = _BLOCK.size + count * width
        end = _reached(stream, start + _PROBED * size + 1)
        for place in range(start + size, min(end, start + _PROBED * size) + 1, size):
            stream.seek(place)
            ends = place == end and place == start + size and count == stated
            if ends or _records(stream, stream.read(_BLOCK.size), width) is not None:
                stream.seek(start + size)
                return count
    return 0


def _reached(stream: IO[bytes] | Rereading, place: int) -> int:
    """Return a place, or that of the end where the stream ends before."""
    if isinstance(stream, Rereading):
        return stream.reach(place)
    return min(place, stream.seek(0, os.SEEK_END))


def _records(stream: IO[bytes] | Rereading, head: bytes, width: int) -> NDArray[np.uint8] | None:
    if len(head) < _BLOCK.size:
        return None
    count, checksum = _BLOCK.unpack(head)
    if not 1 <= count <= reports_per_block(width):
        return None
    data = stream.read(count * width)
    if len(data) < count * width or zlib.crc32(data, zlib.crc32(head[:4])) != checksum:
        return None
    return np.frombuffer(data, dtype=np.uint8).reshape(count, width)
