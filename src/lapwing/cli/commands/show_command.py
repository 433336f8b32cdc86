"""`lapwing show`: what any stored file holds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lapwing.cli.console import Output, facts
from lapwing.cli.reading.options import Force, Level, check_level
from lapwing.cli.reading.stored import read_survey, read_tally
from lapwing.cli.showing.answer import TableOptions
from lapwing.cli.wording import OPEN_BINS, described, domain_text
from lapwing.documents import read, read_as
from lapwing.errors import ArgumentError, FormatError
from lapwing.planning.chosen_bins import BINS_FOR_ATOMS
from lapwing.results.answer_documents import AnswerRequest
from lapwing.results.answer_text import count_text, percent
from lapwing.stored_files import ReportFile, load

if TYPE_CHECKING:
    from rich.table import Table


Said = tuple[dict[str, Any], "list[Table]", list[dict[str, Any]] | None]
"""What a file says: as JSON values, as tables, and as rows for a spreadsheet."""

STARTS = {
    b"LAPWING-SECRET": "exact-counts",
    b"LWREPORT": "reports",
    b"# lapwing-reports": "reports",
    b"PAR1": "reports",
    b"ARROW1": "reports",
    b"LAPWING-PROGRESS": "progress",
}
"""The first bytes of files that are no JSON, with the kind of each."""


def show(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Any file that lapwing wrote.")],
    *,
    level: Level = 0.95,
    table: TableOptions,
    force: Force = False,
    out: Output,
) -> None:
    """The content of any stored file.

    Shows what a survey agrees on, what a result or a release says, how many reports a tally counts,
    and what a ledger has left. Of exact counts it shows the domain and never a count. Of reports it
    shows how many there are and of which survey, and does not read them all.
    """
    check_level(level)
    table.check(inputs=[file], force=force)
    kind = _kind(file)
    if kind not in _SAID:
        raise FormatError(
            f"{file.name} is no file that lapwing wrote; name a survey, a tally, a result or a "
            "release, or another of its files"
        )
    document, tables, rows = _SAID[kind](file, level)
    if table.table is not None and rows is None:
        raise ArgumentError(f"{file.name} has no table for --csv")
    table.write(rows or [])
    out.show({"command": "show", "format": f"lapwing-{kind}", **document}, *tables)


def _kind(path: Path) -> str:
    """Return the kind of a file, by its first bytes or the format that it states."""
    with path.open("rb") as stream:
        head = stream.read(32)
    for start, kind in STARTS.items():
        if head.startswith(start):
            return kind
    if head.startswith(b"SQLite format 3"):
        raise ArgumentError(
            f"{path.name} is a database: of a device ask lapwing.client.Device, of a collector its "
            "pages (lapwing serve)"
        )
    if head.startswith(b'{"format":"lapwing-collector-state"'[: len(head)]):
        return "collector-state"
    return str(read(path).get("format")).removeprefix("lapwing-")


def _survey(path: Path, level: float) -> Said:
    survey = read_survey(path)
    return {"survey": survey.to_document()}, [facts(described(survey))], None


def _tally(path: Path, level: float) -> Said:
    tally = read_tally(path)
    document = {"reports": tally.total, "randomizer": tally.fingerprint}
    rows = {"reports": count_text(tally.total), "randomizer, fingerprint": tally.fingerprint}
    return document, [facts(rows)], None


def _group_tallies(path: Path, level: float) -> Said:
    groups = load(path)
    document = {"segments": [{"name": name, "reports": groups[name].total} for name in groups]}
    rows = {name: f"{count_text(tally.total)} reports" for name, tally in groups.items()}
    return document, [facts(rows)], None


def _release(path: Path, level: float) -> Said:
    from lapwing.cli.commands.release_command import release_answer

    return release_answer(path, AnswerRequest(level=level))


def _distribution(path: Path, level: float) -> Said:
    from lapwing.cli.reading.stored_answers import read_result

    return _answer(path, read_result(path), level)


def _heavy_hitters(path: Path, level: float) -> Said:
    from lapwing.results.heavy_hitters import HeavyHitters

    return _answer(path, read_as(path, HeavyHitters.from_document), level)


def _signed_estimate(path: Path, level: float) -> Said:
    from lapwing.results.signed_estimate import SignedEstimate

    estimate = read_as(path, SignedEstimate.from_document)
    rows = {
        "signed estimate": "unbiased shares, which may be negative",
        "domain": domain_text(estimate.domain),
        "reports": count_text(estimate.reports),
        "privacy guarantee": str(estimate.guarantee or "not known"),
        "least share": percent(float(estimate.mass.min())),
        "largest share": percent(float(estimate.mass.max())),
    }
    return {"estimate": estimate.to_document()}, [facts(rows)], None


def _series(path: Path, level: float) -> Said:
    from lapwing.cli.reading.stored_answers import read_series

    return _answer(path, read_series(path), level)


def _difference(path: Path, level: float) -> Said:
    from lapwing.results.difference import Difference

    return _answer(path, read_as(path, Difference.from_document), level)


def _answer(path: Path, result: Any, level: float) -> Said:
    from lapwing.cli.showing.answer import shown_answer

    return shown_answer(result, path.name, AnswerRequest(level=level))


def _watch(path: Path, level: float) -> Said:
    from lapwing.cli.reading.stored_answers import read_watch

    state = read_watch(path)
    changes = [change.to_document() for change in state.changes]
    told = {f"change {change.week}": f"since {change.week}" for change in state.changes}
    rows = {"weeks": str(len(state.weeks)), "alpha": f"{state.alpha:g}"}
    rows |= told or {"changes": "none reported"}
    return {"weeks": len(state.weeks), "reported": changes}, [facts(rows)], None


def _ledger(path: Path, level: float) -> Said:
    from lapwing.cli.commands.ledger_command import ledger_tables
    from lapwing.privacy.ledger import Ledger

    held = Ledger.load(path)
    return {"ledger": held.to_document()}, ledger_tables(path.name, held), None


def _exact_counts(path: Path, level: float) -> Said:
    from lapwing.protocol.messages.exact_counts import ExactCounts

    domain = ExactCounts.load(path).domain
    rows = {"domain": domain_text(domain), "counts": "secret: not shown"}
    return {"domain": domain.to_document()}, [facts(rows)], None


def _reports(path: Path, level: float) -> Said:
    file = ReportFile.of(path)
    document = {
        "survey": file.survey,
        "randomizer": file.randomizer,
        "reports": file.reports,
    }
    count = "not counted" if file.reports is None else count_text(file.reports)
    rows = {
        "reports": count,
        "survey, fingerprint": file.survey or "not stated",
        "randomizer, fingerprint": file.randomizer,
    }
    return document, [facts(rows)], None


def _progress(path: Path, level: float) -> Said:
    found = load(path)
    rows = {"unfinished job": f"{count_text(found.done)} steps done; run it again to go on"}
    return {"job": found.job, "done": found.done}, [facts(rows)], None


def _export(path: Path, level: float) -> Said:
    found = load(path)
    document = {
        "survey": found.survey.to_document(),
        "state": found.state,
        "epochs": found.epochs,
    }
    rows = {**described(found.survey), "state": found.state, "epochs": count_text(found.epochs)}
    return document, [facts(rows)], None


def _domain(path: Path, level: float) -> Said:
    from lapwing.cli.reading.domain_options import DomainFile

    domain, note = DomainFile(domain=path).stored(bins=BINS_FOR_ATOMS)
    text = domain_text(domain, bins=OPEN_BINS if note else None)
    return {"domain": read(path)["domain"]}, [facts({"domain": text})], None


_SAID: dict[str, Callable[[Path, float], Said]] = {
    "survey": _survey,
    "tally": _tally,
    "group-tallies": _group_tallies,
    "release": _release,
    "distribution": _distribution,
    "signed-estimate": _signed_estimate,
    "heavy-hitters": _heavy_hitters,
    "series": _series,
    "difference": _difference,
    "watch": _watch,
    "ledger": _ledger,
    "exact-counts": _exact_counts,
    "reports": _reports,
    "progress": _progress,
    "scan": _progress,
    "collector-state": _export,
    "domain": _domain,
}
