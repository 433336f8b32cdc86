"""What every randomizer has beside its own idea, once its reports have a layout."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import ClassVar, Literal, Protocol

from lapwing.privacy.guarantee import Guarantee
from lapwing.protocol.messages.reports import Reports
from lapwing.protocol.messages.tally import Counts
from lapwing.protocol.randomizer import (
    channel_of_counts,
    randomizer_document,
    randomizer_fingerprint,
    randomizer_guarantee,
)


class Layout(Protocol):
    """How a report is laid out, checked and counted."""

    @property
    def width(self) -> int:
        """Bytes per report."""
        ...

    def count(self, reports: Reports, fingerprint: str) -> Counts:
        """Return the exact counts of a batch; errors as of `Randomizer.tally`."""
        ...


class Counted(ABC):
    """A randomizer whose document, promise and tally follow from its fields and its layout."""

    name: ClassVar[str]
    simulation: ClassVar[Literal["exact", "users"]] = "exact"
    channel_for = channel_of_counts
    fingerprint = cached_property(randomizer_fingerprint)
    to_document = randomizer_document

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

    def tally(self, reports: Reports) -> Counts:
        """Return the exact counts of a batch, entirely or not at all."""
        return self.layout.count(reports, self.fingerprint)
