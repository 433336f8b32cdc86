"""Segments: one tally for each group of people, by a public label that stands beside the report.

The label is not protected: whoever collects it knows which group each person is in, and how many
there are in each. Only labels that may be known (a country, a version of an app, a month) are fit
for it. What the report says about the value is promised as before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lapwing.errors import ArgumentError, TallyError
from lapwing.privacy.exact_numbers import check_whole
from lapwing.protocol.messages.reports import Reports
from lapwing.protocol.messages.tally import Tally

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


class GroupTallies:
    """Tallies by group that grow batch by batch.

    Parameters
    ----------
    tallier : Survey or Randomizer
        Whose reports are counted.
    """

    def __init__(self, tallier: Tallier) -> None:
        self._tallier = tallier
        self._groups: dict[str | None, Tally] = {}  # None: without a label

    def add(self, reports: Reports, labels: Iterable[Any]) -> None:
        """Count a batch; nothing of it is counted when a report or a label is refused.

        Parameters
        ----------
        reports : Reports
        labels : iterable
            One text or whole number for each report; None, NaN and the empty text count as
            "other".

        Raises
        ------
        ArgumentError
            When there are not as many labels as reports, or more than 1000 different ones.
        ReportError
            With the position of the first report that cannot occur.
        """
        names, numbers = _numbered(labels)
        if numbers.size != len(reports):
            raise ArgumentError(
                f"every report needs a label, got {len(reports)} reports and {numbers.size} labels"
            )
        if len(self._groups.keys() | set(names)) > MOST_GROUPS:
            raise ArgumentError(
                f"there must be at most {MOST_GROUPS} groups, these labels have more; group by "
                "something coarser"
            )
        # The whole batch once, so that a refused report is named by its place in the batch.
        self._tallier.tally(reports)
        parts = {
            name: self._tallier.tally(Reports(reports.data[numbers == number], reports.fingerprint))
            for number, name in enumerate(names)
        }
        for name, part in parts.items():
            self._groups[name] = self._groups[name] + part if name in self._groups else part

    @property
    def total(self) -> int:
        """Reports counted so far."""
        return sum(tally.total for tally in self._groups.values())

    @property
    def labels(self) -> int:
        """Different labels so far, with one for those without."""
        return len(self._groups)

    def result(self, *, minimum: int = MINIMUM) -> dict[str, Tally]:
        """Return the tally of every group, by name: "other" for the small ones, last."""
        kept, rest = self.split(minimum=minimum)
        return kept if rest is None else {**kept, rest_name(kept): rest}

    def split(self, *, minimum: int) -> tuple[dict[str, Tally], Tally | None]:
        """Return the groups that are kept apart, and the sum of all others if there are any."""
        return split_groups(self._groups, minimum=minimum)


def split_groups(
    groups: Mapping[str | None, Tally], *, minimum: int
) -> tuple[dict[str, Tally], Tally | None]:
    """Return the groups that are kept apart, and the sum of all others if there are any.

    Parameters
    ----------
    groups : mapping
        The tally of each label; None for people without one, who are never kept apart.
    minimum : int
        At least 1: reports of a group that is kept apart.
    """
    check_whole("the minimum of a group", minimum, low=1)
    if not groups:
        raise TallyError("there must be at least one report to count")
    kept: dict[str, Tally] = {}
    rest: Tally | None = None
    for name, tally in sorted(groups.items(), key=lambda item: item[0] or ""):
        if tally.total >= minimum and name is not None:
            kept[name] = tally
        else:
            rest = tally if rest is None else rest + tally
    return kept, rest


def rest_name(kept: Iterable[str]) -> str:
    """Return what the small groups are called together: a name that no group has.

    Examples
    --------
    >>> rest_name(["north"]), rest_name(["north", "Other"])
    ('other', 'all other')
    """
    taken = {name.casefold() for name in kept}  # files are told apart so, too
    name = OTHER
    while name in taken:
        name = f"all {name}"
    return name


def _numbered(labels: Iterable[Any]) -> tuple[list[str | None], NDArray[np.int64]]:
    """Return the different names, and the number of the name of each label."""
    names: dict[str | None, int] = {}
    numbers = [names.setdefault(_name(label), len(names)) for label in labels]
    return list(names), np.array(numbers, dtype=np.int64)


def _name(label: Any) -> str | None:
    if label is None or label != label:
        return None
    return str(label).strip() or None
