"""The compact report file: what is intact is read, what is not is named, nothing is guessed."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lapwing import Reports
from lapwing.errors import FormatError, MismatchError, TornFileError
from lapwing.protocol.messages.reports import (
    LARGEST_BLOCK,
    LARGEST_BLOCK_BYTES,
    LARGEST_WIDTH,
    MAGIC,
    WRITTEN_BLOCK,
    WRITTEN_BLOCK_BYTES,
    Header,
    read_blocks,
    read_header,
    reports_per_block,
    write_blocks,
    written_per_block,
)

STEADY = settings(deadline=None, max_examples=60, derandomize=True)
PATH = Path("income.lwr")
SURVEY, RANDOMIZER = "5a" * 32, "c3" * 32
HEADER_BYTES = 84


def batch(count: int, *, width: int = 3, seed: int = 1, randomizer: str = RANDOMIZER) -> Reports:
    data = np.random.default_rng(seed).integers(0, 256, size=(count, width), dtype=np.uint8)
    return Reports(data, randomizer)


def written(*batches: Reports, width: int = 3) -> bytes:
    stream = io.BytesIO()
    total = write_blocks(stream, Header(width, SURVEY, RANDOMIZER), batches)
    assert total == sum(map(len, batches))
    return stream.getvalue()


def read_all(data: bytes) -> tuple[Header, list[Reports]]:
    stream = io.BytesIO(data)
    header = read_header(stream, name=PATH.name)
    return header, list(read_blocks(stream, header, path=PATH))


def read_until_torn(data: bytes) -> tuple[int, int, TornFileError | None]:
    """Return reports and blocks read, and the error that ended it."""
    stream = io.BytesIO(data)
    header = read_header(stream, name=PATH.name)
    reports = blocks = 0
    try:
        for block in read_blocks(stream, header, path=PATH):
            reports += len(block)
            blocks += 1
    except TornFileError as error:
        return reports, blocks, error
    return reports, blocks, None


@STEADY
@given(
    st.lists(st.integers(0, 40), max_size=5),
    st.sampled_from([1, 2, 3, 8, 125]),
)
def test_round_trip(counts: list[int], width: int) -> None:
    batches = [batch(count, width=width, seed=count) for count in counts]
    header, blocks = read_all(written(*batches, width=width))
    assert header == Header(width, SURVEY, RANDOMIZER)
    rows = [row for part in batches for row in part.data.tolist()]
    assert [row for part in blocks for row in part.data.tolist()] == rows
    assert all(part.fingerprint == RANDOMIZER and part.width == width for part in blocks)
    assert [len(part) for part in blocks] == [count for count in counts if count]


def test_the_bytes_are_the_documented_ones() -> None:
    data = written(batch(2, width=1, seed=0), width=1)
    start = struct.pack("<8sHHI", b"LWREPORT", 1, 0, 1) + bytes.fromhex(SURVEY + RANDOMIZER)
    records = bytes(batch(2, width=1, seed=0).data.ravel())
    count = struct.pack("<I", 2)
    expected = start + struct.pack("<I", zlib.crc32(start))
    expected += count + struct.pack("<I", zlib.crc32(count + records)) + records
    assert data == expected and len(start) + 4 == HEADER_BYTES


def test_large_batches_are_cut_into_blocks() -> None:
    many = batch(LARGEST_BLOCK + 5, width=1)
    _, blocks = read_all(written(many, width=1))
    assert [len(block) for block in blocks] == [WRITTEN_BLOCK] * 64 + [5]
    assert np.array_equal(np.vstack([block.data for block in blocks]), many.data)
    for width in (1, 256, 257, 2**20, LARGEST_WIDTH):
        size = reports_per_block(width)
        assert 1 <= size <= LARGEST_BLOCK and size * width <= LARGEST_BLOCK_BYTES
        assert 1 <= written_per_block(width) <= size
    assert WRITTEN_BLOCK_BYTES < LARGEST_BLOCK_BYTES


def test_blocks_of_any_legal_size_are_read() -> None:
    """Files of before have blocks of up to 65536 reports."""
    data = batch(LARGEST_BLOCK, width=1).data
    count = struct.pack("<I", LARGEST_BLOCK)
    checksum = struct.pack("<I", zlib.crc32(data.tobytes(), zlib.crc32(count)))
    _, (block,) = read_all(written(width=1) + count + checksum + data.tobytes())
    assert np.array_equal(block.data, data)


@pytest.mark.parametrize("width", [1, 3, 200])
def test_a_damaged_byte_costs_its_block_alone(width: int) -> None:
    people = 20 * WRITTEN_BLOCK + 7
    data = written(batch(people, width=width), width=width)
    _, whole = read_all(data)
    ends = HEADER_BYTES + np.cumsum([8 + len(block) * width for block in whole])
    firsts = np.cumsum([0, *(len(block) for block in whole)])
    rng = np.random.default_rng(width)
    for damaged in (0, 7, len(whole) - 2, len(whole) - 1):
        start = ends[damaged] - 8 - len(whole[damaged]) * width
        # Its number of reports, the high byte of it, its checksum, and any of its records.
        for place in (start, start + 3, start + 5, rng.integers(start + 8, ends[damaged])):
            torn = bytearray(data)
            torn[place] ^= 1 << int(rng.integers(8))
            reports, blocks, error = read_until_torn(bytes(torn))
            last_count = damaged == len(whole) - 1 and place < start + 4
            assert blocks == len(whole) - 1 and reports == people - len(whole[damaged])
            assert error is not None and (error.block, error.intact) == (damaged + 1, reports)
            if last_count:  # nothing stands behind it, and no block has been of this size
                lost = f"reports from number {firsts[damaged] + 1} on"
            else:
                lost = f"reports {firsts[damaged] + 1} to {firsts[damaged + 1]} are lost"
            assert lost in str(error), str(error)


def test_several_damaged_blocks_are_all_named() -> None:
    data = bytearray(written(batch(7 * WRITTEN_BLOCK, width=1), width=1))
    size = 8 + WRITTEN_BLOCK
    for block in (1, 3, 4):
        data[HEADER_BYTES + block * size + 500] ^= 1
    reports, blocks, error = read_until_torn(bytes(data))
    assert (reports, blocks) == (4 * WRITTEN_BLOCK, 4)
    assert "blocks 2, 4, 5 of income.lwr are damaged" in str(error)
    assert "the reports 1025 to 2048, 3073 to 4096, 4097 to 5120 are lost" in str(error)
    data[HEADER_BYTES + 5 * size] ^= 1
    reports, blocks, error = read_until_torn(bytes(data[:-1]))
    assert (reports, blocks) == (2 * WRITTEN_BLOCK, 2)
    assert "the reports 1025 to 2048, from 3073 on are lost" in str(error)


class Pipe(io.RawIOBase):
    """A stream that is read once, and tells no place, a few bytes at a time."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self._rest = data

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def tell(self) -> int:
        raise OSError

    def readinto(self, part: Any) -> int:
        size = min(len(part), 1000, len(self._rest))
        part[:size], self._rest = self._rest[:size], self._rest[size:]
        return size


def through_a_pipe(data: bytes) -> tuple[int, int, str]:
    """Return the reports and blocks that are read, and what is said of the rest."""
    stream = io.BufferedReader(Pipe(data))
    reports = blocks = 0
    try:
        for block in read_blocks(stream, read_header(stream, name="x"), path=PATH):
            reports, blocks = reports + len(block), blocks + 1
    except TornFileError as error:
        return reports, blocks, str(error)
    return reports, blocks, ""


def test_a_stream_that_cannot_be_read_twice_gives_what_a_file_gives() -> None:
    """Whole, damaged in one place or many, at the count of a block, and torn at its end."""
    data = written(batch(40 * WRITTEN_BLOCK + 9, width=1), width=1)
    size = 8 + WRITTEN_BLOCK
    rng = np.random.default_rng(2)
    for damaged in ((), (0,), (3,), (40,), (1, 2, 3), tuple(range(4, 19)), tuple(range(4, 30))):
        for at in (0, 3, 5, 500):
            torn = bytearray(data)
            for block in damaged:
                torn[min(HEADER_BYTES + block * size + at, len(torn) - 1)] ^= 1
            for end in (len(torn), len(torn) - int(rng.integers(1, size))):
                reports, blocks, error = read_until_torn(bytes(torn[:end]))
                said = "" if error is None else str(error)
                assert through_a_pipe(bytes(torn[:end])) == (reports, blocks, said)
    middle = bytearray(data)
    middle[HEADER_BYTES + 3 * WRITTEN_BLOCK] ^= 1
    assert through_a_pipe(bytes(middle))[:2] == (39 * WRITTEN_BLOCK + 9, 40)


def test_a_view_with_gaps_is_written_as_its_rows() -> None:
    wide = batch(20, width=6)
    part = Reports(wide.data[::2, :3], RANDOMIZER)
    _, (block,) = read_all(written(part))
    assert np.array_equal(block.data, wide.data[::2, :3])


SIZES = (4, 1, 6)
SMALL = written(*(batch(size, seed=size) for size in SIZES))
ENDS = [HEADER_BYTES]
for size in SIZES:
    ENDS.append(ENDS[-1] + 8 + 3 * size)


def test_every_truncation_is_detected_and_loses_nothing_before_it() -> None:
    assert ENDS[-1] == len(SMALL)
    for length in range(len(SMALL) + 1):
        data = SMALL[:length]
        if length < HEADER_BYTES:
            with pytest.raises(FormatError, match=r"income\.lwr") as caught:
                read_all(data)
            assert not isinstance(caught.value, TornFileError)
            continue
        whole = sum(end <= length for end in ENDS[1:])
        intact = sum(SIZES[:whole])
        reports, blocks, error = read_until_torn(data)
        assert (reports, blocks) == (intact, whole)
        if length in ENDS:
            assert error is None
        else:
            assert error is not None and error.path == PATH
            assert (error.block, error.intact) == (whole + 1, intact)
            assert f"block {whole + 1} of income.lwr" in str(error)
            assert f"{intact} reports" in str(error)


def test_every_flipped_bit_is_detected() -> None:
    for position in range(len(SMALL)):
        for bit in range(8):
            data = bytearray(SMALL)
            data[position] ^= 1 << bit
            if position < HEADER_BYTES:
                with pytest.raises(FormatError):
                    read_all(bytes(data))
                continue
            whole = sum(end <= position for end in ENDS[1:])
            reports, _, error = read_until_torn(bytes(data))
            assert error is not None, (position, bit)
            assert error.block == whole + 1 and error.intact == reports
            # Where its number of reports is damaged, what stands behind may not be found.
            behind = position - ENDS[whole] >= 4
            found = [sum(SIZES[:whole]), sum(SIZES) - SIZES[whole]]
            assert reports == found[1] or (not behind and reports == found[0])


@STEADY
@given(st.integers(HEADER_BYTES, len(SMALL) - 1), st.binary(min_size=1, max_size=12))
def test_overwritten_bytes_are_detected(position: int, junk: bytes) -> None:
    data = SMALL[:position] + junk + SMALL[position + len(junk) :]
    if data != SMALL:
        assert read_until_torn(data)[2] is not None


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"L",
        b"PAR1" + bytes(200),
        b'{"format": "lapwing-survey"}',
        b"value\n1\n2\n",
        bytes(200),
        SMALL[1:],
    ],
)
def test_foreign_files_are_refused(data: bytes) -> None:
    said = "must be a report file" if data else "is empty"
    with pytest.raises(FormatError, match=rf"income\.lwr {said}"):
        read_all(data)


def resealed(**fields: int) -> bytes:
    """Return a header with changed fields whose checksum is right."""
    values = {"version": 1, "reserved": 0, "width": 3, **fields}
    start = struct.pack("<8sHHI", MAGIC, values["version"], values["reserved"], values["width"])
    start += bytes.fromhex(SURVEY + RANDOMIZER)
    return start + struct.pack("<I", zlib.crc32(start)) + SMALL[HEADER_BYTES:]


def test_unknown_versions_and_absurd_widths_are_refused() -> None:
    assert resealed() == SMALL
    for version in (0, 2, 65_535):
        with pytest.raises(FormatError, match=f"version {version}"):
            read_all(resealed(version=version))
    for width in (0, LARGEST_WIDTH + 1, 2**32 - 1):
        with pytest.raises(FormatError, match="impossible"):
            read_all(resealed(width=width))


@pytest.mark.parametrize("count", [0, LARGEST_BLOCK + 1, 2**32 - 1])
def test_a_block_of_an_impossible_size_is_torn_without_reading_it(count: int) -> None:
    head = struct.pack("<I", count)
    data = SMALL + head + struct.pack("<I", zlib.crc32(head)) + bytes(30)
    reports, _, error = read_until_torn(data)
    assert reports == sum(SIZES) and error is not None and error.block == len(SIZES) + 1


def test_blocks_can_be_appended(tmp_path: Path) -> None:
    path = tmp_path / "reports.lwr"
    path.write_bytes(SMALL)
    more = written(batch(9, seed=9), batch(1, seed=10))[HEADER_BYTES:]
    with path.open("ab") as stream:
        stream.write(more)
    _, blocks = read_all(path.read_bytes())
    assert [len(block) for block in blocks] == [*SIZES, 9, 1]
    # A writer that died in the middle of its last block costs that block alone.
    path.write_bytes(path.read_bytes()[:-1])
    reports, _, error = read_until_torn(path.read_bytes())
    assert reports == sum(SIZES) + 9 and error is not None


def test_a_file_without_reports() -> None:
    header, blocks = read_all(written())
    assert header.width == 3 and blocks == []


@pytest.mark.parametrize(
    "wrong", [batch(2, width=4), batch(2, randomizer="ff" * 32)], ids=["width", "randomizer"]
)
def test_a_foreign_batch_is_not_written(wrong: Reports) -> None:
    stream = io.BytesIO()
    with pytest.raises(MismatchError):
        write_blocks(stream, Header(3, SURVEY, RANDOMIZER), [batch(4, seed=4), wrong])
    assert stream.getvalue() == SMALL[: ENDS[1]]
