"""The people of the central model's figures: drawn from laws, or rows of real columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy.papers.functional_approximation.central_methods import (
    SYMBOLS,
    Law,
    Vector,
    empirical,
    laws,
)
from benchmarks.datasets import Column, load, load_own
from lapwing.mechanisms.histogram_query import HistogramQuery
from lapwing.papers.functional_approximation.adaptive_quantiles import (
    AdaptiveQuantiles,
    noisy_answers,
)
from lapwing.papers.functional_approximation.matching_pursuit import MatchingPursuit, pursue
from lapwing.papers.functional_approximation.polynomial_projection import PolynomialProjection
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.integers import Integers
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.protocol.release import Release

SMOOTH = ("normal", "lognormal", "beta")
REAL = ("airbnb", "yaw")
OWN = {"airbnb": ("airbnb_us_2020", "airbnb_nyc"), "yaw": ("lyft_yaw", "kitti_yaw")}
"""The paper's files by their names in `benchmarks.datasets`, and what stands in for them."""

DRAWN = {"airbnb": 22_603, "yaw": 31_909}
"""Rows that the paper draws of its files."""


@dataclass(frozen=True, eq=False)
class People:
    """Where people come from, on a fixed domain.

    Parameters
    ----------
    name : str
    law : Law or None
        None: a real column.
    column : Column or None
        None: a law.
    bins : int
        Of the domain; the 366 days of an Airbnb year are their own symbols.
    spread : bool
        Whether whole numbers are mapped so that the first is -1 and the last 1; else each is in
        the middle of its part of [-1, 1].
    """

    name: str
    law: Law | None
    column: Column | None
    bins: int = SYMBOLS
    spread: bool = False

    @cached_property
    def domain(self) -> Domain:
        """The domain, as a curator uses it."""
        if self.column is None or self.spread:
            return Interval(-1, 1, bins=self.bins, outside="clip").for_curator()
        if self.column.values is not None and self.column.values.dtype.kind == "i":
            return Integers(
                int(self.column.low), int(self.column.high) - 1, outside="clip"
            ).for_curator()
        return Interval(
            self.column.low, self.column.high, bins=self.bins, outside="clip"
        ).for_curator()

    @property
    def kept(self) -> int | None:
        """Rows of a real column that a figure uses: the paper's number, or all there are."""
        if self.column is None:
            return None
        return min(DRAWN.get(self.name.partition(",")[0], self.column.kept), self.column.kept)

    @property
    def told(self) -> str:
        """Which law or file it is, with range, rows and people, for the head of a table."""
        if self.column is None:
            return f"**{self.name}**: drawn from a law on [-1, 1], {self.bins} symbols"
        which = "a stand-in" if self.column.is_stand_in else "the paper's own file"
        return (
            f"**{self.name}**: {which}, {self.column.source} ({self.column.rule}); "
            f"{self.kept:,} of its {self.column.kept:,} rows a repeat (the paper: "
            f"{DRAWN[self.name]:,}), {self.domain.left.size:,} symbols"
        )

    @property
    def sizes(self) -> tuple[int, int, int]:
        """Functions of PP, terms of MP and atoms to choose from: the paper's, appendix C-B."""
        return (10, 20, 80) if "yaw" in self.name else (6, 6, 40)

    def draw(self, people: int, *, seed: Sequence[int]) -> NDArray[Any]:
        """Return so many people: from the law, or different rows of the column."""
        rng = np.random.default_rng(list(seed))
        if self.law is not None:
            return self.law.draw(people, rng)
        assert self.column is not None and self.column.values is not None
        drawn = rng.choice(self.column.values, people, replace=False)
        if not self.spread:
            return drawn
        return 2 * (drawn - self.column.low) / (self.column.high - 1 - self.column.low) - 1

    def summarized(self, people: int, *, seed: Sequence[int]) -> ExactCounts:
        """Return the summary of so many people."""
        return ExactCounts.of_values(self.draw(people, seed=seed), self.domain)

    def own_cdf(self, summary: ExactCounts) -> Vector:
        """Return the distribution function of the people themselves."""
        return empirical(summary)

    def cdf(self, summary: ExactCounts) -> Vector:
        """Return what distances are taken to: the law, or the people themselves."""
        if self.law is None:
            return empirical(summary)
        step = SYMBOLS // self.bins
        return self.law.cdf[step - 1 :: step]


ENDS = ", first and last at the ends"
"""Follows the name of a column of whole numbers that is mapped so."""


def both_mappings(columns: Sequence[People]) -> list[People]:
    """Return columns, those of whole numbers in both ways of mapping them to [-1, 1]."""
    found = []
    for one in columns:
        found.append(one)
        values = None if one.column is None else one.column.values
        if values is not None and values.dtype.kind == "i":
            found.append(replace(one, name=one.name + ENDS, spread=True))
    return found


def people_of(names: Sequence[str], *, bins: int = SYMBOLS) -> list[People]:
    """Return laws by their name, and real columns by the name under which they are loaded."""
    known = laws()
    return [
        People(name, known[name], None, bins)
        if name in known
        else People(name, None, _real(name), bins)
        for name in names
    ]


def _real(name: str) -> Column:
    """Return the paper's own file where the user has it, else what stands in for it."""
    own, instead = OWN[name]
    return load_own(own) or load(instead)


def without_noise(release: Release, summary: ExactCounts) -> Release:
    """Return a release's mechanism run without noise, for reference curves: no privacy at all."""
    mechanism = release.mechanism
    if isinstance(mechanism, MatchingPursuit):
        dictionary = mechanism.curves(summary.domain)
        exact = dictionary.products @ summary.counts
        chosen, answers = pursue(exact, dictionary, terms=mechanism.terms, again=mechanism.again)
        return replace(release, answers=np.array(answers), choices={"atoms": chosen})
    if isinstance(mechanism, AdaptiveQuantiles):
        below = np.append(0, np.cumsum(summary.counts[: summary.domain.left.size]))
        steps = np.zeros(mechanism.steps, dtype=np.int64)
        found = noisy_answers(below, steps, people=summary.people, guarded=mechanism.guarded)
        return replace(release, answers=np.array(found))
    if isinstance(mechanism, HistogramQuery):
        exact = mechanism.strategy_for(summary.domain, "replace-one").answers(summary.counts)
    else:
        assert isinstance(mechanism, PolynomialProjection)
        exact = mechanism.strategy_for(summary.domain, "replace-one").answers(summary.counts)
    return replace(release, answers=exact)
