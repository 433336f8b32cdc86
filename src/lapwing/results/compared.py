"""What is read of a difference: a table, a few lines, and whether two say the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lapwing.results.answer_documents import AnswerRequest
from lapwing.results.answer_text import html_of, lines_of, summary_of
from lapwing.results.answers import difference_answer
from lapwing.results.readable import Columns, equal_results, frame_of

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
        """Return a few lines for people: the shifts, and whether the two differ.

        The default target is :attr:`target`.
        """
        return lines_of(self._facts(level, target or self.target))

    def _repr_html_(self) -> str:
        """Return the summary as a notebook shows it."""
        return html_of(self._facts(0.95, self.target))

    def _facts(self, level: float, target: Target) -> dict[str, str]:
        request = AnswerRequest(level=level, target=target, probabilities=(0.25, 0.5, 0.75))
        return summary_of(difference_answer(self._made, request))


def _less(one: Any, other: Any) -> Any:
    return None if one is None or other is None else one - other
