"""`lapwing plot`: a picture of a result."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from lapwing.cli.console import ENDINGS, Output, check_ending, check_output, facts, write_figure
from lapwing.cli.option_groups import argument, option
from lapwing.cli.reading.options import Force, IntervalOptions, OutputFile, SegmentName
from lapwing.cli.reading.stored_answers import (
    is_joint,
    is_series,
    read_distribution_or_list,
    read_series,
    segmented_release,
)
from lapwing.cli.reading.truth import TruthOptions
from lapwing.cli.showing.released import question_release
from lapwing.errors import ArgumentError
from lapwing.results.joint_distribution import JointDistribution
from lapwing.results.joint_plotting import draw_joint
from lapwing.results.plotting import figure_of, new_figure
from lapwing.results.steps import Detail

_Detail = Literal["resolved", "all", "weeks"]


@dataclass(frozen=True, kw_only=True)
class PictureOptions:
    """The options of a picture."""

    title: str | None = option(
        "Title of the picture. The number of people and epsilon appear below it.", "TEXT"
    )
    label: str | None = option('Label of the axis of values, such as "income, dollars".', "TEXT")
    detail: _Detail = option(
        "resolved: densities in steps that the reports can distinguish. all: every bin. For a "
        "series, weeks draws a small picture of each week, and all does so with every bin.",
        default="resolved",
    )


def plot(
    result_file: Annotated[
        Path, argument("A decoded distribution, heavy hitters, a release or a series.", "RESULT")
    ],
    output: OutputFile,
    force: Force = False,
    *,
    named: TruthOptions,
    segment: SegmentName = None,
    intervals: IntervalOptions,
    words: PictureOptions,
    out: Output,
) -> None:
    """A picture of a result: .png, .svg or .pdf.

    For numbers, shows the density and the CDF, both with bands. For categories, the shares with
    their intervals. For a series, the quantiles or shares over time. For a release by segment, a
    small picture of each segment.
    """
    texts: dict[str, Any] = {"title": words.title, "label": words.label}
    how = intervals.how()
    named.check_table(named.truth, option="truth")
    check_ending(output, ENDINGS, what="the picture")
    check_output(output, inputs=[result_file, *filter(None, [named.truth])], force=force)
    alone = segment is None and named.truth is None and words.label is None
    if answers := question_release(result_file):
        if not alone:
            raise ArgumentError("answers are drawn alone. Leave out all options but the title")
        _write(output, answers.plot(level=intervals.level, title=words.title), out, truth=False)
        return
    if is_joint(result_file):  # its intervals hold for both targets
        alone &= words == PictureOptions() and intervals.target == "empirical"
        _write(output, _joint_figure(result_file, intervals.level, alone=alone), out, truth=False)
        return
    if is_series(result_file):
        if segment is not None or named.truth is not None:
            raise ArgumentError("--segment and --truth do not apply to a series. Remove them")
        series = read_series(result_file)
        detail: Detail = "all" if words.detail == "all" else "resolved"
        kind = "timeline" if words.detail == "resolved" else "weeks"
        _write(output, series.plot(kind=kind, detail=detail, **how, **texts), out, truth=False)
        return
    if words.detail == "weeks":
        raise ArgumentError("--detail weeks is only for a series (lapwing series -o)")
    if segment is None and named.truth is None and (table := segmented_release(result_file)):
        _write(output, table.plot(detail=words.detail, **how, **texts), out, truth=False)
        return
    result = read_distribution_or_list(result_file, segment)
    if result._kind == "heavy-hitters":
        if named.truth is not None:
            raise ArgumentError("--truth does not apply to a list of heavy hitters. Remove it")
        figure = figure_of(result._picture(**how), **texts)
    else:
        truth = named.counted(result.domain, out)
        pictures = result._pictures(**how, truth=truth, detail=words.detail)
        figure = figure_of(*pictures, **texts)
    _write(output, figure, out, truth=named.truth is not None)


def _joint_figure(path: Path, level: float, *, alone: bool) -> Any:
    """Return the picture of a joint distribution, which takes no option but the level."""
    if not alone:
        raise ArgumentError(
            "a joint distribution is drawn alone, with its own titles. Leave out --segment, "
            "--truth, --target, --title, --label and --detail"
        )
    joint = JointDistribution.load(path)
    return draw_joint(joint, level=level, figure=new_figure((7.2, 4.4)))


def _write(output: Path, figure: Any, out: Output, *, truth: bool) -> None:
    """Write the picture and say so."""
    write_figure(output, figure)
    document = {"command": "plot", "output": str(output), "truth": truth}
    out.show(document, facts({"written": str(output)}))
