"""The result on domains too large to list: the values that stand out, and the remainder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from statistics import NormalDist
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from lapwing.docstrings import inherits
from lapwing.documents import Stored, nearest
from lapwing.errors import ArgumentError
from lapwing.privacy.guarantee import Guarantee
from lapwing.protocol.domains.domain_documents import StoredDomain
from lapwing.results.answer_documents import AnswerRequest
from lapwing.results.answer_text import summary_of
from lapwing.results.answers import result_answer
from lapwing.results.counted import whom
from lapwing.results.intervals import reaching
from lapwing.results.picture import BAR_LIMIT, Bars, name_of, people_and_guarantee
from lapwing.results.plotting import show
from lapwing.results.readable import (
    Columns,
    SummarizedResult,
    TabularResult,
    equal_results,
    frame_of,
    hash_of_result,
    interval_columns,
)
from lapwing.results.rounding import count_text, percent
from lapwing.results.signed_estimate import SignedEstimate
from lapwing.results.symbols import values_of
from lapwing.results.uncertainty import Band, Kind, Target, check_kind, check_level
from lapwing.stored_fields import FromFields, StoredArray

_NUMBER_LIMIT = 1e100

METHOD = (
    "Gaussian interval about the unbiased share. 'simultaneous' applies Bonferroni's "
    "correction over all values searched, so it remains valid although only large estimates "
    "are listed"
)


@dataclass(frozen=True, eq=False, repr=False)
class HeavyHitters(FromFields, Stored, SummarizedResult):
    """Heavy hitters: the values whose estimated share reaches a threshold.

    The largest share comes first.

    Parameters
    ----------
    domain : Domain
        Domain that was searched, or to which the candidates were hashed.
    symbols : numpy.ndarray
        Numbers of the listed values in the domain, int64 [m], all different.
    shares : numpy.ndarray
        Unbiased estimates of their shares, float64 [m], decreasing. Their sum may
        exceed 1.
    deviations : numpy.ndarray
        Standard deviations of the errors of `shares`, float64 [m], not negative. Errors
        are about the shares among the respondents.
    threshold : float
        Smallest estimated share that is listed.
    searched : int
        Number of values that were compared with the threshold.
    reports : int
        Number of people who reported, at least 1.
    expected_false : float, optional
        Expected number of listed values that nobody has. Under false-discovery control it is a
        fraction of the number of listed values. Default: None, not known.
    labels : sequence of str, optional
        Names of the listed values if the domain has none for them: candidates that were hashed
        into it.
    guarantee : Guarantee, optional
        Privacy guarantee under which the reports were collected.
    provenance : dict
        How the result was made: decoder and settings. JSON values only.

    Raises
    ------
    ArgumentError
        When arrays have the wrong shape, shares are not decreasing or not finite, or a symbol is
        not in the domain or is listed twice.

    Notes
    -----
    **Accuracy.** Shares are unbiased for values that were named before looking. A value is listed
    because its estimate came out large, so the shares of listed values are too large on average.
    Simultaneous intervals hold after this selection.

    Examples
    --------
    >>> import lapwing as lw
    >>> import numpy as np
    >>> found = lw.HeavyHitters(
    ...     lw.Categories(2**32), np.array([7, 3]), np.array([0.5, 0.25]), np.array([0.01, 0.01]),
    ...     threshold=0.06, searched=2**32, reports=100_000,
    ... )
    >>> found.values, found.remainder
    ([7, 3], 0.25)
    """

    domain: StoredDomain
    symbols: Annotated[NDArray[np.int64], StoredArray("<i8")]
    shares: Annotated[NDArray[np.float64], StoredArray()]
    deviations: Annotated[NDArray[np.float64], StoredArray()]
    _: KW_ONLY
    threshold: float
    searched: int
    reports: int
    expected_false: float | None = None
    labels: Sequence[str] | None = None
    guarantee: Guarantee | None = None
    provenance: dict[str, Any] = field(default_factory=dict)
    _kind: ClassVar[Literal["heavy-hitters"]] = "heavy-hitters"
    __eq__ = equal_results
    __hash__ = hash_of_result

    _name: ClassVar = "a list of heavy hitters"

    def __post_init__(self) -> None:
        """Check the arrays and freeze them."""
        symbols = np.array(self.symbols, dtype=np.int64)
        shares = np.array(self.shares, dtype=np.float64)
        deviations = np.array(self.deviations, dtype=np.float64)
        if symbols.ndim != 1 or shares.shape != symbols.shape or deviations.shape != symbols.shape:
            raise ArgumentError(
                "symbols, shares and deviations must be three lists of equal length, got shapes "
                f"{symbols.shape}, {shares.shape} and {deviations.shape}"
            )
        # Their squares must be finite, too.
        if not (np.abs(shares) < _NUMBER_LIMIT).all() or (np.diff(shares) > 0).any():
            raise ArgumentError("shares", "must be finite, the largest first")
        if not (deviations < _NUMBER_LIMIT).all() or deviations.min(initial=0.0) < 0:
            raise ArgumentError("deviations", "must be finite and not negative")
        low, high = int(symbols.min(initial=0)), int(symbols.max(initial=0))
        if low < 0 or high >= self.domain.size or np.unique(symbols).size != symbols.size:
            raise ArgumentError(
                "symbols", f"must be different and in 0..{self.domain.size - 1}, the domain's"
            )
        if not symbols.size <= self.searched or self.reports < 1:
            raise ArgumentError(
                f"{symbols.size} listed values need at least as many searched values and at "
                f"least one report, got {self.searched} searched and {self.reports} reports"
            )
        if not abs(self.threshold) < _NUMBER_LIMIT:
            raise ArgumentError("threshold", "must be finite")
        if self.labels is not None:
            object.__setattr__(self, "labels", tuple(self.labels))
            if len(self.labels) != symbols.size:
                raise ArgumentError(
                    f"there must be a label for each of the {symbols.size} values, got "
                    f"{len(self.labels)}"
                )
        for name, array in (("symbols", symbols), ("shares", shares), ("deviations", deviations)):
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    def __repr__(self) -> str:
        """Return one line: how many there are, not which."""
        promise = f", {self.guarantee}" if self.guarantee else ""
        return (
            f"<HeavyHitters: {count_text(self.symbols.size)} of {count_text(self.searched)} "
            f"{'hashes' if self._hashes else 'values'} have an estimated share of "
            f"{percent(self.threshold)} or more, {count_text(self.reports)} reports{promise}>"
        )

    def __len__(self) -> int:
        """Return the number of listed values."""
        return int(self.symbols.size)

    @property
    def values(self) -> list[Any]:
        """Listed values: labels, whole numbers or left ends of bins, and None for missing values.

        Hashed strings found by a scan are shown as "hash 7", because a hash does not reveal its
        string.
        """
        if self.labels is not None:
            return list(self.labels)
        values = values_of(self.domain, self.symbols)
        if not self._hashes:
            return values
        return [None if value is None else f"hash {value}" for value in values]

    @property
    def _hashes(self) -> bool:
        """Whether the listed values are numbers of hashes, not strings."""
        return self.labels is None and self.domain.name == "hashed-strings"

    @property
    def remainder(self) -> float:
        """Share of everybody else: one minus the listed shares. The estimate may be negative."""
        return float(1 - self.shares.sum())

    def share(self, value: Any) -> float:
        """Return the estimated share of a listed value.

        Parameters
        ----------
        value : object
            One of :attr:`values`.

        Returns
        -------
        float
            Unbiased estimate, which may be above 1.

        Raises
        ------
        ArgumentError
            When the value is not listed. Nothing is known about other values.

        Examples
        --------
        >>> import lapwing as lw
        >>> import numpy as np
        >>> found = lw.HeavyHitters(
        ...     lw.Categories(2**32), np.array([7, 3]), np.array([0.5, 0.25]),
        ...     np.array([0.01, 0.01]), threshold=0.06, searched=2**32, reports=100_000,
        ... )
        >>> low, high = found.share_interval(7)
        >>> print(f"{found.share(7):.1%} ({low:.1%} to {high:.1%})")
        50.0% (43.2% to 56.8%)
        """
        return float(self.shares[self._place(value)])

    def share_interval(
        self, value: Any, *, level: float = 0.95, target: Target = "empirical"
    ) -> tuple[float, float]:
        """Return an interval for :meth:`share`, from the simultaneous ones.

        Parameters
        ----------
        value : object
            One of :attr:`values`.
        level : float
            Confidence level, in (0, 1). Default: 0.95.
        target : {"empirical", "population"}
            The people who reported (default), or all people from whom they were drawn.

        Returns
        -------
        tuple of float
            Lower and upper end of the simultaneous interval.

        Raises
        ------
        ArgumentError
            When the value is not listed, or the level is not in (0, 1).

        Notes
        -----
        **Accuracy.** A value is listed because its estimate came out large, so a pointwise interval
        would fail too often.
        """
        place = self._place(value)
        band = self.confidence_band(level, target=target)
        return reaching((float(band.low[place]), float(band.high[place])), self.share(value))

    def _place(self, value: Any) -> int:
        places = {str(each): place for place, each in enumerate(self.values)}
        place = places.get(str(value))
        if place is None:
            raise ArgumentError(
                f"{value!r} is not listed{nearest(str(value), places)}. Only values with an "
                f"estimated share of at least {percent(self.threshold)} are listed. Nothing is "
                "known about others"
            )
        return place

    @inherits(SignedEstimate.confidence_band)
    def confidence_band(
        self, level: float = 0.95, *, kind: Kind = "simultaneous", target: Target = "empirical"
    ) -> Band:
        """Return the intervals of the listed shares, in order.

        Parameters
        ----------
        level : float
            Nominal coverage, in (0, 1). Default: 0.95.
        kind : {"simultaneous", "pointwise"}
            Simultaneous intervals (default) cover all values searched at once. So they also cover
            those that chance put on the list. Pointwise ones cover a value that was named before
            looking. For selected values near the threshold they are too optimistic.

        Returns
        -------
        Band
            One interval for each listed value, with ends in [0, 1].

        Notes
        -----
        **Accuracy.** Normal approximation: shares are sums of `reports` bounded terms. Simultaneous
        intervals are Bonferroni's over all values searched.

        **Cost.** O(listed values).
        """
        check_level(level)
        check_kind(kind, target)
        comparisons = max(self.searched, 1) if kind == "simultaneous" else 1
        # The lower tail: for 2^40 comparisons the upper one would be rounded to 1.
        critical = -NormalDist().inv_cdf((1 - level) / 2 / comparisons)
        variance = self.deviations**2
        if target == "population":
            plain = np.clip(self.shares, 0, 1)
            variance = variance + plain * (1 - plain) / self.reports
        reach = critical * np.sqrt(variance)
        places = np.arange(self.symbols.size, dtype=np.float64)
        return Band(
            places,
            places,
            np.clip(self.shares - reach, 0, 1),
            np.clip(self.shares + reach, 0, 1),
            level,
            kind,
            target,
            METHOD,
        )

    def to_dict(
        self, *, level: float = 0.95, kind: Kind = "simultaneous", target: Target = "empirical"
    ) -> Columns:
        """Return a table as a dict of columns: `value`, `share`, `low`, `high` and two of text.

        Its rows are the listed values, with the intervals of :meth:`confidence_band`. The column
        `interval` states their kind, and `about` states whom they are about.

        Parameters
        ----------
        level : float
            Level of the intervals, in (0, 1). Default: 0.95.
        kind : {"simultaneous", "pointwise"}
            Whether the level holds for all values searched, or for each row alone.
        target : {"empirical", "population"}
            The people who reported (default), or all people from whom they were drawn.

        Returns
        -------
        dict of str to list
            Columns of the table.
        """
        band = self.confidence_band(level, kind=kind, target=target)
        ends = interval_columns(band, len(self), whom(target, self.guarantee, self.reports))
        return {"value": self.values, "share": self.shares.tolist(), **ends}

    @inherits(TabularResult.to_pandas)
    def to_pandas(self, *, level: float = 0.95, kind: Kind = "simultaneous") -> Any:
        """Return the table of :meth:`to_dict` as a pandas DataFrame.

        Parameters
        ----------
        kind : {"simultaneous", "pointwise"}
            Whether the level holds for all values searched, or for each row alone.
        """
        return frame_of(self.to_dict(level=level, kind=kind))

    def _facts(self, level: float) -> dict[str, str]:
        return summary_of(result_answer(self, AnswerRequest(level=level)))

    def _picture(self, *, level: float = 0.95, target: Target = "empirical") -> Bars:
        """Return the largest shares with their simultaneous intervals, as plain data.

        level: Of the intervals.
        target: {"empirical", "population"}. Whom they are about.
        """
        heights, band = self.shares[:BAR_LIMIT], self.confidence_band(level, target=target)
        shown = slice(heights.size)
        about = people_and_guarantee(self.reports, self.guarantee, target)
        stand_out = f"{count_text(len(self))} of {count_text(self.searched)} values stand out"
        if heights.size < len(self):
            stand_out += f", the {heights.size} largest are shown"
        return Bars(
            self.values[shown],
            heights,
            # An unbiased share may lie outside [0, 1]; its interval starts at it then.
            intervals=(np.minimum(band.low[shown], heights), np.maximum(band.high[shown], heights)),
            interval_name=name_of(band, "interval"),
            threshold=self.threshold,
            title=f"{about or ''}\n{stand_out}".strip(),
        )

    def plot(self, ax: Any = None, *, level: float = 0.95, title: str | None = None) -> Any:
        """Draw the shares with their simultaneous intervals.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw in. Default: a new figure.
        level : float
            Level of the simultaneous intervals, in (0, 1). Default: 0.95.
        title : str, optional
            Title of the picture. Default: a title from the result.

        Returns
        -------
        matplotlib.axes.Axes
            Axes of the picture.

        Raises
        ------
        MissingExtraError
            When matplotlib is not installed.
        """
        return show(self._picture(level=level), ax=ax, title=title)
