"""Segments: one tally for each group of people, by a public label that stands beside the report.

The label is not protected: whoever collects it knows which group each person is in, and how many
there are in each. Only labels that may be known (a country, a version of an app, a month) are fit
for it. What the report says about the value is promised as before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from lapwing.documents import Stored, require, require_format
from lapwing.errors import ArgumentError, FormatError, LapwingError, MismatchError, TallyError
from lapwing.privacy.exact_numbers import check_whole
from lapwing.protocol.domains.label_text import compared_text
from lapwing.protocol.messages.reports import Reports
from lapwing.protocol.messages.tally import Tally

FORMAT = "lapwing-group-tallies"
VERSION = 1

OTHER = "other"
"""What small groups, and people without a label, are counted as; where a group of that name is kept
apart, "all other"."""

MINIMUM = 1000
"""Reports of a group that is kept apart. Below, an answer is mostly noise: at epsilon 1 and 64 bins
the 95 % band of a CDF from 1000 reports reaches +-0.49 (a square wave, without assumptions) or
+-0.14 (a multiscale wave and the spectral prior), in one simulated tally of Beta(5, 2)."""

MOST_GROUPS = 1000
"""More different labels than this are no groups: a name or a number of a person, say."""


class Tallier(Protocol):
    """A Survey or a Randomizer."""

    def tally(self, reports: Reports) -> Tally:
        """Return the exact counts of a batch."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class GroupTallies(Stored, Mapping[str, Tally]):
    """The tallies of one survey's segments: a mapping from the name of each to its tally.

    :meth:`lapwing.Survey.tally` makes it with `by`. The tallies add up to that of all reports.

    Parameters
    ----------
    segments : mapping of str to Tally
        Those that are kept apart, in alphabetical order.
    rest : Tally, optional
        Of all other people. Its name in the mapping is "other", and it comes last; where a segment
        has that name, it is "all other".

    Raises
    ------
    TallyError
        When there is no tally.
    ArgumentError
        When there are more than 1000 segments.
    MismatchError
        When different surveys collected them.

    Examples
    --------
    >>> from lapwing.randomizers.numerical.square_wave import SquareWave
    >>> from lapwing.privacy.sampling.randomness import seeded
    >>> from lapwing.protocol.domains.interval import Interval
    >>> randomizer = SquareWave(Interval(0, 1, bins=4), 1)
    >>> reports = randomizer.randomize([0.5] * 10, rng=seeded(1))
    >>> groups = count_groups(randomizer, reports, ["north"] * 7 + ["east"] * 3)
    >>> GroupTallies.of_groups(groups, minimum=5)
    <GroupTallies of 10 reports: north 7, other 3>
    """

    segments: Mapping[str, Tally]
    rest: Tally | None = None

    _name: ClassVar = "the tallies of segments"

    def __post_init__(self) -> None:
        """Check that they are of one survey."""
        check_groups(self.segments)
        tallies = list(self.values())
        if not tallies:
            raise TallyError("there must be at least one report to count")
        if len({(each.fingerprint, each.survey) for each in tallies}) > 1:
            raise MismatchError("the tallies of segments must be of one survey, these are not")

    @classmethod
    def of_groups(cls, groups: Mapping[str | None, Tally], *, minimum: int = MINIMUM) -> Self:
        """Return the tallies of groups, the small ones together.

        Parameters
        ----------
        groups : mapping
            The tally of each label; None for people without one, who are never kept apart.
        minimum : int
            At least 1: reports of a group that is kept apart.
        """
        check_whole("the minimum of a group", minimum, low=1)
        segments: dict[str, Tally] = {}
        rest: Tally | None = None
        for name, tally in sorted(groups.items(), key=lambda item: item[0] or ""):
            if tally.total >= minimum and name is not None:
                segments[name] = tally
            else:
                rest = tally if rest is None else rest + tally
        return cls(segments, rest)

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
        numbers = ", ".join(f"{name} {tally.total}" for name, tally in self.items())
        return f"<GroupTallies of {self.total} reports: {numbers}>"

    @property
    def total(self) -> int:
        """Reports in all segments together."""
        return sum(tally.total for tally in self.values())

    @property
    def rest_name(self) -> str:
        """What all other people are called: "other", or "all other" where that is a segment."""
        taken = {name.casefold() for name in self.segments}
        name = OTHER
        while name in taken:
            name = f"all {name}"
        return name

    def __add__(self, other: GroupTallies) -> GroupTallies:
        """Return the tallies of both sets of reports, segment by segment.

        Segments that were too small on one side stay in the rest of that side.

        Raises
        ------
        ArgumentError
            When there are more than 1000 segments.
        MismatchError
            When different surveys collected them.
        """
        if not isinstance(other, GroupTallies):
            return NotImplemented
        segments = dict(self.segments)
        for name, tally in other.segments.items():
            segments[name] = segments[name] + tally if name in segments else tally
        rests = [rest for rest in (self.rest, other.rest) if rest is not None]
        rest = rests[0] + rests[1] if len(rests) == 2 else next(iter(rests), None)
        return GroupTallies(dict(sorted(segments.items())), rest)

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "segments": [
                {"name": name, "tally": tally.to_document()}
                for name, tally in self.segments.items()
            ],
            "rest": None if self.rest is None else self.rest.to_document(),
        }

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Self:
        """Return the tallies that :meth:`to_document` wrote.

        Raises
        ------
        FormatError
            When they are none, of an unknown version, damaged, or not of one survey.
        """
        require_format(document, name=FORMAT, version=VERSION)
        require(document, {"format", "version", "segments", "rest"}, name=cls._name)
        entries = document["segments"]
        if not isinstance(entries, list):
            raise FormatError("the segments must be a list")
        for entry in entries:
            require(entry, {"name", "tally"}, name="a segment")
        names = [entry["name"] for entry in entries]
        if any(not isinstance(name, str) or name != _name(name) for name in names):
            raise FormatError("the names of segments must be texts without blanks around them")
        if names != sorted(set(names)):
            raise FormatError("segments must be in alphabetical order, each once")
        segments = {entry["name"]: Tally.from_document(entry["tally"]) for entry in entries}
        rest = None if document["rest"] is None else Tally.from_document(document["rest"])
        try:
            return cls(segments, rest)
        except LapwingError as error:
            raise FormatError(str(error)) from None


def count_groups(
    tallier: Tallier, reports: Reports, labels: Iterable[Any]
) -> dict[str | None, Tally]:
    """Return the tally of each label in a batch; None for people without one.

    Parameters
    ----------
    tallier : Survey or Randomizer
        Whose reports are counted.
    reports : Reports
    labels : iterable
        One text or whole number for each report; None, NaN and the empty text are no label.

    Raises
    ------
    ArgumentError
        When there are not as many labels as reports, or more than 1000 different ones.
    ReportError
        With the position of the first report that cannot occur.
    """
    names: dict[str | None, int] = {}
    numbers = np.array([names.setdefault(_name(label), len(names)) for label in labels], np.int64)
    if numbers.size != len(reports):
        raise ArgumentError(
            f"every report needs a label, got {len(reports)} reports and {numbers.size} labels"
        )
    check_groups(names)
    # The whole batch once, so that a refused report is named by its place in the batch.
    tallier.tally(reports)
    return {
        name: tallier.tally(Reports(reports.data[numbers == number], reports.fingerprint))
        for name, number in names.items()
    }


def check_groups(groups: Mapping[Any, Any]) -> None:
    """Raise ArgumentError when there are more groups than anybody can look at."""
    if len(groups) > MOST_GROUPS:
        raise ArgumentError(
            f"there must be at most {MOST_GROUPS} groups, these labels have more; group by "
            "something coarser"
        )


def _name(label: Any) -> str | None:
    if label is None or label != label:
        return None
    return compared_text(str(label).strip()) or None
