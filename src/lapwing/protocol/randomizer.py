"""What every randomizer offers, and what they share: documents, fingerprints, checks."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from lapwing.documents import fingerprint
from lapwing.errors import ArgumentError, DomainError, MismatchError, ReportError
from lapwing.linear.arrays import Values
from lapwing.linear.memoized import cached_property
from lapwing.privacy.exact_numbers import epsilon_text
from lapwing.privacy.guarantee import Certificate, Guarantee
from lapwing.privacy.sampling.randomness import RandomSource
from lapwing.protocol.channels.channel import Channel, ObservedChannel
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.messages.observation import Observation
from lapwing.protocol.messages.reports import Reports
from lapwing.protocol.messages.tally import CountTally, Tally

CHUNK = 2**16
"""People randomized at a time: the temporary arrays stay in cache."""

if TYPE_CHECKING:  # with a default, which the typing of Python 3.11 does not know
    from typing_extensions import TypeVar

    Collected = TypeVar("Collected", bound=Tally, default=Tally, covariant=True)
else:
    from typing import TypeVar

    Collected = TypeVar("Collected", covariant=True)

Fill = Callable[[NDArray[np.int64], NDArray[np.uint8]], None]


class Randomizer(Protocol[Collected]):
    """The client's algorithm, a frozen dataclass: domain, epsilon and at most a few knobs.

    Everything else derives from these fields, so client and decoder cannot disagree. Its
    epsilon is a Fraction; the constructor also takes what people write, a number or a text, and
    says so to type checkers in an ``__init__`` under ``TYPE_CHECKING``.
    """

    name: ClassVar[str]
    """Kebab-case name in documents and on the command line."""

    simulation: ClassVar[Literal["exact", "users"]]
    """Whether a population's counts can be drawn without drawing every person's report."""

    @property
    def domain(self) -> Domain:
        """The legal values."""
        ...

    @property
    def epsilon(self) -> Fraction:
        """The promise, exact: that of `guarantee`."""
        ...

    @property
    def fingerprint(self) -> str:
        """SHA-256 of its canonical document, thresholds included."""
        ...

    @property
    def guarantee(self) -> Guarantee:
        """The promise in full."""
        ...

    @property
    def channel(self) -> Channel:
        """What a decoder knows."""
        ...

    def channel_for(self, observation: Observation, *, bins: int | None = None) -> ObservedChannel:
        """Return what a decoder of an observation is given: the channel, or that of a log.

        Most randomizers are counted, and write ``channel_for = channel_of_counts``.

        Raises
        ------
        MismatchError
            When its reports are not collected in this way.
        ArgumentError
            When bins are given, and it cannot be decoded at other bins than its domain's.
        """
        ...

    @property
    def report_width(self) -> int:
        """Bytes per report."""
        ...

    @property
    def thresholds(self) -> dict[str, int]:
        """Integer thresholds T, each standing for the probability T / 2^64."""
        ...

    @property
    def derived(self) -> dict[str, Any]:
        """What clients need beside the fields: thresholds in hex, sizes. JSON values only."""
        ...

    def certificate(self) -> Certificate:
        """Return the exact worst-case ratio."""
        ...

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form: the class and its fields."""
        ...

    def randomize(self, values: Values, *, rng: RandomSource | None = None) -> Reports:
        """Return one report per value.

        Parameters
        ----------
        values : array_like [n]
            Values of the domain.
        rng : RandomSource, optional
            Default: :func:`lapwing.privacy.sampling.randomness.secure`. A seeded source is for
            tests only.

        Raises
        ------
        DomainError
            With the position of the first value that the domain refuses. Nothing is randomized.
        """
        ...

    def from_words(self, value: int, words: Iterator[int]) -> bytes:
        """Return the report that these random words make of one symbol.

        This is what test vectors pin and what other languages port.

        Parameters
        ----------
        value : int
            Symbol, or point of a finer grid; DomainError when there is no such.
        words : iterator of int
            Each in 0..2^64-1.
        """
        ...

    def tally(self, reports: Reports) -> Collected:
        """Return the exact tally of a batch, entirely or not at all: CountTally, or a TallyLog.

        Raises
        ------
        MismatchError
            When another randomizer made the reports.
        ReportError
            With the position of the first report that cannot occur.
        """
        ...


def local_guarantee(epsilon: Fraction) -> Guarantee:
    """Return the promise of a pure local randomizer."""
    return Guarantee(epsilon, Fraction(0), "replace-one", "local")


def randomizer_guarantee(randomizer: Any) -> Guarantee:
    """Pure epsilon, in the local model."""
    return local_guarantee(randomizer.epsilon)


class _Known(Protocol):
    name: ClassVar[str]

    @property
    def channel(self) -> Channel: ...


def channel_of_counts(
    randomizer: _Known, observation: Observation, *, bins: int | None = None
) -> ObservedChannel:
    """Return the channel of a randomizer whose reports are counted; see the Randomizer."""
    if bins is not None:
        raise ArgumentError(
            "a log of reports has no other bins to be decoded at"
            if observation.kind == "log"
            else f"only a square wave can be decoded at other bins, not {randomizer.name}"
        )
    if observation.kind == "log":
        raise MismatchError(f"the tally is a log of reports, and {randomizer.name} counts them")
    return randomizer.channel


def channel_of_log(
    randomizer: _Known,
    known: ObservedChannel,
    observation: Observation,
    *,
    bins: int | None = None,
) -> ObservedChannel:
    """Return what is known of the log of a randomizer, or its channel for the counts of one."""
    if bins is None and observation.kind == "log":
        return known
    return channel_of_counts(randomizer, observation, bins=bins)


def randomizer_document(randomizer: Any) -> dict[str, Any]:
    """Return the JSON form: the class and its fields."""
    document: dict[str, Any] = {"class": randomizer.name}
    for field in dataclasses.fields(randomizer):
        if field.init:
            value = getattr(randomizer, field.name)
            if field.name == "domain":
                value = value.to_document()
            elif isinstance(value, Fraction):
                value = epsilon_text(value)
            document[field.name] = value
    return document


def hexadecimal(thresholds: dict[str, int]) -> dict[str, str]:
    """Return thresholds as JSON carries them: hex text, because 64 bits overflow a double."""
    return {name: f"{threshold:#018x}" for name, threshold in thresholds.items()}


def derived_values(randomizer: Any, **values: Any) -> dict[str, Any]:
    """Return what clients need beside the fields: thresholds, some values, the report's width."""
    return {
        "thresholds": hexadecimal(randomizer.thresholds),
        **values,
        "report_width": randomizer.report_width,
    }


def randomizer_fingerprint(randomizer: Any) -> str:
    """SHA-256 of its canonical document, with all that derives from it."""
    document = {"randomizer": randomizer.to_document(), "derived": randomizer.derived}
    return fingerprint(document)


class Layout(Protocol):
    """How a report is laid out, checked and counted."""

    @property
    def width(self) -> int:
        """Bytes per report."""
        ...

    def count(self, reports: Reports, fingerprint: str) -> CountTally:
        """Return the exact counts of a batch; errors as of `Randomizer.tally`."""
        ...


class Counted(ABC):
    """A randomizer whose document, promise and tally follow from its fields and its layout."""

    name: ClassVar[str]
    simulation: ClassVar[Literal["exact", "users"]] = "exact"
    channel_for = channel_of_counts
    to_document = randomizer_document

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of its canonical document, with all that derives from it."""
        return randomizer_fingerprint(self)

    @cached_property
    def guarantee(self) -> Guarantee:
        """Pure epsilon, in the local model."""
        return randomizer_guarantee(self)

    @property
    @abstractmethod
    def layout(self) -> Layout:
        """How a report is laid out, checked and counted."""

    @property
    def report_width(self) -> int:
        """Bytes per report."""
        return self.layout.width

    def tally(self, reports: Reports) -> CountTally:
        """Return the exact counts of a batch, entirely or not at all."""
        return self.layout.count(reports, self.fingerprint)


def check_domain(domain: Domain, who: str, most: int) -> None:
    """Refuse a domain of one symbol, or of more than a report may have bits.

    Raises
    ------
    DomainError
    """
    if not 2 <= domain.size <= most:
        raise DomainError(
            f"{who} needs a domain of 2..{most} symbols, got {domain.size}; use fewer bins, or a "
            "hashing randomizer"
        )


def check_symbol(value: int, size: int, *, what: str = "a symbol") -> None:
    """Refuse a number that is not in 0..size-1.

    Raises
    ------
    DomainError
        Without the number, which is a person's.
    """
    if not 0 <= value < size:
        raise DomainError(f"{what} must be in 0..{size - 1}")


def refuse_reports(
    wrong: NDArray[np.bool_], must: str, *, fails: str = "does not", start: int = 0
) -> None:
    """Refuse a batch in which a report is wrong, by the position of the first that is.

    Parameters
    ----------
    wrong : numpy.ndarray
        bool [n].
    must : str
        What every report must do; `fails` says that one does not.
    start : int
        Position of the first of these reports in the batch.

    Raises
    ------
    ReportError
    """
    if wrong.any():
        position = start + int(np.argmax(wrong))
        raise ReportError(
            f"every report must {must}, the one at position {position} {fails}; "
            "the batch was not counted",
            position=position,
        )


def fill_reports(
    symbols: NDArray[np.int64], fill: Fill, *, width: int, fingerprint: str, rows: int = CHUNK
) -> Reports:
    """Return one report per person, made for some people at a time, so that memory stays small.

    Parameters
    ----------
    symbols : numpy.ndarray
        int64 [n], the input of everybody.
    fill : callable
        Writes the reports of some inputs, int64 [m], into uint8 [m, width].
    width : int
        Bytes per report.
    fingerprint : str
        Of the randomizer.
    rows : int
        People at a time.
    """
    data = np.empty((symbols.size, width), dtype=np.uint8)
    for start in range(0, symbols.size, rows):
        fill(symbols[start : start + rows], data[start : start + rows])
    return Reports(data, fingerprint)


def check_batch(reports: Reports, *, width: int, fingerprint: str) -> NDArray[np.uint8]:
    """Return the bytes of a batch that is of this randomizer.

    Raises
    ------
    ArgumentError
        When it is no batch of reports.
    MismatchError
        When another randomizer made it.
    ReportError
        When its records have another width.
    """
    if not isinstance(reports, Reports):
        raise ArgumentError(
            f"what is tallied must be Reports, got a {type(reports).__name__}; randomize values "
            "first, where they are: tally(randomize(values))"
        )
    if reports.fingerprint != fingerprint:
        raise MismatchError(
            f"these reports were made by randomizer {reports.fingerprint[:12]}, this one is "
            f"{fingerprint[:12]}; tally them with the survey that asked for them"
        )
    if reports.width != width:
        raise ReportError(f"every report must have {width} bytes, these have {reports.width}")
    return reports.data
