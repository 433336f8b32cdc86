"""`lapwing answer`: shares that somebody asks for, with their intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from lapwing.cli.console import Output, grid
from lapwing.cli.option_groups import option
from lapwing.cli.reading.options import Force, Level, check_level
from lapwing.cli.reading.stored import read_result
from lapwing.cli.showing.table_file import TableOptions
from lapwing.cli.wording import interval_text, percent
from lapwing.documents import nearest
from lapwing.errors import ArgumentError
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.units import to_number
from lapwing.results.distribution import Distribution


@dataclass(frozen=True, kw_only=True)
class AskedShares:
    """The options that say what is asked."""

    at_most: list[str] | None = option(
        "The share of values of at most this; may be repeated.", "VALUE"
    )
    between: list[tuple[str, str]] | None = option(
        "The share of values above the first and of at most the second; may be repeated.",
        "LOW HIGH",
    )
    share: list[str] | None = option(
        "The share of a label or a whole number; may be repeated.", "LABEL"
    )

    def answers(self, result: Distribution, level: float) -> list[dict[str, Any]]:
        """Return each question with its share and the ends of its interval."""
        domain: Any = result.domain
        if not (self.at_most or self.between or self.share):
            raise ArgumentError("ask for something: --at-most, --between or --share")
        if (self.at_most or self.between) and not domain.ordered:
            raise ArgumentError("--at-most and --between are for numbers; of labels ask --share")
        rows = []
        for text in self.at_most or ():
            high = _number(text, domain, "--at-most")
            rows.append(_range(result, f"at most {text}", -math.inf, high, level))
        for ends in self.between or ():
            low, high = (_number(text, domain, "--between") for text in ends)
            if low > high:
                raise ArgumentError("--between needs the lower end first")
            asked = f"above {ends[0]}, at most {ends[1]}"
            rows.append(_range(result, asked, low, high, level))
        for text in self.share or ():
            label = _label(text, domain)
            around = result.share_interval(label, level=level)
            rows.append(_row(text, result.share(label), around))
        return rows


def answer(
    result_file: Annotated[
        Path, typer.Argument(metavar="RESULT", help="A decoded distribution, or a release.")
    ],
    *,
    asked: AskedShares,
    level: Level = 0.95,
    written: TableOptions,
    force: Force = False,
    out: Output,
) -> None:
    """Answer questions about a result: the share of a range, or of a label.

    Shares are of those whose value is present. An interval is for one question; it holds whatever
    the values do inside the bins in which a range ends.
    """
    check_level(level)
    written.check(inputs=[result_file], force=force)
    rows = asked.answers(read_result(result_file), level)
    written.write(rows)
    document = {
        "command": "answer",
        "level": level,
        "answers": rows,
        "output": None if written.table is None else str(written.table),
    }
    body = [[row["asked"], percent(row["share"]), interval_text(row, percent)] for row in rows]
    headers = ["asked", "share", f"{100 * level:g} % interval"]
    out.show(document, grid(result_file.name, headers, body))


def _range(
    result: Distribution, asked: str, low: float, high: float, level: float
) -> dict[str, Any]:
    ends = result.probability_interval(low, high, level=level)
    return _row(asked, result.probability(low, high), ends)


def _row(asked: str, share: float, ends: tuple[float, float] | None) -> dict[str, Any]:
    low, high = (None, None) if ends is None else ends
    return {"asked": asked, "share": share, "low": low, "high": high}


def _number(text: str, domain: Domain, flag: str) -> float:
    """Return a number, date or time as it was typed."""
    try:
        number = float(text) if domain.unit == "number" else None
    except ValueError:
        raise ArgumentError(f"{flag} must be a number, got {text!r}") from None
    if number is None:
        return to_number(text, unit=domain.unit, name=flag)
    if math.isnan(number):
        raise ArgumentError(f"{flag} must be a number, got {text!r}")
    return number


def _label(text: str, domain: Any) -> Any:
    """Return the label, or whole number, of a text."""
    if domain.name == "hashed-texts":
        return text
    if domain.ordered:
        if domain.name != "integers":
            raise ArgumentError("--share is for labels and whole numbers; ask for a range")
        whole = text.removeprefix("-").isdecimal() and len(text) < 20
        if not whole or not domain.low <= int(text) <= domain.high:
            raise ArgumentError(f"--share must be in {domain.low} to {domain.high}, got {text!r}")
        return int(text)
    labels = {str(label): label for label in domain.listed}
    if text not in labels:
        raise ArgumentError(f"there is no label {text!r}{nearest(text, labels)}")
    return labels[text]
