"""Answers about surveys of two attributes: a document, a table or a picture."""

from __future__ import annotations

from functools import partial
from typing import Any

from lapwing.errors import ArgumentError
from lapwing.results.joint_answers import block_rows, cell_rows, difference_of_joints, joint_answer
from lapwing.results.joint_difference import JointDifference
from lapwing.results.joint_difference_plotting import draw_joint_difference
from lapwing.results.joint_distribution import JointDistribution
from lapwing.results.joint_documents import JointDifferenceAnswer, JointRequest
from lapwing.results.joint_plotting import draw_joint, draw_quantiles
from lapwing.results.plotting import new_figure
from lapwing.results.readable import csv_of
from lapwing.service.decoding_orders import Order


def pair_document(
    joint: JointDistribution, against: JointDistribution | None, order: Order
) -> dict[str, Any]:
    """Return what one joint distribution says, or what it has more than another one."""
    if against is None:
        alone = JointRequest(level=order.level, asks=order.asks, draws=order.draws)
        return dict(joint_answer(joint, alone))
    request = JointRequest(level=order.level, target=order.target, asks=order.asks)
    return dict(_difference(joint, against, request, order))


def pair_table(joint: JointDistribution, against: JointDistribution | None, order: Order) -> str:
    """Return a row for each cell, or of a difference for each block of its map."""
    if against is None:
        return csv_of(cell_rows(joint))
    request = JointRequest(level=order.level, target=order.target)
    answer = _difference(joint, against, request, order)
    return csv_of(block_rows(answer, joint.domain))


def pair_figure(joint: JointDistribution, against: JointDistribution | None, order: Order) -> Any:
    """Return the map, or quartiles of one attribute along the other one."""
    if against is not None:
        if order.quantiles_of is not None:
            raise ArgumentError(
                "a comparison has only one picture, the map. Leave out quantiles_of or against"
            )
        return draw_joint_difference(
            joint,
            against,
            level=order.level,
            names=order.names,
            people=order.people,
            target=order.target,
            figure=new_figure,
        )
    draw: Any = draw_joint
    if order.quantiles_of is not None:
        draw = partial(draw_quantiles, name=order.quantiles_of)
    return draw(joint, level=order.level, figure=new_figure)


def _difference(
    joint: JointDistribution, against: JointDistribution, request: JointRequest, order: Order
) -> JointDifferenceAnswer:
    return difference_of_joints(JointDifference(joint, against), request, people=order.people)
