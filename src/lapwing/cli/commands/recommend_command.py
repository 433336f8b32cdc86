"""`lapwing recommend`: which randomizer to use, how large the error will be, how many people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from lapwing.cli.console import Output, facts, grid
from lapwing.cli.option_groups import Rule, named, option
from lapwing.cli.reading.domain_options import DomainFile, product_of
from lapwing.cli.reading.like_options import (
    LikeOptions,
    asked_domain,
    components_table,
    components_text,
)
from lapwing.cli.reading.options import Force
from lapwing.cli.showing.answer import TableOptions
from lapwing.declared import requirement
from lapwing.errors import ArgumentError
from lapwing.planning.chosen_bins import recommended_bins
from lapwing.planning.expected_error import (
    UNITS,
    ErrorByKind,
    error_meaning,
    error_text,
    question_error_text,
)
from lapwing.planning.recommendation import recommend as recommendation
from lapwing.privacy.exact_numbers import Epsilon, exact_epsilon
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.domain_text import domain_text
from lapwing.randomizers.categorical.asked_labels import AskedLabels
from lapwing.randomizers.numerical.multiscale_wave import MultiscaleWave
from lapwing.results.rounding import count_text, exact_text, level_text
from lapwing.survey.watch import Watch

if TYPE_CHECKING:
    from rich.table import Table

    from lapwing.planning.expected_error import Recommendation


@dataclass(frozen=True, kw_only=True)
class PlannedDomain:
    """The option of the domain that is planned for, or of those of two attributes."""

    domain: list[str] | None = option(
        "The domain of the column: a file from lapwing new --domain-only, a survey, a result or a "
        "release. It must be public knowledge. Twice for two attributes in one report, each as "
        "FILE or NAME=FILE.",
        "FILE",
    )

    def stored(self, *, bins: int | None) -> tuple[Domain, str]:
        """Return the domain, and a sentence about bins that the file left open."""
        typed = self.domain or []
        if len(typed) < 2:
            return DomainFile(domain=Path(typed[0]) if typed else None).stored(bins=bins)
        named = [each.partition("=") for each in typed]
        files = {name if equals else Path(name).stem: path or name for name, equals, path in named}
        if len(typed) != 2 or len(files) != 2:
            raise ArgumentError(
                "domain", "must be given once, or twice with different names for two attributes"
            )
        return product_of({name: Path(path) for name, path in files.items()}, bins=bins)


@dataclass(frozen=True, kw_only=True)
class GoalOptions:
    """The error to minimize, and the limits on its cost."""

    users: int | None = option("How many people will report.", "N")
    error: float | None = option(
        "Instead of --users: the error to reach. Prints how many people are needed.", "SHARE"
    )
    change: float | None = option(
        "Instead of --users: the change to detect, as the largest gap between two CDFs. Prints "
        "how many respondents are needed per week.",
        "SHARE",
    )
    weeks: int | None = option(
        "With --change: how many weeks until the change is reported. Default: 2.", "N"
    )
    distance: str | None = option(
        "The error to minimize: wasserstein (default) or kolmogorov-smirnov. For categories: l1 "
        "(default), mean-squared-error or detectable-share.",
        "NAME",
    )
    kind: str = option(
        "The kind of column to plan for: typical (the average of all kinds), smooth, "
        "multimodal or spiky.",
        "KIND",
        default="typical",
    )
    refine: bool = option(
        "Simulate the errors instead of reading them from the table.", default=False
    )
    ask: list[str] | None = option(
        "A question you will ask of the result, such as 'share above 50000', 'histogram bins "
        "16', mean, 'quantile 0.5' or curve. The design is optimized for it. May be repeated.",
        "QUESTION",
    )
    report_bytes: int | None = option("For categories: the maximum size of a report in bytes.", "N")
    server_seconds: float | None = option(
        "For categories: the approximate maximum processor time to tally and decode.", "SECONDS"
    )


RULES = (
    Rule("weeks", "says how soon a change must be reported", needs=("change",)),
    Rule(
        "change",
        "asks how many people are needed, whatever the column",
        excludes=("users", "error", "like"),
    ),
    Rule("error", "asks how many people are needed", excludes=("users",)),
    Rule("like", "already says what to plan for", excludes=("kind",)),
    Rule("ask", "chooses the design for questions", excludes=("change",)),
    Rule(
        "",
        "give --users (how many people will report), or use --error or --change to ask how many "
        "are needed",
        needs=("users", "error", "change"),
    ),
)


def recommend(
    epsilon: Annotated[
        str,
        named(
            "--epsilon",
            f"The privacy parameter of one report, {requirement(Epsilon)}. May be a "
            "fraction such as 1/3.",
            "NUMBER",
        ),
    ],
    *,
    asked: PlannedDomain,
    goal: GoalOptions,
    known: LikeOptions,
    written: TableOptions,
    force: Force = False,
    out: Output,
) -> None:
    """The best randomizer and decoder, and the expected error.

    Nothing is measured on people: errors were simulated on synthetic columns, from smooth to spiky.
    An interval without bins gets a round width that suits epsilon. With --like the errors are
    simulated on that column, which also chooses the components of a multiscale wave: lapwing new
    --like writes their survey.
    """
    promise = exact_epsilon(epsilon)
    written.check(inputs=[] if known.like is None else [known.like], force=force)
    # Questions bring their own edges, so bins that nobody declared are chosen with them.
    domain, note = asked.stored(bins=0 if goal.ask else recommended_bins(promise))
    like = known.masses(asked_domain(domain, promise, goal.ask, goal.users), out, moved=goal.ask)
    noticing = _noticing(domain, promise, goal)
    found = recommendation(
        domain,
        epsilon=promise,
        users=goal.users if noticing is None else noticing["people"],
        error=goal.error,
        distance=None if goal.distance is None else goal.distance.replace("-", "_"),
        kind=goal.kind,
        refine=goal.refine,
        like=like,
        report_bytes=goal.report_bytes,
        server_seconds=goal.server_seconds,
        questions=goal.ask,
    )
    domain = found.randomizer.domain
    found = replace(found, reason=f"{found.reason} {note}".rstrip())
    rows = {"domain": domain_text(domain), **_pair(found, goal)}
    document = {"command": "recommend", **found.to_document()}
    if noticing is not None:
        rows["noticed"] = _noticed(**noticing)
        document["noticing"] = noticing
    tables = _planned_tables(found)
    if known.like is not None:
        document["like"] = str(known.like)
        if not goal.ask and isinstance(found.randomizer, MultiscaleWave):
            rows["components"] = components_text(found.randomizer, chosen_by=str(known.like))
            tables.append(components_table(found.randomizer))
    written.write(_written(found.expected_error))
    out.show(document, facts(rows), *tables)


def _planned_tables(found: Recommendation) -> list[Table]:
    """Return the tables of expected errors and, for questions, of the components."""
    tables = []
    if found.expected_error:
        tables = [_errors(found.expected_error, found.predicted_by, found.randomizer.domain)]
    if found.expected_error.questions:
        tables.append(_question_errors(found))
    if found.questions and isinstance(found.randomizer, MultiscaleWave | AskedLabels):
        tables.append(components_table(found.randomizer))
    return tables


def _written(errors: Mapping[str, ErrorByKind]) -> list[dict[str, Any]]:
    """Return the rows of predicted errors for a file."""
    kinds = _kinds(errors)
    return [
        {
            "distance": name.replace("_", "-"),
            **{kind: _of(one, kind) for kind in kinds},
            "unit": UNITS[name],
        }
        for name, one in errors.items()
    ]


def _pair(found: Recommendation, goal: GoalOptions) -> dict[str, str]:
    """Return what is recommended, for how many people, and why."""
    return {
        "randomizer": found.randomizer.name,
        "decoder": found.decoder.name,
        "privacy guarantee": str(found.randomizer.guarantee),
        "bytes per report": str(found.report_bytes),
        _people(goal): count_text(found.users),
        "reason": found.reason,
    }


def _people(goal: GoalOptions) -> str:
    if goal.change is not None:
        return "people a week"
    return "people" if goal.error is None else "people needed"


def _noticing(domain: Domain, epsilon: Fraction, goal: GoalOptions) -> dict[str, Any] | None:
    """Return how many people a week notice a change, and what that means. None if not asked."""
    if goal.change is None:
        return None
    # The randomizer of numbers is the same for any number of people.
    pair = recommendation(domain, epsilon=epsilon, users=1)
    meant: dict[str, Any] = {
        "change": goal.change,
        "weeks": 2 if goal.weeks is None else goal.weeks,
    }
    watch, power = Watch(alpha=0.05), 0.95
    people = watch.people_needed(pair.randomizer, **meant, power=power)
    return {"people": people, **meant, "alpha": watch.alpha, "power": power}


def _noticed(*, change: float, weeks: int, alpha: float, power: float, people: int) -> str:
    del people  # stands in a row of its own
    until = f"{count_text(weeks)} week{'s' if weeks != 1 else ''}"
    return (
        f"a change of {exact_text(100 * change)} points, within {until}, in {level_text(power)} of "
        f"cases, at alpha {exact_text(alpha)}"
    )


def _kinds(expected: Mapping[str, ErrorByKind]) -> list[str]:
    """Return the columns of people for which some error is predicted, and what is typical."""
    kinds = list(dict.fromkeys(kind for error in expected.values() for kind in error.by_kind))
    return ["typical", *kinds] if len(kinds) > 1 else kinds


def _of(error: ErrorByKind, kind: str) -> float | None:
    return error.of(kind) if kind in ("typical", *error.by_kind) else None


def _question_errors(found: Recommendation) -> Table:
    """Return the table of the questions, each with its expected error."""
    known, domain = found.expected_error.questions or {}, found.randomizer.domain
    rows = [
        [str(each), question_error_text(each, known[str(each)], domain)]
        for each in found.questions
        if str(each) in known
    ]
    return grid("root mean square error of each question", ["question", "error"], rows)


def _errors(expected: Mapping[str, ErrorByKind], source: str, domain: Domain) -> Table:
    """Return the table of predicted errors: a row for each kind of column."""
    rows = [
        [
            kind,
            *(
                "" if (one := _of(error, kind)) is None else error_text(distance, one, domain)
                for distance, error in expected.items()
            ),
        ]
        for kind in _kinds(expected)
    ]
    if all(len(error.by_kind) > 1 for error in expected.values()):
        hard = (error_text(distance, error.high, domain) for distance, error in expected.items())
        rows.append(["hard (9 in 10)", *hard])
    # What `distances` says of the exact values has the steps inside the bins on top.
    where = " between bins" if "wasserstein" in expected else ""
    names = [f"{name.replace('_', '-')}: {error_meaning(name)}" for name in expected]
    return grid(f"expected error{where}, by {source}", ["column", *names], rows)
