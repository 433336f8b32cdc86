"""Work of the decoding process: decode a result if it is new, and answer the questions."""

from __future__ import annotations

import io
from collections import OrderedDict
from collections.abc import Mapping
from functools import partial
from typing import Any, Literal, assert_never

from lapwing.errors import ArgumentError
from lapwing.results.answer_documents import AnswerRequest
from lapwing.results.answer_text import csv_rows, table_rows
from lapwing.results.answers import answer_of, difference_answer, result_answer
from lapwing.results.asked_numbers import share_between
from lapwing.results.difference import Difference
from lapwing.results.distribution import Distribution
from lapwing.results.heavy_hitters import HeavyHitters
from lapwing.results.joint_answers import block_rows, cell_rows, difference_of_joints, joint_answer
from lapwing.results.joint_difference import JointDifference
from lapwing.results.joint_difference_plotting import draw_joint_difference
from lapwing.results.joint_distribution import JointDistribution
from lapwing.results.joint_documents import JointDifferenceAnswer, JointRequest
from lapwing.results.joint_plotting import draw_joint, draw_quantiles
from lapwing.results.plotting import figure_of, new_figure, write_picture
from lapwing.results.question_answers import in_place_of_curve, question_table
from lapwing.results.readable import csv_of, rows_of
from lapwing.service.decoding_orders import AlarmDocument, Key, Material, Missing, Order
from lapwing.survey.joint_decoding import decode_together
from lapwing.survey.survey import Survey

Result = Distribution | HeavyHitters | JointDistribution

Kept = OrderedDict[tuple[Key, ...], Result]


def warm_up() -> None:
    """Read and compile what the first order would wait for."""
    from lapwing.planning.simulation import simulate
    from lapwing.protocol.domains.interval import Interval
    from lapwing.randomizers.numerical.square_wave import SquareWave

    wave = SquareWave(Interval(0, 1, bins=32), epsilon=1)
    survey = Survey("warm-up", wave)
    tally = simulate(wave, [100] * 32, rng=1)
    found = survey.decode(tally)
    result_answer(found, AnswerRequest(curve=True))


def carried_out(
    order: Order, materials: Mapping[Key, Material], kept: Kept, *, most: int
) -> Missing | dict[str, Any] | str | bytes:
    """Return what was ordered: a document, a table or a picture, or what is missing for it.

    materials: Of what is not kept.
    kept: Results by the keys of their tallies, the last used one last.
    most: How many are kept.
    """
    wanted = [(order.key, *order.together), *([] if order.against is None else [(order.against,)])]
    tallied = order.form == "alarm"  # which is about the reports, not about a result
    needed = [key for keys in wanted if tallied or keys not in kept for key in keys]
    missing = tuple(key for key in needed if key not in materials)
    if missing:
        return Missing(missing)
    if tallied:
        return dict(_alarm(materials[order.key]))
    found = [_result(keys, materials, kept) for keys in wanted]
    while len(kept) > most:
        kept.popitem(last=False)
    if isinstance(found[0], JointDistribution):
        return _of_pair(found, order)
    shown: Result | Difference = found[0]
    if order.asks and isinstance(shown, HeavyHitters):
        raise ArgumentError("heavy hitters are single values, so they cannot answer questions")
    if len(found) == 2:
        if not all(isinstance(each, Distribution) for each in found):
            raise ArgumentError("only distributions can be compared, not lists of frequent values")
        shown = Difference(found[0], found[1], people=order.people, target=order.target)  # type: ignore[arg-type]
    match order.form:
        case "json":
            request = AnswerRequest(
                level=order.level,
                probabilities=order.probabilities,
                shares=[share_between(*ends, found[0].domain) for ends in order.ranges],
                start=order.start,
                asks=order.asks,
                curve=True,
            )
            return dict(answer_of(shown, request))
        case "csv":
            if not isinstance(shown, Distribution):
                return table_of(shown, order.level)
            asked = in_place_of_curve(shown, order.asks)
            if not asked:
                return table_of(shown, order.level)
            answers = [shown.answer(each, level=order.level) for each in asked]
            return csv_of(question_table(answers, shown.domain))
        case "svg" | "png":
            return _written(_figure(shown, order), order.form)
        case "alarm":
            raise AssertionError("it needs no result")
        case _:
            assert_never(order.form)


def _of_pair(found: list[Any], order: Order) -> dict[str, Any] | str | bytes:
    """Return what was ordered of a survey of two attributes, or of two of its epochs.

    A table has a row for each cell, or for each block of the map of a difference. A picture is the
    map, or quartiles of one attribute along the other one.
    """
    assert order.form != "alarm"
    joint, level = found[0], order.level
    if len(found) == 1:
        if order.form == "json":
            request = JointRequest(level=level, asks=order.asks, draws=order.draws)
            return dict(joint_answer(joint, request))
        if order.form == "csv":
            return csv_of(cell_rows(joint))
        name = order.quantiles_of
        draw: Any = draw_joint if name is None else partial(draw_quantiles, name=name)
        return _written(draw(joint, level=level, figure=new_figure), order.form)
    if order.form == "json":
        return dict(_difference(found, order, order.asks))
    if order.form == "csv":
        return csv_of(block_rows(_difference(found, order), joint.domain))
    if order.quantiles_of is not None:
        raise ArgumentError(
            "a comparison has only one picture, the map. Leave out quantiles_of or against"
        )
    how: Any = {"level": level, "names": order.names, "people": order.people}
    figure = draw_joint_difference(*found, target=order.target, figure=new_figure, **how)
    return _written(figure, order.form)


def _difference(pair: list[Any], order: Order, asks: tuple[str, ...] = ()) -> JointDifferenceAnswer:
    request = JointRequest(level=order.level, target=order.target, asks=asks)
    return difference_of_joints(JointDifference(*pair), request, people=order.people)


def table_of(result: Result | Difference, level: float) -> str:
    """Return a result as CSV: a row for each bin, label or listed value."""
    if isinstance(result, Difference):
        answer = difference_answer(result, AnswerRequest(level=level, curve=True))
        if answer["reason"] is not None:
            return csv_of(csv_rows(answer))
        curve = answer["curve"]
        rows = answer["shares"] if curve is None else rows_of(curve["columns"])
        return csv_of([{**row, "about": answer["about"]} for row in rows or []])
    return csv_of(table_rows(result, level))


def _alarm(material: Material) -> AlarmDocument:
    survey = Survey.from_json(material.document)
    found = survey.check_poisoning(material.tally)
    mean, deviation = found.honest
    return {
        "sounds": found.sounds,
        "sentence": found.sentence,
        "p_value": found.p_value,
        "chi_square": found.chi_square,
        "honest": {"mean": mean, "deviation": deviation},
        "visible": found.visible,
    }


def _result(keys: tuple[Key, ...], materials: Mapping[Key, Material], kept: Kept) -> Result:
    if keys not in kept:
        given = [materials[key] for key in keys]
        pairs = [(Survey.from_json(each.document), each.tally) for each in given]
        survey, tally = pairs[0]
        alone = len(pairs) == 1
        kept[keys] = survey.decode(tally) if alone else decode_together(pairs)
    kept.move_to_end(keys)
    return kept[keys]


def _figure(shown: Result | Difference, order: Order) -> Any:
    if isinstance(shown, HeavyHitters):
        return figure_of(shown._picture(level=order.level), title=order.title)
    if isinstance(shown, Difference):
        pictures = shown._pictures(level=order.level, names=order.names)
    else:
        pictures = shown._pictures(level=order.level, asks=order.asks)
    return figure_of(*pictures, title=order.title)


def _written(figure: Any, form: Literal["svg", "png"]) -> bytes:
    """Return a figure as the bytes of a picture."""
    stream = io.BytesIO()
    write_picture(figure, stream, kind=form)
    return stream.getvalue()
