"""`lapwing show`: what any stored file holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from lapwing.cli.console import Output, facts
from lapwing.cli.option_groups import argument, named
from lapwing.cli.reading.domain_options import DomainFile
from lapwing.cli.reading.like_options import components_table
from lapwing.cli.reading.options import Force, IntervalOptions
from lapwing.cli.showing.answer import TableOptions
from lapwing.documents import read
from lapwing.errors import ArgumentError, FormatError
from lapwing.planning.chosen_bins import BINS_FOR_ATOMS
from lapwing.privacy.guarantee import standing_text
from lapwing.protocol.domains.domain_text import OPEN_BINS, domain_text
from lapwing.protocol.messages.group_table import is_group_table
from lapwing.randomizers.categorical.asked_labels import AskedLabels
from lapwing.randomizers.numerical.multiscale_wave import MultiscaleWave
from lapwing.results.answer_documents import AnswerRequest
from lapwing.results.rounding import count_text, exact_text, percent
from lapwing.results.uncertainty import Target
from lapwing.stored_files import DOMAIN, ReportFile, load

if TYPE_CHECKING:
    from rich.table import Table

    from lapwing.cli.showing.answer import Rows


Shown = tuple[dict[str, Any], "list[Table]", "Rows | None"]
"""What a file says: as JSON values, as tables, and as rows for a spreadsheet."""


@dataclass(frozen=True)
class HowShown:
    """How the content of a file is shown.

    name: Of the file.
    level: Of the intervals.
    target: {"empirical", "population"}. Whom these are about.
    detail: Whether tables have all rows, and facts that few need.
    curve: Whether a result has a row for each bin, as in JSON.
    """

    name: str
    level: float
    target: Target
    detail: bool
    curve: bool

    @property
    def request(self) -> AnswerRequest:
        """Questions put to a result."""
        return AnswerRequest(level=self.level, target=self.target, curve=self.curve)


REPORTS = (b"LWREPORT", b"# lapwing-reports", b"PAR1", b"ARROW1")
"""The first bytes of files of reports."""


def show(
    file: Annotated[Path, argument("Any file that lapwing wrote.", "FILE")],
    *,
    detail: Annotated[
        bool,
        named(
            "--detail",
            "Also show all labels and point masses, the worst-case error of any range, and "
            "where a smooth estimate leaves its intervals.",
        ),
    ] = False,
    intervals: IntervalOptions,
    table: TableOptions,
    force: Force = False,
    out: Output,
) -> None:
    """The content of any stored file.

    Shows what a survey agrees on, what a result or a release says, how many reports a tally counts,
    and what a ledger has left. Of exact counts it shows the domain and never a count. Of reports it
    shows how many there are and of which survey, and does not read them all. A stored difference is
    about those it was made for, whatever --target says.
    """
    ends = intervals.how()
    table.check(inputs=[file], force=force)
    content = _content(file)
    kind, shown = _SHOWN[type(content).__name__]
    how = HowShown(file.name, **ends, detail=detail, curve=out.as_json)
    document, tables, rows = shown(content, how)
    if table.table is not None and rows is None:
        raise ArgumentError(f"{file.name} has no table for --csv")
    table.write(rows or [])
    out.show({"command": "show", "format": f"lapwing-{kind}", **document}, *tables)


def _content(path: Path) -> Any:
    """Return what a file holds. Of a file of reports only what it says about them."""
    with path.open("rb") as stream:  # an error of the system as such
        reports = stream.read(20).startswith(REPORTS)
    if reports and not is_group_table(path):
        return ReportFile.of(path)
    if _is_domain(path):
        return DomainFile(domain=path)
    return load(path)


def _is_domain(path: Path) -> bool:
    try:
        return read(path).get("format") == DOMAIN
    except FormatError:
        return False


def _survey(survey: Any, how: HowShown) -> Shown:
    tables = [facts(survey._facts())]
    if survey.questions and isinstance(survey.randomizer, MultiscaleWave | AskedLabels):
        tables.append(components_table(survey.randomizer))
    return {"survey": survey.to_document()}, tables, None


def _tally(tally: Any, how: HowShown) -> Shown:
    document = {"reports": tally.total, "randomizer": tally.fingerprint}
    return document, [facts(tally._facts())], None


def _group_tallies(groups: Any, how: HowShown) -> Shown:
    totals = groups.totals
    document = {"segments": [{"name": name, "reports": totals[name]} for name in totals]}
    rows = {name: f"{count_text(number)} reports" for name, number in totals.items()}
    return document, [facts(rows)], None


def _release(release: Any, how: HowShown) -> Shown:
    from lapwing.cli.commands.release_command import release_answer

    return release_answer(release, how.name, how.request, detail=how.detail)


def _question_release(release: Any, how: HowShown) -> Shown:
    from lapwing.cli.showing.released import released_answers
    from lapwing.survey.publication import QuestionPublication

    return released_answers(QuestionPublication(release), how.name, level=how.level)


def _signed_estimate(estimate: Any, how: HowShown) -> Shown:
    rows = {
        "signed estimate": "unbiased shares, which may be negative",
        "domain": domain_text(estimate.domain),
        "reports": count_text(estimate.reports),
        "privacy guarantee": str(estimate.guarantee or "not known"),
        "least share": percent(float(estimate.mass.min())),
        "largest share": percent(float(estimate.mass.max())),
    }
    return {"estimate": estimate.to_document()}, [facts(rows)], None


def _answer(result: Any, how: HowShown) -> Shown:
    from lapwing.cli.showing.answer import shown_answer

    return shown_answer(result, how.name, how.request, detail=how.detail)


def _watch(state: Any, how: HowShown) -> Shown:
    changes = [change.to_document() for change in state.changes]
    told = {f"change {change.week}": f"since {change.week}" for change in state.changes}
    rows = {"weeks": str(len(state.weeks)), "alpha": exact_text(state.alpha)}
    rows |= told or {"changes": "none reported"}
    return {"weeks": len(state.weeks), "reported": changes}, [facts(rows)], None


def _ledger(ledger: Any, how: HowShown) -> Shown:
    from lapwing.cli.commands.ledger_command import ledger_document, ledger_tables

    return ledger_document(ledger), ledger_tables(how.name, ledger), None


def _exact_counts(counts: Any, how: HowShown) -> Shown:
    rows = {"domain": domain_text(counts.domain), "counts": "secret: not shown"}
    document = {"domain": counts.domain.to_document()}
    if counts.unit is not None:
        rows["unit"], document["unit"] = str(counts.unit), counts.unit.to_document()
    return document, [facts(rows)], None


def _reports(file: Any, how: HowShown) -> Shown:
    document = {"survey": file.survey, "randomizer": file.randomizer, "reports": file.reports}
    rows = {
        "reports": "not counted" if file.reports is None else count_text(file.reports),
        "survey, fingerprint": file.survey or "not stated",
        "randomizer, fingerprint": file.randomizer,
    }
    if file.standing is not None:
        document["standing"] = file.standing
        rows["standing"] = standing_text(file.standing)
    return document, [facts(rows)], None


def _progress(job: Any, how: HowShown) -> Shown:
    rows = {"unfinished job": f"{count_text(job.done)} steps done. Run the job again to continue"}
    return {"job": job.job, "done": job.done}, [facts(rows)], None


def _export(export: Any, how: HowShown) -> Shown:
    document = {
        "survey": export.survey.to_document(),
        "state": export.state,
        "epochs": export.epochs,
    }
    rows = {**export.survey._facts(), "state": export.state, "epochs": count_text(export.epochs)}
    return document, [facts(rows)], None


def _domain(file: DomainFile, how: HowShown) -> Shown:
    domain, note = file.stored(bins=BINS_FOR_ATOMS)
    text = domain_text(domain, bins=OPEN_BINS if note else None)
    assert file.domain is not None
    return {"domain": read(file.domain)["domain"]}, [facts({"domain": text})], None


_SHOWN: dict[str, tuple[str, Callable[[Any, HowShown], Shown]]] = {
    "Survey": ("survey", _survey),
    "CountTally": ("tally", _tally),
    "TallyLog": ("tally", _tally),
    "GroupTallies": ("group-tallies", _group_tallies),
    "Release": ("release", _release),
    "QuestionRelease": ("question-release", _question_release),
    "Distribution": ("distribution", _answer),
    "JointDistribution": ("joint-distribution", _answer),
    "SignedEstimate": ("signed-estimate", _signed_estimate),
    "HeavyHitters": ("heavy-hitters", _answer),
    "Series": ("series", _answer),
    "Difference": ("difference", _answer),
    "Watch": ("watch", _watch),
    "Ledger": ("ledger", _ledger),
    "ExactCounts": ("exact-counts", _exact_counts),
    "ReportFile": ("reports", _reports),
    "JobProgress": ("progress", _progress),
    "CollectorExport": ("collector-state", _export),
    "DomainFile": ("domain", _domain),
}
"""The class of what a file holds, by name: its kind, and how it is shown."""
