"""Questions about two attributes in words, and which symbols of an axis a condition holds.

=================================================  =====================================
string                                             question
=================================================  =====================================
``quantile 0.5 of ms``                             about one attribute
``mean of ms given hour at-least 6 below 10``      about one, among some of the people
``share ms above 1000 and hour at-least 6``        the share in a range of both
``correlation``                                    of both, as Pearson
=================================================  =====================================

The words before "of" are a question of :mod:`lapwing.questions`, and a condition is a range or
``label north``, as after its word "share". Without a condition an axis is cut into slices of
people.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lapwing.documents import quoted
from lapwing.errors import ArgumentError, DomainError, LimitedWarning
from lapwing.linear.arrays import Matrix, Vector, Whole
from lapwing.protocol.domains.domain import bins_of
from lapwing.protocol.domains.label_text import compared_text
from lapwing.protocol.domains.product import Product
from lapwing.protocol.domains.ranges import Span, to_spans, touched
from lapwing.protocol.domains.units import to_text
from lapwing.questions import Question, Share, label_of, read
from lapwing.results.cumulative import Cumulative
from lapwing.results.rounding import estimate_text
from lapwing.results.symbols import asked_symbol

CORRELATION = "correlation"


@dataclass(frozen=True)
class JointQuestion:
    """A question about two attributes.

    text: As it was typed.
    axis: The attribute that `question` is about. None for a share of both, or the correlation.
    question: About this attribute. None with `axis`.
    conditions: A range or a label, by the names of axes.
    """

    text: str
    axis: str | None = None
    question: Question | None = None
    conditions: Mapping[str, Share] = field(default_factory=dict)


def read_joint(text: str, domain: Product) -> JointQuestion:
    """Return the question of a string. ArgumentError, with examples, where it is none.

    domain: Whose axes it names.
    """
    said = compared_text(text.strip())
    if said == CORRELATION:
        return JointQuestion(said)
    for axis, other in (domain.names, domain.names[::-1]):
        own, its = compared_text(axis), compared_text(other)
        head, given, condition = said.partition(f" of {own} given {its} ")
        if given:
            return JointQuestion(said, axis, read(head), {other: _condition(condition)})
        if said.endswith(f" of {own}"):
            return JointQuestion(said, axis, read(said.removesuffix(f" of {own}")))
        if said.startswith(f"share {own} "):
            first, both, second = said.removeprefix(f"share {own} ").partition(f" and {its} ")
            conditions = {axis: _condition(first)}
            if both:
                conditions[other] = _condition(second)
            return JointQuestion(said, conditions=conditions)
    (one, first), (other, second) = ((name, _example(axis)) for name, axis in domain.axes.items())
    asked = one if domain.axes[one].ordered else other
    among = f"{other} {second}" if asked == one else f"{one} {first}"
    raise ArgumentError(
        f"{quoted(text)} is not a question about {one} and {other}. Ask like this: 'quantile 0.5 "
        f"of {asked}', 'quantile 0.5 of {asked} given {among}', 'share {one} {first} and {other} "
        f"{second}' or 'correlation'"
    )


def _example(axis: Any) -> str:
    """Return a condition on an axis: a label, or the middle half of its bins."""
    if not axis.ordered:
        return f"label {axis.listed[0]}"
    edges = axis.left[bins_of(axis)]
    low, high = (to_text(float(edges[edges.size * part // 4]), unit=axis.unit) for part in (1, 3))
    return f"at-least {low} below {high}"


def _condition(text: str) -> Share:
    found = read(f"share {text}")
    assert isinstance(found, Share)
    return found


_FEW_PRESENT = 0.1
"""Part of the people with values, below which an interval of a share among them says less."""

Parts = dict[str, tuple[Vector, bool]]
"""Part of each symbol that is asked."""
# "estimate", at least ("whole"), at most ("some"); and whether an end lies inside a bin.


def condition_parts(axis: Any, name: str, asked: Any) -> Parts:
    """Return the part of each symbol of an axis that a condition holds.

    name: Of the axis, for messages.
    """
    try:
        if isinstance(asked, Share):
            if asked.label is None:
                return span_parts(axis, asked.ranges(axis)[0])
            asked = label_of(asked.label, axis, name="label")
        if isinstance(asked, tuple) and axis.ordered:
            return range_parts(axis, asked)
        several = list | set | frozenset | (list if axis.ordered else tuple)
        labels = asked if isinstance(asked, several) else [asked]
        weights = np.zeros(axis.size)
        for label in labels:
            weights[asked_symbol(axis, label)] = 1.0
    except DomainError as error:
        raise DomainError(f"axis {name}: {error}") from None
    except ArgumentError as error:
        raise ArgumentError(f"axis {name}: {error}") from None
    return dict.fromkeys(("estimate", "whole", "some"), (weights, False))


def range_parts(axis: Any, asked: tuple[Any, ...]) -> Parts:
    """Return the part of each symbol of an axis that lies in a range."""
    if len(asked) != 2:
        raise ArgumentError(f"a range must be (low, high), got {len(asked)} entries")
    spans = to_spans(*asked, axis)
    if asked[0] == asked[1] and not touched(axis, spans).some.any():
        raise ArgumentError(
            "a range excludes one of its ends, so a range with equal ends is empty. Give the "
            "value itself for the people in its bin"
        )
    return span_parts(axis, spans)


def span_parts(axis: Any, spans: list[Span]) -> Parts:
    """Return the part of each symbol of an axis that lies in spans."""
    symbols = touched(axis, spans)
    placed = symbols.whole.size
    found = {}
    for edge, held in (("whole", symbols.whole), ("some", symbols.some)):
        weights = np.zeros(axis.size)
        weights[:placed] = held
        found[edge] = weights, False
    estimate = found["whole"][0].copy()
    cut = np.flatnonzero(symbols.some & ~symbols.whole)
    for symbol in cut:
        unit = np.zeros(axis.size)
        unit[symbol] = 1.0
        estimate[symbol] = Cumulative.on(axis, unit).between(spans)
    # A bin whose end is the range's own end is whole but for one value: nobody is divided there.
    divided = bool(((estimate > 0) & (estimate < 1)).any())
    return {**found, "estimate": (estimate, divided)}


def present_cells(domain: Product, ranges: dict[str, Any]) -> Matrix:
    """Return which cells hold people whose values are present on the axes named."""
    parts = []
    for name, axis in domain.axes.items():
        present = np.ones(axis.size)
        if name in ranges and axis.missing_index is not None and axis.ordered:
            asked = condition_parts(axis, name, ranges[name])["estimate"][0]
            # Who asks for the missing asks for their share of all.
            present[axis.missing_index] = asked[axis.missing_index]
        parts.append(present)
    return np.outer(*parts)


def warn_of_few_present(share: float) -> None:
    """Warn where an interval is about few people, because most have no value."""
    if share < _FEW_PRESENT:
        warnings.warn(
            f"only {estimate_text(100 * share, 2)}% of the people have values on the named "
            "axes. Below 10%, intervals were not measured and may be too narrow",
            LimitedWarning,
            stacklevel=3,
        )


def nothing_held(axis: Any, name: str, asked: Any) -> str:
    """Return why a condition holds nobody: the range lies beyond the axis, or nobody is there."""
    parts = condition_parts(axis, name, asked)
    outside = [symbol for symbol in axis.outside_indices if parts["some"][0][symbol] > 0]
    if outside:
        above = outside[-1] == axis.above_index
        end = axis.right[-1] if above else axis.left[0]
        said = to_text(float(end), unit=axis.unit)
        whole = f"({said}, inf)" if above else f"(-inf, {said})"
        return (
            f"axis {name} ends at {said}, and it is not known how far values lie beyond. Ask "
            f"for all of them: {name}={whole}"
        )
    return f"nobody meets the condition on {name}. Choose a wider one"


def edges_around(axis: Any, asked: tuple[Any, ...] | Share) -> str:
    """Return the edges of the bins that the ends of a range cut in two, as text."""
    spans = (
        asked.ranges(axis)[0] if isinstance(asked, Share) else to_spans(asked[0], asked[1], axis)
    )
    symbols = touched(axis, spans)
    cut = np.flatnonzero(symbols.some & ~symbols.whole)
    ends = [
        f"{to_text(float(axis.left[symbol]), unit=axis.unit)} and "
        f"{to_text(float(axis.right[symbol]), unit=axis.unit)}"
        for symbol in cut.tolist()
        if axis.left[symbol] < axis.right[symbol]
    ]
    return ", ".join(ends)


def check_slices(of: Any, axis: str, other: str, slice_share: float) -> None:
    """Raise unless quantiles of an axis are defined in slices of this share."""
    if not of.ordered:
        raise DomainError(f"axis {axis} has no order, so it has no quantiles. Ask for shares")
    if of.circular:
        raise ArgumentError(
            f"axis {axis} is a circle, so its quantiles need a start. Use "
            f"given({other}=...).quantile(p, start=...)"
        )
    if not (isinstance(slice_share, int | float) and 0 < slice_share <= 1):
        raise ArgumentError("slice_share", "must be in (0, 1]", str(slice_share))


def slice_place(axis: Any, symbols: Whole) -> dict[str, Any]:
    """Return the label of a slice, or its ends. They are infinite with people outside the range."""
    if not axis.ordered:
        return {"label": axis.listed[symbols[0]]}
    first, last = symbols[0], symbols[-1]
    return {
        "from": -np.inf if first == axis.below_index else float(axis.left[first]),
        "to": np.inf if last == axis.above_index else float(axis.right[last]),
    }


def slices(axis: Any, shares: Vector, least: float) -> list[Whole]:
    """Return runs of neighboring symbols that have at least a share of the people each."""
    symbols = np.arange(axis.size, dtype=np.int64)
    if not axis.ordered:
        listed = symbols[: len(axis.listed)]
        return [listed[[number]] for number in range(listed.size) if shares[number] > 0]
    if axis.missing_index is not None:
        symbols = symbols[:-1]
    found: list[list[int]] = [[]]
    for symbol in symbols.tolist():
        found[-1].append(symbol)
        if shares[found[-1]].sum() >= least:
            found.append([])
    if len(found) > 1:
        rest = found.pop()
        found[-1] += rest
    return [np.array(run) for run in found if shares[run].sum() > 0]
