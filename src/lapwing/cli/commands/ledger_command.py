"""`lapwing ledger`: what has been spent on the privacy of a data set, and what is left."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from lapwing.cli.console import Output, facts, grid
from lapwing.cli.option_groups import argument, option
from lapwing.cli.reading.options import relation_of
from lapwing.errors import ArgumentError
from lapwing.privacy.exact_numbers import exact_delta, exact_epsilon
from lapwing.privacy.guarantee import Guarantee
from lapwing.privacy.ledger import Ledger
from lapwing.privacy.ledger_entry import LedgerEntry
from lapwing.results.rounding import estimate_text, exact_text
from lapwing.results.weak_parameters import weak_delta

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(frozen=True, kw_only=True)
class BudgetOptions:
    """The options of a new ledger."""

    epsilon: str | None = option(
        "Write a new ledger with this budget, which cannot be changed later. Needs --neighbors.",
        "NUMBER",
    )
    delta: str = option("Delta of a new budget.", "NUMBER", default="0")
    neighbors: str | None = option(
        "For a new budget: replace-one or add-or-remove-one, for all releases of the ledger.",
        "RELATION",
    )
    tight: bool = option(
        "For a new budget: compose Gaussian noise and pure epsilons numerically (needs "
        "dp-accounting), which allows more than basic composition. Fix all epsilons in "
        "advance: none may depend on an answer.",
        default=False,
    )

    def ledger(self, path: Path) -> Ledger:
        """Return the ledger in a file: a new one with the budget, or the one that is there."""
        if self == BudgetOptions():
            return Ledger.load(path)
        if path.exists():
            raise ArgumentError(
                f"{path.name} exists, and its budget is fixed. Leave out --epsilon, --delta, "
                "--neighbors and --tight, or name a new file"
            )
        if self.epsilon is None or self.neighbors is None:
            raise ArgumentError("a new ledger needs --epsilon and --neighbors (and --delta)")
        relation = relation_of(self.neighbors)
        numbers = exact_epsilon(self.epsilon), exact_delta(self.delta)
        created = Ledger(Guarantee(*numbers, relation, "central"), tight=self.tight)
        created.save(path)
        return created


def ledger(
    file: Annotated[Path, argument("The ledger's JSON document.", "LEDGER")],
    *,
    budget: BudgetOptions,
    out: Output,
) -> None:
    """A privacy budget, and how much of it is spent.

    Every release names the ledger with --ledger and pays before its noise is drawn. Gaussian noise
    of several releases composes more tightly than their epsilons. A payment that says "reserved"
    was interrupted. It stays spent, because nobody can know whether the output was seen.
    """
    held = budget.ledger(file)
    if budget != BudgetOptions() and (said := weak_delta(held.budget.delta)):
        out.warn(said)
    out.show({"command": "ledger", **ledger_document(held)}, *ledger_tables(file.name, held))


def ledger_document(held: Ledger) -> dict[str, Any]:
    """Return a ledger as JSON values, with the largest payments that it would still accept."""
    largest, pure = held.largest_payment, held.largest_pure_payment
    return {
        "ledger": held.to_document(),
        "largest_payment": None if largest is None else largest.to_document(),
        "largest_pure_payment": None if pure is None else pure.to_document(),
    }


def ledger_tables(name: str, held: Ledger) -> list[Table]:
    """Return the tables of a ledger: its payments, then what is left."""
    rows = {"budget": str(held.budget), "spent": str(held.spent or "nothing"), "left": _left(held)}
    if reason := _reason(held):
        rows["why"] = reason
    if together := held.sum_protects:
        rows["protects"] = together
    tables = [facts(rows)]
    if held.entries:
        body = [
            [
                entry.name,
                exact_text(entry.guarantee.epsilon),
                exact_text(entry.guarantee.delta),
                _mu_text(entry.cost.mu_squared) if entry.cost.mu_squared else "-",
                _state(entry),
                entry.release or "-",
            ]
            for entry in held.entries
        ]
        headers = ["release", "epsilon", "delta", "mu", "state", "identifier"]
        units = [str(entry.guarantee.unit or "one row") for entry in held.entries]
        if set(units) != {"one row"}:
            headers.insert(1, "protects")
            body = [[row[0], unit, *row[1:]] for row, unit in zip(body, units, strict=True)]
        tables.insert(0, grid(name, headers, body))
    return tables


def _mu_text(mu_squared: Fraction) -> str:
    return estimate_text(math.sqrt(mu_squared), 4)


def _state(entry: LedgerEntry) -> str:
    if entry.rounds == 1:
        return entry.state
    return f"{entry.state}, {entry.drawn_rounds} of {entry.rounds} rounds"


def _reason(held: Ledger) -> str | None:
    """Return why what is spent is not the sum of the epsilons. None where it is."""
    mu_squared = held.cost.mu_squared
    if held.spent is None or not mu_squared:
        return None
    beside = "composed with it" if held.tight else "added to it"
    return (
        "The mu of several Gaussian releases composes by squares: the total is "
        f"{_mu_text(mu_squared)}, the root of the sum of squares. 'spent' is its epsilon at the "
        f"budget's delta {exact_text(held.budget.delta)}, with pure epsilons {beside}. Each "
        "table row shows epsilon at its own delta"
    )


def _left(held: Ledger) -> str:
    # Of more payments the epsilons may differ: that of one is what the next command may ask for.
    texts, both = [], (held.largest_payment, held.largest_pure_payment)
    for each in dict.fromkeys(both):
        if each is not None:
            at = (
                f" at delta = {exact_text(each.delta)} (Gaussian noise)" if each.delta else ", pure"
            )
            texts.append(f"epsilon = {exact_text(each.epsilon)}{at}")
    return f"one payment of at most {', or '.join(texts)}" if texts else "nothing"
