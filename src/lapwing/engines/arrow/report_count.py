"""The kernel that every engine counts with: a batch of rows in, exact counts out, and counts add.

It is a pure function of a batch, and ``+`` is exact and associative. So the sum is the same to the
last byte, however files are split and in whatever order threads or machines read them.

A column of reports may have any of these types. Its bytes are read without a Python object for
each report.

===========================  ==================================================
fixed-size binary            the bytes of a report: as they lie in memory
binary                       the same. Bytes of another length are no report
lists of so many uint8       the same
whole numbers                a report of up to 8 bytes, little-endian
texts                        a report in hexadecimal digits: all cells of a CSV
===========================  ==================================================
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.engines.arrow.arrow_values import labels_of
from lapwing.engines.arrow.inputs import without_causes
from lapwing.engines.arrow.text_columns import without_views
from lapwing.errors import ArgumentError, MismatchError, ReportError, TallyError
from lapwing.privacy.guarantee import Standing, weakest_standing
from lapwing.protocol.messages.group_labels import (
    MOST_GROUPS,
    Label,
    clean_label,
    compact,
    joined_codes,
)
from lapwing.protocol.messages.group_tallies import MINIMUM, GroupTallies, checked_counts
from lapwing.protocol.messages.group_tally import GroupCounter, GroupTally
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
            f"the column {column!r} must contain reports of {width} byte(s) for this survey, as "
            f"binary{numbers} or hexadecimal strings. It contains {str(kind)[:60]}. Name the "
            "column of reports, or use the survey that asked for them"
        )


def records_of(array: Any, *, width: int) -> tuple[Records, Flags | None]:
    """Return reports as their bytes, and which rows hold none.

    array: Of a type that :func:`check_report_type` lets pass.
    width: Bytes per report.

    Returns
    -------
    records : numpy.ndarray
        uint8 [n, width]. A view of the array's own memory where that holds them as they are. The
        content of a row without a report means nothing.
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
    """Return which of both are true. None where none is."""
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


@dataclass(frozen=True)
class FileCount:
    """Number of reports that were counted in one file.

    Parameters
    ----------
    file : str
        Name of the file.
    reports : int
        Number of reports that were counted.
    refused : int
        Number of rows without a valid report. Default: 0.
    torn : bool
        Whether the file is incomplete, and only its intact blocks were counted. Default: False.

    Examples
    --------
    >>> import lapwing as lw
    >>> lw.engines.arrow.FileCount("monday.parquet", reports=3).refused
    0
    """

    file: str
    reports: int
    refused: int = 0
    torn: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class ReportCount:
    """Tallies of the reports in some rows. Two counts are added with ``+``.

    Parameters
    ----------
    groups : mapping
        Tally of each label. The key None is for rows without a label, and for all rows if there
        are no groups.
    grouped : bool
        Whether reports were counted by group. Default: False.
    refused : int
        Number of rows without a valid report, counted separately. Default: 0.
    files : sequence of FileCount
        Counts of each file. Default: none, as for a batch.
    columns : sequence of str
        Columns of the labels. Default: none.

    Examples
    --------
    >>> import lapwing as lw
    >>> import pyarrow as pa
    >>> survey = lw.Survey("age", lw.SquareWave(lw.Interval(0, 100, bins=4), epsilon=1))
    >>> table = pa.table({"report": pa.array([0, 3, 3], pa.uint8())})
    >>> lw.engines.arrow.tally(table, survey).total
    3
    """

    groups: Mapping[Label, Tally]
    grouped: bool = False
    refused: int = 0
    files: Sequence[FileCount] = field(default=())
    columns: Sequence[str] = ()

    def __repr__(self) -> str:
        """Return one line, however many groups and files there are."""
        groups = f" in {len(self.groups):,} groups" if self.grouped else ""
        files = f", {len(self.files):,} files" if self.files else ""
        return f"<ReportCount of {self.total} reports{groups}, {self.refused} refused{files}>"

    @property
    def total(self) -> int:
        """Number of reports that were counted."""
        if isinstance(self.groups, GroupTally):
            return self.groups.total
        return sum(tally.total for tally in self.groups.values())

    @property
    def tally(self) -> Tally:
        """Tally of all rows.

        Raises
        ------
        TallyError
            When there was no report.
        """
        if not self.groups:
            raise TallyError("there must be at least one report to count, but there is none")
        if isinstance(self.groups, GroupTally):
            return self.groups.added()
        first, *others = self.groups.values()
        for other in others:
            first = first + other
        return first

    def marked(self, standing: Standing | None) -> ReportCount:
        """Return the same counts, marked with the standing of their reports.

        Parameters
        ----------
        standing : {"seeded"} or None
            Standing of the reports. None leaves the counts unchanged.

        Returns
        -------
        ReportCount
            Counts whose tallies have this standing.
        """
        if standing is None:
            return self
        if isinstance(self.groups, GroupTally):
            joint = copy(self.groups)
            joint.form = joint.form.marked(standing)
            return replace(self, groups=joint)
        tallies: Mapping[Label, Any] = self.groups
        groups = {name: replace(one, standing=standing) for name, one in tallies.items()}
        return replace(self, groups=groups)

    def by_group(self, *, minimum: int = MINIMUM) -> GroupTallies:
        """Return the tally of every group by its label. Small groups are added as "other".

        Parameters
        ----------
        minimum : int
            Number of reports below which a group is small. Default: 1000.

        Returns
        -------
        GroupTallies
            Tally of each group, as from :meth:`lapwing.Survey.tally`.
        """
        return GroupTallies.of_groups(self.groups, minimum=minimum, columns=self.columns)

    def __add__(self, other: ReportCount) -> ReportCount:
        """Return the count of both sets of rows.

        Raises ArgumentError when there are more than 100,000 groups.
        Raises MismatchError when only one of them has groups, or another survey collected one of
        them.
        """
        if not isinstance(other, ReportCount):
            return NotImplemented
        if self.groups and other.groups and self.grouped != other.grouped:
            raise MismatchError(
                "counts can be added only if both have groups, or neither. "
                "Count both with the same by="
            )
        return ReportCount(
            _added_groups(self.groups, other.groups),
            self.grouped or other.grouped,
            self.refused + other.refused,
            (*self.files, *other.files),
            self.columns or other.columns,
        )


def _added_groups(
    one: Mapping[Label, Tally], other: Mapping[Label, Tally]
) -> Mapping[Label, Tally]:
    if not one or not other:
        return one or other
    if set(one) == set(other) == {None}:
        return {None: one[None] + other[None]}
    return GroupTally.of(one) + GroupTally.of(other)


def count_to_document(counted: ReportCount) -> dict[str, Any]:
    """Return counts as JSON can say them, without those of each file."""
    head = {"grouped": counted.grouped, "refused": counted.refused}
    if isinstance(counted.groups, GroupTally):
        return {"joint": b64encode(counted.groups.to_bytes()).decode("ascii"), **head}
    groups = [[label, tally.to_document()] for label, tally in counted.groups.items()]
    return {"groups": groups, **head}


def count_from_document(document: Mapping[str, Any]) -> ReportCount:
    """Return the counts that :func:`count_to_document` wrote."""
    groups: Mapping[Label, Tally]
    if "joint" in document:
        groups = GroupTally.from_bytes(b64decode(document["joint"]))
    else:
        groups = {label: Tally.from_document(one) for label, one in document["groups"]}
    return ReportCount(groups, document["grouped"], document["refused"])


@dataclass(frozen=True, eq=False)
class CountedRows:
    """Some rows, read and checked: their tally, or what a counter of groups adds.

    total: Reports.
    refused: Rows without one.
    tally: Of all, where nobody asked for groups and each row is one report.
    labels: Different labels.
    numbers: Whole numbers [n]: which label each row has.
    records, cells, weights: As of :meth:`lapwing.protocol.messages.group_tally.GroupCounter.add`.
    """

    total: int
    refused: int
    tally: Tally | None = None
    labels: Sequence[Label] = ()
    numbers: Any = None
    records: Any = None
    cells: Any = None
    weights: Any = None

    def __add__(self, other: CountedRows) -> CountedRows:
        """Return two tallies as one."""
        tallies = [tally for tally in (self.tally, other.tally) if tally is not None]
        tally = tallies[0] + tallies[1] if len(tallies) == 2 else next(iter(tallies), None)
        return CountedRows(self.total + other.total, self.refused + other.refused, tally)


class ReportCounter:
    """Counts the reports of batches of rows: any thread reads them, one adds them up.

    survey: Whose reports they are.
    column: Where they stand. See :mod:`lapwing.engines.arrow.report_count` for its type.
    by: Columns of public labels: a tally for each label. Of several columns the label is that of a
        partitioned folder: "country=PT/year=2026".
    count_column: A column that says how often each report was sent.
    skip_bad: Whether rows without a report that can have been sent are counted apart, not refused.
    most_groups: Labels from which on it refuses.
    """

    def __init__(
        self,
        survey: Survey,
        *,
        column: str = "report",
        by: Sequence[str] = (),
        count_column: str | None = None,
        skip_bad: bool = False,
        most_groups: int = MOST_GROUPS,
    ) -> None:
        self.survey, self.column, self.skip_bad = survey, column, skip_bad
        self.by, self.count_column = tuple(by), count_column
        self._width = survey.randomizer.report_width
        self._joint = (
            GroupCounter(survey, self._width, most=most_groups) if by or count_column else None
        )
        self._tally: Tally | None = None
        self._refused = 0
        self._standing: Standing | None = None
        self._dictionaries: list[tuple[Any, list[Label]]] = [(None, [])] * len(self.by)

    def read(self, batch: Any) -> CountedRows:
        """Return what the rows of a pyarrow.RecordBatch add.

        Raises ReportError with the position of the first row that holds no such report, or no such
        count.
        Raises ArgumentError when a column is of another type.
        """
        array = without_views(batch.column(self.column))
        check_report_type(array.type, width=self._width, column=self.column)
        records, absent = records_of(array, width=self._width)
        weights = None
        if self.count_column is not None:
            weights = counts_in(batch.column(self.count_column), column=self.count_column)
        coded = None
        if self.by:
            coded = self._coded_columns([without_views(batch.column(name)) for name in self.by])
        return self.read_records(records, absent, coded=coded, weights=weights)

    def read_records(
        self,
        records: Records,
        absent: Flags | None = None,
        *,
        coded: tuple[Sequence[Label], NDArray[np.int64]] | None = None,
        weights: NDArray[np.int64] | None = None,
    ) -> CountedRows:
        """Return what reports add, of which some rows may have none.

        records: uint8 [n, width].
        absent: bool [n], see :func:`records_of`.
        coded: Different labels, and int64 [n]: the number of that of each row.
        weights: int64 [n]: how often each report was sent.
        """
        survey, kept = self.survey, None
        if absent is not None:
            if not self.skip_bad:
                first = int(np.argmax(absent))
                self._tally_of(records[:first])  # a row before it may be worse
                raise ReportError(
                    f"every row must be a report of {self._width} byte(s), but the one at "
                    f"position {first} is not. The batch was not counted",
                    position=first,
                )
            kept = ~absent
        tally, cells = None, None
        try:
            tally, cells = self._checked(records if kept is None else records[kept])
        except ReportError:
            if not self.skip_bad:
                raise
            possible = _possible(records if kept is None else records[kept], survey)
            if kept is None:
                kept = possible
            else:
                kept[kept] = possible
            tally, cells = self._checked(records[kept])
        refused = 0
        if kept is not None:
            refused = int((~kept).sum() if weights is None else weights[~kept].sum())
        if self._joint is None:
            return CountedRows(len(records) - refused, refused, tally)
        labels, numbers = coded if coded is not None else ([None], np.zeros(len(records), int))
        if weights is not None and not weights.all():
            kept = weights > 0 if kept is None else kept & (weights > 0)
            cells = None if cells is None else self._joint.cells.of(records[kept])
        if kept is not None:
            records, numbers = records[kept], numbers[kept]
            weights = None if weights is None else weights[kept]
        total = len(records) if weights is None else sum(weights.tolist())
        return CountedRows(total, refused, None, labels, numbers, records, cells, weights)

    def _coded_columns(self, columns: Sequence[Any]) -> tuple[Sequence[Label], Any]:
        """Return the labels of rows, of several columns as of one."""
        coded = []
        for place, labels in enumerate(columns):
            dictionary, codes = _encoded(labels)
            known, names = self._dictionaries[place]
            # One list for equal dictionaries: whoever has numbered it knows it again.
            if known is None or not known.equals(dictionary):
                names = [clean_label(name) for name in labels_of(dictionary, column=self.by[place])]
                names.append(None)
                self._dictionaries[place] = dictionary, names
            coded.append((names, codes))
        if len(coded) == 1:
            return coded[0]
        return joined_codes(self.by, [(names, codes.astype(np.int64)) for names, codes in coded])

    def _checked(self, records: Records) -> tuple[Tally | None, Any]:
        """Return the tally of reports, or the cells where groups are counted by those."""
        if self._joint is None:
            return (self._tally_of(records) if len(records) else None), None
        try:
            cells = self._joint.cells.of(records)
        except ReportError:
            cells = None
        if cells is None:
            self._tally_of(records)
        return None, cells

    def _tally_of(self, records: Records) -> Tally:
        tally: Tally = self.survey.tally(
            Reports(records, self.survey.randomizer.fingerprint, standing=self._standing)
        )
        return tally

    def add(self, rows: CountedRows) -> None:
        """Count rows that were read. ArgumentError when there are too many groups."""
        self._refused += rows.refused
        if rows.tally is not None:
            self._tally = rows.tally if self._tally is None else self._tally + rows.tally
        if rows.numbers is not None and self._joint is not None:
            self._joint.add(rows.labels, rows.numbers, rows.records, rows.cells, rows.weights)

    def mark(self, standing: Standing | None) -> None:
        """Mark what is counted as made of reports of this standing."""
        self._standing = weakest_standing(self._standing, standing)

    def result(self) -> ReportCount:
        """Return what was counted so far."""
        groups: Mapping[Label, Tally] = {} if self._tally is None else {None: self._tally}
        if self._joint is not None and self._joint.total:
            self._joint.form = self._joint.form.marked(self._standing)
            groups = self._joint.result()
            if not self.by:
                groups = {None: groups[None]}
        return ReportCount(groups, bool(self.by), self._refused, columns=self.by)


@without_causes
def count(
    batch: Any,
    survey: Survey,
    *,
    column: str = "report",
    by: str | Sequence[str] | None = None,
    skip_bad: bool = False,
    count_column: str | None = None,
) -> ReportCount:
    """Count the reports in a batch of rows, exactly.

    Parameters
    ----------
    batch : pyarrow.RecordBatch
        Rows with a column of reports.
    survey : Survey
        Survey of the reports.
    column : str
        Column of reports. Default: "report".
    by : str or sequence of str, optional
        Columns of public labels, each of which gets a tally. Default: none.
    skip_bad : bool
        Whether rows without a valid report are counted separately instead of refused. Default:
        False.
    count_column : str, optional
        Column with the number of times that each report was sent. Default: none, where each was
        sent once.

    Returns
    -------
    ReportCount
        Tallies of the batch.

    Raises
    ------
    ReportError
        When a row has no valid report. The error gives the position of the first one.
    ArgumentError
        When the column is of another type, or there are more than 100,000 labels.

    Examples
    --------
    >>> import lapwing as lw
    >>> import pyarrow as pa
    >>> survey = lw.Survey("age", lw.SquareWave(lw.Interval(0, 100, bins=4), epsilon=1))
    >>> batch = pa.record_batch({"report": pa.array([0, 3, 3, None], pa.uint8())})
    >>> counted = lw.engines.arrow.count(batch, survey, skip_bad=True)
    >>> counted.tally.total, counted.refused
    (3, 1)
    """
    counter = ReportCounter(
        survey,
        column=column,
        by=columns_by(by),
        count_column=count_column,
        skip_bad=skip_bad,
    )
    counter.add(counter.read(batch))
    return counter.result()


def columns_by(by: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the columns of labels. ArgumentError when one is named twice."""
    one = isinstance(by, str) or not isinstance(by, Iterable)
    columns: tuple[Any, ...] = () if by is None else (by,) if one else tuple(by)
    if not all(isinstance(name, str) for name in columns):
        raise ArgumentError("by", "must be the name of a column, or a list of names")
    if len(set(columns)) < len(columns):
        raise ArgumentError("by", "must not name a column more than once")
    return columns


def counts_in(array: Any, *, column: str) -> NDArray[np.int64]:
    """Return a column of Arrow that says how often reports were sent: int64 [n].

    Raises ArgumentError when it does not hold numbers.
    Raises ReportError with the position of the first that is not a whole number from 0 to 2^53 - 1.
    """
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if types.is_binary(array.type) or types.is_large_binary(array.type):  # the cells of a CSV
        texts = array.cast(pa.large_binary()).to_pylist()
        return checked_counts(np.array([_number_in(text) for text in texts], dtype=object))
    check_count_type(array.type, column=column)
    if not types.is_decimal(array.type) and not array.null_count:
        return checked_counts(array.to_numpy(zero_copy_only=False))
    return checked_counts(np.array(array.to_pylist(), dtype=object))


def check_count_type(kind: Any, *, column: str) -> None:
    """Raise ArgumentError unless a column of an Arrow type can say how often reports were sent."""
    from pyarrow import types

    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)):
        raise ArgumentError(
            f"the column {column!r} must say how often each report was sent, in whole numbers, "
            f"but it contains {str(kind)[:60]}"
        )


def _number_in(text: bytes | None) -> int | None:
    digits = b"" if text is None else text.strip()
    return int(digits) if digits.isdigit() and len(digits) <= _MOST_DIGITS else None


_MOST_DIGITS = 20


def _encoded(labels: Any) -> tuple[Any, Any]:
    """Return the different labels of a column of Arrow, and the place of that of each row.

    A row without a label has the place behind the last. Of a dictionary of much more labels than
    the column has rows, those that occur are taken.
    """
    import pyarrow as pa

    if not pa.types.is_dictionary(labels.type) or not _is_text(labels.type.value_type):
        if pa.types.is_dictionary(labels.type):
            labels = labels.dictionary_decode()
        labels = labels.dictionary_encode(null_encoding="mask")
    dictionary, codes = labels.dictionary, labels.indices
    if codes.null_count:
        codes = codes.cast(pa.int64()).fill_null(len(dictionary))
    numbers = codes.to_numpy(zero_copy_only=False)
    if len(dictionary) > max(len(labels), _FEW_LABELS):
        used, numbers = compact(numbers.astype(np.int64), len(dictionary) + 1)
        if used.size and used[-1] == len(dictionary):
            used = used[:-1]  # rows without a label keep the place behind the last
        dictionary = dictionary.take(pa.array(used))
    return dictionary, numbers


_FEW_LABELS = 2**12


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


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
