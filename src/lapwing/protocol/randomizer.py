"""The base class of all randomizers: documents, fingerprints, tallies, and checks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from lapwing.documents import fingerprint
from lapwing.errors import ArgumentError, DomainError, MismatchError, ReportError, kind_of
from lapwing.linear.arrays import Values
from lapwing.linear.memoized import cached_property
from lapwing.privacy.exact_numbers import Epsilon
from lapwing.privacy.guarantee import Certificate, Guarantee
from lapwing.privacy.sampling.randomness import RandomSource, source_of, standing_of
from lapwing.protocol.channels.channel import Channel
from lapwing.protocol.domains.domain import Described, DomainField
from lapwing.protocol.messages.reports import Reports, unpack_codes
from lapwing.protocol.messages.tally import CountTally, Tally, TallyLog

CHUNK = 2**16
"""Number of people randomized at a time, so that the temporary arrays stay in cache."""

if TYPE_CHECKING:  # with a default, which the typing of Python 3.11 does not know
    from typing_extensions import TypeVar

    Collected = TypeVar("Collected", bound=Tally, default=Tally, covariant=True)
else:
    from typing import TypeVar

    Collected = TypeVar("Collected", covariant=True)

Fill = Callable[[NDArray[np.int64], NDArray[np.uint8]], None]


@dataclass(frozen=True)
class Randomizer(Described, Generic[Collected]):
    """Local randomizer: the algorithm that a person's device runs.

    It is a frozen dataclass with a domain, an epsilon and at most a few parameters. Everything
    else is derived from these fields, so client and decoder cannot disagree. Inheriting is a
    convenience: any frozen dataclass with these public names is a randomizer.

    domain: Legal values.
    epsilon: Privacy parameter of one report, in (0, 24], in nats. The field holds an exact
        Fraction. Each class says so to type checkers in an ``__init__`` under ``TYPE_CHECKING``.

    A subclass states its `name` and its `decoder`, and defines :attr:`channel`,
    :meth:`certificate`, :meth:`from_words`, ``_thresholds``, ``_layout`` and ``_reports_of``.
    Names with an underscore are for subclasses and for the rest of this package. Derived values
    are computed once for each instance. Neither :mod:`pickle` nor :func:`dataclasses.replace`
    copies them.
    """

    domain: DomainField
    epsilon: Epsilon

    decoder: ClassVar[str] = "least-squares"
    """Name of the decoder that a survey uses by default. No document stores it."""

    _decoder_settings: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    """Parameters of that decoder which differ from its defaults."""

    _in_javascript: ClassVar[bool] = False
    """Whether the JavaScript module has it, so that a page in a browser can answer."""

    collects: ClassVar[Literal["counts", "log"]] = "counts"
    """Kind of tally made from its reports: "counts", or "log" for the stored reports."""

    _simulation: ClassVar[Literal["exact", "users"]] = "exact"
    """Whether counts can be drawn without drawing the report of every person."""

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields for pickling. Derived fields are computed again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    # What a subclass says.

    @property
    @abstractmethod
    def channel(self) -> Channel:
        """Distribution of a report for each value, for decoders."""

    @abstractmethod
    def certificate(self) -> Certificate:
        """Return the exact worst-case likelihood ratio.

        Returns
        -------
        Certificate
            Claimed epsilon and exact worst-case likelihood ratio of one report.
        """

    @abstractmethod
    def from_words(self, value: int, words: Iterator[int]) -> bytes:
        """Return the report that these random 64-bit words produce for one input.

        Test vectors pin this function, and clients in other languages port it.

        Parameters
        ----------
        value : int
            Number of the bin or category, or of a point of a finer grid, from 0.
        words : iterator of int
            Uniform random words, each in 0..2^64-1.

        Returns
        -------
        bytes
            One report in its wire format.

        Raises
        ------
        DomainError
            When there is no such input.
        """

    @property
    @abstractmethod
    def _thresholds(self) -> dict[str, int]:
        """Integer thresholds T by name, each standing for the probability T / 2^64."""

    @property
    def _layout(self) -> Layout:
        """How a report is laid out, checked and counted."""
        raise NotImplementedError

    def _reports_of(self, points: NDArray[np.int64], source: RandomSource) -> NDArray[np.uint8]:
        """Return one report per input: uint8 [n, report_width]."""
        raise NotImplementedError

    @property
    def _sizes(self) -> dict[str, Any]:
        """What clients need alongside the fields and the thresholds. JSON values only."""
        return {}

    # What follows from it.

    @cached_property
    def _points(self) -> int:
        """Number of inputs: the symbols of the domain, or a finer grid."""
        return self.domain.size

    def _points_of(self, values: Values) -> NDArray[np.int64]:
        """Return the input of each value: int64 [n]."""
        return self.domain.index(values)

    @property
    def _derived(self) -> dict[str, Any]:
        """What a survey document states alongside the fields. JSON values only."""
        return {
            "thresholds": hexadecimal(self._thresholds),
            **self._sizes,
            "report_width": self.report_width,
        }

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the canonical document, thresholds included, in hexadecimal."""
        return fingerprint({"randomizer": self.to_document(), "derived": self._derived})

    @cached_property
    def guarantee(self) -> Guarantee:
        """Privacy guarantee of one report: pure epsilon, in the local model."""
        return local_guarantee(self.epsilon)

    @cached_property
    def report_width(self) -> int:
        """Bytes of one report."""
        return self._layout.width

    def randomize(self, values: Values, *, rng: RandomSource | None = None) -> Reports:
        """Return one private report for each value.

        Parameters
        ----------
        values : array_like [n]
            Values of the domain.
        rng : RandomSource, optional
            Source of random numbers. A seeded source is for tests only. Default: the secure source
            of the operating system, :func:`lapwing.privacy.sampling.randomness.secure`.

        Returns
        -------
        Reports
            Private reports in the order of the values.

        Raises
        ------
        DomainError
            When the domain refuses a value. The error gives the position of the first one, and
            nothing is randomized.
        """
        source = source_of(rng)
        data = self._reports_of(self._points_of(values), source)
        return Reports(data, self.fingerprint, standing=standing_of(source))

    def tally(self, reports: Reports) -> Collected:
        """Return the exact tally of a batch of reports.

        If any report is refused, nothing is counted.

        Parameters
        ----------
        reports : Reports
            Reports made by this randomizer.

        Returns
        -------
        CountTally or TallyLog
            Counts, or the stored reports if there are too many values to count.

        Raises
        ------
        MismatchError
            When another randomizer made the reports.
        ReportError
            When a report cannot occur. The error gives the position of the first one.
        """
        data = check_batch(reports, width=self.report_width, fingerprint=self.fingerprint)
        blocks = self._count(data)
        tally: Any
        if self.collects == "log":
            codes = unpack_codes(data).view(np.uint64)
            tally = TallyLog(
                [codes], self.report_width, self.fingerprint, standing=reports.standing
            )
        else:
            counts, people = zip(*blocks, strict=True)
            tally = CountTally(counts, people, self.fingerprint, standing=reports.standing)
        return cast(Collected, tally)

    def _count(self, data: NDArray[np.uint8]) -> list[tuple[NDArray[np.int64], int]]:
        """Return counts and reports of each block, none of a log. ReportError as of `tally`."""
        return [(self._layout.count(data), len(data))]

    def _faults(self, data: NDArray[np.uint8]) -> Iterator[Fault]:
        """Yield which reports cannot occur. A report may be in several faults."""
        return self._layout.faults(data)


class Layout(Protocol):
    """Wire format of a report: how it is laid out, checked and counted."""

    @property
    def width(self) -> int:
        """Bytes of one report."""
        ...

    def count(self, data: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Return the exact counts of a batch, with the errors of `Randomizer.tally`."""
        ...

    def faults(self, data: NDArray[np.uint8]) -> Iterator[Fault]:
        """Yield which reports of a batch cannot occur."""
        ...


def local_guarantee(epsilon: Fraction) -> Guarantee:
    """Return the guarantee of a pure local randomizer."""
    return Guarantee(epsilon, Fraction(0), "replace-one", "local")


def derived_values(randomizer: Any) -> dict[str, Any]:
    """Return what a survey document states alongside the fields, to be compared when it is read.

    A class that does not inherit from :class:`Randomizer` vouches for its thresholds by its
    fingerprint.
    """
    derived: dict[str, Any] | None = getattr(randomizer, "_derived", None)
    if derived is not None:
        return derived
    return {"fingerprint": randomizer.fingerprint, "report_width": randomizer.report_width}


def thresholds_of(randomizer: Any) -> dict[str, int]:
    """Return the integer thresholds by name, none of a class that does not inherit."""
    thresholds: dict[str, int] = getattr(randomizer, "_thresholds", {})
    return thresholds


def hexadecimal(thresholds: dict[str, int]) -> dict[str, str]:
    """Return thresholds as JSON carries them: hex text, because 64 bits overflow a double."""
    return {name: f"{threshold:#018x}" for name, threshold in thresholds.items()}


def check_symbol(value: int, size: int, *, what: str = "a symbol") -> None:
    """Refuse a number that is not in 0..size-1.

    Raises DomainError without the number, which is a person's.
    """
    if not 0 <= value < size:
        raise DomainError(f"{what} must be from 0 to {size - 1}")


class Fault(NamedTuple):
    """Reports of a batch that cannot occur, all for one reason.

    positions: int64 [k], ascending, at least one.
    requirement: Condition that every report must meet. `failure` says that one does not.
    """

    positions: NDArray[np.int64]
    requirement: str
    failure: str = "does not"

    @property
    def reason(self) -> str:
        """The requirement as a clause: every report must meet it."""
        return f"every report must {self.requirement}"


def fault_of(
    invalid: NDArray[np.bool_], requirement: str, *, failure: str = "does not", start: int = 0
) -> Iterator[Fault]:
    """Yield the fault of the reports that are invalid, if there are any.

    invalid: bool [n].
    requirement, failure: As of :class:`Fault`.
    start: Position of the first of these reports in the batch.
    """
    if invalid.any():
        yield Fault(start + np.flatnonzero(invalid), requirement, failure)


def refuse(faults: Iterable[Fault]) -> None:
    """Refuse a batch with a fault, by the position of its first report that has one.

    Raises
    ------
    ReportError
    """
    fault = min(faults, key=lambda fault: int(fault.positions[0]), default=None)
    if fault is not None:
        position = int(fault.positions[0])
        raise ReportError(
            f"{fault.reason}, but the one at position {position} {fault.failure}. "
            "The batch was not counted",
            position=position,
        )


def faults_in(reports: Reports, randomizer: Any, *, most: int) -> list[Fault]:
    """Return which reports of a batch cannot occur, without a count of the domain.

    randomizer: Randomizer of the reports. Of a class that inherits nothing only the tally is known,
        which names the first report at fault. So it is asked once for each.
    most: Reports that are found of such a class.

    Raises MismatchError when another randomizer made the reports.
    Raises ReportError when the reports have another width.
    """
    if isinstance(randomizer, Randomizer):
        data = check_batch(
            reports, width=randomizer.report_width, fingerprint=randomizer.fingerprint
        )
        return list(randomizer._faults(data))
    found: list[Fault] = []
    start = 0
    while len(found) < most:
        try:
            randomizer.tally(Reports(reports.data[start:], reports.fingerprint))
        except ReportError as error:
            position = start + (error.position or 0)
            found.append(Fault(np.array([position]), "be one that its randomizer can make"))
            start = position + 1
        else:
            break
    return found


def fill_reports(
    points: NDArray[np.int64], fill: Fill, *, width: int, rows: int = CHUNK
) -> NDArray[np.uint8]:
    """Return one report per person, made for some people at a time, so that memory stays small.

    points: int64 [n], the input of everybody.
    fill: Writes the reports of some inputs, int64 [m], into uint8 [m, width].
    width: Bytes per report.
    rows: People at a time.
    returns: uint8 [n, width].
    """
    data = np.empty((points.size, width), dtype=np.uint8)
    for start in range(0, points.size, rows):
        fill(points[start : start + rows], data[start : start + rows])
    return data


def check_batch(reports: Reports, *, width: int, fingerprint: str) -> NDArray[np.uint8]:
    """Return the bytes of a batch that is of this randomizer.

    Raises ArgumentError when it is not a batch of reports.
    Raises MismatchError when another randomizer made it.
    Raises ReportError when its records have another width.
    """
    if not isinstance(reports, Reports):
        raise ArgumentError(
            f"tally needs Reports, got {kind_of(reports)}. Randomize the values first, on the "
            "device: tally(randomize(values))"
        )
    if reports.fingerprint != fingerprint:
        raise MismatchError(
            f"these reports were made by randomizer {reports.fingerprint[:12]}, but this one is "
            f"{fingerprint[:12]}. Tally them with the survey that asked for them"
        )
    if reports.width != width:
        raise ReportError(f"every report must have {width} bytes, but these have {reports.width}")
    return reports.data
