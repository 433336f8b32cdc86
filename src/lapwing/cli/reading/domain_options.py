"""How commands are told a domain: the options, and the domain that they mean together."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from lapwing.cli.option_groups import option
from lapwing.cli.reading.options import DecimalName, NoHeader
from lapwing.errors import ArgumentError, FormatError
from lapwing.protocol.domains.categories import Categories
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.hashed_strings import HashedStrings
from lapwing.protocol.domains.integers import Integers
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.domains.segmented import Segmented
from lapwing.protocol.domains.text_values import Decimal, Texts, check_texts

CURATOR_BINS = 1024
"""Bins of an interval in the central model when nobody says how many."""

TextsName = Annotated[
    str | None,
    typer.Option(
        "--texts",
        metavar="HOW",
        help="How texts of dates and times are read: iso (default, as 2026-11-21T09:30), days or "
        "seconds (since 1970 or midnight). Each row by itself; what cannot be read so is missing.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class NumberOptions:
    """The options of a domain of numbers: an interval, or whole numbers."""

    low: str | None = option(
        "Start of an interval: a number, or a date or time as --unit says. It must "
        "not come from the data.",
        "VALUE",
    )
    high: str | None = option("End of an interval.", "VALUE")
    bounds: tuple[str, str] | None = option(
        "Both ends at once, instead of --low and --high.", "LOW HIGH"
    )
    bins: int | None = option("Bins of an interval.", "N")
    unit: str | None = option("number (default), date, datetime or time-of-day.", "UNIT")
    circular: bool = option("The interval's end is its start, as midnight is.", default=False)
    scale: str | None = option("linear (default) or log: bins of equal ratio.", "SCALE")
    atom: list[str] | None = option(
        "A value that many hold exactly, as 0; may be repeated.", "VALUE"
    )
    edges: str | None = option(
        "The edges of bins of your own, as 0,18,25,65,120, instead of --low, --high, --bins and "
        "--scale: age bands, say.",
        "A,B,...",
    )
    closed: str | None = option(
        "Which end of a bin is in it: right (default of numbers, so that shares of at most an "
        "edge are exact) or left (default of circles, dates and times).",
        "SIDE",
    )
    integers: tuple[int, int] | None = option("Whole numbers instead of an interval.", "LOW HIGH")

    def _interval(self, bins: int | None) -> dict[str, Any]:
        """Return what was typed about an interval, with its bins."""
        low, high = self.low, self.high
        if self.bounds is not None:
            if low is not None or high is not None:
                raise ArgumentError("--bounds is --low and --high at once; give one or the other")
            low, high = self.bounds
        if self.edges is not None:
            mixed = {"--low": low, "--high": high, "--bins": self.bins, "--scale": self.scale}
            if given := [name for name, value in mixed.items() if value is not None]:
                raise ArgumentError(
                    f"--edges says where each bin ends, so leave {', '.join(given)} out"
                )
            bins = None
        typed = {
            "low": low,
            "high": high,
            "bins": bins,
            "unit": self.unit,
            "circular": self.circular or None,
            "scale": self.scale,
            "atoms": self.atom or None,
            "edges": self.edges,
            "closed": self.closed,
        }
        return {key: value for key, value in typed.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class LabelOptions(NumberOptions):
    """The options of a domain of numbers, or of labels."""

    categories: str | None = option(
        "Labels, as a,b,c, instead of an interval; or their number, for the labels 0, 1, "
        "2, and so on; or, in surveys, hash:BITS, for texts that nobody lists, known by a public "
        "hash.",
        "LABELS",
    )
    categories_file: Path | None = option("Labels, one on each line.", "FILE")
    other: str | None = option(
        "One of the labels, which every value that is none of them counts as. Without it such "
        "values are refused on a device, and count as missing in the central model.",
        "LABEL",
    )

    def _of_labels(self) -> bool:
        return self.categories is not None or self.categories_file is not None

    def _meant(self, bins: int | None, rest: Mapping[str, Any]) -> Domain:
        """Return the domain that the options mean, with its bins and what else was typed."""
        more = dict(rest) if self.other is None else {**rest, "other": self.other}
        interval = self._interval(bins)
        return _domain(interval, self.integers, self.categories, self.categories_file, more)


@dataclass(frozen=True, kw_only=True)
class SurveyDomainOptions(LabelOptions):
    """The options of a survey's domain."""

    outside: str | None = option("Values outside low..high: clip (default) or refuse.", "WHAT")
    missing: str | None = option(
        "Missing values: refuse (default), or count them: bin, of categories: category.", "WHAT"
    )

    def domain(self, *, bins: int | None = None) -> Domain:
        """Return the domain that the options mean; ArgumentError unless they mean exactly one.

        Parameters
        ----------
        bins : int, optional
            Of an interval whose ends are given and whose bins are not.
        """
        ends = self.bounds is not None or self.high is not None
        rest = {"outside": self.outside, "missing": self.missing}
        rest = {key: value for key, value in rest.items() if value is not None}
        return self._meant(bins if self.bins is None and ends else self.bins, rest)


@dataclass(frozen=True, kw_only=True)
class CuratorDomainOptions(LabelOptions):
    """The options of a curator's domain, and how values are read into it."""

    texts: TextsName = None
    no_header: NoHeader = False
    decimal: DecimalName = None
    by: str | None = option(
        "The column with the segment of each row, as protected as the value: an answer for each "
        "of --segments.",
        "NAME",
    )
    segments: str | None = option(
        "The segments of --by, as a,b,c: public, and not from the data. Rows in none of them are "
        "kept apart.",
        "LABELS",
    )

    def domain(self) -> Domain:
        """Return the domain that the options mean, fit for a curator."""
        if (self.by is None) != (self.segments is None):
            raise ArgumentError("--by and --segments belong together: a column, and the list")
        within = self._within()
        if self.segments is None:
            return within
        segments = _labels(self.segments, None, option="--segments")
        return Segmented(within, [segments] if isinstance(segments, int) else segments)

    def _within(self) -> Domain:
        others = self.integers is not None or self._of_labels()
        bins = CURATOR_BINS if self.bins is None and not others else self.bins
        return self._meant(bins, {}).for_curator()


def texts_of(given: str | None, domain: Domain) -> Texts:
    """Return how texts are read; ArgumentError when the option is wrong, or not for this domain."""
    if given is None:
        return "iso"
    unit = domain.unit
    if unit == "number":
        raise ArgumentError(
            "--texts is for dates and times, and this domain holds neither; leave it out, or "
            "declare the domain's --unit"
        )
    check_texts(given, unit)
    return cast(Texts, given)


def decimal_of(given: str | None, domain: Domain) -> Decimal | None:
    """Return what stands before a fraction; ArgumentError when it is wrong, or there is none."""
    if given is None:
        return None
    if given not in (".", ","):
        raise ArgumentError(f"--decimal must be , or . (one mark), got {given!r}")
    within = domain.domain if isinstance(domain, Segmented) else domain
    if not within.ordered:
        raise ArgumentError("--decimal is for numbers, and this domain holds labels; leave it out")
    return cast(Decimal, given)


def _domain(
    interval: dict[str, Any],
    integers: tuple[int, int] | None,
    categories: str | None,
    categories_file: Path | None,
    rest: dict[str, Any],
) -> Domain:
    others = (integers, categories, categories_file)
    if bool(interval) + sum(one is not None for one in others) != 1:
        raise ArgumentError(
            "a column needs one domain: an interval (--low, --high, --bins; or --edges), or "
            "--integers, or --categories, or --categories-file"
        )
    if "other" in rest and categories is None and categories_file is None:
        raise ArgumentError("--other is for categories: it names the label of all other values")
    if integers is not None:
        return Integers(*integers, **rest)
    if not interval:
        if "outside" in rest:
            raise ArgumentError("--outside is for intervals and whole numbers, not for categories")
        bits = re.fullmatch(r"hash:([0-9]{1,2})", (categories or "").strip())
        if bits:
            if "other" in rest:
                raise ArgumentError("--other is for labels that are listed; every text has a hash")
            return HashedStrings(int(bits[1]), **rest)
        labels = _labels(categories, categories_file)
        if "other" in rest and not (isinstance(labels, list) and rest["other"] in labels):
            rest["other"] = _number_of_label(rest["other"])
        return Categories(labels, **rest)
    unit = interval.get("unit", "number")
    interval["atoms"] = [_end(text, unit, "--atom") for text in interval.get("atoms", ())]
    if "edges" in interval:
        edges = [text.strip() for text in interval.pop("edges").split(",")]
        if "" in edges:
            raise ArgumentError("--edges must be values with commas between, one is empty")
        return Interval(edges=[_end(text, unit, "--edges") for text in edges], **interval, **rest)
    absent = [f"--{key}" for key in ("low", "high", "bins") if key not in interval]
    if absent:
        raise ArgumentError(f"an interval needs --low, --high and --bins; add {', '.join(absent)}")
    low, high = (_end(interval.pop(key), unit, f"--{key}") for key in ("low", "high"))
    return Interval(low, high, **interval, **rest)


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


def _number_of_label(text: str) -> Any:
    """Return the number that a label is, where all labels are numbers; else the text."""
    return int(text) if re.fullmatch(r"-?[0-9]{1,16}", text) else text


def _labels(typed: str | None, path: Path | None, *, option: str = "--categories") -> Any:
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
            raise ArgumentError(f"{option} must be labels with commas between, one is empty")
    # Only whole numbers as they are usually written: 007 stays a text, and so do all beside it.
    whole = all(
        label.removeprefix("-").isdecimal() and str(int(label)) == label for label in labels
    )
    return [int(label) for label in labels] if whole and labels else labels
