"""What is read of a difference: a table, a few lines, and whether two say the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lapwing.protocol.domains.units import to_text
from lapwing.results.readable import (
    Columns,
    equal_results,
    frame_of,
    html_of,
    lines_of,
    percent,
    with_interval,
)
from lapwing.results.summarized import LARGEST
from lapwing.results.symbols import values_of

if TYPE_CHECKING:  # so that completion does not stumble over the words of a property
    from lapwing.results.band import Kind, Target


class Compared:
    """The part of a Difference that people and other programs read."""

    __eq__ = equal_results

    def __hash__(self) -> int:
        """Return a number that is equal for equal differences."""
        made = self._made
        return hash((made.first, made.second, made.people))

    @property
    def _made(self) -> Any:
        return self  # a Difference, whose file reads this one

    @property
    def target(self) -> Target:
        """Whom a difference is about unless it is asked otherwise.

        All people the two were drawn from, where these may be compared: where nobody is in both.
        """
        return "population" if self._made.people == "different" else "empirical"

    def to_dict(
        self, *, level: float = 0.95, kind: Kind = "pointwise", target: Target = "empirical"
    ) -> Columns:
        """Return a table as a dict of columns, one row for each symbol of the domain.

        Parameters
        ----------
        level : float
            Of the intervals, in (0, 1).
        kind : {"pointwise", "simultaneous"}
            Whether the level holds for each row alone, or for all rows at once.
        target : {"empirical", "population"}

        Returns
        -------
        dict of str to list
            The columns of :meth:`Distribution.to_dict`, each the first less the second: `share`
            of all people, and `cdf` with its interval `low` and `high` of those whose value is
            present; of labels `share` with its interval.
        """
        made, band = self._made, self._made.confidence_band(level, kind=kind, target=target)
        one, two = (each.to_dict(level=level) for each in (made.first, made.second))
        shown: Columns = dict(one)
        for name in ("share", "share_of_present", "cdf"):
            if name in one:
                shown[name] = list(map(_less, one[name], two[name]))
        ends = ([None] * len(one["low"]),) * 2
        if band is not None:
            rest = [None] * (len(one["low"]) - band.low.size)
            ends = ([*band.low.tolist(), *rest], [*band.high.tolist(), *rest])
        shown["low"], shown["high"] = ends
        return shown

    def to_pandas(
        self, *, level: float = 0.95, kind: Kind = "pointwise", target: Target = "empirical"
    ) -> Any:
        """Return :meth:`to_dict` as a pandas DataFrame; MissingExtraError without pandas."""
        return frame_of(self.to_dict(level=level, kind=kind, target=target))

    def summary(self, *, level: float = 0.95, target: Target | None = None) -> str:
        """Return a few lines for people: the promise, the shifts, and whether the two differ.

        The default target is :attr:`target`.
        """
        return lines_of(self._facts(level, target or self.target))

    def _repr_html_(self) -> str:
        """Return the summary as a notebook shows it."""
        return html_of(self._facts(0.95, self.target))

    def _facts(self, level: float, target: Target) -> dict[str, str]:
        made = self._made
        facts = {
            "reports": f"{made.first.reports:,} and {made.second.reports:,}",
            "people": made.people,
        }
        if made.guarantee is not None:
            facts["promise of both"] = str(made.guarantee)
        facts |= (
            self._of_numbers(level, target)
            if made.first.domain.ordered
            else (self._of_labels(level, target))
        )
        whole = made.confidence_band(level, kind="simultaneous", target=target)
        told = None if whole is None else whole.leaves_zero
        facts["intervals"] = f"{100 * level:g} %, about {ABOUT[target]}"
        facts["the two differ"] = {None: "not known", True: "yes", False: "not shown"}[told]
        return facts

    def _of_numbers(self, level: float, target: Target) -> dict[str, str]:
        made = self._made

        def shift(value: float, ends: tuple[float, float] | None) -> str:
            texts = [to_text(float(each), unit="number") for each in (value, *(ends or ()))]
            return with_interval(texts[0], None if ends is None else (texts[1], texts[2]))

        asked = {"level": level, "target": target}
        facts = {"shift of the mean": shift(made.mean(), made.mean_interval(**asked))}
        for probability in (0.25, 0.5, 0.75):
            name = "median" if probability == 0.5 else f"{100 * probability:g} % quantile"
            ends = made.quantile_interval(probability, **asked)
            facts[f"shift of the {name}"] = shift(made.quantile(probability), ends)
        return facts

    def _of_labels(self, level: float, target: Target) -> dict[str, str]:
        made = self._made
        gaps, domain = made.first.mass - made.second.mass, made.first.domain
        band = made.confidence_band(level, kind="simultaneous", target=target)
        largest = np.argsort(-np.abs(gaps), kind="stable")[:LARGEST]
        facts = {}
        for label, symbol in zip(values_of(domain, largest), largest.tolist(), strict=True):
            ends = None if band is None else (percent(band.low[symbol]), percent(band.high[symbol]))
            name = "(missing)" if label is None else str(label)
            facts[f"share of {name}"] = with_interval(percent(float(gaps[symbol])), ends)
        return facts


ABOUT: dict[Target, str] = {
    "empirical": "the people who reported",
    "population": "all people they were drawn from",
}
"""The targets in words."""


def _less(one: Any, other: Any) -> Any:
    return None if one is None or other is None else one - other
