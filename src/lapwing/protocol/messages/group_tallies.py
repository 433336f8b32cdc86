"""Segments: one tally for each group of people, by a public label next to the report.

The label is not protected. The collector knows which group each person is in, and the size of each
group. Use only labels that you may disclose, such as a country, a version of an app, or a month.
The guarantee of the report about the value is unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import IO, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from lapwing.atomic_files import replacing
from lapwing.documents import Stored, canonical, opening, require, require_format
from lapwing.errors import (
    ArgumentError,
    FormatError,
    LapwingError,
    MismatchError,
    ReportError,
    TallyError,
)
from lapwing.linear.memoized import cached_property
from lapwing.privacy.exact_numbers import check_whole
from lapwing.protocol.domains.label_text import compared_text
from lapwing.protocol.messages.group_labels import (
    Label,
    check_groups,
    clean_label,
    coded_rows,
    columns_of,
    compact,
)
from lapwing.protocol.messages.group_table import (
    FORMAT,
    VERSION,
    is_group_table,
    read_table,
    table_of,
    write_table,
)
from lapwing.protocol.messages.group_tally import GroupCounter, GroupTally, Tallier, TallyForm
from lapwing.protocol.messages.reports import Reports
from lapwing.protocol.messages.tally import LARGEST_COUNT, Tally

OTHER = "other"
"""What small groups, and people without a label, are counted as."""
# Where a group of that name is kept apart, "all other".

MINIMUM = 1000
"""Reports of a group that is kept apart."""
# Below, an answer is mostly noise: at epsilon 1 and 64 bins the 95% band of a CDF from 1000
# reports reaches +-0.49 (a square wave, without assumptions) or +-0.14 (a multiscale wave and the
# spectral prior), in one simulated tally of Beta(5, 2).

PARQUET = (".parquet", ".pq")
"""How the names of tables end that :meth:`GroupTallies.save` writes."""

_SHOWN = 20
"""Groups that one line names."""


@dataclass(frozen=True, eq=False, repr=False)
class GroupTallies(Stored, Mapping[str, Tally]):
    """Tallies of one survey's segments: a mapping from the name of each to its tally.

    :meth:`lapwing.Survey.tally` makes it with `by`. The tallies add up to that of all reports.

    Parameters
    ----------
    segments : mapping of str to Tally
        Tallies of the segments that are kept separate, in alphabetical order.
    rest : Tally, optional
        Tally of all other people. Its name in the mapping is "other", and it comes last. If a
        segment has that name, it is "all other". Default: none.
    columns : sequence of str
        Columns whose labels name the segments. With several columns a segment is named like a
        partitioned folder: "country=PT/year=2026". Default: none.

    Raises
    ------
    TallyError
        When there is no tally.
    ArgumentError
        When there are more than 100,000 segments.
    MismatchError
        When different surveys collected them.

    Notes
    -----
    **Privacy.** The segments are public labels, sent along with the reports unprotected. The
    tallies are post-processing of private reports, so they cost no privacy.

    **Accuracy.** Each segment is estimated only from its own reports.

    **Cost.** The tallies are stored as one sparse table. Memory grows with the number of pairs of
    segment and count that occur, and a tally is made when it is requested.

    Examples
    --------
    >>> import lapwing as lw
    >>> response = lw.RandomizedResponse(lw.Categories(["yes", "no"]), epsilon=1)
    >>> survey = lw.Survey("opinion", response)
    >>> reports = survey.randomize(["yes"] * 1500 + ["no"] * 600, rng=lw.seeded(1))
    >>> survey.tally(reports, by=["north"] * 1500 + ["east"] * 600)
    <GroupTallies of 2100 reports: north 1500, other 600>
    """

    segments: Mapping[str, Tally]
    rest: Tally | None = None
    columns: Sequence[str] = ()

    _name: ClassVar = "the tallies of segments"

    def __post_init__(self) -> None:
        """Check that they are of one survey."""
        check_groups(self.segments)
        if not self.segments and self.rest is None:
            raise TallyError("there must be at least one report to count")
        if len(set(self._forms())) > 1:
            raise MismatchError("the tallies of segments must be of one survey, but these are not")
        object.__setattr__(self, "columns", tuple(self.columns))

    def _forms(self) -> Iterator[TallyForm]:
        """Yield what each tally says of whom it is. A tally of groups says it once for all."""
        if isinstance(self.segments, GroupTally):
            yield self.segments.form
        else:
            yield from map(TallyForm.of, self.segments.values())
        if self.rest is not None:
            yield TallyForm.of(self.rest)

    @classmethod
    def of_groups(
        cls, groups: Mapping[Label, Tally], *, minimum: int = MINIMUM, columns: Sequence[str] = ()
    ) -> Self:
        """Return the tallies of groups, with the small groups together.

        Parameters
        ----------
        groups : mapping
            Tally of each label. People without a label are under None, and are always in the rest.
        minimum : int
            Least number of reports of a group that is kept separate, at least 1. Default: 1000.
        columns : sequence of str
            Columns of the labels. Default: none.

        Returns
        -------
        GroupTallies
            Tallies of the segments, with that of the rest.
        """
        check_whole("minimum", minimum, low=1)
        if not groups:
            return cls({}, None, columns)
        joint = GroupTally.of(groups)
        named = np.array([label is not None for label in joint.labels], dtype=bool)
        apart = (joint.totals >= minimum) & named
        numbers = sorted(np.flatnonzero(apart).tolist(), key=lambda n: joint.labels[n] or "")
        rest = np.flatnonzero(~apart)
        segments: Any = joint.selection(np.array(numbers, dtype=np.int64)) if numbers else {}
        return cls(segments, joint.selection(rest).added() if rest.size else None, columns)

    def at_least(self, minimum: int) -> Self:
        """Return the tallies with segments of fewer reports moved to the rest.

        Parameters
        ----------
        minimum : int
            Least number of reports of a segment that is kept separate, at least 1.

        Returns
        -------
        GroupTallies
            Tallies in which every segment has enough reports.

        Notes
        -----
        To add days, tally each with ``minimum=1``, and use this on their sum. A segment that is
        small on one day then loses nothing.
        """
        groups: dict[Label, Tally] = {} if self.rest is None else {None: self.rest}
        joint = GroupTally.of(self.segments) if self.segments else None
        if joint is None:
            return self.of_groups(groups, minimum=minimum, columns=self.columns)
        whole = joint + GroupTally.of(groups) if groups else joint
        return self.of_groups(whole, minimum=minimum, columns=self.columns)

    def __getitem__(self, name: str) -> Tally:
        """Return the tally of a segment."""
        if self.rest is not None and name == self.rest_name:
            return self.rest
        return self.segments[name if name in self.segments else compared_text(name)]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the segments, that of the rest last."""
        yield from self.segments
        if self.rest is not None:
            yield self.rest_name

    def __len__(self) -> int:
        """Return the number of segments, with one for the rest."""
        return len(self.segments) + (self.rest is not None)

    def __repr__(self) -> str:
        """Return one line: how many reports each segment has."""
        totals = self.totals
        numbers = ", ".join(f"{name} {totals[name]}" for name in list(totals)[:_SHOWN])
        more = len(totals) - _SHOWN
        return f"<GroupTallies of {self.total} reports: {numbers}" + (
            f" and {more:,} more>" if more > 0 else ">"
        )

    @cached_property
    def totals(self) -> Mapping[str, int]:
        """Number of reports of each segment by its name, with the rest last."""
        if isinstance(self.segments, GroupTally):
            joint: Any = self.segments
            totals = dict(zip(joint.labels, joint.totals.tolist(), strict=True))
        else:
            totals = {name: tally.total for name, tally in self.segments.items()}
        return totals if self.rest is None else {**totals, self.rest_name: self.rest.total}

    @property
    def total(self) -> int:
        """Number of reports in all segments together."""
        return sum(self.totals.values())

    @cached_property
    def rest_name(self) -> str:
        """Name of the rest: "other", or "all other" if that is the name of a segment."""
        taken = {name.casefold() for name in self.segments}
        name = OTHER
        while name in taken:
            name = f"all {name}"
        return name

    def __add__(self, other: GroupTallies) -> GroupTallies:
        """Return the tallies of both sets of reports, segment by segment.

        Segments that were too small on one side stay in the rest of that side. See
        :meth:`at_least`.

        Raises ArgumentError when there are more than 100,000 segments.
        Raises MismatchError when different surveys collected them, or their columns differ.
        """
        if not isinstance(other, GroupTallies):
            return NotImplemented
        if self.columns and other.columns and self.columns != other.columns:
            raise MismatchError(
                "tallies of segments can be added only when the same columns name the "
                f"segments, but these have {', '.join(self.columns)} and "
                f"{', '.join(other.columns)}"
            )
        both: list[Any] = [GroupTally.of(one.segments) for one in (self, other) if one.segments]
        segments = both[0] + both[1] if len(both) == 2 else next(iter(both), {})
        rests = [rest for rest in (self.rest, other.rest) if rest is not None]
        rest = rests[0] + rests[1] if len(rests) == 2 else next(iter(rests), None)
        return GroupTallies(segments, rest, self.columns or other.columns)

    def __radd__(self, other: object) -> GroupTallies:
        """Return these, of 0 and these: so `sum` adds many."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def to_arrow(self) -> Any:
        """Return a row for each segment as a pyarrow.Table, with the rest last.

        Its first columns are those of the labels, or `segment` if they have no name. Then come
        `reports`, their number, and `counts`, a list of the counts of all blocks. For a survey
        that stores reports, `records` replaces `counts`: the bytes of the sorted reports. The rest
        has no labels.

        Returns
        -------
        pyarrow.Table
            One row for each segment.

        Raises
        ------
        MissingExtraError
            Without pyarrow.
        """
        return table_of(self)

    def to_pandas(self) -> Any:
        """Return the table of :meth:`to_arrow` as a pandas DataFrame.

        Returns
        -------
        pandas.DataFrame
            One row for each segment.
        """
        return self.to_arrow().to_pandas()

    def save(self, path: Path | str) -> None:
        """Write the tallies to a file, whole or not at all.

        An existing file is replaced.

        Parameters
        ----------
        path : Path or str
            File name. For many segments use a name that ends in .parquet. The file is then the
            table of :meth:`to_arrow`, written a few segments at a time. Any other name gives JSON.
        """
        path = Path(path)
        with replacing(path.resolve()) as stream:
            self.write(stream, table=is_table(path))

    def write(self, stream: IO[bytes], *, table: bool) -> None:
        """Write the tallies to a binary file, as Parquet or as JSON.

        Parameters
        ----------
        stream : binary file
            File to write to.
        table : bool
            Whether to write Parquet. Otherwise JSON.
        """
        if table:
            write_table(self, stream)
        else:
            stream.write(self.to_json().encode())

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Return the tallies in a file of either kind.

        Returns
        -------
        GroupTallies
            Stored tallies.

        Raises
        ------
        FormatError
            When the file is something else.
        """
        path = Path(path)
        with opening(path):
            table = is_table(path) or is_group_table(path)
        return cls(*read_table(path)) if table else super().load(path)

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form."""
        return self._frame() | {"segments": list(self._entries())}

    def _frame(self) -> dict[str, Any]:
        """Return the JSON form of what is around the segments."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "segments": [],
            "rest": None if self.rest is None else self.rest.to_document(),
            **({"columns": list(self.columns)} if self.columns else {}),
        }

    def _entries(self) -> Iterator[dict[str, Any]]:
        """Yield the JSON form of each segment."""
        for name, tally in self.segments.items():
            yield {"name": name, "tally": tally.to_document()}

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Self:
        """Return the tallies that :meth:`to_document` wrote.

        Returns
        -------
        GroupTallies
            Stored tallies.

        Raises
        ------
        FormatError
            When it contains no tallies, has an unknown version, is damaged, or is not from one
            survey.
        """
        require_format(document, name=FORMAT, version=VERSION)
        keys = {"format", "version", "segments", "rest"}
        require(document, keys, name=cls._name, optional={"columns"})
        columns = document.get("columns", [])
        if not isinstance(columns, list) or any(not isinstance(name, str) for name in columns):
            raise FormatError(
                "the columns of segments must be a list of names. Do not use this document"
            )
        entries = document["segments"]
        if not isinstance(entries, list):
            raise FormatError("the segments must be a list. Do not use this document")
        for entry in entries:
            require(entry, {"name", "tally"}, name="a segment")
        names = [entry["name"] for entry in entries]
        if any(not isinstance(name, str) or name != clean_label(name) for name in names):
            raise FormatError(
                "the names of segments must be strings without spaces around them. Do not use "
                "this document"
            )
        if names != sorted(set(names)):
            raise FormatError(
                "segments must be in alphabetical order, each once. Do not use this document"
            )
        segments = {entry["name"]: Tally.from_document(entry["tally"]) for entry in entries}
        rest = None if document["rest"] is None else Tally.from_document(document["rest"])
        try:
            return cls(segments, rest, columns)
        except LapwingError as error:
            raise FormatError(str(error)) from None


def is_table(path: Path) -> bool:
    """Return whether a file of tallies is a table, by the ending of its name."""
    return path.name.lower().endswith(PARQUET)


def fingerprint_of(tallies: GroupTallies) -> str:
    """Return the fingerprint of the JSON form, of which one segment is made at a time."""
    # Of the keys, only "version" comes after "segments", so its list is the last empty one.
    before, _, after = canonical(tallies._frame()).rpartition(b"[]")
    digest = sha256(before + b"[")
    for number, entry in enumerate(tallies._entries()):
        digest.update(b"," * (number > 0) + canonical(entry))
    digest.update(b"]" + after)
    return digest.hexdigest()


def count_groups(tallier: Tallier, reports: Reports, labels: Any) -> GroupTally:
    """Return the tally of each label in a batch, and under None that of people without one.

    tallier: Survey or randomizer of the reports.
    reports: Reports to count.
    labels: One string or whole number for each report. None, NaN and the empty string are no label.
        A mapping, or a list of arrays, is several columns.

    Raises ArgumentError when there are not as many labels as reports, or more than 100,000
    different ones.
    Raises ReportError when a report cannot occur, with the position of the first one.
    """
    return _joint(tallier, reports, *_coded(reports, labels), None)


def count_weighted(tallier: Tallier, reports: Reports, labels: Any, counts: Any) -> GroupTally:
    """Return the tally of each label in a batch of which each report was sent so many times.

    tallier, reports: As for :func:`count_groups`.
    labels: As for :func:`count_groups`. None means one group of all.
    counts: Whole numbers, not negative.

    Raises ArgumentError, ReportError as for :func:`count_groups`, and with the position of the
    first count that is not legal.
    Raises TallyError when all counts add up to more than a tally holds.
    """
    weights = checked_counts(counts, len(reports))
    one: tuple[list[Label], NDArray[np.int64]] = [None], np.zeros(len(reports), dtype=np.int64)
    coded = one if labels is None else _coded(reports, labels)
    return _joint(tallier, reports, *coded, weights)


def _coded(reports: Reports, labels: Any) -> tuple[list[Label], NDArray[np.int64]]:
    names, numbers = coded_rows(labels, columns=columns_of(labels))
    if numbers.size != len(reports):
        raise ArgumentError(
            f"every report needs a label, got {len(reports)} reports and {numbers.size} labels"
        )
    return names, numbers


def checked_counts(counts: Any, number: int | None = None) -> NDArray[np.int64]:
    """Return how often reports were sent: int64 [n].

    counts: Whole numbers of any type, also of floats or decimals.
    number: How many there must be.

    Raises ArgumentError when there are more or fewer.
    Raises ReportError with the position of the first that is not a whole number from 0 to 2^53 - 1.
    """
    array = np.asarray(counts)
    if array.ndim != 1 or (number is not None and array.size != number):
        raise ArgumentError(
            "counts",
            f"must have the number of times that each report was sent: {number} reports, and "
            f"counts of shape {array.shape}",
        )
    if array.dtype.kind == "O":
        legal = np.array([_is_whole(count) for count in array.tolist()], dtype=bool)
    elif array.dtype.kind in "iuf":
        with np.errstate(invalid="ignore"):
            legal = (array >= 0) & (array <= LARGEST_COUNT)
            if array.dtype.kind == "f":
                legal &= array == np.floor(array)
    else:
        legal = np.zeros(array.size, dtype=bool)
    if not legal.all():
        position = int(np.argmin(legal))
        raise ReportError(
            f"every count must be a whole number from 0 to 2^53 - 1, but the one at position "
            f"{position} is not. The batch was not counted",
            position=position,
        )
    return array.astype(np.int64)


def _is_whole(count: Any) -> bool:
    try:
        whole = not isinstance(count, bool | str | bytes) and int(count) == count
        return whole and 0 <= int(count) <= LARGEST_COUNT
    except (TypeError, ValueError, OverflowError, ArithmeticError):
        return False


_ROWS_AT_ONCE = 2**20


def _joint(
    tallier: Tallier,
    reports: Reports,
    names: list[Label],
    numbers: NDArray[np.int64],
    weights: NDArray[np.int64] | None,
) -> GroupTally:
    check_groups(names)
    tallier.tally(reports[:0])  # whose they are
    if weights is not None:
        sent = np.flatnonzero(weights)
        if sent.size < weights.size:  # refused reports are named by their place in the batch
            tallier.tally(reports)
            used, numbers = compact(numbers[sent], len(names))
            names, weights = [names[place] for place in used.tolist()], weights[sent]
            reports = replace(reports, data=reports.data[sent])
    counter = GroupCounter(tallier, reports.width)
    counter.form = counter.form.marked(reports.standing)
    if not counter.cells.apply:
        tallier.tally(reports)
    for start in range(0, len(reports), _ROWS_AT_ONCE):
        rows = slice(start, start + _ROWS_AT_ONCE)
        records = reports.data[rows]
        try:
            cells = counter.cells.of(records)
        except ReportError:
            tallier.tally(reports)  # says which
            raise
        often = None if weights is None else weights[rows]
        counter.add(names, numbers[rows], records, cells, often)
    return counter.result()
