"""The result for pairs: a joint distribution, and questions about two attributes together."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lapwing.declared import Whole
from lapwing.docstrings import inherits
from lapwing.errors import ArgumentError, DomainError, LimitedWarning
from lapwing.linear.arrays import Matrix, Values, Vector, as_numbers
from lapwing.privacy.exact_numbers import check_whole
from lapwing.privacy.guarantee import Guarantee
from lapwing.privacy.sampling.randomness import generator_of
from lapwing.protocol.domains.domain_documents import STORED_DOMAIN
from lapwing.protocol.domains.product import Product
from lapwing.results.association import correlation_of, information_text, mutual_information
from lapwing.results.counted import whom
from lapwing.results.distribution import Distribution
from lapwing.results.exact_values import NO_ERROR, StoredResult, exact_mark, is_exact, promise_text
from lapwing.results.joint_conditions import (
    Parts,
    check_slices,
    condition_parts,
    edges_around,
    nothing_held,
    present_cells,
    slice_place,
    slices,
    warn_of_few_present,
)
from lapwing.results.joint_difference import JointDifference
from lapwing.results.joint_uncertainty import JointUncertainty
from lapwing.results.readable import Columns, SummarizedResult, equal_results, hash_of_result, plain
from lapwing.results.rounding import count_text, estimate_text, percent
from lapwing.results.uncertainty import Uncertainty, check_level, normal_critical_value
from lapwing.stored_fields import FromFields, StoredArray

LEAST_SLICE = 0.02
"""Share of people in a condition below which its intervals have not been validated."""

SLICE = 0.05
"""Share of the people in each slice of :meth:`JointDistribution.conditional_quantiles`."""


@dataclass(frozen=True, eq=False, repr=False)
class JointDistribution(SummarizedResult, FromFields, StoredResult):
    """Joint distribution of two attributes.

    Its masses are not negative and sum to one. Use a :meth:`marginal` for one axis, and
    :meth:`probability` for both. :meth:`given` is for one axis among some of the people.

    Parameters
    ----------
    domain : Product
        The two axes.
    mass : numpy.ndarray
        Shares of the cells, float64 [cells], row by row of the first axis.
    reports : int
        Number of people who reported. It is 0 for a distribution that was not estimated.
    guarantee : Guarantee, optional
        The privacy guarantee under which the reports were collected.
    uncertainty : JointUncertainty, optional
        Posterior draws, made during decoding. Without them there are no intervals.
    provenance : dict
        How the result was made. JSON values only.

    Notes
    -----
    **Accuracy.** Intervals are pointwise, from a posterior whose prior is four times as wide as
    learned, and up to sixteen times on thin ridges. Those of correlations and mutual information
    use no prior. The benchmark page on pairs shows their coverage. Single cells have no intervals.

    Examples
    --------
    >>> import lapwing as lw
    >>> pairs = lw.Product(x=lw.Integers(0, 1), y=lw.Categories(["a", "b"]))
    >>> joint = lw.results.JointDistribution(pairs, [0.4, 0.1, 0.2, 0.3])
    >>> round(joint.probability(x=1, y="b"), 3), round(joint.given(y="a").share(1), 3)
    (0.3, 0.333)
    """

    domain: Annotated[Product, STORED_DOMAIN]
    mass: Annotated[NDArray[np.float64], StoredArray(packed=True, shape=("symbols",))]
    reports: Whole = 0
    guarantee: Guarantee | None = None
    uncertainty: JointUncertainty | None = None
    provenance: dict[str, Any] = field(default_factory=dict)
    _kind: ClassVar[Literal["joint-distribution"]] = "joint-distribution"
    _name: ClassVar = "a joint distribution"
    __eq__ = equal_results
    __hash__ = hash_of_result

    def __post_init__(self) -> None:
        """Check that it is a distribution over pairs, and freeze it."""
        if not isinstance(self.domain, Product):
            raise DomainError("a joint distribution needs a Product of two axes")
        mass = as_numbers(self.mass, name="mass").ravel().copy()
        if mass.size != self.domain.size:
            raise ArgumentError(
                f"there must be {self.domain.size} masses, one for each cell, got {mass.size}"
            )
        if not np.isfinite(mass).all() or mass.min() < 0 or abs(float(mass.sum()) - 1) > 1e-6:
            raise ArgumentError("mass", "must be finite, not negative and sum to 1")
        if abs(float(mass.sum()) - 1) > 1e-12:
            mass /= mass.sum()
        mass.flags.writeable = False
        object.__setattr__(self, "mass", mass)

    def __repr__(self) -> str:
        """Return one line: what it is about, not its numbers."""
        said = filter(None, (f"{self.reports} reports", promise_text(self)))
        return f"<JointDistribution of {' and '.join(self.domain.names)}, {', '.join(said)}>"

    def __getattr__(self, name: str) -> Any:
        """Say where questions about one attribute are answered."""
        if not name.startswith("_") and hasattr(Distribution, name):
            first, second = self.domain.names
            raise AttributeError(
                f"a joint distribution has no {name}. Ask for that of one attribute with "
                f"marginal({first!r}), or of {first!r} among some people with "
                f"given({second}=...)"
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @classmethod
    def of_values(cls, values: Values, domain: Product) -> JointDistribution:
        """Return the empirical distribution of raw pairs.

        Parameters
        ----------
        values : sequence of pairs, array_like [n, 2], or table
            Pairs, in the forms that :meth:`Product.index` takes.
        domain : Product
            The two axes.

        Returns
        -------
        JointDistribution
            Exact values, not private: without intervals, and saved only with ``exact=True``.
        """
        return cls.of_counts(np.bincount(domain.index(values), minlength=domain.size), domain)

    @classmethod
    @inherits(of_values)
    def of_counts(cls, counts: ArrayLike, domain: Product) -> JointDistribution:
        """Return the empirical distribution with these counts for the cells.

        Parameters
        ----------
        counts : array_like [cells] or [first axis, second axis]
            Counts of the cells: whole numbers with a positive sum.
        """
        numbers = as_numbers(counts, name="counts").ravel()
        if not 0 < numbers.sum() < np.inf:
            raise ArgumentError("counts", "must have a positive sum")
        reports = int(numbers.sum())
        return cls(domain, numbers / numbers.sum(), reports, provenance=exact_mark())

    @classmethod
    def independent(cls, **marginals: Distribution) -> JointDistribution:
        """Return the product of two marginals, as if the attributes were independent.

        Parameters
        ----------
        **marginals : Distribution
            Exactly two, by the names of the axes and in order.

        Returns
        -------
        JointDistribution
            Distribution for comparison, without intervals or any dependence. Its `reports` are
            those of the smaller survey.

        Raises
        ------
        ArgumentError
            When a marginal is not a Distribution.
        DomainError
            When there are not two of them.

        Examples
        --------
        >>> import lapwing as lw
        >>> x = lw.Distribution.of_counts([3, 1], lw.Integers(0, 1))
        >>> joint = lw.results.JointDistribution.independent(x=x, y=x)
        >>> joint.probability(x=0, y=0)
        0.5625
        """
        if not all(isinstance(given, Distribution) for given in marginals.values()):
            raise ArgumentError("each marginal must be a Distribution, by the name of its axis")
        domain = Product(**{axis: given.domain for axis, given in marginals.items()})
        first, second = marginals.values()
        mass = np.outer(first.mass, second.mass).ravel()
        reports = min(first.reports, second.reports)
        return cls(domain, mass, reports, provenance=exact_mark(first, second))

    @property
    def table(self) -> NDArray[np.float64]:
        """Shares of the cells as a table: float64 [first axis, second axis]."""
        return self.mass.reshape(self.domain.shape)

    def marginal(self, axis: str) -> Distribution:
        """Return the distribution of one attribute alone.

        Parameters
        ----------
        axis : str
            Name of the axis.

        Returns
        -------
        Distribution
            Marginal distribution. If the axis has an order, it has quantiles, means, bands and so
            on.

        Raises
        ------
        ArgumentError
            When no axis has this name.

        Examples
        --------
        >>> import lapwing as lw
        >>> pairs = lw.Product(x=lw.Integers(0, 1), y=lw.Integers(0, 1))
        >>> joint = lw.results.JointDistribution(pairs, [0.4, 0.1, 0.2, 0.3])
        >>> joint.marginal("x").mean()
        0.5
        """
        number = self.domain.axis_number(axis)
        summed = 1 - number
        mass = self.table.sum(axis=summed)
        return Distribution(
            self.domain.domains[number],
            mass,
            reports=self.reports,
            guarantee=self.guarantee,
            uncertainty=self._sums(lambda cells: cells.sum(axis=1 + summed), mass, self.reports),
            provenance={**self.provenance, "marginal": axis},
        )

    def given(self, **condition: Any) -> Distribution:
        """Return the distribution of one attribute among the people who meet a condition.

        Parameters
        ----------
        **condition : pair, label, value, or list of labels
            The name of the other axis, and which of its values: ``hour=("06:00", "10:00")`` is a
            range, as :meth:`Distribution.probability` takes it. ``region="north"`` is one label or
            value. A list is any of several labels.

        Returns
        -------
        Distribution
            Distribution of the axis that the condition does not name. Its `reports` is the
            estimated number of people who meet the condition.

        Raises
        ------
        ArgumentError
            When the condition does not name exactly one axis, or nobody meets it.
        DomainError
            When the condition cannot be read in the unit of its axis.

        Warns
        -----
        LimitedWarning
            When a range ends inside a bin, whose people are then divided by length. Also when
            fewer than 2% of the people meet the condition, where intervals have not been
            validated.

        Notes
        -----
        **Accuracy.** At an epsilon of 2 or less the estimate shrinks differences between
        conditions, above all for a short range. Trust the intervals more than the estimates.

        Examples
        --------
        >>> import lapwing as lw
        >>> pairs = lw.Product(x=lw.Integers(0, 1), y=lw.Integers(0, 1))
        >>> joint = lw.results.JointDistribution(pairs, [0.4, 0.1, 0.2, 0.3])
        >>> round(joint.given(x=0).share(1), 3)
        0.2
        """
        if len(condition) != 1:
            raise ArgumentError(
                f"a condition must be on one axis, {' or '.join(self.domain.names)}, got "
                f"{len(condition)}"
            )
        ((name, asked),) = condition.items()
        number = self.domain.axis_number(name)
        weights, cut = self._parts(number, asked)["estimate"]
        if cut:
            edges = edges_around(self.domain.domains[number], asked)
            warnings.warn(
                f"the range of {name} ends inside a bin. The bin's people are divided in "
                "proportion to length, and intervals do not include this uncertainty. Choose "
                f"an edge of the bin: {edges}",
                LimitedWarning,
                stacklevel=2,
            )
        share = float(weights @ self.table.sum(axis=1 - number))
        if share <= 0:
            raise ArgumentError(nothing_held(self.domain.domains[number], name, asked))
        if self.uncertainty is not None and share < LEAST_SLICE:
            warnings.warn(
                f"only {estimate_text(100 * share)}% of the people meet the condition on "
                f"{name}. Below 2%, intervals were not measured",
                LimitedWarning,
                stacklevel=2,
            )
        return self._among(number, weights)

    def _among(self, number: int, weights: Vector) -> Distribution:
        """Return the distribution of the other axis among people who are weighted by one axis."""
        held = np.tensordot(weights, self.table, axes=(0, number))
        share = float(held.sum())
        mass = held / share

        def conditional(cells: Matrix) -> Matrix:
            sums = np.tensordot(cells, weights, axes=(1 + number, 0))
            center = sums[0] / sums[0].sum()
            # To first order: an error in the number of people is in every share.
            moved = (sums[1:] - sums[1:].sum(axis=1, keepdims=True) * mass) / share
            return np.vstack([center, moved])

        people = max(1, round(self.reports * share)) if self.reports else 0
        return Distribution(
            self.domain.domains[1 - number],
            mass,
            reports=people,
            guarantee=self.guarantee,
            uncertainty=self._sums(conditional, mass, people),
            provenance={**self.provenance, "given": self.domain.names[number]},
        )

    def _of_symbols(self, number: int, symbols: NDArray[np.int64]) -> Distribution:
        """Return the distribution of one axis among those in some symbols of the other."""
        weights = np.zeros(self.domain.shape[number])
        weights[symbols] = 1.0
        return self._among(number, weights)

    def _sums(self, summed: Any, mass: Vector, reports: int) -> Uncertainty | None:
        """Return the error distribution of sums of cells; None without draws."""
        if self.uncertainty is None:
            return None
        cells = np.vstack([self.uncertainty.center[None], self.uncertainty.draws])
        sums = summed(cells.reshape(-1, *self.domain.shape))
        return self.uncertainty.of_sums(sums, mass, reports)

    def probability(self, **ranges: Any) -> float:
        """Return the share of the people whose values lie in a range on each axis.

        Parameters
        ----------
        **ranges : pair, label, value, or list of labels
            Range of one axis or of each, as for :meth:`given`. Ranges include the end that belongs
            to the bins. An infinite end includes the values beyond the range of the axis.

        Returns
        -------
        float
            Probability in [0, 1], among the people whose values are present on the axes named.

        Raises
        ------
        ArgumentError
            When no axis is named, or a named axis does not exist.
        DomainError
            When a range cannot be read in the unit of its axis.
        """
        weights = self._box(ranges, "estimate")
        present = present_cells(self.domain, ranges)
        held = float((self.table * present).sum())
        if held <= 0:
            raise ArgumentError("nobody has values on the named axes, so no share is defined")
        return min(float((self.table * weights * present).sum()) / held, 1.0)

    def probability_interval(
        self, *, level: float = 0.95, **ranges: Any
    ) -> tuple[float, float] | None:
        """Return an interval for :meth:`probability`, wherever values lie inside divided bins.

        Parameters
        ----------
        level : float
            Confidence level, in (0, 1). Default: 0.95.
        **ranges : pair, label, value, or list of labels
            As for :meth:`probability`.

        Returns
        -------
        tuple of float, or None
            Lower and upper end of a pointwise interval, in [0, 1]. None without draws.

        Raises
        ------
        ArgumentError
            When there are no valid ranges, or the level is not in (0, 1).
        """
        check_level(level)
        if self.uncertainty is None:
            return None
        present = present_cells(self.domain, ranges)
        critical = normal_critical_value(level)
        estimate = self.probability(**ranges)
        warn_of_few_present(float((self.table * present).sum()))
        ends = []
        for edge, sign in (("whole", -1), ("some", 1)):
            weights = self._box(ranges, edge)
            value, deviation = self._ratio(weights * present, present)
            ends.append(value + sign * critical * deviation)
        low, high = np.clip(ends, 0.0, 1.0)
        return min(float(low), estimate), max(float(high), estimate)

    def _ratio(self, weights: Matrix, present: Matrix) -> tuple[float, float]:
        """Return ``sum(weights * shares) / sum(present * shares)`` and its standard deviation."""
        law = self.uncertainty
        assert law is not None
        held = max(float(law.center @ present.ravel()), 1e-9)  # nearly nobody: nothing is known
        value = float(law.center @ weights.ravel()) / held
        return value, law.deviation((weights - value * present).ravel()) / held

    def _box(self, ranges: dict[str, Any], edge: str) -> Matrix:
        """Return the part of each cell that lies in the ranges."""
        if not ranges:
            raise ArgumentError(f"name at least one axis: {' or '.join(self.domain.names)}")
        asked = {self.domain.axis_number(name): ends for name, ends in ranges.items()}
        parts = [
            self._parts(number, asked[number])[edge][0] if number in asked else np.ones(size)
            for number, size in enumerate(self.domain.shape)
        ]
        return np.outer(*parts)

    def _parts(self, number: int, asked: Any) -> Parts:
        return condition_parts(self.domain.domains[number], self.domain.names[number], asked)

    def conditional_quantiles(
        self,
        axis: str,
        probabilities: Sequence[float] = (0.25, 0.5, 0.75),
        *,
        level: float = 0.95,
        slice_share: float = SLICE,
    ) -> Columns:
        """Return quantiles of one axis in slices of the people along the other axis.

        Parameters
        ----------
        axis : str
            Name of an ordered axis, whose quantiles are returned.
        probabilities : sequence of float
            Probabilities in [0, 1]. Default: the quartiles.
        level : float
            Confidence level of the intervals, in (0, 1). Default: 0.95.
        slice_share : float
            Least share of the people in a slice, in (0, 1]: neighboring bins of the other axis are
            merged until they have it. Each label is a slice. Default: 0.05.

        Returns
        -------
        dict of str to list
            A row for each slice and probability: "from" and "to" or "label" of the slice, "share",
            "probability", "quantile", "low", "high". The ends are infinite if the slice contains
            the people outside the range.

        Raises
        ------
        ArgumentError
            When no axis has this name, the axis is a circle, or the share is not in (0, 1].
        DomainError
            When the axis has no order.

        Examples
        --------
        >>> import lapwing as lw
        >>> pairs = lw.Product(x=lw.Integers(0, 3), y=lw.Categories(["a", "b"]))
        >>> joint = lw.results.JointDistribution(pairs, [0.2, 0, 0.2, 0.1, 0.1, 0.2, 0, 0.2])
        >>> joint.conditional_quantiles("x", [0.5])["quantile"]
        [1.0, 2.0]
        """
        number = self.domain.axis_number(axis)
        of, by = self.domain.domains[number], self.domain.domains[1 - number]
        other = self.domain.names[1 - number]
        check_slices(of, axis, other, slice_share)
        check_level(level)
        shares = self.marginal(other).mass
        rows: list[dict[str, Any]] = []
        for symbols in slices(by, shares, slice_share):
            found = self._of_symbols(1 - number, symbols)
            place = slice_place(by, symbols)
            for probability in np.atleast_1d(np.asarray(probabilities, dtype=np.float64)):
                interval = found.quantile_interval(probability, level=level)
                low, high = (None, None) if interval is None else interval
                rows.append(
                    {
                        **place,
                        "share": float(shares[symbols].sum()),
                        "probability": float(probability),
                        "quantile": plain(found.quantile(probability)),
                        "low": plain(low),
                        "high": plain(high),
                    }
                )
        return {key: [row[key] for row in rows] for key in rows[0]} if rows else {}

    def correlation(self, kind: Literal["pearson", "spearman"] = "pearson") -> float:
        """Return the correlation of the two attributes.

        Parameters
        ----------
        kind : {"pearson", "spearman"}
            Correlation of the values, at the middles of their bins and limited to the ranges of
            the axes, or of their ranks. Default: "pearson".

        Returns
        -------
        float
            Correlation in [-1, 1], among the people whose values are both present.

        Raises
        ------
        DomainError
            When an axis has no order, or is a circle.
        ArgumentError
            When the kind is none of its allowed words, or an axis has only one value.
        """
        return correlation_of(self.domain, kind)(self.table)

    def correlation_interval(
        self, kind: Literal["pearson", "spearman"] = "pearson", *, level: float = 0.95
    ) -> tuple[float, float] | None:
        """Return an interval for the correlation of the people.

        A smooth table shows a weaker correlation than the people have. The interval covers the
        people's correlation, and also includes the table's.

        Parameters
        ----------
        kind : {"pearson", "spearman"}
            As for :meth:`correlation`.
        level : float
            Confidence level, in (0, 1). Default: 0.95.

        Returns
        -------
        tuple of float, or None
            Lower and upper end, in [-1, 1]. None without draws.

        Notes
        -----
        **Accuracy.** For the coverage see the benchmark page on pairs.
        """
        correlation_of(self.domain, kind)  # which refuses what has none
        return self._interval(kind, level)

    def mutual_information(self) -> float:
        """Return the mutual information of the two attributes in this table, in nats.

        If the people lie close to a line, a smooth table has less of it than they do.

        Returns
        -------
        float
            Mutual information of the binned attributes, at least 0, and 0 if they are independent.
        """
        return mutual_information(self.table)

    def mutual_information_interval(self, *, level: float = 0.95) -> tuple[float, float] | None:
        """Return an interval for the mutual information of the people, in nats.

        Reports cannot show how finely two attributes depend on each other. So the lower end is the
        least dependence that the reports support. The upper end is the most that the cells allow:
        the logarithm of the number of symbols on the smaller axis. A lower end above 0 shows a
        dependence.

        Parameters
        ----------
        level : float
            Confidence level, in (0, 1). Default: 0.95.

        Returns
        -------
        tuple of float, or None
            Lower and upper end, at least 0. None without draws.

        Notes
        -----
        **Accuracy.** For the default decoder see the benchmark page on pairs.
        """
        return self._interval("mutual_information", level)

    def _interval(self, measure: str, level: float) -> tuple[float, float] | None:
        check_level(level)
        law = self.uncertainty
        return (
            None if law is None else law.measure_interval(measure, self.domain, self.table, level)
        )

    def difference(self, other: JointDistribution) -> JointDifference:
        """Return this distribution minus another one, of different people.

        Parameters
        ----------
        other : JointDistribution
            Distribution on the same domain.

        Returns
        -------
        JointDifference
            Differences of probabilities, with intervals.

        Raises
        ------
        ArgumentError
            When the domains differ.
        """
        if not isinstance(other, JointDistribution) or other.domain != self.domain:
            raise ArgumentError("a difference needs two joint distributions on one domain")
        return JointDifference(self, other)

    def sample(self, size: int, *, rng: np.random.Generator | int) -> list[tuple[Any, Any]]:
        """Return synthetic pairs.

        Parameters
        ----------
        size : int
            At least 0.
        rng : numpy.random.Generator or int
            Source of the random numbers.

        Returns
        -------
        list of pair
            Values of both axes. A number is drawn evenly within its bin.
        """
        check_whole("size", size, low=0, high=2**31, error=ArgumentError)
        generator = generator_of(rng)
        cells = generator.choice(self.mass.size, size=size, p=self.mass)
        columns = []
        for axis, symbols in zip(
            self.domain.domains, np.unravel_index(cells, self.domain.shape), strict=True
        ):
            counts = np.bincount(symbols, minlength=axis.size)
            column = np.empty(size, dtype=object)
            for symbol in np.flatnonzero(counts):
                unit = np.zeros(axis.size)
                unit[symbol] = 1.0
                drawn = Distribution(axis, unit).sample(int(counts[symbol]), rng=generator)
                column[symbols == symbol] = list(drawn)
            columns.append(column.tolist())
        return list(zip(*columns, strict=True))

    @inherits(JointDifference.plot)
    def plot(
        self, *, quantiles_of: str | None = None, level: float = 0.95, figure: Any = None
    ) -> Any:
        """Plot the joint distribution, or quantiles of one axis along the other.

        Two ordered axes give a map with contours, the marginals at its sides, and a map of the
        uncertainty. If an axis has labels, there is a distribution for each label instead.

        Parameters
        ----------
        quantiles_of : str, optional
            Name of an ordered axis whose quartiles, with intervals, are drawn along the other
            axis.
        level : float
            Confidence level of intervals, in (0, 1). Default: 0.95.
        """
        from lapwing.results.joint_plotting import draw_joint, draw_quantiles

        if quantiles_of is not None:
            return draw_quantiles(self, quantiles_of, level=level, figure=figure)
        return draw_joint(self, level=level, figure=figure)

    def _facts(self, level: float) -> dict[str, str]:
        facts = {"people": count_text(self.reports)}
        for name, axis in self.domain.axes.items():
            one = self.marginal(name)
            absent = 0.0 if axis.missing_index is None else float(one.mass[axis.missing_index])
            if absent:
                facts[f"missing {name}"] = percent(absent)
            if axis.ordered and not axis.circular and absent < 1:
                facts[f"quartiles of {name}"] = ", ".join(
                    value if isinstance(value, str) else estimate_text(value)
                    for value in (plain(one.quantile(q)) for q in (0.25, 0.5, 0.75))
                )
        interval = self.mutual_information_interval(level=level)
        facts["mutual information"] = information_text(self.table, interval)
        none = f"none: {NO_ERROR}" if is_exact(self) else "none"
        facts["intervals"] = f"about {whom('empirical', self.guarantee)}" if interval else none
        promise = promise_text(self)
        return facts if promise is None else facts | {"privacy guarantee": promise}
