"""The documents of :mod:`lapwing.results.joint_answers`: what two attributes together say.

A map has the shares of blocks of cells, or their differences with intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NotRequired, TypedDict

import numpy as np

from lapwing.linear.arrays import Matrix
from lapwing.protocol.domains.text_values import Unit
from lapwing.results.answer_documents import BandDocument, QuantileRow, ShareRow
from lapwing.results.joint_plotting import BLOCKS, MAP_BLOCKS, PANELS, ShownAxis, largest
from lapwing.results.rounding import percent
from lapwing.results.uncertainty import Target, normal_critical_value


@dataclass(frozen=True, kw_only=True)
class JointRequest:
    """Questions put to a joint distribution.

    level: Of all intervals, in (0, 1).
    target: Whom they are about. A posterior holds for both.
    asks: Questions in words, as :func:`lapwing.results.joint_conditions.read_joint` reads them.
    draws: Whether the document has the whole distribution with its posterior draws.
    """

    level: float = 0.95
    target: Target = "empirical"
    asks: Sequence[str] = ()
    draws: bool = False


class MapDocument(TypedDict):
    """Shares of blocks of cells, as they are drawn: a row of `shares` for each block of `x`.

    `x` and `y` are edges of blocks, or labels. `not_shown` says which people are in no block.
    """

    x: list[Any]
    y: list[Any]
    shares: list[list[float]]
    low: NotRequired[list[list[float]]]
    high: NotRequired[list[list[float]]]
    not_shown: list[str]


class SliceRow(QuantileRow):
    """A quantile among the people in a slice of the other axis, which has a label or two ends.

    None is the open end of a slice that has the people beyond the range. `note` says why there is
    no point.
    """

    left: float | None
    right: float | None
    left_text: NotRequired[str]
    right_text: NotRequired[str]
    label: str | int | float | None
    share: float
    note: str | None


class LabelCurve(ShareRow):
    """A label with its share, and the density of the other attribute among its people, in steps.

    They are None where too little is known of these people, for the reason in `note`.
    """

    label: str | int | float | None
    steps: dict[str, list[float]] | None
    note: str | None


class MeasureRow(TypedDict):
    """A measure of the dependence. None is an end that the reports say nothing about."""

    value: float
    low: float | None
    high: float | None


class JointQuestionRow(TypedDict):
    """A number of the answer to a question in words, plain and as text. `note`: why it is none."""

    question: str
    value: Any
    low: Any
    high: Any
    text: str
    interval: str
    note: str | None


class JointAnswer(TypedDict):
    """Answers about two attributes. Intervals are pointwise.

    Each of `marginals` is the document of one attribute alone.
    `quantiles` has the quartiles of each ordered axis in slices of the people along the other one.
    `labels` has a density for each of the largest labels of an axis without order. `joint` is the
    distribution with its posterior draws, if requested. `caution` says where
    differences between conditions are estimated too small.
    """

    kind: Literal["joint-distribution"]
    about: str
    reports: int
    level: float
    guarantee: dict[str, Any] | None
    guarantee_text: str | None
    provenance: dict[str, Any]
    domain: dict[str, Any]
    axes: list[str]
    units: list[Unit]
    band: BandDocument | None
    map: MapDocument
    marginals: dict[str, dict[str, Any]]
    pearson: MeasureRow | None
    spearman: MeasureRow | None
    mutual_information: MeasureRow
    quantiles: dict[str, list[SliceRow]]
    labels: list[LabelCurve] | None
    caution: str | None
    questions: list[JointQuestionRow]
    joint: NotRequired[dict[str, Any]]


class JointDifferenceAnswer(TypedDict):
    """The first of two joint distributions minus the second.

    `map` has the differences of the shares of blocks, with pointwise intervals. Each of `marginals`
    is the document of the difference of one attribute.
    """

    kind: Literal["joint-difference"]
    level: float
    about: str
    reports: int
    against_reports: int
    people: Literal["same", "different"]
    target: Target
    domain: dict[str, Any]
    axes: list[str]
    units: list[Unit]
    map: MapDocument
    marginals: dict[str, dict[str, Any]]
    questions: list[JointQuestionRow]


def map_document(joint: Any, less: Any = None, *, level: float = 0.95) -> MapDocument:
    """Return the shares of blocks of cells, or the differences to those of another distribution.

    level: Of the intervals of differences, whose blocks are larger.
    """
    both = [each for each in (joint, less) if each is not None]
    sides = [
        _side([each.marginal(name).mass for each in both], name, axis, 1 + (less is not None))
        for name, axis in joint.domain.axes.items()
    ]
    (rows, x, first), (columns, y, second) = sides

    def of(table: Matrix) -> Matrix:
        found: Matrix = rows @ table[..., : rows.shape[1], : columns.shape[1]] @ columns.T
        return found

    told: MapDocument = {
        "x": x,
        "y": y,
        "shares": of(joint.table).tolist(),
        "not_shown": [each for each in (first, second) if each],
    }
    if less is None:
        return told
    gap = of(joint.table) - of(less.table)
    told["shares"] = gap.tolist()
    laws = [each.uncertainty for each in both if each.uncertainty is not None]
    if len(laws) == 2:
        spread = np.sqrt(
            sum(
                (of(law.draws.reshape(-1, *joint.domain.shape).astype(float)) ** 2).mean(axis=0)
                for law in laws
            )
        )
        reach = normal_critical_value(level) * spread
        told |= {"low": (gap - reach).tolist(), "high": (gap + reach).tolist()}
    return told


def _side(
    masses: Sequence[Any], name: str, axis: Any, times: int
) -> tuple[Matrix, list[Any], str | None]:
    """Return which symbols each block of an axis holds, its edges or labels, and who is in none."""
    if axis.ordered:
        shown = ShownAxis.of(name, axis, masses)
        held, edges = shown.blocks(MAP_BLOCKS if times == 1 else BLOCKS)
        return held, edges.tolist(), shown.not_shown
    kept = largest(sum(masses)[: len(axis.listed)], PANELS)
    held = np.zeros((kept.size, axis.size))
    held[np.arange(kept.size), kept] = 1.0
    rest = max(1.0 - float(mass[kept].sum()) for mass in masses)
    told = f"not shown: {percent(rest)} with another {name} or none" if rest >= 0.0005 else None
    return held, [axis.listed[symbol] for symbol in kept], told
