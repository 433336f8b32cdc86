"""How commands are told a domain: the options, and the domain that they mean together."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from lapwing.categories import Categories
from lapwing.domain import Domain, Integers, Interval
from lapwing.errors import ArgumentError, FormatError
from lapwing.hashed_texts import HashedTexts
from lapwing.summary import for_curator

_INTERVAL_ONLY = ("low", "high", "bins", "circular", "scale", "atoms", "unit")

Low = Annotated[
    str | None,
    typer.Option(
        "--low",
        metavar="VALUE",
        help="Start of an interval: a number, or a date or time as --unit says. It must "
        "not come from the data.",
    ),
]
High = Annotated[str | None, typer.Option("--high", metavar="VALUE", help="End of an interval.")]
Bounds = Annotated[
    tuple[str, str] | None,
    typer.Option(
        "--bounds", metavar="LOW HIGH", help="Both ends at once, instead of --low and --high."
    ),
]
Bins = Annotated[int | None, typer.Option("--bins", metavar="N", help="Bins of an interval.")]
UnitName = Annotated[
    str | None,
    typer.Option("--unit", metavar="UNIT", help="number (default), date, datetime or time-of-day."),
]
Circular = Annotated[
    bool, typer.Option("--circular", help="The interval's end is its start, as midnight is.")
]
Scale = Annotated[
    str | None,
    typer.Option("--scale", metavar="SCALE", help="linear (default) or log: bins of equal ratio."),
]
Atoms = Annotated[
    list[str] | None,
    typer.Option(
        "--atom", metavar="VALUE", help="A value that many hold exactly, as 0; may be repeated."
    ),
]
WholeNumbers = Annotated[
    tuple[int, int] | None,
    typer.Option("--integers", metavar="LOW HIGH", help="Whole numbers instead of an interval."),
]
Labels = Annotated[
    str | None,
    typer.Option(
        "--categories",
        metavar="LABELS",
        help="Labels, as a,b,c, instead of an interval; or their number, for the labels "
        "0, 1, 2, and so on; or hash:BITS, for texts that nobody lists, known by a public hash.",
    ),
]
LabelsFile = Annotated[
    Path | None,
    typer.Option("--categories-file", metavar="FILE", help="Labels, one on each line."),
]
Outside = Annotated[
    str | None,
    typer.Option(
        "--outside", metavar="WHAT", help="Values outside low..high: clip (default) or refuse."
    ),
]
Missing = Annotated[
    str | None,
    typer.Option(
        "--missing",
        metavar="WHAT",
        help="Missing values: refuse (default), or count them: bin, of categories: category.",
    ),
]


CURATOR_BINS = 1024
"""Bins of an interval in the central model when nobody says how many."""


def curator_domain_of(
    *, bins: int | None, integers: tuple[int, int] | None, **given: Any
) -> Domain:
    """Return the domain that the options of a curator's command mean, fit for a curator."""
    if bins is None and integers is None:
        bins = CURATOR_BINS
    return for_curator(
        domain_of(
            bins=bins,
            integers=integers,
            categories=None,
            categories_file=None,
            outside=None,
            missing=None,
            **given,
        )
    )


def domain_of(
    *,
    low: str | None,
    high: str | None,
    bounds: tuple[str, str] | None,
    bins: int | None,
    unit: str | None,
    circular: bool,
    scale: str | None,
    atom: list[str] | None,
    integers: tuple[int, int] | None,
    categories: str | None,
    categories_file: Path | None,
    outside: str | None,
    missing: str | None,
) -> Domain:
    """Return the domain that the options mean; ArgumentError unless they mean exactly one."""
    if bounds is not None:
        if low is not None or high is not None:
            raise ArgumentError("--bounds is --low and --high at once; give one or the other")
        low, high = bounds
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
    return _domain(given, integers, categories, categories_file)


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
        bits = re.fullmatch(r"hash:([0-9]{1,2})", (categories or "").strip())
        if bits:
            return HashedTexts(int(bits[1]), **rest)
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
