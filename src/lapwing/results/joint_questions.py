"""Questions about two attributes in words.

=================================================  =====================================
string                                             question
=================================================  =====================================
``quantile 0.5 of ms``                             about one attribute
``mean of ms given hour at-least 6 below 10``      about one, among some of the people
``share ms above 1000 and hour at-least 6``        the share in a range of both
``correlation``                                    of both, as Pearson
=================================================  =====================================

The words before "of" are a question of :mod:`lapwing.questions`, and a condition is a range or
``label north``, as after its word "share".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lapwing.documents import quoted
from lapwing.errors import ArgumentError
from lapwing.protocol.domains.domain import bins_of
from lapwing.protocol.domains.label_text import compared_text
from lapwing.protocol.domains.product import Product
from lapwing.protocol.domains.units import to_text
from lapwing.questions import Question, Share, read

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
