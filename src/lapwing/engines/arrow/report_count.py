"""The kernel that every engine counts with: a batch of rows in, exact counts out, and counts add.

It is a pure function of a batch, and ``+`` is exact and associative; so files may be split in any
way, and read in any order by any number of threads or machines: the sum is the same to the last
byte.

A column of reports may have any of these types. Its bytes are read without a Python object for
each report.

===========================  ==================================================
fixed-size binary            the bytes of a report: as they lie in memory
binary                       the same; bytes of another length are no report
lists of so many uint8       the same
whole numbers                a report of up to 8 bytes, little-endian
texts                        a report in hexadecimal digits: all cells of a CSV
===========================  ==================================================
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.engines.arrow.arrow_values import labels_of
from lapwing.engines.arrow.inputs import without_causes
from lapwing.engines.arrow.text_columns import without_views
from lapwing.errors import ArgumentError, MismatchError, ReportError, TallyError
from lapwing.protocol.messages.group_tallies import MINIMUM, GroupTallies, check_groups
from lapwing.protocol.messages.reports import Reports, pack_codes
from lapwing.protocol.messages.tally import Tally
from lapwing.survey.survey import Survey

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


Label = str | None


@dataclass(frozen=True)
class FileCount:
    """What was counted of one file: its name, its reports, and the rows that hold none."""

    file: str
    reports: int
    refused: int = 0
    torn: bool = False


@dataclass(frozen=True, eq=False)
class ReportCount:
    """The tallies of some rows.

    Parameters
    ----------
    groups : mapping
        The tally of each label; None stands for rows without one, and for all where nobody asked
        for groups.
    grouped : bool
        Whether somebody did.
    refused : int
        Rows that hold no report that can have been sent, counted apart.
    files : sequence of FileCount
        What was counted of each file; none for a batch.
    """

    groups: Mapping[Label, Tally]
    grouped: bool = False
    refused: int = 0
    files: Sequence[FileCount] = field(default=())

    @property
    def total(self) -> int:
        """Reports that were counted."""
        return sum(tally.total for tally in self.groups.values())

    @property
    def tally(self) -> Tally:
        """The tally of all rows; TallyError when there was no report."""
        if not self.groups:
            raise TallyError("there must be at least one report to count, there is none")
        first, *others = self.groups.values()
        for other in others:
            first = first + other
        return first

    def by_group(self, *, minimum: int = MINIMUM) -> GroupTallies:
        """Return the tally of every group by its label; small ones are added as "other".

        See :meth:`lapwing.Survey.tally`.
        """
        return GroupTallies.of_groups(self.groups, minimum=minimum)

    def __add__(self, other: ReportCount) -> ReportCount:
        """Return the count of both sets of rows.

        Raises
        ------
        ArgumentError
            When there are more than 1000 groups.
        MismatchError
            When only one of them has groups, or another survey collected one of them.
        """
        if not isinstance(other, ReportCount):
            return NotImplemented
        if self.groups and other.groups and self.grouped != other.grouped:
            raise MismatchError("counts can be added when both have groups, or none has")
        groups = dict(self.groups)
        for label, tally in other.groups.items():
            groups[label] = groups[label] + tally if label in groups else tally
        check_groups(groups)
        return ReportCount(
            groups,
            self.grouped or other.grouped,
            self.refused + other.refused,
            (*self.files, *other.files),
        )


def count_to_document(counted: ReportCount) -> dict[str, Any]:
    """Return counts as JSON can say them, without those of each file."""
    groups = [[label, tally.to_document()] for label, tally in counted.groups.items()]
    return {"groups": groups, "grouped": counted.grouped, "refused": counted.refused}


def count_from_document(document: Mapping[str, Any]) -> ReportCount:
    """Return the counts that :func:`count_to_document` wrote."""
    groups = {label: Tally.from_document(one) for label, one in document["groups"]}
    return ReportCount(groups, document["grouped"], document["refused"])


@without_causes
def count(
    batch: Any,
    survey: Survey,
    *,
    column: str = "report",
    by: str | None = None,
    skip_bad: bool = False,
) -> ReportCount:
    """Return the exact counts of the reports in a batch of rows.

    Parameters
    ----------
    batch : pyarrow.RecordBatch
    survey : Survey
        Whose reports they are.
    column : str
        Where they stand; see :mod:`lapwing.engines.arrow.report_count` for its type.
    by : str, optional
        A column of public labels: a tally for each.
    skip_bad : bool
        Whether rows without a report that can have been sent are counted apart, not refused.

    Raises
    ------
    ReportError
        With the position of the first row that holds no such report.
    ArgumentError
        When the column is of another type, or there are more than 1000 labels.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from lapwing.randomizers import SquareWave
    >>> from lapwing.protocol.domains.interval import Interval
    >>> survey = Survey("age", SquareWave(Interval(0, 100, bins=4), epsilon=1))
    >>> batch = pa.record_batch({"report": pa.array([0, 3, 3, None], pa.uint8())})
    >>> counted = count(batch, survey, skip_bad=True)
    >>> counted.tally.total, counted.refused
    (3, 1)
    """
    width = survey.randomizer.report_width
    array = without_views(batch.column(column))
    check_report_type(array.type, width=width, column=column)
    records, absent = records_of(array, width=width)
    labels = None if by is None else without_views(batch.column(by))
    return count_records(records, absent, survey, labels=labels, by=by, skip_bad=skip_bad)


def count_records(
    records: Records,
    absent: Flags | None,
    survey: Survey,
    *,
    labels: Any = None,
    by: str | None = None,
    skip_bad: bool = False,
) -> ReportCount:
    """Return the counts of reports of which some rows may have none; as of :func:`count`.

    Parameters
    ----------
    records : numpy.ndarray
        uint8 [n, width].
    absent : numpy.ndarray or None
        bool [n], see :func:`lapwing.engines.arrow.report_count.records_of`.
    survey : Survey
    labels : pyarrow.Array, optional
        The label of each row.
    by : str, optional
        The name of that column.
    skip_bad : bool
    """
    fingerprint = survey.randomizer.fingerprint
    refused = 0
    if absent is not None:
        if not skip_bad:
            first = int(np.argmax(absent))
            survey.tally(Reports(records[:first], fingerprint))  # a row before it may be worse
            raise ReportError(
                f"every row must hold a report of {survey.randomizer.report_width} byte(s), the "
                f"one at position {first} is not one; the batch was not counted",
                position=first,
            )
        refused = int(absent.sum())
        records = records[~absent]
        labels = None if labels is None else labels.filter(_arrow(~absent))
    if not len(records):
        return ReportCount({}, by is not None, refused)
    whole: Tally | None = None
    try:
        whole = survey.tally(Reports(records, fingerprint))
    except ReportError:
        if not skip_bad:
            raise
        possible = _possible(records, survey)
        refused += int((~possible).sum())
        records = records[possible]
        labels = None if labels is None else labels.filter(_arrow(possible))
        if not len(records):
            return ReportCount({}, by is not None, refused)
    if labels is None:
        tally = survey.tally(Reports(records, fingerprint)) if whole is None else whole
        return ReportCount({None: tally}, False, refused)
    groups: dict[Label, Tally] = {}
    for label, rows in _rows_of(labels, by=by or "").items():
        groups[label] = survey.tally(Reports(records[rows], fingerprint))
        check_groups(groups)
    return ReportCount(groups, True, refused)


def _arrow(flags: Flags) -> Any:
    import pyarrow as pa

    return pa.array(flags)


def _possible(records: Records, survey: Survey) -> Flags:
    """Return which reports can have been sent, by halves: bool [n].

    What can be said of every randomizer is only whether it takes a batch, so reports that are
    equal are asked for once, and a batch is halved until it is taken or is one report.
    """
    rows = np.ascontiguousarray(records).view(f"V{records.shape[1]}").ravel()
    different, numbers = np.unique(rows, return_inverse=True)
    each = different.view(np.uint8).reshape(different.size, records.shape[1])
    possible = np.ones(different.size, dtype=bool)
    waiting = [(0, different.size)]
    while waiting:
        start, end = waiting.pop()
        try:
            survey.tally(Reports(each[start:end], survey.randomizer.fingerprint))
        except ReportError:
            if end - start == 1:
                possible[start] = False
                continue
            middle = (start + end) // 2
            waiting += [(start, middle), (middle, end)]
    found: Flags = possible[numbers.ravel()]
    return found


def _rows_of(labels: Any, *, by: str) -> dict[Label, Any]:
    """Return the rows of each label; None of those without one."""
    import pyarrow as pa

    if pa.types.is_dictionary(labels.type):
        labels = labels.dictionary_decode()
    coded = labels.dictionary_encode(null_encoding="encode")
    names = [_name(label) for label in labels_of(coded.dictionary, column=by)]
    codes = coded.indices.to_numpy(zero_copy_only=False)
    if len(names) == 1:
        return {names[0]: slice(None)}
    # Different texts may be one label, as blanks around it are none of it.
    different: dict[Label, int] = {}
    renamed = np.array([different.setdefault(name, len(different)) for name in names])
    codes = renamed[codes]
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=len(different)))
    parts = np.split(order, ends[:-1])
    return {name: rows for name, rows in zip(different, parts, strict=True) if rows.size}


def _name(label: Label) -> Label:
    return None if label is None else label.strip() or None
