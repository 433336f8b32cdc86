"""Tallies of many groups as one sparse table: the joint histogram of groups and reports.

A tally object for each of 100,000 groups costs more than counting does, and most of its counts are
0. So what is counted is a pair of a group and a cell, and only pairs that occur are stored. The
cells of a survey that counts are its counts, those of all blocks in one row. Those of a survey that
stores reports are the reports themselves.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import MismatchError, TallyError
from lapwing.linear.memoized import cached_property
from lapwing.privacy.guarantee import Standing, weakest_standing
from lapwing.protocol.messages.group_labels import MOST_GROUPS, Label, check_groups, clean_label
from lapwing.protocol.messages.reports import Reports, unpack_codes
from lapwing.protocol.messages.tally import LARGEST_COUNT, CountTally, Tally, TallyLog

Whole = NDArray[np.int64]
Records = NDArray[np.uint8]

_SHOWN = 20
"""Groups that one line names."""

_DENSE_CELLS = 2**24
"""Pairs of groups and cells, at most, of which all are stored while reports are counted."""

_WAITING_ROWS = 2**24
"""Rows that are sorted at once, where not all pairs are stored."""

_WAITING_BYTES = 2**27
"""Bytes of reports that wait to be counted group by group."""

_LOOKED_UP = 3
"""Bytes of the longest report whose cell is looked up in a table."""

_LARGEST_LOG = 2**31
"""Most reports of a log that are made of counted ones."""


class Tallier(Protocol):
    """A Survey or a Randomizer."""

    def tally(self, reports: Reports) -> Any:
        """Return the exact counts of a batch."""
        ...


@dataclass(frozen=True)
class TallyForm:
    """Fields that all tallies of one survey share.

    sizes: Number of counts of each block, none for stored reports.
    width: Bytes of a stored report, 0 for counts.
    fingerprint: Of the randomizer.
    survey: Fingerprint of the survey.
    standing: That of the least private reports. It takes no part in comparisons.
    """

    sizes: tuple[int, ...]
    width: int
    fingerprint: str
    survey: str | None
    standing: Standing | None = field(default=None, compare=False)

    @classmethod
    def of(cls, tally: Tally) -> TallyForm:
        """Return that of a tally."""
        if isinstance(tally, TallyLog):
            return cls((), tally.width, tally.fingerprint, tally.survey, tally.standing)
        sizes = tuple(block.size for block in tally.blocks)
        return cls(sizes, 0, tally.fingerprint, tally.survey, tally.standing)

    def marked(self, *standings: Standing | None) -> TallyForm:
        """Return the form of tallies that were added to others of these standings."""
        return replace(self, standing=weakest_standing(self.standing, *standings))

    @property
    def is_log(self) -> bool:
        """Whether the reports themselves are stored."""
        return self.width > 0

    @cached_property
    def cells(self) -> int:
        """Cells of a tally of counts."""
        return sum(self.sizes)

    @property
    def blocks(self) -> int:
        """Blocks of a tally."""
        return len(self.sizes) or 1

    @cached_property
    def ends(self) -> Whole:
        """The cell behind the last one of each block."""
        return np.cumsum(self.sizes, dtype=np.int64)

    def cells_of(self, tally: Tally) -> tuple[Any, Whole | None]:
        """Return the cells of a tally that are not 0, and what stands in them."""
        if isinstance(tally, TallyLog):
            return tally.codes, None
        whole = np.concatenate(tally.blocks)
        places = np.flatnonzero(whole)
        return places, whole[places]

    def tally(self, people: Whole, cells: Any, counts: Any) -> Tally:
        """Return the tally of some cells, each named once unless it is a log.

        people: int64 [blocks]: reports of each block.
        cells, counts: As of :class:`GroupTally`.
        """
        if self.is_log:
            return TallyLog([cells], self.width, self.fingerprint, self.survey, self.standing)
        whole = np.zeros(self.cells, dtype=np.int64)
        whole[cells] = counts
        blocks = np.split(whole, self.ends[:-1])
        people_of = people.tolist()
        return CountTally(blocks, people_of, self.fingerprint, self.survey, self.standing)


class _Part(NamedTuple):
    """Some groups: group `g` has the cells and counts from ``starts[g]`` to ``starts[g + 1]``."""

    labels: Sequence[Label]
    people: Whole
    starts: Whole
    cells: Any
    counts: Whole | None


class GroupTally(Mapping[Label, Tally]):
    """The tallies of groups: a mapping from each label to its tally, made when it is asked for.

    labels: Different ones.
    people: int64 [groups, blocks]: reports of each block.
    starts: int64 [groups + 1]: where the cells of each group begin.
    cells: Whole numbers, ascending in each group. For stored reports they are the sorted reports,
        uint64.
    counts: Whole numbers, positive. None for stored reports.

    **Cost.** Adding is lazy, as that of logs: parts of like size are merged, so many sums cost
    little more than one sort. Memory is that of the pairs of group and cell that occur.
    """

    def __init__(
        self,
        form: TallyForm,
        labels: Sequence[Label],
        people: Whole,
        starts: Whole,
        cells: Any,
        counts: Any,
    ) -> None:
        self.form = form
        self._parts: tuple[_Part, ...] = (_Part(labels, people, starts, cells, counts),)

    @classmethod
    def of(cls, tallies: Mapping[Any, Tally]) -> GroupTally:
        """Return the tallies of a mapping, at least one, with the MismatchError of `+`."""
        if isinstance(tallies, GroupTally):
            return tallies
        forms = {TallyForm.of(tally) for tally in tallies.values()}
        if len(forms) != 1:
            raise MismatchError("the tallies of groups must be of one survey, but these are not")
        (form,) = forms
        form = form.marked(*(tally.standing for tally in tallies.values()))
        rows = [form.cells_of(tally) for tally in tallies.values()]
        starts = np.cumsum([0, *(cells.size for cells, _ in rows)], dtype=np.int64)
        cells = np.concatenate([cells for cells, _ in rows])
        counts = None if form.is_log else np.concatenate([counts for _, counts in rows])
        people = np.array([tally.reports for tally in tallies.values()], dtype=np.int64)
        return cls(form, list(tallies), people, starts, cells, counts)

    def __repr__(self) -> str:
        """Return one line: how many reports the first groups have."""
        totals = zip(self.labels[:_SHOWN], self.totals.tolist(), strict=False)
        numbers = ", ".join(f"{label or 'no label'} {total}" for label, total in totals)
        more = len(self) - _SHOWN
        return f"<GroupTally of {self.total} reports: {numbers}" + (
            f" and {more:,} more>" if more > 0 else ">"
        )

    @property
    def _whole(self) -> _Part:
        """All groups as one part."""
        parts = self._parts
        if len(parts) > 1:
            parts = (_merged(parts, self.form),)
            self._parts = parts
        return parts[0]

    @property
    def labels(self) -> Sequence[Label]:
        """The label of each group."""
        return self._whole.labels

    @property
    def table(self) -> tuple[Whole, Whole, Any, Any]:
        """People, starts, cells and counts, as of the class."""
        return self._whole[1:]

    @cached_property
    def _numbers(self) -> dict[Label, int]:
        return {label: number for number, label in enumerate(self.labels)}

    @cached_property
    def totals(self) -> Whole:
        """Reports of each group: int64 [groups]."""
        totals: Whole = self.table[0].sum(axis=1)
        return totals

    @cached_property
    def total(self) -> int:
        """Reports of all groups."""
        return int(self.totals.sum())

    def __getitem__(self, label: Label) -> Tally:
        """Return the tally of a group."""
        number = self._numbers[label]
        people, starts, cells, counts = self.table
        where = slice(int(starts[number]), int(starts[number + 1]))
        some = None if counts is None else counts[where]
        return self.form.tally(people[number], cells[where], some)

    def __iter__(self) -> Iterator[Label]:
        """Iterate over the labels."""
        return iter(self.labels)

    def __len__(self) -> int:
        """Return the number of groups."""
        return len(self.labels)

    def __contains__(self, label: object) -> bool:
        """Return whether there is such a group. No tally is made."""
        return label in self._numbers

    def __add__(self, other: GroupTally) -> GroupTally:
        """Return the tallies of both, group by group.

        Raises MismatchError when different surveys collected them.
        """
        if self.form != other.form:
            # Tallies say best what does not fit.
            _ = next(iter(self.values())) + next(iter(other.values()))
            raise MismatchError("tallies can be merged only when they have counts of equal sizes")
        parts = list(self._parts)
        for part in other._parts:
            parts.append(part)
            while len(parts) > 1 and parts[-2].cells.size <= 2 * parts[-1].cells.size:
                parts[-2:] = [_merged(parts[-2:], self.form)]
        joint = GroupTally(self.form.marked(other.form.standing), *parts[0])
        joint._parts = tuple(parts)
        return joint

    def selection(self, numbers: Whole) -> GroupTally:
        """Return some groups, by their numbers, in that order."""
        people, starts, cells, counts = self.table
        sizes = np.diff(starts)[numbers]
        ends = np.cumsum(sizes)
        places = np.arange(int(sizes.sum())) + np.repeat(starts[:-1][numbers] - ends + sizes, sizes)
        labels = [self.labels[number] for number in numbers.tolist()]
        starts = np.concatenate([np.zeros(1, np.int64), ends])
        counts = None if counts is None else counts[places]
        return GroupTally(self.form, labels, people[numbers], starts, cells[places], counts)

    def added(self) -> Tally:
        """Return the tally of all groups together, or raise TallyError when there is none."""
        if not self.labels:
            raise TallyError("there must be at least one report to count, but there is none")
        people, _, cells, counts = self.table
        if counts is not None:
            whole = np.zeros(self.form.cells, dtype=np.int64)
            np.add.at(whole, cells, counts)
            cells, counts = slice(None), whole
        return self.form.tally(people.sum(axis=0), cells, counts)

    def to_bytes(self) -> bytes:
        """Return the form in which it travels, and in which the progress of a job is kept."""
        form, (people, starts, cells, counts) = self.form, self.table
        head = {
            "form": [list(form.sizes), form.width, form.fingerprint, form.survey, form.standing],
            "labels": list(self.labels),
            "cells": cells.size,
        }
        text = json.dumps(head).encode()
        whole = cells.view(np.int64) if form.is_log else cells
        numbers = [people.ravel(), starts, whole, *([] if counts is None else [counts])]
        arrays = [array.astype("<i8").tobytes() for array in numbers]
        return b"".join([struct.pack("<Q", len(text)), text, *arrays])

    @classmethod
    def from_bytes(cls, data: bytes) -> GroupTally:
        """Return what :meth:`to_bytes` wrote. Its reader has checked that it is whole."""
        (length,) = struct.unpack_from("<Q", data)
        head = json.loads(data[8 : 8 + length])
        sizes, *others = head["form"]
        form = TallyForm(tuple(sizes), *others)
        numbers = np.frombuffer(data, dtype="<i8", offset=8 + length).astype(np.int64)
        groups = len(head["labels"])
        ends = np.cumsum([groups * form.blocks, groups + 1, head["cells"]])
        people, starts, cells, counts = np.split(numbers, ends)
        people, whole = people.reshape(groups, form.blocks), cells
        if form.is_log:
            return cls(form, head["labels"], people, starts, whole.view(np.uint64), None)
        return cls(form, head["labels"], people, starts, whole, counts)


def _merged(parts: Sequence[_Part], form: TallyForm) -> _Part:
    """Return several parts as one, with the groups of all in alphabetical order."""
    labels = {label for part in parts for label in part.labels}
    check_groups(labels)
    ordered = sorted(labels, key=lambda label: (label is not None, label))
    numbers = {label: number for number, label in enumerate(ordered)}
    people = np.zeros((len(ordered), form.blocks), dtype=np.int64)
    groups = []
    for part in parts:
        renamed = np.array([numbers[label] for label in part.labels], dtype=np.int64)
        groups.append(np.repeat(renamed, np.diff(part.starts)))
        people[renamed] += part.people
    group = np.concatenate(groups)
    cells = np.concatenate([part.cells for part in parts])
    if form.is_log:
        order = np.lexsort((cells, group))
        starts = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=len(numbers)))])
        return _Part(ordered, people, starts.astype(np.int64), cells[order], None)
    counts = np.concatenate([np.asarray(part.counts) for part in parts])
    keys, counts = _summed(group * form.cells + cells, counts)
    return _Part(ordered, people, *_rows_of(len(ordered), keys, form.cells), counts)


def _rows_of(groups: int, keys: Any, cells: int) -> tuple[Whole, Any]:
    """Return where each group starts in ascending keys, ``group * cells + cell``, and the cells."""
    firsts = np.arange(groups + 1, dtype=np.int64) * cells
    starts = np.searchsorted(keys, firsts).astype(np.int64)
    kind = np.int32 if cells < 2**31 else np.int64
    found = np.empty(keys.size, dtype=kind)
    for start in range(0, groups, _GROUPS_AT_ONCE):
        first = firsts[start : start + _GROUPS_AT_ONCE + 1]
        ends = starts[start : start + _GROUPS_AT_ONCE + 1]
        where = slice(int(ends[0]), int(ends[-1]))
        found[where] = keys[where] - np.repeat(first[:-1], np.diff(ends))
    return starts, found


_GROUPS_AT_ONCE = 2**12


def _summed(keys: Any, counts: Any) -> tuple[Any, Any]:
    """Return each key once, in order, with the sum of its counts."""
    if not keys.size:
        return keys, counts
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    first = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    return keys[first], np.add.reduceat(counts[order], first, dtype=np.int64)


def _counted(keys: Any) -> tuple[Any, Any]:
    """Return each key once, in order, and how often it stands there. The keys are sorted."""
    keys.sort()
    places, kept = [], []
    for start in range(0, keys.size, _ROWS_AT_ONCE):
        some = keys[start : start + _ROWS_AT_ONCE]
        first = np.ones(some.size, dtype=bool)
        np.not_equal(some[1:], some[:-1], out=first[1:])
        first[0] = start == 0 or some[0] != keys[start - 1]
        place = np.flatnonzero(first)
        kept.append(some[place])
        places.append((place + start).astype(np.int32 if keys.size < 2**31 else np.int64))
    places.append(np.array([keys.size], dtype=places[0].dtype))
    return np.concatenate(kept), np.diff(np.concatenate(places))


_ROWS_AT_ONCE = 2**18


def _push(runs: list[tuple[Whole, Whole]], keys: Whole, counts: Whole) -> None:
    """Take in ascending keys with their counts. Runs of like size are merged."""
    runs.append((keys, counts))
    while len(runs) > 1 and runs[-2][0].size <= 2 * runs[-1][0].size:
        runs[-2:] = [_joined(runs[-2:])]


def _joined(runs: Sequence[tuple[Whole, Whole]]) -> tuple[Whole, Whole]:
    """Return the sum of runs of ascending keys."""
    runs = [run for run in runs if run[0].size] or [runs[0]]
    if len(runs) == 1:
        return runs[0]
    keys, counts = zip(*runs, strict=True)
    return _summed(np.concatenate(keys), np.concatenate(counts))


class CellsOfReports:
    """Which count each report adds to, where it adds to one: learned from tallies.

    width: Bytes of a report.

    Any randomizer is asked what it makes of each report once. Of some reports, with numbers from 0,
    those are counted whose number has a bit. A count that adds up to 1 for some of the bits then
    spells the number of its report.
    """

    def __init__(self, tallier: Tallier, width: int) -> None:
        self.tallier, self.width = tallier, width
        self.nothing: Tally = _tally_of(tallier, np.zeros((0, width), dtype=np.uint8))
        self.form = TallyForm.of(self.nothing)
        self.apply = not self.form.is_log and width <= _LOOKED_UP
        self._cells = np.full(256**width if self.apply else 0, -1, dtype=np.int32)
        self._learning = Lock()

    def of(self, records: Records) -> NDArray[np.int32] | None:
        """Return the cell of each report, or None where it must be counted in another way.

        Raises ReportError when a report cannot occur. Its position is not known.
        """
        if not self.apply:
            return None
        codes = _codes(records)
        cells: NDArray[np.int32] = self._cells[codes]
        unknown = cells < 0
        if unknown.any():
            with self._learning:
                self._learn(np.unique(codes[unknown]))
            if not self.apply:
                return None
            cells = self._cells[codes]
        return cells

    def _learn(self, codes: Any) -> None:
        codes = codes[self._cells[codes] < 0]
        records = np.ascontiguousarray(codes.astype("<u4")).view(np.uint8).reshape(-1, 4)
        records = np.ascontiguousarray(records[:, : self.width])
        tally = _tally_of(self.tallier, records)
        whole = np.concatenate(tally.blocks)
        one_each = [int(block.sum()) for block in tally.blocks] == list(tally.reports)
        numbers = np.zeros(whole.size, dtype=np.int64)
        places = np.arange(codes.size)
        for bit in range(max(codes.size - 1, 0).bit_length()):
            some = _tally_of(self.tallier, records[(places >> bit) & 1 == 1])
            numbers += np.concatenate(some.blocks) << bit
        counted = np.flatnonzero(whole)
        numbers = numbers[counted]
        if not one_each or whole.max() > 1 or not np.array_equal(np.sort(numbers), places):
            self.apply = False
            return
        self._cells[codes[numbers]] = counted


def _codes(records: Records) -> Any:
    """Return reports of at most 3 bytes as numbers."""
    width = records.shape[1]
    if width in (1, 2):
        return np.ascontiguousarray(records).view(f"<u{width}").ravel()
    return unpack_codes(records)


def _tally_of(tallier: Tallier, records: Records) -> Tally:
    randomizer: Any = getattr(tallier, "randomizer", tallier)
    fingerprint = randomizer.fingerprint
    tally: Tally = tallier.tally(Reports(records, fingerprint))
    return tally


class GroupCounter:
    """Counter of the reports of groups as they arrive. Its result is a :class:`GroupTally`.

    width: Bytes of a report.
    most: Groups from which on it refuses.
    """

    def __init__(self, tallier: Tallier, width: int, *, most: int = MOST_GROUPS) -> None:
        self.cells = CellsOfReports(tallier, width)
        self.form = self.cells.form
        self.most = most
        self._tallier = tallier
        self._numbers: dict[Label, int] = {}
        self._known: dict[Any, int] = {}
        self._latest: tuple[Any, Whole] = ((), np.zeros(0, dtype=np.int64))
        self._total = 0
        self._kind = np.uint32 if (most + 1) * self.form.cells < 2**32 else np.int64
        self._dense = np.zeros(0, dtype=np.int64)
        self._runs: list[tuple[Any, Any]] = []
        self._several: list[tuple[Any, Any]] = []
        self._people: list[tuple[Whole, Whole]] = []
        self._keys: list[Any] = []
        self._records: list[tuple[Whole, Records, Any]] = []
        self._rows = self._bytes = 0

    @property
    def total(self) -> int:
        """Reports that were counted."""
        return self._total

    def _numbers_of(self, labels: Sequence[Any]) -> Whole:
        """Return the number of each label. ArgumentError when there are too many different ones."""
        if labels is self._latest[0]:
            return self._latest[1]
        known = self._known
        for label in labels:
            if label not in known:
                known[label] = self._numbers.setdefault(clean_label(label), len(self._numbers))
        check_groups(self._numbers, self.most)
        numbers: Whole = np.fromiter(map(known.__getitem__, labels), np.int64, len(labels))
        self._latest = labels, numbers
        return numbers

    def add(
        self,
        labels: Sequence[Any],
        rows: Any,
        records: Records,
        cells: NDArray[np.int32] | None,
        weights: Whole | None = None,
    ) -> None:
        """Count reports that can have been sent.

        labels: Some of them may have no rows.
        rows: Whole numbers [n]: the place of the label of each report.
        records: uint8 [n, width].
        cells: What :meth:`CellsOfReports.of` says of them.
        weights: int64 [n], positive: how often each was sent. Default: once.

        Raises ArgumentError when there are too many different labels.
        Raises TallyError when a tally cannot hold as many reports.
        """
        numbers = self._numbers_of(labels)
        if not rows.size:
            return
        self._total += rows.size if weights is None else self._sum(weights)
        if cells is None:
            self._records.append((numbers[rows], records, weights))
            self._bytes += records.size + 8 * rows.size
            if self._bytes >= _WAITING_BYTES and not self.form.is_log:
                self._count_records()
            return
        keys = (numbers * self.form.cells).astype(self._kind).take(rows)
        np.add(keys, cells, out=keys, casting="unsafe")
        occupied = len(self._numbers) * self.form.cells
        if occupied <= max(_DENSE_CELLS, self._dense.size):
            if self._dense.size < occupied:
                more = np.zeros(max(occupied, 2 * self._dense.size), dtype=np.int64)
                more[: self._dense.size] = self._dense
                self._dense = more
            np.add.at(self._dense, keys, 1 if weights is None else weights)
        elif weights is not None:
            _push(self._runs, *_summed(keys, weights))
        else:
            self._keys.append(keys)
            self._rows += keys.size
            if self._rows >= _WAITING_ROWS:
                self._count_keys()

    def _sum(self, weights: Whole) -> int:
        """Return the sum of counts of reports. TallyError when a tally cannot hold it."""
        most = _LARGEST_LOG if self.form.is_log else LARGEST_COUNT
        if self._total + float(weights.sum(dtype=np.float64)) < 2.0**60:  # else it may overflow
            total = int(weights.sum())
            if self._total + total <= most:
                return total
        raise TallyError(
            "the counts of reports must add up to at most "
            f"{'2^31, because every report is stored' if self.form.is_log else '2^53 - 1'}, but "
            "these add up to more"
        )

    def _count_keys(self) -> None:
        """Count the reports that wait: those that add to one count each."""
        if not self._keys:
            return
        keys = np.concatenate(self._keys)
        self._keys, self._rows = [], 0
        _push(self._runs, *_counted(keys))

    def _count_records(self) -> None:
        """Count reports group by group: of those that add to several counts each."""
        if not self._records:
            return
        waiting = self._weighted()
        groups = np.concatenate([numbers for numbers, _, _ in waiting])
        records = np.concatenate([rows for _, rows, _ in waiting])
        weights = (
            None
            if waiting[0][2] is None
            else np.concatenate([np.asarray(often) for _, _, often in waiting])
        )
        self._records, self._bytes = [], 0
        order = np.argsort(groups, kind="stable")
        present, first = np.unique(groups[order], return_index=True)
        form = self.form
        keys: list[Any] = []
        counts: list[Any] = []
        people: list[Any] = []
        for group, rows in zip(present.tolist(), np.split(order, first[1:]), strict=True):
            tally = weighted_tally(
                self._tallier, records[rows], None if weights is None else weights[rows]
            )
            cells, numbers = form.cells_of(tally)
            keys.append(group * form.cells + cells)
            counts.append(numbers)
            people.append(tally.reports)
        self._people.append((present, np.array(people, dtype=np.int64)))
        _push(self._several, np.concatenate(keys), np.concatenate(counts))

    def _weighted(self) -> list[tuple[Whole, Records, Any]]:
        """Return what waits. Where some of it has weights, all of it."""
        if all(weights is None for _, _, weights in self._records):
            return self._records
        return [
            (groups, records, np.ones(groups.size, np.int64) if weights is None else weights)
            for groups, records, weights in self._records
        ]

    def result(self) -> GroupTally:
        """Return what was counted so far."""
        labels = list(self._numbers)
        joint = self._log(labels) if self.form.is_log else self._of_counts(labels)
        empty = joint.totals == 0
        return joint.selection(np.flatnonzero(~empty)) if empty.any() else joint

    def _of_counts(self, labels: list[Label]) -> GroupTally:
        self._count_keys()
        self._count_records()
        form = self.form
        dense = np.flatnonzero(self._dense)
        keys, counts = _joined([(dense, self._dense[dense]), *self._runs])
        people = np.zeros((len(labels), form.blocks), dtype=np.int64)
        starts, cells = _rows_of(len(labels), keys, form.cells)
        if keys.size:  # each of these reports added to one count
            group = np.repeat(np.arange(len(labels)), np.diff(starts))
            block = np.searchsorted(form.ends, cells, side="right") if form.blocks > 1 else 0
            np.add.at(people.ravel(), group * form.blocks + block, counts)
        if self._several:
            keys, counts = _joined([(keys.astype(np.int64), counts), *self._several])
            starts, cells = _rows_of(len(labels), keys, form.cells)
        for present, numbers in self._people:
            people[present] += numbers
        return GroupTally(form, labels, people, starts, cells, counts)

    def _log(self, labels: list[Label]) -> GroupTally:
        codes: list[Any] = [np.zeros(0, np.uint64)]
        numbers: list[Any] = [np.zeros(0, np.int64)]
        for group, rows, often in self._records:
            code = unpack_codes(rows).view(np.uint64)
            codes.append(code if often is None else np.repeat(code, often))
            numbers.append(group if often is None else np.repeat(group, often))
        group, cells = np.concatenate(numbers), np.concatenate(codes)
        order = np.lexsort((cells, group))
        starts = np.searchsorted(group[order], np.arange(len(labels) + 1)).astype(np.int64)
        people = np.diff(starts)[:, None]
        return GroupTally(self.form, labels, people, starts, cells[order], None)


def weighted_tally(tallier: Tallier, records: Records, weights: Whole | None) -> Tally:
    """Return the tally of reports of which each was sent so many times.

    A tally is linear. Reports whose number has a bit are counted once for each bit, and the counts
    are multiplied by the value of the bit.
    """
    if weights is None:
        return _tally_of(tallier, records)
    if int(weights.max(initial=1)) == 1:
        return _tally_of(tallier, records)
    if int(weights.sum()) <= max(4 * len(records), 2**12):
        return _tally_of(tallier, np.repeat(records, weights, axis=0))
    reports: Any = 0
    blocks: Any = None
    for bit in range(int(weights.max()).bit_length()):
        tally = _tally_of(tallier, records[(weights >> bit) & 1 == 1])
        reports = np.array(tally.reports, dtype=np.int64) * 2**bit + reports
        counts = [np.asarray(block) << bit for block in tally.blocks]
        blocks = counts if blocks is None else list(map(np.add, blocks, counts))
    return CountTally(blocks, reports.tolist(), tally.fingerprint, tally.survey)
