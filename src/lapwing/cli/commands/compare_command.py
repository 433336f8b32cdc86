"""`lapwing compare`: two groups or two periods compared, or an estimate with the truth."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple, cast

from lapwing.cli.console import (
    ENDINGS,
    Output,
    check_ending,
    check_output,
    facts,
    grid,
    write_figure,
)
from lapwing.cli.option_groups import Rule, argument, named, option
from lapwing.cli.reading.options import Force, Level, check_level, target_of
from lapwing.cli.reading.stored_answers import is_joint, read_result, read_segment
from lapwing.cli.reading.truth import Truth, TruthOptions
from lapwing.cli.showing.answer import TableOptions, shown_answer
from lapwing.distances import (
    decile_error,
    energy,
    kolmogorov_smirnov,
    kullback_leibler,
    l1,
    l2,
    mean_error,
    mean_squared_error,
    range_query_error,
    variance_error,
    wasserstein,
)
from lapwing.errors import ArgumentError, MismatchError
from lapwing.results.answer_documents import AnswerRequest
from lapwing.results.difference import Difference, People, people_of
from lapwing.results.directions import NO_MIDDLE
from lapwing.results.distribution import Distribution
from lapwing.results.exact_values import EXACT, is_exact
from lapwing.results.joint_distribution import JointDistribution
from lapwing.results.joint_documents import JointRequest
from lapwing.results.plotting import figure_of, new_figure
from lapwing.results.rounding import estimate_text, exact_text


@dataclass(frozen=True, kw_only=True)
class ComparisonOptions:
    """The options that say who is compared, and about whom that speaks."""

    people: str | None = option(
        "same: a person may be in both, as in two periods, so the privacy guarantees compose. "
        "different: nobody is in both, as in two groups. Default: different for two segments "
        "of one release or one file of tallies, else same.",
        "WHICH",
    )
    target: str = option(
        "Whom the intervals are about. population: the population that both samples come from. "
        "empirical: the people in the samples.",
        "WHOM",
        default="population",
    )
    segment: list[str] | None = option(
        "The segment to compare, for releases by segment. Give it once for both, or twice, "
        "once for each.",
        "NAME",
    )

    def check(self) -> None:
        """Raise ArgumentError where an option is wrong."""
        target_of(self.target)
        if len(self.segment or ()) > 2:
            raise ArgumentError("--segment must be given once for both, or twice, once for each")


RULES = (
    Rule(
        "truth",
        "compares one result with the truth",
        excludes=("second_file", "output", "people", "target", "segment"),
    ),
    Rule("", "give a second result to compare with, or --truth", ("second_file", "truth")),
)


def compare(
    first_file: Annotated[Path, argument("A decoded distribution, or a release.", "FIRST")],
    second_file: Annotated[
        Path | None, argument("The result to subtract from FIRST.", "SECOND")
    ] = None,
    output: Annotated[
        Path | None,
        named("--output -o", "Write a picture of the difference: .png, .svg or .pdf.", "FILE"),
    ] = None,
    force: Force = False,
    level: Level = 0.95,
    *,
    compared: ComparisonOptions,
    named: TruthOptions,
    table: TableOptions,
    out: Output,
) -> None:
    """The difference between two results, or the error of one.

    With SECOND: how much quantiles and the mean are shifted, or how much shares differ, with
    intervals, and whether the simultaneous confidence band excludes zero. Both results must be
    on the same domain. Two periods of a survey with memoized reports or of rappor are refused,
    because such reports show no changes.

    With --truth: the distances of an estimate from the truth. Distances between CDFs use the exact
    values, clipped or wrapped as the survey does. Distances between shares and between bins use the
    values counted in bins, as expected errors do. Each true value needs about 120 bytes of memory.
    """
    check_level(level)
    named.check_table(named.truth, option="truth")
    if named.truth is not None:
        show_distances(first_file, named, table, out, force=force)
    else:
        assert second_file is not None  # by the rules
        _show_difference(
            (first_file, second_file), compared, table, out, output=output, force=force, level=level
        )


def _show_difference(
    files: tuple[Path, Path],
    compared: ComparisonOptions,
    table: TableOptions,
    out: Output,
    *,
    output: Path | None,
    force: bool,
    level: float,
) -> None:
    compared.check()
    first_file, second_file = files
    if output is not None:
        check_ending(output, ENDINGS, what="the picture")
        check_output(output, inputs=files, force=force)
    table.check(inputs=files, force=force, output=output)
    if is_joint(first_file):
        _show_pairs(files, compared, table, out, output=output, level=level)
        return
    parts: list[str] | list[None] = compared.segment or [None]
    first, second = read_segment(first_file, parts[0]), read_segment(second_file, parts[-1])
    try:
        made = Difference(
            first,
            second,
            people=cast("People", compared.people or people_of(first, second)),
            target=target_of(compared.target),
        )
    except MismatchError as error:
        raise MismatchError(f"{first_file.name} and {second_file.name}: {error}") from None
    names = (_name(first_file, parts[0]), _name(second_file, parts[-1]))
    if output is not None:
        figure = figure_of(*made._pictures(level=level, names=names))
        write_figure(output, figure)
    request = AnswerRequest(level=level, curve=out.as_json)
    rest = {} if output is None else {"written": str(output)}
    answer = shown_answer(made, f"{names[0]} minus {names[1]}", request, rest=rest)
    table.write(answer.rows)
    document = {
        "command": "compare",
        "first": str(first_file),
        "second": str(second_file),
        **answer.document,
        "output": None if output is None else str(output),
    }
    out.show(document, *answer.tables)


def _show_pairs(
    files: tuple[Path, Path],
    compared: ComparisonOptions,
    table: TableOptions,
    out: Output,
    *,
    output: Path | None,
    level: float,
) -> None:
    """Show the difference of two joint distributions: of each attribute, and of blocks of cells."""
    from lapwing.results.joint_answers import block_rows, difference_of_joints

    if compared.segment:
        raise ArgumentError("joint results of two attributes are compared without segments")
    first, second = (JointDistribution.load(path) for path in files)
    difference = first.difference(second)
    request = JointRequest(level=level, target=target_of(compared.target))
    people = cast("People", compared.people or "same")
    gap = difference_of_joints(difference, request, people=people)
    table.write(block_rows(gap, first.domain))
    if output is not None:
        names = (files[0].stem, files[1].stem)
        how: Any = {"level": level, "names": names, "people": people, "target": request.target}
        write_figure(output, difference.plot(figure=new_figure, **how))
    tables = []
    for name in first.domain.names:
        made = Difference(
            first.marginal(name), second.marginal(name), people=people, target=request.target
        )
        title = f"{name}: {files[0].stem} minus {files[1].stem}"
        tables += shown_answer(made, title, AnswerRequest(level=level)).tables
    sides = {"first": str(files[0]), "second": str(files[1])}
    written = {} if output is None else {"output": str(output)}
    tables += [facts({"written": str(output)})] if output is not None else []
    out.show({"command": "compare", **sides, **gap, **written}, *tables)


def _name(path: Path, segment: str | None) -> str:
    return path.stem if segment is None else f"{path.stem} {segment}"


GRID = 256
"""Points of the grid on which the papers report W1 and KS."""

RANGES = (0.1, 0.4)

_UNITS = {"number": "", "date": "days"}


class Measure(NamedTuple):
    """One distance: None where the two cannot be compared in this way, and maybe its unit."""

    name: str
    value: float | None
    unit: str = ""


def show_distances(
    result_file: Path, named: TruthOptions, written: TableOptions, out: Output, *, force: bool
) -> None:
    """Show how far the result in a file is from the truth."""
    inputs = [path for path in (result_file, named.truth) if path is not None]
    written.check(inputs=inputs, force=force)
    result = read_result(result_file)
    known = named.exact(result.domain, out)
    measures = measured(result, known)
    mark = {"about": EXACT} if is_exact(known.distribution) or is_exact(result) else {}
    document = {
        "command": "compare",
        "result": str(result_file),
        "truth": str(named.truth),
        "people": known.distribution.reports,
        **mark,
        # JSON has no infinity: null there means infinite, or not comparable.
        "distances": {
            measure.name: {"value": _finite(measure.value), "unit": measure.unit or None}
            for measure in measures
        },
    }
    written.write(
        [
            {"distance": one.name, "value": _finite(one.value), "unit": one.unit, **mark}
            for one in measures
        ]
    )
    rows = [[measure.name, _text(measure.value), measure.unit] for measure in measures]
    title = "; ".join((f"distance from {named.truth}", *mark.values()))
    out.show(document, grid(title, ["", "value", "unit"], rows))


def measured(result: Distribution, truth: Truth) -> list[Measure]:
    """Return all distances that make sense for a domain."""
    return [
        *_between_curves(result, truth),
        *_between_bins(result, truth),
        *_between_shares(result, truth),
    ]


def _between_curves(result: Distribution, truth: Truth) -> list[Measure]:
    if truth.curve is None:
        return []
    one, two, domain = result.cumulative, truth.curve, result.domain
    unit = _UNITS.get(domain.unit, "seconds")
    length = float(domain.right[-1] - domain.left[0])
    exact = wasserstein(one, two)
    measures = [Measure("wasserstein", exact, unit)]
    if length > 0:
        measures.append(Measure("wasserstein, domain scaled to 1", exact / length))
    if domain.circular:
        around = wasserstein(one, two, circular=True)
        measures += [
            Measure("wasserstein on the circle", around, unit),
            Measure("wasserstein on the circle, scaled to 1", around / length),
        ]
    measures += [
        Measure("kolmogorov-smirnov", kolmogorov_smirnov(one, two)),
        Measure(f"wasserstein on {GRID} points, scaled to 1", wasserstein(one, two, grid=GRID)),
        Measure(f"kolmogorov-smirnov on {GRID} points", kolmogorov_smirnov(one, two, grid=GRID)),
        Measure("energy", energy(one, two), f"root of {unit}" if unit else ""),
    ]
    measures += [
        Measure(
            f"error of range queries of width {exact_text(width)}",
            range_query_error(one, two, width=width),
        )
        for width in RANGES
    ]
    if domain.circular:
        two = replace(two, circle=one.circle)
        way, deviation = mean_error(one, two), abs(one.std - two.std)
        return [
            *measures,
            Measure("error of the mean direction, the shorter way around", way, unit),
            Measure("error of the standard deviation on the circle", deviation, unit),
        ]
    return [
        *measures,
        Measure("error of the mean", mean_error(one, two), unit),
        Measure(
            "error of the variance", variance_error(one, two), f"{unit} squared" if unit else ""
        ),
        Measure("error of the deciles", decile_error(one, two), unit),
    ]


def _between_bins(result: Distribution, truth: Truth) -> list[Measure]:
    """Return what forecasts are about: both spread evenly in the same bins."""
    domain, counted = result.domain, truth.distribution
    if truth.curve is None or counted.domain.to_document() != domain.to_document():
        return []
    length = float(domain.right[-1] - domain.left[0])
    largest = Measure("kolmogorov-smirnov between bins", kolmogorov_smirnov(result, counted))
    if length <= 0:
        return [largest]
    between = wasserstein(result, counted) / length
    return [Measure("wasserstein between bins, scaled to 1", between), largest]


def _between_shares(result: Distribution, truth: Truth) -> list[Measure]:
    one, two = truth.distribution, result
    same = one.domain.to_document() == two.domain.to_document()
    functions: dict[str, Any] = {
        "l1": l1,
        "l2": l2,
        "mean squared error": mean_squared_error,
        "kullback-leibler of truth from result": kullback_leibler,
    }
    return [
        Measure(name, function(one, two) if same else None, "nats" if "kull" in name else "")
        for name, function in functions.items()
    ]


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _text(value: float | None) -> str:
    if value is None:
        return "other bins"
    if math.isnan(value):
        return NO_MIDDLE
    return estimate_text(value)
