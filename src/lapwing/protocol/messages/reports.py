"""Reports that leave the devices: one fixed-width record per person, and their file format.

The compact file (.lwr) is a header, then records in checksummed blocks::

    header   8 bytes  "LWREPORT"
             u16      version, 1
             u16      0, reserved
             u32      bytes per report
             32 bytes fingerprint of the survey, or zeros where the reports are of none
             32 bytes fingerprint of the randomizer
             u32      CRC-32 of everything above
    block    u32      reports in the block, 1..65536
             u32      CRC-32 of the four bytes above and of the records
             records  reports * bytes per report

All numbers are little-endian. Blocks repeat until the end of the file. A file may be appended to.
If a writer dies, only its last block is torn, which the checksum shows. A damaged byte loses the
reports of its block, so blocks are kept small. The blocks after it can still be found.
"""

from __future__ import annotations

import os
import re
import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lapwing.atomic_files import replacing
from lapwing.documents import opening
from lapwing.errors import ArgumentError, FormatError, MismatchError, ReportError, TornFileError
from lapwing.privacy.guarantee import Standing

MAGIC = b"LWREPORT"
VERSION = 1
LARGEST_BLOCK = 65_536
LARGEST_BLOCK_BYTES = 16 * 2**20
LARGEST_WIDTH = 2**24

WRITTEN_BLOCK = 1024
WRITTEN_BLOCK_BYTES = 64 * 2**10
"""Bytes of the blocks that are written."""
# A damaged byte costs this many reports, and the eight bytes of each block are less than one in a
# hundred.

_HEADER = struct.Struct("<8sHHI32s32s")
_CHECKSUM = struct.Struct("<I")
_FINGERPRINT = re.compile(r"[0-9a-f]{64}")
_NO_SURVEY = "0" * 64
_BLOCK = struct.Struct("<II")
_NAMED = 5
"""Damaged blocks that a message names."""
_PROBED = 16
"""Damaged blocks in a row behind which reading still goes on."""


@dataclass(frozen=True, eq=False, repr=False)
class Reports:
    """Batch of reports from one randomizer.

    Parameters
    ----------
    data : numpy.ndarray
        Bytes of the reports, uint8 [n, width]. The randomizer fixes `width`.
    fingerprint : str
        Fingerprint of the randomizer that made them, 64 hex digits.
    survey : str, optional
        Fingerprint of the survey that asked for them. :meth:`lapwing.Survey.randomize` sets it. A
        file of reports stores it, and no other survey tallies them. Default: none.
    standing : {"seeded"}, optional
        "seeded" if they were drawn from a seed, so that they are not private. Default: None.

    Raises
    ------
    ReportError
        When the data are not two-dimensional bytes.

    See Also
    --------
    lapwing.Survey.randomize : Makes the reports of a survey.

    Notes
    -----
    **Privacy.** Every report is private on its own, with the guarantee of its randomizer. The
    batch keeps the order of the values.

    **Cost.** A file takes ``width`` bytes for each report, and 8 bytes for each block.

    Examples
    --------
    >>> import tempfile
    >>> import lapwing as lw
    >>> response = lw.RandomizedResponse(lw.Categories(["yes", "no"]), epsilon=1)
    >>> reports = response.randomize(["yes", "no", "yes"], rng=lw.seeded(1))
    >>> len(reports), reports.width
    (3, 1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     reports.save(f"{folder}/reports.lwr")
    ...     lw.Reports.load(f"{folder}/reports.lwr") == reports
    True
    """

    data: NDArray[np.uint8]
    fingerprint: str
    survey: str | None = None
    standing: Standing | None = None

    def __post_init__(self) -> None:
        """Check the shape and freeze the bytes."""
        if self.data.dtype != np.uint8 or self.data.ndim != 2:
            raise ReportError(
                "reports must be bytes of shape [n, width], got "
                f"{self.data.dtype.name} of shape {self.data.shape}"
            )
        self.data.flags.writeable = False

    def __eq__(self, other: object) -> bool:
        """Return whether two batches hold the same reports, in the same order.

        The survey that asked for them does not count.
        """
        if not isinstance(other, Reports):
            return False
        return self.fingerprint == other.fingerprint and np.array_equal(self.data, other.data)

    def __hash__(self) -> int:
        """Return a number that is equal for equal batches."""
        return hash((self.fingerprint, self.data.tobytes()))

    def __repr__(self) -> str:
        """Return one line. The reports themselves stay unprinted."""
        return f"<{len(self)} Reports of {self.width} byte(s), randomizer {self.fingerprint[:12]}>"

    def __len__(self) -> int:
        """Return the number of reports."""
        return int(self.data.shape[0])

    @property
    def width(self) -> int:
        """Bytes of one report."""
        return int(self.data.shape[1])

    def __getitem__(self, part: slice) -> Reports:
        """Return a slice of the batch."""
        return replace(self, data=self.data[part])

    def of_survey(self, survey: str) -> Reports:
        """Return the same reports, marked as those of a survey by its fingerprint.

        Parameters
        ----------
        survey : str
            Fingerprint of the survey, 64 hex digits.

        Returns
        -------
        Reports
            Marked copy.
        """
        return replace(self, survey=survey)

    def save(self, path: Path | str) -> None:
        """Write the reports to a compact file, whole or not at all.

        An existing file is replaced.

        Parameters
        ----------
        path : Path or str
            File name that ends in .lwr, by which `lapwing tally` recognizes the format. Its folder
            must exist.

        Raises
        ------
        ArgumentError
            When the path has another ending.
        ReportError
            When a fingerprint is not 64 hex digits, or reports have no bytes.
        """
        path = Path(path)
        if path.suffix.lower() != ".lwr":
            raise ArgumentError(f"a file of reports must end in .lwr, got {path.name}. Rename it")
        header = Header(self.width, self.survey, self.fingerprint, self.standing)
        header.to_bytes()  # refused before a file is begun
        with replacing(path.resolve()) as stream:
            write_blocks(stream, header, [self])

    @classmethod
    def load(cls, path: Path | str) -> Reports:
        """Return the reports in a compact file.

        Parameters
        ----------
        path : Path or str
            File to read.

        Returns
        -------
        Reports
            Stored reports, in order.

        Raises
        ------
        FormatError
            When there is no such file, or it is of another kind or has an unknown version.
        TornFileError
            When a block is damaged. This error is also a FormatError. `lapwing tally --salvage`
            counts the other blocks.
        """
        path = Path(path)
        with opening(path), path.open("rb") as stream:
            header = read_header(stream, name=path.name)
            blocks = [block.data for block in read_blocks(stream, header, path=path)]
        none = np.empty((0, header.width), dtype=np.uint8)
        data = np.concatenate([none, *blocks])
        return cls(data, header.randomizer, header.survey, header.standing)


def code_width(codes: int) -> int:
    """Return the bytes that hold one of so many codes: 1 for 1..256, 2 up to 65536, ..."""
    return max(1, ((codes - 1).bit_length() + 7) // 8)


def pack_codes(codes: NDArray[np.int64], *, width: int) -> NDArray[np.uint8]:
    """Return codes as little-endian bytes: uint8 [n, width]."""
    if width in (1, 2, 4, 8):
        return codes.astype(f"<u{width}").view(np.uint8).reshape(codes.size, width)
    return np.ascontiguousarray(codes.astype("<u8").view(np.uint8).reshape(-1, 8)[:, :width])


def unpack_codes(data: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the codes in little-endian bytes: int64 [n]."""
    width = data.shape[1]
    if width in (1, 2, 4):
        return np.ascontiguousarray(data).view(f"<u{width}").ravel().astype(np.int64)
    padded = np.zeros((data.shape[0], 8), dtype=np.uint8)
    padded[:, :width] = data
    return padded.view("<u8").ravel().astype(np.int64)


# The compact file.


@dataclass(frozen=True)
class Header:
    """Header of a file of reports.

    width: Bytes of one report.
    survey: Fingerprint of the survey, 64 hex digits. None for reports that no survey asked for.
    randomizer: Fingerprint of the randomizer, 64 hex digits.
    standing: That the reports were drawn from a seed.
    """

    width: int
    survey: str | None
    randomizer: str
    standing: Standing | None = None

    def to_bytes(self) -> bytes:
        """Return the 84 bytes at the start of a file.

        Raises ReportError when there is no header for such reports.
        """
        names = (_NO_SURVEY if self.survey is None else self.survey, self.randomizer)
        if not all(map(_FINGERPRINT.fullmatch, names)) or not 1 <= self.width <= LARGEST_WIDTH:
            raise ReportError(
                "a file of reports needs fingerprints of 64 hex digits and reports of 1 to "
                f"{LARGEST_WIDTH} bytes. Make the reports with survey.randomize"
            )
        survey, randomizer = map(bytes.fromhex, names)
        header = _HEADER.pack(
            MAGIC, VERSION, int(self.standing is not None), self.width, survey, randomizer
        )
        return header + _CHECKSUM.pack(zlib.crc32(header))


def reports_per_block(width: int) -> int:
    """Return how many reports of a width a block may hold: at most 65536 and 16 MiB."""
    return max(1, min(LARGEST_BLOCK, LARGEST_BLOCK_BYTES // width))


def written_per_block(width: int) -> int:
    """Return how many reports of a width are written into one block: at most 1024 and 64 KiB."""
    return max(1, min(WRITTEN_BLOCK, WRITTEN_BLOCK_BYTES // width))


def write_blocks(stream: IO[bytes], header: Header, batches: Iterable[Reports]) -> int:
    """Write a header and batches of reports, and return the number of reports.

    stream: File to write to.
    header: Header of the file.
    batches: Batches, of which each is written as one or more blocks.
    returns: Number of reports written.

    Raises MismatchError when a batch is not of the header's randomizer, survey and width. The
    batches before it remain written.
    """
    stream.write(header.to_bytes())
    total = 0
    size = written_per_block(header.width)
    for batch in batches:
        if (batch.fingerprint, batch.width) != (header.randomizer, header.width):
            raise MismatchError(
                f"this file contains reports of {header.width} bytes by randomizer "
                f"{header.randomizer[:12]}, got a batch of {batch.width} bytes by "
                f"{batch.fingerprint[:12]}"
            )
        if batch.survey not in (None, header.survey):
            raise MismatchError(
                f"this file contains reports of another survey, got a batch of {batch.survey[:12]}"
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

    Raises FormatError when it is not a report file, of an unknown version or damaged.
    """
    data = stream.read(_HEADER.size + _CHECKSUM.size)
    if not data:
        raise FormatError(f"{name} is empty. Even a file without reports has a header")
    if data[: len(MAGIC)] != MAGIC:
        raise FormatError(f"{name} must be a report file of lapwing, but it is not. Check the name")
    if len(data) < _HEADER.size + _CHECKSUM.size:
        raise FormatError(f"{name} ends within its header. No reports can be read from it")
    _, version, seeded, width, survey, randomizer = _HEADER.unpack_from(data)
    if version != VERSION:
        raise FormatError(
            f"{name} is a report file of version {version}, but this software reads {VERSION}. "
            "Update lapwing"
        )
    if _CHECKSUM.unpack_from(data, _HEADER.size)[0] != zlib.crc32(data[: _HEADER.size]):
        raise FormatError(f"the header of {name} is damaged. No reports can be read from it")
    if seeded > 1:
        raise FormatError(
            f"{name} uses a header field that is reserved in version {VERSION}. Update lapwing"
        )
    if not 1 <= width <= LARGEST_WIDTH:
        raise FormatError(
            f"the header of {name} states {width} bytes per report, which is impossible"
        )
    whose = survey.hex() if any(survey) else None
    return Header(width, whose, randomizer.hex(), "seeded" if seeded else None)


def read_blocks(stream: IO[bytes], header: Header, *, path: Path) -> Iterator[Reports]:
    """Yield the blocks of a file, each checked before it is yielded.

    A block that fails its checksum is left out. Reading goes on after it where a whole block
    follows. Of a stream that cannot be read twice, at most 1 MiB of blocks, as they are written, is
    kept for the search.

    Raises TornFileError after all intact blocks were yielded, when one ends early or fails its
    checksum. The message states which reports are lost and how many are intact.
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
            yield Reports(records, header.randomizer, header.survey, header.standing)
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
    """A damaged block, and its reports, counted from 1. Last is None where none behind is found."""

    block: int
    first: int
    last: int | None


def _said(lost: list[_Lost], intact: int, name: str) -> str:
    """Return which blocks are damaged, which reports are lost, and what is intact."""
    number, first, last = lost[0]
    if last is None and len(lost) == 1:
        return (
            f"block {number} of {name} is incomplete, so reports from number {first} on are "
            f"lost. The {intact} reports in the blocks before it are intact"
        )
    named = ", ".join(str(one.block) for one in lost[:_NAMED])
    places = ", ".join(
        f"{one.first} to {one.last}" if one.last else f"from {one.first} on"
        for one in lost[:_NAMED]
    )
    more = f" and {len(lost) - _NAMED} more" if len(lost) > _NAMED else ""
    blocks, are = ("blocks", "are") if len(lost) > 1 else ("block", "is")
    return (
        f"{blocks} {named}{more} of {name} {are} damaged, and the reports {places}{more} are lost. "
        f"The {intact} reports in its other blocks are intact"
    )


def _behind(stream: IO[bytes] | Rereading, start: int, head: bytes, width: int, usual: int) -> int:
    """Return how many reports a damaged block holds, and go to its end. 0 where nobody can tell.

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


class Rereading:
    """A pipe as a file whose position may go back, until :meth:`forget` is called.

    stream: Stream to read from its current position, which is position 0.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._kept = bytearray()
        self._start = 0  # the place of the first byte that is kept
        self._place = 0

    def tell(self) -> int:
        """Return the place of the next byte."""
        return self._place

    def seek(self, place: int, whence: int = os.SEEK_SET) -> int:
        """Go to a place that was not forgotten, or beyond what was read."""
        if whence != os.SEEK_SET:
            raise ValueError("the end of a pipe is not known")
        self._place = place
        return place

    def read(self, size: int) -> bytes:
        """Return so many bytes, fewer where the stream ends."""
        self.reach(self._place + size)
        first = self._place - self._start
        part = bytes(self._kept[first : first + size])
        self._place += len(part)
        return part

    def reach(self, place: int) -> int:
        """Read as far as a position and return it, or that of an earlier end."""
        while (missing := place - self._start - len(self._kept)) > 0:
            part = self._stream.read(missing)
            if not part:
                break
            self._kept += part
        return min(place, self._start + len(self._kept))

    def forget(self) -> None:
        """Keep nothing of what stands before the place."""
        del self._kept[: self._place - self._start]
        self._start = self._place
