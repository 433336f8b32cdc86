"""The error distribution of an estimate, computed once when a tally is decoded, and its bands.

The band belongs to the channel and the tally, not to the decoder. A smoothed or constrained
estimate does not carry its own sampling error: a percentile bootstrap around EMS covers 45% where
it says 95%.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.linalg.lapack import dpstrf

from lapwing.documents import require
from lapwing.errors import FormatError
from lapwing.linear.arrays import Matrix, Vector, short_repr
from lapwing.linear.blas_threads import one_thread
from lapwing.linear.covariance import Covariance
from lapwing.linear.memoized import cached_property
from lapwing.linear.operators.sums import running_sums
from lapwing.results.band import (
    MOST_TAILS,
    Band,
    Kind,
    Target,
    check_kind,
    check_level,
    cut_band,
    independent_critical_values,
    normal_critical_value,
    whole_reach,
    with_tails,
)
from lapwing.results.spread_law import SHORT, Spread, SpreadLaw, decoded, encoded, factor_kind

__all__ = [
    "SIMULATED_LIMIT",
    "Band",
    "Kind",
    "Target",
    "Uncertainty",
    "Variants",
    "check_kind",
    "check_level",
    "independent_critical_values",
    "normal_critical_value",
]

_VARIANTS = {
    "population pointwise",
    "empirical simultaneous",
    "population simultaneous",
    "density",
}
"""The names that documents have for the fields of Variants."""

_DRAWS = 1000
"""Simulated suprema behind a simultaneous band. Its critical value is then within about 2%."""

_NOBODY = 1e-9
"""A sum of shares below this is rounding."""

_ROUNDING = 1e-8
"""By so much the sum of all symbols may miss one in a posterior."""

SIMULATED_LIMIT = 2**15
"""Labels up to which suprema are simulated, in a second."""

WHOLE = 512
"""Symbols up to which a covariance is kept whole."""

RANK = 128
"""Columns kept above that."""

UNKNOWN = 1e4
"""Variance of a share of which nothing is known. Its intervals reach from 0 to 1."""

_BATCH_LIMIT = 2**22
"""Limit of the numbers in a simulated batch: memory stays small on large domains."""


@dataclass(frozen=True, eq=False)
class Variants:
    """Error distributions of their own for some targets and kinds of band.

    None means that the plain one serves. An estimate has two targets. The *empirical* distribution
    is that of the people who reported. The estimate differs from it by the noise of their reports
    alone. The distribution of the *population* is that of all people they were drawn from, which
    adds the sampling error. The plain error distribution is about the first, at each point alone.
    A posterior has a center and a covariance for each target. It has a wider prior for bands that
    hold at all points at once. Where the reports show a smooth density, the prior of its steps
    (`density`) is narrower. That error distribution is about the people who reported.
    """

    population_pointwise: Uncertainty | None = None
    empirical_simultaneous: Uncertainty | None = None
    population_simultaneous: Uncertainty | None = None
    density: Uncertainty | None = None

    def listed(self) -> dict[str, Uncertainty]:
        """Return those that there are, by their fields, in the order that documents keep."""
        named = {
            "population_pointwise": self.population_pointwise,
            "empirical_simultaneous": self.empirical_simultaneous,
            "population_simultaneous": self.population_simultaneous,
            "density": self.density,
        }
        return {name: variant for name, variant in named.items() if variant is not None}

    def answering(self, kind: Kind, target: Target) -> Uncertainty | None:
        """Return the error distribution for a kind and a target, if it has its own."""
        if kind == "pointwise":
            return self.population_pointwise if target == "population" else None
        population, empirical = self.population_simultaneous, self.empirical_simultaneous
        return population if target == "population" else empirical


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """Error distribution of an estimate: normal, centered, with a covariance kept in parts.

    center: Estimate that it belongs to, float64 [symbols]. It may be signed.
    noise: Of the center's masses about the masses of the people who reported.
    remainder: float64 [symbols]: variance of the cumulative sums that `noise` leaves out.
    plug_in: float64 [symbols]: masses at which the covariance was evaluated.
    reports: Number of people. The population target adds the sampling error of so many.
    method: How it was made, with what is known of its coverage.
    variants: Error distributions of their own for some targets and kinds of band. This one serves
        the others.
    tails: Excess kurtosis of the cumulative sums, on average. Default: 0, normal errors. Bands are
        wider by it, because large errors are more frequent with Laplace noise than with Gaussian
        noise of the same variance.
    laplace: Variance of the Laplace noise in each mass, 0 where all noise is Gaussian. It is given
        where each mass has a noise of its own, as in a release of labels. Simultaneous intervals
        then follow from those of one mass, without simulation. Of a difference of two, it is the
        variance of one Laplace error of the same kurtosis.
    whole: Whether the masses are numbers of people over `reports`, with errors of whole people
        where they are a few. Intervals of single masses allow for it. Default: False.
    of_cells: Where `center` and `noise` are spread over the symbols from cells. A file then holds
        those.
    """

    center: Vector
    noise: Covariance
    remainder: Vector
    plug_in: Vector
    reports: int
    method: str
    variants: Variants = Variants()
    tails: float = 0.0
    laplace: float | None = None
    whole: bool = False
    of_cells: SpreadLaw | None = None

    __repr__ = short_repr

    @classmethod
    def of_covariance(
        cls, center: Vector, covariance: Matrix, plug_in: Vector, reports: int, method: str
    ) -> Uncertainty:
        """Return the error distribution of masses in order, from their covariance as a matrix.

        Up to 512 symbols nothing is left out. Above, the 128 strongest columns are kept, and the
        rest counts as independent errors of the cumulative sums. Their variances stay exact, and
        so does the band. Standard deviations of ranges are within 5% for 98 in 100 ranges. They
        are up to 30% too small for ranges exactly one wave wide.
        """
        size = covariance.shape[0]
        sums = running_sums(running_sums(covariance).T)
        sums = (sums + sums.T) / 2
        if size <= WHOLE:
            heights = triangular(sums)
        else:
            first = size - RANK
            values, vectors = eigh(sums, subset_by_index=[first, size - 1], check_finite=False)
            heights = vectors * np.sqrt(np.maximum(values, 0.0))
        factor = as_stored(np.diff(heights, axis=0, prepend=0.0))
        explained = (running_sums(factor) ** 2).sum(axis=1)
        remainder = np.maximum(np.diag(sums) - explained, 0.0)
        noise = Covariance(np.zeros(size), factor, np.ones(factor.shape[1]))
        return cls(center, noise, remainder, plug_in, reports, method)

    @classmethod
    def spread(
        cls, law: SpreadLaw, remainder: Vector, plug_in: Vector, reports: int, method: str
    ) -> Uncertainty:
        """Return the error distribution of symbols from that of their cells."""
        center = law.center
        if center.size == law.spread.start.size:
            center = law.spread.over_symbols(center)
        factor = law.spread.over_symbols(law.factor)
        noise = Covariance(np.zeros(center.size), factor, np.ones(factor.shape[1]))
        return cls(center, noise, remainder, plug_in, reports, method, of_cells=law)

    def covariance(self, target: Target) -> Covariance:
        """Return the covariance of the masses about the target."""
        return self.noise if target == "empirical" else self.noise + self.sampling

    @property
    def sampling(self) -> Covariance:
        """The covariance of the masses of so many people, drawn from the population."""
        drawn = Covariance(self.plug_in, self.plug_in[:, None], np.array([-1.0]))
        return drawn.scaled(1 / self.reports)

    def about(self, kind: Kind, target: Target) -> Uncertainty:
        """Return the error distribution for this kind and target: its noise is about the target.

        Raises ArgumentError when it is no kind or no target.
        """
        check_kind(kind, target)
        variant = self.variants.answering(kind, target)
        if variant is not None:
            return variant
        noise = self.covariance(target)
        whole = self.whole and target == "empirical"
        return replace(self, noise=noise, variants=Variants(), whole=whole, of_cells=None)

    def about_steps(self, target: Target) -> Uncertainty:
        """Return the error distribution of the steps that the reports can distinguish."""
        return (self.variants.density or self).about("simultaneous", target)

    def cdf_deviation(self, target: Target) -> Vector:
        """Return the standard deviation of the cumulative sums: float64 [symbols]."""
        covariance = self.covariance(target)
        variance = np.cumsum(covariance.diagonal) + self.remainder
        variance += np.cumsum(covariance.factor, axis=0) ** 2 @ covariance.signs
        deviation: Vector = np.sqrt(np.maximum(variance, 0.0))
        return deviation

    def deviation(self, weights: Vector, target: Target) -> float:
        """Return the standard deviation of ``sum(weights * masses)``."""
        covariance = self.covariance(target)
        variance = float(np.dot(covariance.diagonal, weights**2))
        variance += float((weights @ covariance.factor) ** 2 @ covariance.signs)
        # As a function of the cumulative sums the weights are their own differences.
        steps = weights - np.append(weights[1:], 0.0)
        variance += float(np.dot(self.remainder, steps**2))
        return float(np.sqrt(max(variance, 0.0)))

    def share_deviations(self, symbols: NDArray[np.int64]) -> Vector:
        """Return the standard deviation of the share of each symbol, about the people counted."""
        covariance = self.covariance("empirical")
        variance = covariance.diagonal[symbols]
        variance += covariance.factor[symbols] ** 2 @ covariance.signs
        before = np.append(0.0, self.remainder)
        variance += before[symbols] + before[symbols + 1]
        return np.sqrt(np.maximum(variance, 0.0))

    def laplace_part(self, weights: Vector, deviation: float) -> float:
        """Return the part of the variance of ``sum(weights * masses)`` that is tails, in 0..1.

        That which one Laplace error has in a normal one when their sum has the same kurtosis.
        """
        if self.laplace is None:
            return math.sqrt(self.tails / MOST_TAILS)
        if not (self.laplace > 0 and deviation > 0):
            return 0.0
        # The sum of all masses is known, or divided by: it takes the mean of the weights out.
        fourth = float(np.sum((weights - float(self.plug_in @ weights)) ** 4))
        return min(self._laplace_alike * math.sqrt(fourth) / deviation**2, 1.0)

    def curves(
        self, level: float, kind: Kind, *, cumulative: bool, least: float
    ) -> tuple[Vector, Vector]:
        """Return a lower and an upper curve about the target of the noise (:meth:`about`).

        level: In (0, 1).
        cumulative: Of the cumulative sums, or else of the masses.
        least: The curves are cut to [least, 1].
        """
        normal = normal_critical_value(level)
        if cumulative:
            heights, deviation = np.cumsum(self.center), self.cdf_deviation("empirical")
        else:
            heights, deviation = self.center, np.sqrt(np.maximum(self.noise.variance(), 0.0))
        used = deviation > 1e-3 * deviation.max(initial=0.0)
        critical: float | Vector
        if self.laplace is not None and not cumulative:
            part = self.laplace / np.maximum(deviation**2, 1e-300)
            at_once = max(1, int(used.sum())) if kind == "simultaneous" else 1
            critical = independent_critical_values(level, at_once, part)
            (normal,) = independent_critical_values(level, at_once, np.zeros(1))
        else:
            if kind == "simultaneous" and used.any():
                # A simulated value may by chance be below that of one point.
                drawn = self.critical_value(level, deviation, used, cumulative=cumulative)
                normal = max(normal, drawn)
            if self.laplace:
                alone = math.erf(normal / math.sqrt(2))
                part = self._laplace_parts(deviation)
                critical = np.maximum(normal, independent_critical_values(alone, 1, part))
            else:
                critical = with_tails(normal, self.tails)
        reach = critical * deviation
        if self.whole and not cumulative:
            few = whole_reach(normal, deviation * self.reports) / self.reports
            reach = np.maximum(reach, few)
        low, high = (np.clip(heights + side * reach, least, 1.0) for side in (-1, 1))
        # The sum of all is one, and a posterior has it to some 1e-9: rounding must not exclude it.
        high[high > 1.0 - _ROUNDING] = 1.0
        return low, high

    def _laplace_parts(self, deviation: Vector) -> Vector:
        """Return :meth:`laplace_part` of each cumulative sum: float64 [symbols]."""
        below = np.clip(np.cumsum(self.plug_in), 0.0, 1.0)
        held = np.arange(1, below.size + 1)
        fourth = held * (1 - below) ** 4 + (below.size - held) * below**4
        part: Vector = self._laplace_alike * np.sqrt(fourth) / np.maximum(deviation**2, 1e-300)
        return np.minimum(part, 1.0)

    @property
    def _laplace_alike(self) -> float:
        """Variance of a Laplace error whose fourth cumulant is that of the noise in each mass.

        That of discrete Laplace noise of variance v people is ``3 v^2 + v``.
        """
        laplace = self.laplace or 0.0
        return math.sqrt(laplace**2 + laplace / (3 * self.reports**2) * self.whole)

    @one_thread
    def critical_value(
        self, level: float, deviation: Vector, used: NDArray[np.bool_], *, cumulative: bool
    ) -> float:
        """Return the level-quantile of the largest standardized error over the used symbols.

        For the masses of very many symbols, returns an upper bound without a simulation. Gaussian
        errors are jointly within a limit at least as often as independent ones (Šidák 1967). Those
        of many labels are nearly independent. Of as many cumulative sums without a remainder it
        simulates those that :func:`_spread_places` keeps, and adds what a maximum over steps lacks
        (Siegmund 1985).
        """
        if not cumulative and self.center.size > SIMULATED_LIMIT:
            beyond = -math.expm1(math.log(level) / int(used.sum()))
            return -NormalDist().inv_cdf(beyond / 2)
        # A fixed seed: the same tally gives the same band, and no privacy hangs on it.
        rng = np.random.default_rng(20_261_121)
        noise, remainder, lacking = self.noise, self.remainder, 0.0
        if self.center.size > SIMULATED_LIMIT and not remainder.any():
            kept = _spread_places(self.center.size)
            noise, remainder = noise.of_sums(kept), remainder[kept]
            deviation, used = deviation[kept], used[kept]
            lacking = 0.5826 * math.sqrt(2 * math.log(self.center.size / 2) / SIMULATED_LIMIT)
        rows = max(1, min(_DRAWS, _BATCH_LIMIT // used.size))
        suprema: list[float] = []
        while len(suprema) < _DRAWS:
            errors = noise.sample(rows, rng)
            if cumulative:
                errors = np.cumsum(errors, axis=1)
                errors += rng.normal(size=errors.shape) * np.sqrt(remainder)
            suprema += (np.abs(errors[:, used]) / deviation[used]).max(axis=1).tolist()
        return float(np.quantile(suprema, level)) + lacking

    def band(
        self,
        *,
        level: float,
        kind: Kind,
        target: Target,
        left: Vector | None,
        right: Vector | None,
    ) -> Band:
        """Return the band of the CDF, or of the shares when the symbols have no place.

        level: In (0, 1).
        left, right: Ends of the symbols, float64 [symbols]. None for categories.

        A pointwise band of a CDF is cut to the simultaneous one of the same level and target, up to
        32,768 symbols. The simultaneous band never falls, so it can be the narrower one where the
        estimate goes up and down. That was so at 15 to 37 of 48 points of a circle, once
        :meth:`Band.monotone` had widened the pointwise band. A curve in the simultaneous band loses
        no point by the cut.
        """
        error_law = self.about(kind, target)
        if left is None:
            low, high = error_law.curves(level, kind, cumulative=False, least=0.0)
        elif kind == "simultaneous":
            low, high = (curve.copy() for curve in self._whole_curve(level, target))
        else:
            low, high = error_law.curves(level, kind, cumulative=True, least=0.0)
            if low.size <= SIMULATED_LIMIT:
                low, high = cut_band(low, high, *self._whole_curve(level, target))
        numbers = np.arange(self.center.size, dtype=np.float64)
        return Band(
            numbers if right is None else right,
            numbers if left is None else left,
            low,
            high,
            level,
            kind,
            target,
            error_law.method,
        )

    def _whole_curve(self, level: float, target: Target) -> tuple[Vector, Vector]:
        """Return the simultaneous band of the CDF, whose simulation is done once for each level."""
        key = level, target
        if key not in self._whole_curves:
            error_law = self.about("simultaneous", target)
            low, high = error_law.curves(level, "simultaneous", cumulative=True, least=0.0)
            # The truth is monotone: where the whole curve is covered, so is this. Not of a
            # pointwise band: at a point it would then have to hold at all points before it.
            low = np.maximum.accumulate(low)
            high = np.minimum.accumulate(high[::-1])[::-1]
            self._whole_curves[key] = low, high
        return self._whole_curves[key]

    @cached_property
    def _whole_curves(self) -> dict[tuple[float, Target], tuple[Vector, Vector]]:
        """Simultaneous bands that were asked for, by level and target."""
        return {}

    def turned(self, first: int) -> Uncertainty:
        """Return the error distribution on a circle whose symbols begin at `first`.

        Cumulative sums then begin there. An error of the old sum before `first` alone (`remainder`)
        is in all of them.
        """
        if first == 0:
            return self
        if first not in self._turned_laws:
            noise, remainder = self.noise, np.roll(self.remainder, -first)
            factor, signs = np.roll(noise.factor, -first, axis=0), noise.signs
            before = float(self.remainder[first - 1])
            if before > 0:
                column = np.zeros((remainder.size, 1))
                column[0], column[-1] = -math.sqrt(before), math.sqrt(before)
                factor, signs = np.hstack([factor, column]), np.append(signs, 1.0)
                remainder[-1] = 0.0  # the sum of all is one
            listed = self.variants.listed()
            self._turned_laws[first] = replace(
                self,
                center=np.roll(self.center, -first),
                noise=Covariance(np.roll(noise.diagonal, -first), factor, signs),
                remainder=remainder,
                plug_in=np.roll(self.plug_in, -first),
                variants=Variants(**{name: law.turned(first) for name, law in listed.items()}),
                of_cells=None,
            )
        return self._turned_laws[first]

    @cached_property
    def _turned_laws(self) -> dict[int, Uncertainty]:
        """Error distributions that begin at other symbols, which keep their simulations."""
        return {}

    @property
    def says_present(self) -> bool:
        """Whether somebody has another value than the last symbol, which is for missing ones."""
        laws = [self, *self.variants.listed().values()]
        shares = [part[:-1].sum() for law in laws for part in (law.center, law.plug_in)]
        return bool(min(shares) > _NOBODY)

    def given_present(self) -> Uncertainty:
        """Return the error distribution of present values: the last symbol is dropped.

        First order. Let c be the shares among the present, P the sum of their masses and e the
        errors of these masses. The error of c is ``(e - c sum(e)) / P``, because P has an error
        also. So an error in the sum of the present is in every share. The last cumulative sum is
        one, without error. This is exact for each part of the covariance.
        """
        present = float(self.center[:-1].sum())
        center = self.center[:-1] / present
        factor = self.noise.factor[:-1]
        diagonal, total = self.noise.diagonal[:-1], float(self.noise.diagonal[:-1].sum())
        parts, signs = [factor - np.outer(center, factor.sum(axis=0))], [self.noise.signs]
        if total > 0:
            # diag(d) - c d' - d c' + c c' sum(d), the last three by two columns.
            parts += [_column(center * total - diagonal, total), _column(diagonal, total)]
            signs += [np.array([1.0, -1.0])]
        remainder = self.remainder[:-1] / present**2
        if remainder[-1] > 0:
            parts += [_column(np.append(-center[:-1], 1 - center[-1]), 1 / self.remainder[-2])]
            signs += [np.array([1.0])]
            remainder[-1] = 0.0
        noise = Covariance(diagonal / present**2, np.hstack(parts) / present, np.concatenate(signs))
        held = self.plug_in[:-1].sum()
        return Uncertainty(
            center,
            noise,
            remainder,
            self.plug_in[:-1] / held,
            max(1, round(self.reports * float(held))),
            self.method,
            Variants(**{name: one.given_present() for name, one in self.variants.listed().items()}),
            self.tails,
            None if self.laplace is None else self.laplace / present**2,
            self.whole,
        )

    _sizes: ClassVar = ("symbols",)

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form, with arrays as base64 of little-endian floats.

        They have 64 bits, but for factors of many columns, which have 32. The key `tails` is there
        only where errors are not normal, `cells` where the distribution is spread from cells.
        """
        listed = self.variants.listed()
        spread = None if self.of_cells is None else self.of_cells.spread
        # Where one beside it is of other cells, or of symbols, all hold a number for each symbol.
        by_cell = spread is not None and all(
            one.of_cells is not None and one.of_cells.spread.equals(spread)
            for one in listed.values()
        )
        document = self._own_document(by_cell=by_cell)
        if by_cell and spread is not None:
            document["cells"] = spread.to_document()
            for name, one in listed.items():
                if np.array_equal(one.plug_in, self.plug_in):
                    del document["variants"][name.replace("_", " ")]["plug_in"]
        return document

    def _own_document(self, *, by_cell: bool) -> dict[str, Any]:
        """Return the JSON form with every key. Arrays of cells where they are held by cell."""
        law: SpreadLaw | Uncertainty = self
        factor, diagonal = self.noise.factor, {"diagonal": encoded(self.noise.diagonal)}
        if by_cell and self.of_cells is not None:
            law, factor, diagonal = self.of_cells, self.of_cells.factor, {}
        document = {
            "center": encoded(law.center),
            **diagonal,
            "factor": encoded(factor.T, kind=factor_kind(self.noise.signs.size)),
            "signs": encoded(self.noise.signs),
            "remainder": encoded(self.remainder, kind=SHORT if by_cell else "<f8"),
            "plug_in": encoded(self.plug_in),
            "reports": self.reports,
            "method": self.method,
            "variants": {
                name.replace("_", " "): one._own_document(by_cell=by_cell)
                for name, one in self.variants.listed().items()
            },
        }
        more: dict[str, Any] = {"tails": self.tails} if self.tails else {}
        more |= {"whole": True} if self.whole else {}
        return document | more | ({} if self.laplace is None else {"laplace": self.laplace})

    @classmethod
    def from_document(
        cls, document: dict[str, Any], *, symbols: int, outer: Uncertainty | None = None
    ) -> Uncertainty:
        """Return the error distribution that :meth:`to_document` wrote.

        document: JSON object that :meth:`to_document` returned.
        symbols: Number of symbols of the domain.
        outer: The error distribution of which it is a variant: of the same cells, and with the same
            `plug_in` where it has none.

        Raises FormatError when it is damaged.
        """
        spread = None
        if outer is not None and outer.of_cells is not None:
            spread = outer.of_cells.spread
        elif isinstance(document, dict) and outer is None and "cells" in document:
            spread = Spread.from_document(document["cells"], symbols=symbols)
        keys = {"center", "factor", "signs", "remainder", "plug_in"}
        keys |= {"diagonal"} if spread is None else set()
        optional = {"tails", "laplace", "whole"}
        if spread is not None:
            optional |= {"cells"} if outer is None else {"plug_in"}
        all_keys = (keys | {"reports", "method", "variants"}) - optional
        require(document, all_keys, name="an uncertainty", optional=tuple(sorted(optional)))
        variants, laplace = document["variants"], document.get("laplace")
        if document.get("whole", True) is not True:
            raise FormatError("the uncertainty of this distribution is damaged. Do not use it")
        if "laplace" in document and not (type(laplace) is float and 0 <= laplace < np.inf):
            raise FormatError("the uncertainty of this distribution is damaged. Do not use it")
        if not isinstance(variants, dict) or not set(variants) <= _VARIANTS:
            raise FormatError("the uncertainty of this distribution is damaged. Do not use it")
        if outer is not None and variants:
            raise FormatError(
                "a variant of an uncertainty must not have variants itself. "
                "Do not use this document"
            )
        kinds = {} if spread is None else {"remainder": SHORT}
        arrays = {
            key: decoded(document[key], kind=kinds.get(key, "<f8"))
            for key in (keys - {"factor"}) & set(document)
        }
        if outer is not None and "plug_in" not in arrays:
            arrays["plug_in"] = outer.plug_in
        rank = arrays["signs"].size
        arrays["factor"] = decoded(document["factor"], kind=factor_kind(rank))
        rows = symbols if spread is None else spread.start.size
        sizes = dict.fromkeys(keys, symbols)
        sizes |= {"signs": rank, "factor": rank * rows}
        if spread is not None and arrays["center"].size == rows:
            sizes["center"] = rows  # spread over the symbols as the factor is
        reports = document["reports"]
        tails = document.get("tails", 0.0)
        whole = type(reports) is int and reports >= 1
        whole = whole and type(tails) in (int, float) and 0 <= tails <= MOST_TAILS
        whole = whole and (spread is None or bool((arrays["signs"] == 1).all()))
        if any(arrays[key].size != sizes[key] for key in keys) or not whole:
            raise FormatError("the uncertainty of this distribution is damaged. Do not use it")
        center, factor = arrays["center"], arrays["factor"].reshape(rank, rows).T
        parts = arrays["remainder"], arrays["plug_in"], reports, str(document["method"])
        if spread is None:
            noise = Covariance(arrays["diagonal"], factor, arrays["signs"])
            found = cls(center, noise, *parts)
        else:
            found = cls.spread(SpreadLaw(spread, center, factor), *parts)
        found = replace(found, tails=float(tails), laplace=laplace, whole="whole" in document)
        listed = {
            name.replace(" ", "_"): cls.from_document(variant, symbols=symbols, outer=found)
            for name, variant in variants.items()
        }
        return replace(found, variants=Variants(**listed))


def _column(numbers: Vector, divisor: float) -> Matrix:
    """Return one column of a factor, whose square is divided by a number: [symbols, 1]."""
    column: Matrix = (numbers / np.sqrt(divisor))[:, None]
    return column


def as_stored(columns: Matrix) -> Matrix:
    """Return columns as a file gives them back, so that a loaded band is the same band.

    Files hold them as float32, one after the other. Sums over them depend on that order.
    """
    return np.asfortranarray(columns.astype(np.float32).astype(np.float64))


def triangular(covariance: Matrix, *, limit: int | None = None) -> Matrix:
    """Return columns G with ``G G' = covariance``: a tenth of the time of eigenvectors.

    covariance: float64 [size, size], positive semidefinite but for rounding.
    limit: Columns kept at the most, each of which explains one more of the largest variances left.
    """
    factor, pivots, rank, _ = dpstrf(covariance, lower=1)
    kept = rank if limit is None else min(rank, limit)
    # One column of zeros when nothing varies.
    columns = np.zeros((covariance.shape[0], max(kept, 1)))
    columns[pivots - 1, :kept] = np.tril(factor)[:, :kept]
    return columns


def _spread_places(size: int) -> NDArray[np.int64]:
    """Return places in a long row of sums: all at both ends, and then at steps of 0.1%."""
    near = np.unique(np.geomspace(1, size / 2, SIMULATED_LIMIT // 2).astype(np.int64)) - 1
    return np.unique(np.concatenate([near, size - 1 - near]))
