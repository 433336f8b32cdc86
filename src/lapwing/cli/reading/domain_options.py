"""Domains of commands: by the options of `lapwing new`, or by a file that has one."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Annotated, Any, cast

from lapwing.cli.option_groups import Rule, named, option
from lapwing.cli.reading.options import DecimalName, EncodingName, NoHeader, ThousandsName
from lapwing.documents import read, read_as, require, require_format
from lapwing.engines.arrow.unit_columns import check_units
from lapwing.errors import ArgumentError, DomainError, FormatError
from lapwing.planning.chosen_bins import with_bins
from lapwing.privacy.guarantee import PrivacyUnit
from lapwing.protocol.domains.categories import Categories
from lapwing.protocol.domains.domain import Domain, check_choice
from lapwing.protocol.domains.domain_documents import build_domain, build_open_domain
from lapwing.protocol.domains.integers import Integers
from lapwing.protocol.domains.interval import Interval
from lapwing.protocol.domains.product import Product
from lapwing.protocol.domains.segmented import Segmented
from lapwing.protocol.domains.text_values import Decimal, Texts, Thousands, check_marks, check_texts
from lapwing.protocol.domains.units import UNITS
from lapwing.protocol.domains.unordered import HashedStrings
from lapwing.stored_files import DOMAIN

TextsName = Annotated[
    str | None,
    named(
        "--texts",
        "Format of dates, times and durations in strings. iso (default): 2026-11-21T09:30 or "
        "1:30:00. days or seconds: numbers, for dates and times "
        "since 1970 or midnight. Strings that cannot be parsed are missing values.",
        "HOW",
    ),
]


@dataclass(frozen=True, kw_only=True)
class DomainFile:
    """The option of a domain that stands in a file."""

    domain: Path | None = option(
        "The domain of the column: a file from lapwing new --domain-only, a survey, a result "
        "or a release. It must be public knowledge, not derived from the data to be protected.",
        "FILE",
    )

    def stored(self, *, bins: int | None) -> tuple[Domain, str]:
        """Return the domain in the file, and a sentence about bins that the file left open.

        bins: About how many an interval without any gets. None where there must be some.

        Raises ArgumentError when no file is named, or it leaves the bins open that are needed.
        Raises FormatError when it contains no domain.
        """
        if self.domain is None:
            raise ArgumentError(
                "domain", "must name a survey file, or a file from lapwing new --domain-only"
            )
        from lapwing.cli.reading.stored import read_survey  # slow to import

        document = read(self.domain)
        if document.get("format") == "lapwing-survey":
            return read_survey(self.domain).randomizer.domain, ""
        if document.get("format") == DOMAIN:
            require(document, {"format", "version", "domain"}, name=self.domain.name)
            require_format(document, name=DOMAIN, version=1)
        return read_as(self.domain, partial(_domain_in, bins=bins))


def _domain_in(document: Mapping[str, Any], *, bins: int | None) -> tuple[Domain, str]:
    held = document.get("domain")
    if not isinstance(held, dict):
        raise FormatError("it contains no domain")
    if held.get("class") == Segmented.name and isinstance(held.get("domain"), dict):
        within, note = _cut(held["domain"], bins)
        return build_domain({**held, "domain": within.to_document()}), note
    return _cut(held, bins)


def _cut(document: dict[str, Any], bins: int | None) -> tuple[Domain, str]:
    domain = build_open_domain(document)
    if not isinstance(domain, Interval) or domain.bins is not None:
        return domain, ""
    if bins is None:
        raise ArgumentError("the domain has no bins. Write it with --bins")
    return with_bins(domain, bins)


def domain_document_text(domain: Domain, *, bins: bool, outside: bool) -> str:
    """Return the JSON text of a domain. Without its bins where they are to be chosen later.

    Then also without what becomes of values outside, unless somebody named it.
    """
    document = domain.to_document()
    if not bins:
        within = document.get("domain", document)
        within.pop("bins", None)
        if not outside:
            within.pop("outside", None)
    return json.dumps({"format": DOMAIN, "version": 1, "domain": document}, indent=1) + "\n"


def axis_files(typed: Sequence[str]) -> dict[str, Path]:
    """Return the files of the axes of pairs by name. ArgumentError when one is not NAME=FILE."""
    files: dict[str, Path] = {}
    for one in typed:
        name, equals, path = one.partition("=")
        if not (name and equals and path) or name in files:
            raise ArgumentError(
                "axis",
                "must be NAME=FILE with two different names",
                repr(one),
                "For example --axis delay=delay.json --axis hour=hour.json",
            )
        files[name] = Path(path)
    return files


def product_of(files: Mapping[str, Path], *, bins: int | None) -> tuple[Domain, str]:
    """Return the pairs whose axes are in files, and sentences about bins that nobody named.

    files: By the name of the axis.
    bins: None where an interval must have bins, else it gets about 64.
    """
    if len(files) != 2:
        raise ArgumentError(
            "axis",
            "must be given twice, once for each attribute",
            str(len(files)),
            "For example --axis delay=delay.json --axis hour=hour.json",
        )
    from lapwing.planning.pair_recommendation import BINS  # slow to import

    axes: dict[str, Domain] = {}
    notes = []
    for name, path in files.items():
        axes[name], note = DomainFile(domain=path).stored(bins=None if bins is None else BINS)
        if note:
            notes.append(f"{name}: {note}")
    return Product(**axes), " ".join(notes)


@dataclass(frozen=True, kw_only=True)
class DomainOptions(DomainFile):
    """The options of a domain: an interval, whole numbers or labels, or a file."""

    low: str | None = option(
        "Start of an interval: a number, or a date or time if --unit says so.", "VALUE"
    )
    high: str | None = option("End of an interval.", "VALUE")
    bins: int | None = option(
        "Number of bins of an interval. Default: bins of a round width that suits epsilon.", "N"
    )
    unit: str | None = option(
        "number (default), whole, date, datetime, time-of-day or duration (1:30:00). With "
        "whole (such as minutes), the mean uses the whole numbers in a bin instead of its "
        "middle.",
        "UNIT",
    )
    scale: str | None = option(
        "linear (default), log (bins of equal ratio), or circular (the end of the interval is "
        "also its start, such as midnight for times of day).",
        "SCALE",
    )
    atom: list[str] | None = option(
        "A value that many people have exactly, such as 0. May be repeated.",
        "VALUE",
        names={"atoms": "--atom"},
    )
    edges: str | None = option(
        "The edges of your own bins, such as age bands 0,18,25,65,120. Replaces --low, --high, "
        "--bins and --scale.",
        "A,B,...",
    )
    closed: str | None = option(
        "Which edge belongs to each bin. right: default for numbers, so the share of values up "
        "to an edge is exact. left: default for circles, dates and times.",
        "SIDE",
    )
    integers: tuple[int, int] | None = option(
        "Whole numbers from LOW to HIGH, instead of an interval.", "LOW HIGH"
    )
    categories: str | None = option(
        "Labels (a,b,c) instead of an interval. A number N means the labels 0 to N - 1. hash:BITS "
        "means any strings, by a public hash of so many bits. file:PATH is a file of labels, one "
        "on each line.",
        "LABELS",
        names={"labels": "--categories", "bits": "BITS of --categories hash:BITS"},
    )
    other: str | None = option(
        "The label for all unlisted values. Without it, a device refuses such values, and the "
        "central model counts them as missing.",
        "LABEL",
    )
    outside: str | None = option(
        "Treatment of values outside the range. overflow: counted below and above (default "
        "with 32 or more bins or whole numbers). clip: moved to the nearest end. refuse: an "
        "error.",
        "WHAT",
    )
    missing: str | None = option(
        "Treatment of missing values. refuse: an error (default). bin, or category for categories: "
        "counted.",
        "WHAT",
    )

    def domain_and_note(self, *, bins: int | None) -> tuple[Domain, str]:
        """Return the domain that is meant, and a sentence about bins that nobody named.

        bins: About how many an interval without any gets. None where there must be some.

        Raises ArgumentError unless exactly one domain is meant.
        """
        if self.domain is not None:
            return self.stored(bins=bins)
        domain = self._built()
        if bins is not None:
            return with_bins(domain, bins)
        if isinstance(domain, Interval) and domain.bins is None:
            raise ArgumentError("bins", "must be given for this randomizer", advice="Add --bins")
        return domain, ""

    def _built(self) -> Domain:
        """Return the domain, whose class says what is wrong with it."""
        rest = self._typed("outside", "missing", "other")
        if self.integers is not None:
            low, high = self.integers
            if low > high:
                raise ArgumentError("integers", "needs the lower number first", f"{low} and {high}")
            return Integers(low, high, **rest)
        if self.categories is not None:
            return self._labeled(self.categories, rest)
        number, *others = UNITS
        unit = self.unit or number
        check_choice(unit, name="unit", choices=(number, "whole", *others))
        check_choice(self.scale or "linear", name="scale", choices=("linear", "log", "circular"))
        given = rest | self._typed("bins", "scale", "closed")
        given["whole"] = unit == "whole"
        given["unit"] = unit = number if unit == "whole" else unit
        if self.scale == "circular":
            del given["scale"]
            given["circular"] = True
        for name, end in self._typed("low", "high").items():
            given[name] = _end(end, unit, name)
        given["atoms"] = [_end(text, unit, "atom") for text in self.atom or ()]
        if self.edges is not None:
            edges = [text.strip() for text in self.edges.split(",")]
            if "" in edges:
                raise ArgumentError("edges", "must be values separated by commas, but one is empty")
            given["edges"] = [_end(text, unit, "edges") for text in edges]
        return Interval(**given)

    def _labeled(self, categories: str, rest: dict[str, Any]) -> Domain:
        bits = re.fullmatch(r"hash:([0-9]{1,2})", categories.strip())
        if bits:
            if "other" in rest:
                raise ArgumentError(
                    "other", "is only for listed labels", advice="Every string has a hash"
                )
            return HashedStrings(int(bits[1]), **rest)
        labels = _labels(categories, self.categories_file)
        if "other" in rest and not (isinstance(labels, list) and rest["other"] in labels):
            rest["other"] = _number_of_label(rest["other"])
        return Categories(labels, **rest)

    @property
    def categories_file(self) -> Path | None:
        """The file of labels that --categories names. None where it lists them."""
        name, colon, path = (self.categories or "").strip().partition(":")
        return Path(path.strip()) if name == "file" and colon and path.strip() else None

    def _typed(self, *names: str) -> dict[str, Any]:
        """What was typed of these options."""
        typed = {name: getattr(self, name) for name in names}
        return {name: value for name, value in typed.items() if value is not None}


_INTERVAL = ("low", "high", "bins", "unit", "scale", "atom", "edges", "closed")

_OF_LABELS = "is for categories: it is the label of all other values"

DOMAIN_FIELDS = tuple(field.name for field in fields(DomainOptions))

DOMAIN_RULES = (
    Rule("domain", "gives the complete domain", excludes=DOMAIN_FIELDS[1:]),
    Rule("edges", "says where each bin ends", excludes=("low", "high", "bins", "scale")),
    Rule("outside", "is for intervals and whole numbers", excludes=("categories",)),
    Rule("integers", "is one domain, of whole numbers", excludes=("categories", *_INTERVAL)),
    Rule("categories", "is one domain, of labels", excludes=_INTERVAL),
    Rule("other", _OF_LABELS, needs=("categories",)),
    Rule("low", "is the start of an interval", needs=("high",)),
    Rule("high", "is the end of an interval", needs=("low",)),
)
"""The options of a domain that need or exclude each other."""


@dataclass(frozen=True, kw_only=True)
class CuratorDomainOptions(DomainFile):
    """The options of a curator's domain, and how values are read into it."""

    texts: TextsName = None
    no_header: NoHeader = False
    decimal: DecimalName = None
    thousands: ThousandsName = None
    encoding: EncodingName = None
    by: str | None = option(
        "The column with the segment of each row, which is protected like the value. Each "
        "--segment of the domain gets an answer. Rows in no listed segment are counted "
        "separately.",
        "NAME",
    )
    unit: str | None = option(
        "The column that identifies the unit of each row, such as a person with several rows. The "
        "guarantee then protects the unit with all its rows. Rows without a unit are left out.",
        "COLUMN",
    )
    most: int | None = option(
        "With --unit: the most rows counted per unit, chosen at random if it has more. Noise "
        "grows in proportion.",
        "K",
    )
    count_column: str | None = option(
        "The table has one row per value, and this column counts the rows with that value. The "
        "guarantee then protects one such row, not all rows of a person.",
        "NAME",
    )

    def whose(self) -> PrivacyUnit | None:
        """Return the unit that the options name. None where each row is of another person."""
        check_units(self.unit, self.most, None, self.count_column)
        known = self.unit is not None and self.most is not None
        return PrivacyUnit(str(self.unit), int(self.most or 0)) if known else None

    def curated(self, *, bins: int) -> tuple[Domain, str]:
        """Return the domain in the file, fit for a curator. See :meth:`stored`."""
        stored, note = self.stored(bins=bins)
        domain = stored.for_curator()
        if (self.by is None) == isinstance(domain, Segmented):
            raise ArgumentError(
                "--by names the column of segments, so the domain must list them: lapwing new "
                "--domain-only --segment north --segment south"
            )
        return domain, note


def texts_of(given: str | None, domain: Domain) -> Texts:
    """Return how strings are read. ArgumentError when the domain does not allow the option."""
    if given is None:
        return "iso"
    unit = domain.unit
    if unit == "number":
        raise ArgumentError(
            "texts",
            "is only for domains of dates or times",
            advice="Leave it out, or declare the domain's --unit",
        )
    check_texts(given, unit)
    return cast(Texts, given)


def marks_of(
    decimal: str | None, thousands: str | None, domain: Domain
) -> tuple[Decimal | None, Thousands | None]:
    """Return the marks in numbers. ArgumentError when one is wrong, or there are no numbers."""
    check_marks(decimal, thousands)
    within = domain.domain if isinstance(domain, Segmented) else domain
    for flag, given in (("--decimal", decimal), ("--thousands", thousands)):
        if given is not None and not within.ordered:
            raise ArgumentError(f"{flag} is for numbers, but this domain has labels. Leave it out")
    return cast(Decimal | None, decimal), cast(Thousands | None, thousands)


def _end(text: str, unit: str, option: str) -> Any:
    """Return a number. Dates and times stay texts, which the domain reads."""
    if unit != "number":
        return text
    try:
        return float(text)
    except ValueError:
        raise ArgumentError(
            option, "must be a number", repr(text), "For dates and times, add --unit"
        ) from None


def _number_of_label(text: str) -> Any:
    """Return the number that a label is, where all labels are numbers, else the text."""
    return int(text) if re.fullmatch(r"-?[0-9]{1,16}", text) else text


def _labels(typed: str | None, path: Path | None) -> Any:
    if path is not None:
        try:
            lines = path.read_text(encoding="utf-8-sig").splitlines()
        except UnicodeDecodeError:
            raise FormatError(f"{path.name} must be UTF-8 text, with one label per line") from None
        labels = [line.strip() for line in lines if line.strip()]
    else:
        labels = [label.strip() for label in (typed or "").split(",")]
        if len(labels) == 1 and labels[0].isascii() and labels[0].isdigit():
            return int(labels[0])
        if "" in labels:
            raise ArgumentError(
                "categories", "must be labels separated by commas, but one is empty"
            )
        if len(set(labels)) < len(labels):
            raise DomainError(
                "the labels of --categories must all differ, but two are equal. If labels "
                "contain commas, list them in a file, one per line: --categories file:PATH"
            )
    # Only whole numbers as they are usually written: 007 stays a text, and so do all beside it.
    whole = all(
        label.removeprefix("-").isdecimal() and str(int(label)) == label for label in labels
    )
    return [int(label) for label in labels] if whole and labels else labels
