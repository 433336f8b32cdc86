"""Readers of the public files the papers used, in the format their publishers give out.

Each reader takes the path of one file and returns :class:`Rows`: the values as the file has them,
before any legal range is applied, and the number of rows that hold no value. ``datasets.py``
applies each paper's range and says so. A file of another format is refused with a
:class:`DataFileError` that names the file, the column or row, and what must hold there; it never
repeats a value.
"""

from __future__ import annotations

import gzip
import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

try:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.csv
    import pyarrow.parquet
except ImportError as missing:  # pragma: no cover - the test environment always has it
    raise ImportError(
        "the benchmarks read Parquet and CSV with pyarrow: pip install '.[data]'"
    ) from missing

MISSING = ("", "N", "NA", "N/A", "nan", "NaN", "null", "NULL")
"""What means "no value" in a numeric CSV column: blank in Census files, N in NIST's excerpts."""

_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_CHUNK_BYTES = 1 << 22
_ITEM_DIGITS = 7


class DataFileError(ValueError):
    """A data file is not of the format its name promises."""


@dataclass(frozen=True, eq=False)
class Rows:
    """What one file holds.

    Parameters
    ----------
    values : ndarray of float64 or int64, shape (n,)
        One value per row that has one, in the order of the file.
    missing : int
        Rows without a value.
    """

    values: NDArray[Any]
    missing: int


def read_parquet_column(
    path: Path,
    column: str,
    *,
    at_most: tuple[str, int] | None = None,
    above: tuple[str, int] | None = None,
) -> tuple[Rows, int]:
    """Return one numeric column of a Parquet file, and how many rows a second column left out.

    Parameters
    ----------
    path : Path
        The file.
    column : str
        A column of integers or floats.
    at_most : (str, int), optional
        Another column and the largest value of it that is still read.
    above : (str, int), optional
        Another column and the largest value of it that is not read.

    Returns
    -------
    rows : Rows
        int64 for an integer column, float64 otherwise.
    left_out : int
        Rows that these leave out.

    Raises
    ------
    DataFileError
        If the file is not Parquet, or a column is absent or not numeric.
    """
    names = list(dict.fromkeys([column, *(limit[0] for limit in (at_most, above) if limit)]))
    table = _parquet(path, names)
    rows_in_file = table.num_rows
    if at_most is not None:
        table = table.filter(pc.less_equal(table[at_most[0]], at_most[1]))
    if above is not None:
        table = table.filter(pc.greater(table[above[0]], above[1]))
    wanted = table[column]
    if not (pa.types.is_integer(wanted.type) or pa.types.is_floating(wanted.type)):
        raise DataFileError(
            f"{path.name}: column {column!r} must hold numbers, it holds {wanted.type}"
        )
    dtype = np.int64 if pa.types.is_integer(wanted.type) else np.float64
    values = wanted.drop_null().to_numpy().astype(dtype)
    if dtype is np.float64:
        values = values[~np.isnan(values)]
    return Rows(values, len(wanted) - len(values)), rows_in_file - len(wanted)


def read_taxi_trips(path: Path) -> Rows:
    """Return the pick-up times of a TLC yellow-taxi month as whole seconds of the day, int64.

    The time is local time without a zone, as the Commission publishes it. Pick-ups dated outside
    the month of the file (the meter's clock was wrong) keep their time of day; a fraction of a
    second is cut off.

    Source: TLC trip records, ``yellow_tripdata_YYYY-MM.parquet``, column ``tpep_pickup_datetime``.
    """
    column = "tpep_pickup_datetime"
    times = _parquet(path, [column])[column]
    if not pa.types.is_timestamp(times.type):
        raise DataFileError(
            f"{path.name}: column {column!r} must hold timestamps, it holds {times.type}"
        )
    present = times.drop_null()
    minutes = pc.add(pc.multiply(pc.hour(present), 60), pc.minute(present))
    seconds = pc.add(pc.multiply(minutes, 60), pc.second(present))
    return Rows(seconds.to_numpy().astype(np.int64), len(times) - len(present))


def read_csv_numbers(path: Path, column: str, *, whole: bool) -> Rows:
    """Return one numeric column of a CSV file with a header line (plain or ``.gz``).

    Parameters
    ----------
    path : Path
        The file. Quoted fields may hold commas and line breaks.
    column : str
        Its name in the header.
    whole : bool
        True if every value must be a whole number: the result is int64. Otherwise float64.

    Raises
    ------
    DataFileError
        If the column is absent, a row has more or fewer fields than the header, or a field is
        neither a number nor one of :data:`MISSING`.
    """
    text = pc.utf8_trim_whitespace(_csv_text(path, column))
    absent = pc.is_in(text, value_set=pa.array(MISSING))
    text = pc.if_else(absent, pa.scalar(None, pa.string()), text)
    first_bad = pc.index(pc.match_substring_regex(text, _NUMBER), False).as_py()
    if first_bad >= 0:
        raise DataFileError(
            f"{path.name}: column {column!r} must hold numbers; data row {first_bad + 1} does not"
        )
    numbers = pc.cast(text, pa.float64()).to_numpy()  # missing becomes NaN
    present = ~np.isnan(numbers)
    if whole:
        broken = np.flatnonzero(present & (numbers != np.floor(numbers)))
        if broken.size:
            raise DataFileError(
                f"{path.name}: column {column!r} must hold whole numbers; "
                f"data row {broken[0] + 1} does not"
            )
    values = numbers[present]
    return Rows(values.astype(np.int64) if whole else values, int(numbers.size - values.size))


def read_click_counts(path: Path) -> NDArray[np.int64]:
    """Return the clicks per item of a FIMI file such as ``kosarak.dat`` (plain or ``.gz``).

    A line is one session: item numbers from 1 to 9,999,999 separated by spaces. Every click counts,
    also a repeated one within a session; an empty line is a session without clicks.

    Returns
    -------
    ndarray of int64, shape (largest item,)
        Entry ``i`` counts item ``i + 1``; an item that never occurs counts 0.

    Raises
    ------
    DataFileError
        If a line holds anything but such numbers, or the file holds no click.
    """
    counts = np.zeros(0, dtype=np.int64)
    first_line = 1
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as lines:
            # Whole lines of about 4 MiB at a time: the full file has eight million clicks.
            while chunk := lines.readlines(_CHUNK_BYTES):
                items = _items(chunk, path, first_line)
                found = np.bincount(items)[1:] if items.size else counts[:0]
                if found.size > counts.size:
                    counts = np.pad(counts, (0, found.size - counts.size))
                counts[: found.size] += found
                first_line += len(chunk)
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise DataFileError(f"{path.name}: ends in .gz but is not a whole gzip file") from None
    if not counts.any():
        raise DataFileError(f"{path.name}: holds no click; a line must be a session of items")
    return counts


def read_count_table(
    path: Path, *, key: str, count: str
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return two whole-number columns of a CSV file, sorted by ``key``: categories and counts.

    Raises
    ------
    DataFileError
        If the file has no row, a field is absent, a key comes twice, or a count is negative.
    """
    keys = read_csv_numbers(path, key, whole=True)
    counts = read_csv_numbers(path, count, whole=True)
    if keys.missing or counts.missing or keys.values.size == 0:
        raise DataFileError(f"{path.name}: each row, and at least one, needs {key!r} and {count!r}")
    order = np.argsort(keys.values, kind="stable")
    if np.any(np.diff(keys.values[order]) == 0) or np.any(counts.values < 0):
        raise DataFileError(f"{path.name}: {key!r} must be unique and {count!r} not negative")
    return keys.values[order], counts.values[order]


def read_lyft_yaw(path: Path) -> Rows:
    """Return the yaw of every labeled box of Lyft's ``train.csv``, radians in [-pi, pi), float64.

    A row is one sample: ``Id,PredictionString``. The string repeats, for each box and separated by
    spaces, ``center_x center_y center_z width length height yaw class_name``; a file in the format
    of a submission has a ``confidence`` before each box, and is read too. An empty string is a
    sample without boxes. The class name is the only field that is not a number, which tells the
    two formats apart and catches a string that is cut short. An angle outside [-pi, pi) is wrapped:
    it is the same direction. A yaw of ``nan`` is a missing value.

    Source: Kaggle, "Lyft 3D Object Detection for Autonomous Vehicles", description of the data.

    Raises
    ------
    DataFileError
        If a string is not a whole number of boxes, or a yaw is not a number.
    """
    yaws: list[float] = []
    for row, text in enumerate(_csv_text(path, "PredictionString").to_pylist(), start=1):
        tokens = text.split()
        width = _box_width(tokens)
        if width is None:
            raise DataFileError(
                f"{path.name}: data row {row} must repeat '[confidence] center_x center_y center_z "
                "width length height yaw class_name' for each box"
            )
        yaws.extend(float(yaw) for yaw in tokens[width - 2 :: width])
    angles = np.array(yaws, dtype=np.float64)
    finite = np.isfinite(angles)
    return Rows(_wrapped(angles[finite]), int(angles.size - finite.sum()))


def _box_width(tokens: Sequence[str]) -> int | None:
    """Fields per box, 8 or 9 (with a confidence); None if the tokens fit neither."""
    for width in (8, 9):
        if len(tokens) % width == 0 and all(
            _is_number(token) == ((position + 1) % width != 0)
            for position, token in enumerate(tokens)
        ):
            return width
    return None


def _is_number(token: str) -> bool:
    try:
        float(token)
    except ValueError:
        return False
    return True


def _wrapped(angles: NDArray[np.float64]) -> NDArray[np.float64]:
    outside = (angles < -math.pi) | (angles >= math.pi)
    wrapped = np.mod(angles + math.pi, 2 * math.pi) - math.pi
    # The remainder of a tiny negative number rounds up to 2 pi itself: the other end of the circle.
    wrapped[wrapped >= math.pi] = -math.pi
    return np.where(outside, wrapped, angles)  # an angle inside keeps its last bit


def _items(lines: list[bytes], path: Path, first_line: int) -> NDArray[np.int64]:
    """The item numbers in some lines; on a bad one, read line by line to say which."""
    tokens = b" ".join(lines).split()
    if not tokens:
        return np.zeros(0, dtype=np.int64)
    if all(_is_item(token) for token in tokens):
        return np.array(tokens, dtype=f"S{_ITEM_DIGITS}").astype(np.int64)
    bad = next(
        number
        for number, line in enumerate(lines, start=first_line)
        if not all(_is_item(token) for token in line.split())
    )
    raise DataFileError(
        f"{path.name}: line {bad} must hold whole numbers from 1 to {10**_ITEM_DIGITS - 1:,}, "
        "separated by spaces"
    )


def _is_item(token: bytes) -> bool:
    # The length is bounded because the largest item sets the length of the count vector.
    return token.isdigit() and len(token) <= _ITEM_DIGITS and int(token) > 0


def _parquet(path: Path, columns: list[str]) -> Any:
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            for column in columns:
                if column not in file.schema_arrow.names:
                    raise DataFileError(f"{path.name}: has no column {column!r}")
            return file.read(columns=columns)
    except pa.ArrowInvalid:
        raise DataFileError(f"{path.name}: is not a Parquet file, or is cut short") from None


def _csv_text(path: Path, column: str) -> Any:
    """One column of a CSV file as text; Arrow's messages, which repeat the row, are replaced."""
    ragged: list[tuple[int, int, int]] = []

    def note(row: Any) -> str:
        ragged.append((row.number - 1, row.expected_columns, row.actual_columns))
        return "error"

    try:
        table = pyarrow.csv.read_csv(
            path,
            # One thread, because only then does Arrow know the number of a bad row.
            read_options=pyarrow.csv.ReadOptions(use_threads=False),
            parse_options=pyarrow.csv.ParseOptions(
                newlines_in_values=True, invalid_row_handler=note
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                include_columns=[column], column_types={column: pa.string()}
            ),
        )
    except KeyError:
        raise DataFileError(
            f"{path.name}: must be a CSV file whose first line names a column {column!r}; "
            "it names none"
        ) from None
    except pa.ArrowInvalid:
        if ragged:
            row, expected, actual = ragged[0]
            raise DataFileError(
                f"{path.name}: data row {row} has {actual} fields, the header has {expected}; "
                "quote fields that hold commas"
            ) from None
        raise DataFileError(
            f"{path.name}: must be a CSV file in UTF-8 with a header; it cannot be read as one"
        ) from None
    return table[column]
