"""Arrow arrays of reports as their bytes, without a Python object for each report.

===========================  ==================================================
fixed-size binary            the bytes of a report: as they lie in memory
binary                       the same; bytes of another length are no report
lists of so many uint8       the same
whole numbers                a report of up to 8 bytes, little-endian
texts                        a report in hexadecimal digits: all cells of a CSV
===========================  ==================================================
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import ArgumentError
from lapwing.protocol.messages.reports import pack_codes

Records = NDArray[np.uint8]
Flags = NDArray[np.bool_]

_NIBBLES = np.full(256, 255, dtype=np.uint8)
_NIBBLES[np.frombuffer(b"0123456789abcdef", dtype=np.uint8)] = np.arange(16)
_NIBBLES[np.frombuffer(b"ABCDEF", dtype=np.uint8)] = np.arange(10, 16)


def check_report_type(kind: Any, *, width: int, column: str) -> None:
    """Raise ArgumentError unless a column of an Arrow type can hold reports of so many bytes."""
    from pyarrow import types

    if types.is_dictionary(kind):
        kind = kind.value_type
    legal = types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind)
    legal = legal or types.is_string(kind) or types.is_large_string(kind)
    legal = legal or types.is_string_view(kind) or types.is_null(kind)
    legal = legal or (types.is_integer(kind) and width <= 8)
    if types.is_fixed_size_binary(kind):
        legal = kind.byte_width == width
    if types.is_fixed_size_list(kind):
        legal = types.is_uint8(kind.value_type) and kind.list_size == width
    if not legal:
        numbers = ", whole numbers" if width <= 8 else ""
        raise ArgumentError(
            f"the column {column!r} must hold reports of {width} byte(s) for this survey: binary"
            f"{numbers}, or texts in hexadecimal; it holds {str(kind)[:60]}; name the column of "
            "reports, or use the survey that asked for them"
        )


def records_of(array: Any, *, width: int) -> tuple[Records, Flags | None]:
    """Return reports as their bytes, and which rows hold none.

    Parameters
    ----------
    array : pyarrow.Array [n]
        Of a type that :func:`check_report_type` lets pass.
    width : int
        Bytes per report.

    Returns
    -------
    records : numpy.ndarray
        uint8 [n, width]; a view of the array's own memory where that holds them as they are. What
        stands in a row that holds no report means nothing.
    absent : numpy.ndarray or None
        bool [n]: null, of another length, too large a number, no hexadecimal digits. None where
        every row holds a report.
    """
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if types.is_null(array.type):
        return np.zeros((len(array), width), dtype=np.uint8), np.ones(len(array), dtype=bool)
    absent = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    if types.is_fixed_size_binary(array.type):
        return _cells(array.buffers()[1], array.offset, len(array), width), absent
    if types.is_fixed_size_list(array.type):
        values = array.values  # all of them, whatever the offset of the lists
        if values.null_count:
            inner = np.asarray(values.is_null()).reshape(-1, width)[array.offset :][: len(array)]
            absent = _either(absent, inner.any(axis=1))
        return _cells(
            values.buffers()[1], values.offset // width + array.offset, len(array), width
        ), absent
    if types.is_integer(array.type):
        return _numbers(array, width, absent)
    if types.is_string(array.type) or types.is_large_string(array.type):
        return _digits(array.cast(pa.large_string()).view(pa.large_binary()), width, absent)
    if types.is_string_view(array.type):
        return _digits(array.cast(pa.large_binary()), width, absent)
    return _lengths(array.cast(pa.large_binary()), width, absent)


def _either(first: Flags | None, second: Any) -> Flags | None:
    """Return which of both are true; None where none is."""
    if not second.any():
        return first
    both: Flags = second if first is None else first | second
    return both


def _cells(buffer: Any, first: int, rows: int, width: int) -> Records:
    if buffer is None or not rows:
        return np.zeros((rows, width), dtype=np.uint8)
    data = np.frombuffer(buffer, dtype=np.uint8)
    return data[first * width : (first + rows) * width].reshape(rows, width)


def _numbers(array: Any, width: int, absent: Flags | None) -> tuple[Records, Flags | None]:
    if absent is not None:
        array = array.fill_null(0)
    numbers = array.to_numpy(zero_copy_only=False)
    if numbers.dtype.kind == "u" and numbers.dtype.itemsize == width:
        little = numbers.astype(numbers.dtype.newbyteorder("<"), copy=False)
        return np.ascontiguousarray(little).view(np.uint8).reshape(len(array), width), absent
    if width < numbers.dtype.itemsize or numbers.dtype.kind == "i":
        wrong = numbers < 0
        if width < numbers.dtype.itemsize:
            wrong |= numbers > 256**width - 1
        absent = _either(absent, wrong)
    with np.errstate(all="ignore"):
        return pack_codes(numbers.astype(np.uint64), width=width), absent


def _lengths(array: Any, width: int, absent: Flags | None) -> tuple[Records, Flags | None]:
    """Return the cells of so many bytes, and which are of another length."""
    _, offset_buffer, data = array.buffers()
    offsets = np.frombuffer(offset_buffer, dtype=np.int64)[array.offset :][: len(array) + 1]
    other = np.diff(offsets) != width
    if not other.any():
        if not len(array):
            return np.zeros((0, width), dtype=np.uint8), None
        cells = np.frombuffer(data, dtype=np.uint8)[offsets[0] : offsets[-1]]
        return cells.reshape(len(array), width), absent
    absent = _either(absent, other)
    cells = np.zeros((len(array), width), dtype=np.uint8)
    rows = np.flatnonzero(~other)
    if rows.size:
        cells[rows] = np.frombuffer(data, dtype=np.uint8)[offsets[rows][:, None] + np.arange(width)]
    return cells, absent


def _digits(array: Any, width: int, absent: Flags | None) -> tuple[Records, Flags | None]:
    text, absent = _lengths(array, 2 * width, absent)
    nibbles = _NIBBLES[text]
    wrong = (nibbles > 15).any(axis=1)
    if absent is not None:
        wrong &= ~absent
    records: Records = 16 * (nibbles[:, ::2] & 15) + (nibbles[:, 1::2] & 15)
    return records, _either(absent, wrong)
