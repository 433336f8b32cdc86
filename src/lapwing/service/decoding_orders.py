"""Requests to the decoding process, and its answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypedDict

from lapwing.protocol.messages.tally import Tally
from lapwing.results.uncertainty import Target

Form = Literal["json", "csv", "svg", "png"]

Wanted = Literal["json", "csv", "svg", "png", "alarm"]
"""A result in one of its forms, or whether honest devices could have sent the reports."""

MEDIA_TYPES: Mapping[Form, str] = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
}


class HonestRange(TypedDict):
    """Mean and spread expected of honest devices."""

    mean: float
    deviation: float


class AlarmDocument(TypedDict):
    """Whether honest devices could have sent the reports."""

    sounds: bool
    sentence: str
    p_value: float
    chi_square: float
    honest: HonestRange
    visible: float | None


class Key(NamedTuple):
    """Whose result it is: one tally of one survey."""

    survey: str
    epoch: str
    segment: str | None
    reports: int
    number: int = 0
    """Of the epoch: one that was created again has another, though it may have as many reports."""
    tag: str = ""
    """A hash of the survey's document, whose questions may change."""


class Material(NamedTuple):
    """Input of a decoded result."""

    document: bytes
    tally: Tally


class Order(NamedTuple):
    """Request about one result, one from several surveys, or a comparison of two."""

    key: Key
    against: Key | None
    people: Literal["same", "different"]
    target: Target
    form: Wanted
    level: float
    ranges: tuple[tuple[str, str], ...]
    probabilities: tuple[float, ...]
    title: str
    names: tuple[str, str]
    together: tuple[Key, ...] = ()
    """Tallies of other surveys, which are decoded to one answer with that of `key`."""
    start: str | None = None
    """From where quantiles on a circle are counted."""
    asks: tuple[str, ...] = ()
    """Questions as strings. Without one those of the survey."""
    quantiles_of: str | None = None
    """Of two attributes: the one whose quartiles a picture draws along the other."""
    draws: bool = False
    """Of two attributes: whether the document has the posterior draws."""

    @property
    def keys(self) -> tuple[Key, ...]:
        """All tallies that it is made from."""
        return (self.key, *self.together, *(() if self.against is None else (self.against,)))


class Missing(NamedTuple):
    """An answer: these must be sent along, because they are not kept here."""

    keys: tuple[Key, ...]


class DecodingAnswer(NamedTuple):
    """An answer: a document, table or picture, and what was warned of."""

    content: Any
    warnings: tuple[str, ...]


class RefusedOrder(NamedTuple):
    """An answer: why these reports cannot say it."""

    reason: str


class Defect(NamedTuple):
    """An answer: where an error happened that nobody expected."""

    error: str
    place: str


Answer = Missing | DecodingAnswer | RefusedOrder | Defect
