"""Two joint distributions compared."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from lapwing.results.difference_intervals import People
    from lapwing.results.uncertainty import Target


class JointAnswers(Protocol):
    """Questions of a difference to both of its sides, which a joint distribution answers."""

    def probability(self, **ranges: Any) -> float:
        """Return the share of the people in a range on each axis."""

    def probability_interval(
        self, *, level: float = 0.95, **ranges: Any
    ) -> tuple[float, float] | None:
        """Return an interval for it."""

    def marginal(self, axis: str) -> Any:
        """Return the distribution of one attribute alone."""


@dataclass(frozen=True, eq=False)
class JointDifference:
    """Difference of two joint distributions, of different people.

    Parameters
    ----------
    first, second : JointDistribution
        The difference is the first minus the second.
    """

    first: JointAnswers
    second: JointAnswers

    def probability(self, **ranges: Any) -> float:
        """Return the difference of the probabilities of ranges.

        Parameters
        ----------
        **ranges : pair, label, value, or list of labels
            As for :meth:`JointDistribution.probability`.

        Returns
        -------
        float
            In [-1, 1].
        """
        return self.first.probability(**ranges) - self.second.probability(**ranges)

    def probability_interval(
        self, *, level: float = 0.95, **ranges: Any
    ) -> tuple[float, float] | None:
        """Return an interval for :meth:`probability`.

        Parameters
        ----------
        level : float
            Confidence level, in (0, 1). Default: 0.95.
        **ranges : pair, label, value, or list of labels
            As for :meth:`JointDistribution.probability`.

        Returns
        -------
        tuple of float, or None
            Lower and upper end. None if one of the two has no draws.
        """
        one = self.first.probability_interval(level=level, **ranges)
        other = self.second.probability_interval(level=level, **ranges)
        if one is None or other is None:
            return None
        value, second = self.first.probability(**ranges), self.second.probability(**ranges)
        below = math.hypot(value - one[0], other[1] - second)
        above = math.hypot(one[1] - value, second - other[0])
        return max(value - second - below, -1.0), min(value - second + above, 1.0)

    def marginal(self, axis: str) -> Any:
        """Return the difference of the marginals of one axis.

        Parameters
        ----------
        axis : str
            Name of the axis.

        Returns
        -------
        Difference
            Difference of the two marginals, as for different people.
        """
        return self.first.marginal(axis).difference(self.second.marginal(axis), people="different")

    def plot(
        self,
        *,
        level: float = 0.95,
        names: tuple[str, str] = ("first", "second"),
        people: People = "different",
        target: Target = "population",
        figure: Any = None,
    ) -> Any:
        """Plot a map of the differences above the differences of each attribute alone.

        A block of the map is outlined and shows its number if its interval excludes zero.

        Parameters
        ----------
        level : float
            Confidence level of intervals, in (0, 1). Default: 0.95.
        names : (str, str)
            Names of the two, used in labels. Default: "first" and "second".
        people : {"different", "same"}
            "different" (default) if nobody contributed to both.
        target : {"population", "empirical"}
            Whom the intervals are about. Default: "population".
        figure : matplotlib.figure.Figure, optional
            Figure to draw in. Default: a new pyplot figure.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.

        Raises
        ------
        MissingExtraError
            When matplotlib is not installed.
        """
        from lapwing.results.joint_difference_plotting import draw_joint_difference

        return draw_joint_difference(
            self.first,
            self.second,
            level=level,
            names=names,
            people=people,
            target=target,
            figure=figure,
        )
