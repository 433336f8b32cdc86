"""The errors of many weeks that were decoded together, and what any two of them share.

For numbers, the errors are kept as the weeks' information about the state of a random walk, and how
far that walk may move. This takes a few kB a week. The covariance of every week, and of any two,
follows from these by filter and smoother, in memory and after a file was read alike. Labels are a
walk each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar, Literal, TypeAlias, get_args

import numpy as np

from lapwing.declared import AtLeastOne, Declared, From
from lapwing.errors import ArgumentError
from lapwing.linear.arrays import Matrix, Vector, short_repr
from lapwing.linear.covariance import Covariance
from lapwing.linear.memoized import cached_property
from lapwing.linear.random_walk import (
    NOTHING,
    PseudoMeasurement,
    Smoothed,
    filtered,
    left_inverse,
    smoothed,
    without_own,
)
from lapwing.results.uncertainty import Kind, Uncertainty, Variants, as_stored
from lapwing.stored_fields import UNSTORED, FromFields, StoredArray

Walked: TypeAlias = Kind | Literal["between"]
"""A kind of band of one week, or all bands of the difference of two weeks."""

_NEGLIGIBLE = 1e-4
"""Part of a direction's largest variance that reports may tell of, and be left out of a file."""
# Variances are too large by such a part then.

_LARGEST = 1e6
"""What every variance and factor in a file is below: far more than masses can vary."""

Variance = Annotated[float, From(0, _LARGEST, without="most")]

BySymbol = Annotated[Vector, StoredArray(packed=True, shape=("size",))]

ByState = Annotated[Vector, StoredArray(packed=True, shape=("state",))]

ByWeek = Annotated[Matrix, StoredArray(packed=True, shape=("weeks", "size"))]


@dataclass(frozen=True)
class Wider(Declared, FromFields):
    """By how much the learned variances are multiplied for bands of one kind.

    jump: Those of the first week, of change points and of outliers.
    step: Those of ordinary steps.
    flicker: Those of what every week has alone.
    least: Level of the step that any week may have alongside them, as a standard deviation.
    """

    jump: Variance
    step: Variance
    flicker: Variance
    least: Variance

    _name: ClassVar = "how a series is widened"


@dataclass(frozen=True, eq=False)
class WeekErrors(Declared, FromFields):
    """One week's information, and about whom it is.

    root: float64 [rank, state], as float32 has it: the information is ``root' root``.
    pilot: float64 [size]: masses at which it was taken.
    centers: By kind of band, float64 [size]: about the week's own people. Files of earlier versions
        have none for differences.
    """

    root: Annotated[Matrix, StoredArray("<f4", packed=True, shape=("", "state"))]
    pilot: BySymbol
    reports: AtLeastOne
    centers: Mapping[Walked, BySymbol]

    _name: ClassVar = "the errors of a week"
    _sizes: ClassVar = ("size", "state")

    def __post_init__(self) -> None:
        """Check the sizes."""
        super().__post_init__()
        if self.root.shape[0] > self.root.shape[1]:
            raise ArgumentError("root", "must have at most as many rows as columns")
        if _too_large(self.pilot):
            raise ArgumentError("the masses of a week are damaged")

    __repr__ = short_repr


@dataclass(frozen=True, eq=False)
class WalkErrors(Declared, FromFields):
    """Error distributions of all weeks. Masses are ``mean + columns (a + u)``: a walks, u is new.

    columns: float64 [size, state], of sum zero, as float32 has them.
    first: float64 [state, state]: prior covariance of the first week's state.
    step, shape: float64 [state]: variances of an ordinary step, and of a jump of level 1.
    jump, odd: float64 [weeks]: levels of the change into each week, and of an outlier in that
        week alone.
    flicker: Level of what every week has alone.
    wider: By kind of band.
    weeks: None where nobody reported.
    scores: float64 [weeks, state]: where the weeks were decoded. No variance depends on them, so no
        file has them.

    Let A be the information, P the posterior covariance of the walk and D the covariance of drawing
    the week's people. An error e about the population becomes ``(I - D A) e`` about these people,
    plus an independent error of covariance ``D - D A D``.
    """

    columns: Annotated[Matrix, StoredArray("<f4", packed=True, shape=("size", "state"))]
    first: Annotated[Matrix, StoredArray(packed=True, shape=("state", "state"))]
    step: ByState
    shape: ByState
    jump: Annotated[Vector, StoredArray(packed=True, shape=("weeks",))]
    odd: Annotated[Vector, StoredArray(packed=True, shape=("weeks",))]
    flicker: Variance
    wider: Mapping[Walked, Wider]
    method: str
    weeks: tuple[WeekErrors | None, ...]
    scores: Matrix | None = field(default=None, metadata=UNSTORED)

    _name: ClassVar = "the errors of a series"
    _sizes: ClassVar = ("size", "weeks")

    def __post_init__(self) -> None:
        """Check the variances and the sizes."""
        super().__post_init__()
        variances = (self.step, self.shape, self.jump, self.odd)
        negative = any((each < 0).any() for each in variances)
        if negative or _too_large(self.first, *variances):
            raise ArgumentError("the variances of this series are damaged")
        if self.columns.shape[1] > self.columns.shape[0]:
            raise ArgumentError("columns", "must have at most as many columns as rows")
        if len(self.weeks) != self.jump.size:
            raise ArgumentError("weeks", "must have an entry for each week")

    def _check_stored(self) -> None:
        kinds = set(self.wider)
        if not {*get_args(Kind)} <= kinds:
            raise ArgumentError("wider", "must have an entry for each kind of band")
        if any(week is not None and set(week.centers) != kinds for week in self.weeks):
            raise ArgumentError("weeks", "must be of the same kinds of band as `wider`")

    __repr__ = short_repr

    def own(self, kind: Walked, week: int) -> Vector:
        """Return the variances of what one week has alone: float64 [state]."""
        wider = self.wider[kind]
        level = wider.jump * self.odd[week] + wider.flicker * self.flicker
        own: Vector = level * self.shape
        return own

    @cached_property
    def walks(self) -> dict[Walked, Smoothed]:
        """The walk given all weeks, by kind of band."""
        scores = np.zeros((len(self.weeks), self.step.size)) if self.scores is None else self.scores
        looks = [
            None if week is None else PseudoMeasurement(week.root.T @ week.root, score)
            for week, score in zip(self.weeks, scores, strict=True)
        ]
        walks: dict[Walked, Smoothed] = {}
        for kind, wider in self.wider.items():
            levels: Vector = wider.jump * self.jump + wider.least**2
            steps: Matrix = wider.step * self.step + np.outer(levels, self.shape)
            owned = [without_own(look, self.own(kind, week)) for week, look in enumerate(looks)]
            walks[kind] = smoothed(filtered(owned, wider.jump * self.first, steps))
        return walks

    @cached_property
    def _inverse(self) -> Matrix:
        return left_inverse(self.columns)

    def _parts(self, kind: Walked, week: int) -> tuple[Matrix, Matrix]:
        """Return what an error of the walk is to the week's people, and what no other has.

        Both of amplitudes: float64 [state, state].
        """
        found = self.weeks[week]
        assert found is not None
        information = found.root.T @ found.root
        inverse = self._inverse
        mean = inverse @ found.pilot
        drawn = ((inverse * found.pilot) @ inverse.T - np.outer(mean, mean)) / found.reports
        kept = -drawn @ information
        alone = drawn + kept @ drawn
        kept[np.diag_indices_from(kept)] += 1
        own = self.own(kind, week)
        if own.max() > NOTHING:
            part = without_own(PseudoMeasurement(information, np.zeros(own.size)), own)
            assert part is not None
            told = own[:, None] * part.information
            alone = alone + kept @ (np.diag(own) - told * own) @ kept.T
            kept = kept - kept @ told
        return kept, (alone + alone.T) / 2

    def covariance(self, kind: Kind, week: int) -> Matrix:
        """Return the covariance of a week's error, of amplitudes: float64 [state, state]."""
        kept, alone = self._parts(kind, week)
        covariance: Matrix = kept @ self.walks[kind].covariance[week] @ kept.T + alone
        return covariance

    def law(self, week: int) -> Uncertainty | None:
        """Return the error distribution of a week, or None where nobody reported."""
        found = self.weeks[week]
        if found is None:
            return None
        laws = {
            kind: Uncertainty(
                found.centers[kind],
                self._noise(self.covariance(kind, week)),
                np.zeros(found.pilot.size),
                found.pilot,
                found.reports,
                self.method,
            )
            for kind in get_args(Kind)
        }
        whole = laws["simultaneous"]
        return replace(laws["pointwise"], variants=Variants(empirical_simultaneous=whole))

    def difference(
        self, earlier: int, later: int, mass: Vector, people: int
    ) -> dict[Kind, Uncertainty]:
        """Return the error distributions of the later week minus the earlier.

        earlier, later: Positions of weeks with reports.
        mass: float64 [size], of the later week.
        people: In the smaller of the two.
        """
        one, two = self.weeks[earlier], self.weeks[later]
        assert one is not None
        assert two is not None
        laws: dict[Kind, Uncertainty] = {}
        for of_band in get_args(Kind):
            kind: Walked = "between" if "between" in self.wider else of_band
            parts = self._parts(kind, earlier), self._parts(kind, later)
            walk = self.walks[kind]
            cross = parts[0][0] @ walk.between(earlier, later) @ parts[1][0].T
            covariance = -cross - cross.T
            for week, (kept, alone) in zip((earlier, later), parts, strict=True):
                covariance = covariance + kept @ walk.covariance[week] @ kept.T + alone
            laws[of_band] = Uncertainty(
                two.centers[kind] - one.centers[kind],
                self._noise(covariance),
                np.zeros(mass.size),
                mass,
                people,
                f"difference of two weeks: {self.method}",
            )
        return laws

    def _noise(self, covariance: Matrix) -> Covariance:
        """Return the covariance of masses from that of amplitudes."""
        values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        factor = as_stored(self.columns @ root)
        return Covariance(np.zeros(factor.shape[0]), factor, np.ones(factor.shape[1]))


def _too_large(*arrays: Vector) -> bool:
    """Return whether a file holds a number that no masses have."""
    return any(bool((np.abs(each) >= _LARGEST).any()) for each in arrays)


def root_of(information: Matrix, most: Vector) -> Matrix:
    """Return columns of an information that is kept: float64 [rank, state], as float32 has them.

    information: float64 [state, state].
    most: float64 [state], positive: the largest variance that each amplitude may have.
    """
    scale = np.sqrt(most)
    values, vectors = np.linalg.eigh(scale[:, None] * information * scale)
    kept = values > _NEGLIGIBLE
    root = (np.sqrt(values[kept]) * vectors[:, kept]).T / scale
    found: Matrix = np.ascontiguousarray(root.astype(np.float32).astype(np.float64))
    return found


_METHOD = "difference of two weeks: random walk of each label"


def _apart_law(center: Vector, variance: Vector, mass: Vector, people: int) -> Uncertainty:
    """Return the error distribution of a difference with independent errors of the labels."""
    noise = Covariance(variance, np.zeros((center.size, 0)), np.zeros(0))
    return Uncertainty(center, noise, np.zeros(center.size), mass, people, _METHOD, laplace=0.0)


@dataclass(frozen=True, eq=False)
class OwnPeople(FromFields):
    """How errors about the population become those about the people of each week.

    center: float64 [weeks, labels]: shares of these people.
    factor: float64 [weeks, labels]: part of an error about the population that is one about them.
    alone: float64 [weeks, labels]: variance that is added, which no other week shares.
    """

    center: ByWeek
    factor: ByWeek
    alone: ByWeek

    _name: ClassVar = "the errors about the people of each week"
    _sizes: ClassVar = ("weeks", "size")

    def __post_init__(self) -> None:
        """Check that they are variances, and parts of errors."""
        bad = (self.alone < 0).any() or (self.factor < 0).any() or (self.factor > 1).any()
        if bad or _too_large(self.center, self.alone):
            raise ArgumentError("the variances of this series are damaged")

    __repr__ = short_repr


@dataclass(frozen=True, eq=False)
class LabelErrors(FromFields):
    """The shares of all labels in all weeks, given all weeks, each label on its own.

    mean, variance: float64 [weeks, labels].
    carried: float64 [weeks, labels]: the fraction of its error that a week passes on to the next,
        given all weeks. The covariance of two weeks is the later one's variance times all fractions
        between.
    own: None in files of earlier versions, whose differences are about both targets alike.
    """

    mean: ByWeek
    variance: ByWeek
    carried: ByWeek
    own: OwnPeople | None = field(default=None, metadata={"absent": None})

    _name: ClassVar = "the errors of a series"
    _sizes: ClassVar = ("weeks", "size")

    def __post_init__(self) -> None:
        """Check the variances."""
        if (self.variance < 0).any() or _too_large(self.mean, self.variance, self.carried):
            raise ArgumentError("the variances of this series are damaged")

    __repr__ = short_repr

    def difference(
        self, earlier: int, later: int, mass: Vector, people: int
    ) -> dict[Kind, Uncertainty]:
        """Return the error distributions of the later week minus the earlier.

        earlier, later: Positions.
        mass: float64 [labels], of the later week.
        people: In the smaller of the two.
        """
        everybody = _apart_law(*self.apart(earlier, later), mass, people)
        law = everybody
        if self.own is not None:
            variants = Variants(population_pointwise=law, population_simultaneous=law)
            law = _apart_law(*self._own_apart(self.own, earlier, later), mass, people)
            law = replace(law, variants=variants)
        return {"pointwise": law, "simultaneous": law}

    def apart(self, earlier: int, later: int) -> tuple[Vector, Vector]:
        """Return the later week minus the earlier, and its variance: float64 [labels] each."""
        variance = self.variance[earlier] + self.variance[later]
        variance = variance - 2 * self._shared(earlier, later)
        return self.mean[later] - self.mean[earlier], np.maximum(variance, 0.0)

    def _own_apart(self, own: OwnPeople, earlier: int, later: int) -> tuple[Vector, Vector]:
        """Return :meth:`apart` about the people of the two weeks."""
        one, two = own.factor[earlier], own.factor[later]
        variance = one**2 * self.variance[earlier] + two**2 * self.variance[later]
        variance = variance - 2 * one * two * self._shared(earlier, later)
        variance = np.maximum(variance, 0.0) + own.alone[earlier] + own.alone[later]
        return own.center[later] - own.center[earlier], variance

    def _shared(self, earlier: int, later: int) -> Vector:
        """Return the covariance of two weeks: float64 [labels]."""
        shared: Vector = self.variance[later] * np.prod(self.carried[earlier:later], axis=0)
        return shared
