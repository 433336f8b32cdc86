"""What every randomizer offers, and what they share: documents, fingerprints, checks."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lapwing.channel import Channel
from lapwing.documents import fingerprint
from lapwing.domain import Domain
from lapwing.errors import MismatchError, ReportError
from lapwing.guarantee import Certificate, Guarantee, epsilon_text
from lapwing.randomness import RandomSource
from lapwing.reports import Reports
from lapwing.tally import Tally

CHUNK = 2**16
"""People randomised at a time: the temporary arrays stay in cache."""


class Randomizer(Protocol):
    """The client's algorithm, a frozen dataclass: domain, epsilon and at most a few knobs.

    Everything else derives from these fields, so client and decoder cannot disagree.
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
        """The promise, exact."""
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

    def randomize(self, values: ArrayLike, *, rng: RandomSource | None = None) -> Reports:
        """Return one report per value."""
        ...

    def from_words(self, value: int, words: Iterator[int]) -> bytes:
        """Return the report that these random words make of one symbol."""
        ...

    def tally(self, reports: Reports) -> Tally:
        """Return the exact tally of a batch."""
        ...


def local_guarantee(epsilon: Fraction) -> Guarantee:
    """Return the promise of a pure local randomizer."""
    return Guarantee(epsilon, Fraction(0), "replace-one", "local")


def randomizer_document(randomizer: Any) -> dict[str, Any]:
    """Return the JSON form of a randomizer: its class and all its fields."""
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


def randomizer_fingerprint(randomizer: Any) -> str:
    """Return the SHA-256 of the canonical document with what derives from it."""
    document = {"randomizer": randomizer_document(randomizer), "derived": randomizer.derived}
    return fingerprint(document)


def check_batch(reports: Reports, *, width: int, fingerprint: str) -> NDArray[np.uint8]:
    """Return the bytes of a batch that is of this randomizer.

    Raises
    ------
    MismatchError
        When another randomizer made it.
    ReportError
        When its records have another width.
    """
    if reports.fingerprint != fingerprint:
        raise MismatchError(
            f"these reports were made by randomizer {reports.fingerprint[:12]}, this one is "
            f"{fingerprint[:12]}; tally them with the survey that asked for them"
        )
    if reports.width != width:
        raise ReportError(f"every report must have {width} bytes, these have {reports.width}")
    return reports.data
