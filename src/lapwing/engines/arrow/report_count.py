"""The kernel that every engine counts with: a batch of rows in, exact counts out, and counts add.

It is a pure function of a batch, and ``+`` is exact and associative; so files may be split in any
way, and read in any order by any number of threads or machines: the sum is the same to the last
byte.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from lapwing.engines.arrow.arrow_values import labels_of
from lapwing.engines.arrow.report_arrays import Flags, Records, check_report_type, records_of
from lapwing.errors import ArgumentError, MismatchError, ReportError, TallyError
from lapwing.protocol.messages.group_tallies import MINIMUM, MOST_GROUPS, rest_name, split_groups
from lapwing.protocol.messages.reports import Reports
from lapwing.protocol.messages.tally import Tally
from lapwing.survey.survey import Survey

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

    def by_group(self, *, minimum: int = MINIMUM) -> dict[str, Tally]:
        """Return the tally of every group by its label; small ones are added as "other".

        See :meth:`lapwing.Survey.tally`.
        """
        kept, rest = split_groups(self.groups, minimum=minimum)
        return kept if rest is None else {**kept, rest_name(kept): rest}

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
    """Return counts as JSON can say them."""
    groups = [[label, tally.to_document()] for label, tally in counted.groups.items()]
    files = [asdict(file) for file in counted.files]
    about = {"grouped": counted.grouped, "refused": counted.refused, "files": files}
    return {"groups": groups, **about}


def count_from_document(document: Mapping[str, Any]) -> ReportCount:
    """Return the counts that :func:`count_to_document` wrote."""
    groups = {label: Tally.from_document(one) for label, one in document["groups"]}
    files = tuple(FileCount(**file) for file in document.get("files", ()))
    return ReportCount(groups, document["grouped"], document["refused"], files)


def check_groups(groups: Mapping[Label, Tally]) -> None:
    """Raise ArgumentError when there are more groups than anybody can look at."""
    if len(groups) > MOST_GROUPS:
        raise ArgumentError(
            f"there must be at most {MOST_GROUPS} groups, these labels have more; group by "
            "something coarser"
        )


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
        Where they stand; see :mod:`lapwing.engines.arrow.report_arrays` for its type.
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
    array = batch.column(column)
    check_report_type(array.type, width=width, column=column)
    records, absent = records_of(array, width=width)
    labels = None if by is None else batch.column(by)
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
        bool [n], see :func:`lapwing.engines.arrow.report_arrays.records_of`.
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
