"""`lapwing new`: write the survey that devices, collector and analyst will share."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from lapwing.categories import Categories
from lapwing.cli.console import Output, facts
from lapwing.cli.knobs import make_with_knobs, pick
from lapwing.cli.options import AsJson, OutputFile, Quiet, Settings
from lapwing.cli.outputs import check_output, write_text
from lapwing.cli.wording import domain_text
from lapwing.domain import Domain, Integers, Interval
from lapwing.errors import ArgumentError, FormatError
from lapwing.survey import RANDOMIZERS, Survey

_INTERVAL_ONLY = ("low", "high", "bins", "circular", "scale", "atoms", "unit")


def new(
    output: OutputFile,
    name: Annotated[
        str,
        typer.Option("--name", metavar="TEXT", help="What the survey asks; part of its identity."),
    ],
    randomizer: Annotated[
        str,
        typer.Option("--randomizer", metavar="NAME", help=f"One of: {', '.join(RANDOMIZERS)}."),
    ],
    epsilon: Annotated[
        str,
        typer.Option(
            "--epsilon",
            metavar="NUMBER",
            help="The promise of one report, in (0, 24]; kept exactly as typed, also 1/3.",
        ),
    ],
    low: Annotated[
        str | None,
        typer.Option(
            "--low",
            metavar="VALUE",
            help="Start of an interval: a number, or a date or time as --unit says. It must "
            "not come from the data.",
        ),
    ] = None,
    high: Annotated[
        str | None, typer.Option("--high", metavar="VALUE", help="End of an interval.")
    ] = None,
    bins: Annotated[
        int | None, typer.Option("--bins", metavar="N", help="Bins of an interval.")
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(
            "--unit", metavar="UNIT", help="number (default), date, datetime or time-of-day."
        ),
    ] = None,
    circular: Annotated[
        bool, typer.Option("--circular", help="The interval's end is its start, as midnight is.")
    ] = False,
    scale: Annotated[
        str | None,
        typer.Option(
            "--scale", metavar="SCALE", help="linear (default) or log: bins of equal ratio."
        ),
    ] = None,
    atom: Annotated[
        list[str] | None,
        typer.Option(
            "--atom", metavar="VALUE", help="A value that many hold exactly, as 0; may be repeated."
        ),
    ] = None,
    integers: Annotated[
        tuple[int, int] | None,
        typer.Option(
            "--integers", metavar="LOW HIGH", help="Whole numbers instead of an interval."
        ),
    ] = None,
    categories: Annotated[
        str | None,
        typer.Option(
            "--categories",
            metavar="LABELS",
            help="Labels, as a,b,c, instead of an interval; or their number, for the labels "
            "0, 1, 2, and so on.",
        ),
    ] = None,
    categories_file: Annotated[
        Path | None,
        typer.Option("--categories-file", metavar="FILE", help="Labels, one on each line."),
    ] = None,
    outside: Annotated[
        str | None,
        typer.Option(
            "--outside", metavar="WHAT", help="Values outside low..high: clip (default) or refuse."
        ),
    ] = None,
    missing: Annotated[
        str | None,
        typer.Option(
            "--missing",
            metavar="WHAT",
            help="Missing values: refuse (default), or count them: bin, of categories: category.",
        ),
    ] = None,
    width: Annotated[
        float | None,
        typer.Option(
            "--width",
            metavar="B",
            help="square-wave: half-width as a part of the interval; default: by epsilon.",
        ),
    ] = None,
    grid: Annotated[
        int | None,
        typer.Option(
            "--grid",
            metavar="N",
            help="square-wave: points on which values are randomised, a multiple of the bins.",
        ),
    ] = None,
    settings: Settings = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Write a survey: the document that all sides share.

    It states the question, its legal values and how every answer is randomised. Everybody
    works from this one file, so nobody types a parameter twice. It is public.
    """
    out = Output(as_json, quiet)
    check_output(output, inputs=[categories_file] if categories_file else [])
    typed = {
        "low": low,
        "high": high,
        "bins": bins,
        "unit": unit,
        "circular": circular or None,
        "scale": scale,
        "atoms": atom or None,
        "outside": outside,
        "missing": missing,
    }
    given = {key: value for key, value in typed.items() if value is not None}
    domain = _domain(given, integers, categories, categories_file)
    made = pick(RANDOMIZERS, randomizer, what="the randomizer")
    knobs = {"width": width, "grid": grid}
    survey = Survey(
        name, make_with_knobs(made, domain, epsilon, typed=knobs, settings=settings or ())
    )
    write_text(output, survey.to_json())
    document = {"command": "new", "output": str(output), "survey": survey.to_document()}
    out.show(document, facts(described(survey) | {"written": str(output)}))


def described(survey: Survey) -> dict[str, str]:
    """Return what a survey is, for a table."""
    return {
        "survey": survey.name,
        "domain": domain_text(survey.randomizer.domain),
        "randomizer": survey.randomizer.name,
        "promise": str(survey.guarantee),
        "bytes per report": str(survey.randomizer.report_width),
        "fingerprint": survey.fingerprint,
    }


def _domain(
    given: Mapping[str, Any],
    integers: tuple[int, int] | None,
    categories: str | None,
    categories_file: Path | None,
) -> Domain:
    interval = any(key in given for key in _INTERVAL_ONLY)
    chosen = [interval, integers is not None, categories is not None, categories_file is not None]
    if sum(chosen) != 1:
        raise ArgumentError(
            "a survey needs one domain: an interval (--low, --high, --bins), or --integers, or "
            "--categories, or --categories-file"
        )
    rest = {key: given[key] for key in ("outside", "missing") if key in given}
    if integers is not None:
        return Integers(*integers, **rest)
    if not interval:
        if "outside" in rest:
            raise ArgumentError("--outside is for intervals and whole numbers, not for categories")
        return Categories(_labels(categories, categories_file), **rest)
    absent = [f"--{key}" for key in ("low", "high", "bins") if key not in given]
    if absent:
        raise ArgumentError(f"an interval needs --low, --high and --bins; add {', '.join(absent)}")
    options = dict(given)
    unit = options.get("unit", "number")
    low, high = (_end(options.pop(key), unit, f"--{key}") for key in ("low", "high"))
    options["atoms"] = [_end(text, unit, "--atom") for text in options.get("atoms", ())]
    return Interval(low, high, **options)


def _end(text: str, unit: str, option: str) -> Any:
    """Return a number; dates and times stay texts, which the domain reads."""
    if unit != "number":
        return text
    try:
        return float(text)
    except ValueError:
        raise ArgumentError(
            f"{option} must be a number, got {text!r}; for dates and times add --unit"
        ) from None


def _labels(typed: str | None, path: Path | None) -> Any:
    if path is not None:
        try:
            lines = path.read_text(encoding="utf-8-sig").splitlines()
        except UnicodeDecodeError:
            raise FormatError(f"{path.name} must be UTF-8 text, one label on each line") from None
        labels = [line.strip() for line in lines if line.strip()]
    else:
        labels = [label.strip() for label in (typed or "").split(",")]
        if len(labels) == 1 and labels[0].isascii() and labels[0].isdigit():
            return int(labels[0])
        if "" in labels:
            raise ArgumentError("--categories must be labels with commas between, one is empty")
    # Only whole numbers as they are usually written: 007 stays a text, and so do all beside it.
    whole = all(
        label.removeprefix("-").isdecimal() and str(int(label)) == label for label in labels
    )
    return [int(label) for label in labels] if whole and labels else labels
