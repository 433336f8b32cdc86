"""`lapwing ledger`: what has been spent on the privacy of a data set, and what is left."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, cast

import typer

from lapwing.cli.console import Output, facts, grid
from lapwing.errors import ArgumentError, PrivacyError
from lapwing.privacy.exact_numbers import exact_delta, exact_epsilon
from lapwing.privacy.guarantee import Guarantee, Neighbours
from lapwing.privacy.ledger import Entry, Ledger
from lapwing.privacy.ledger_file import LedgerFile


def ledger(
    file: Annotated[Path, typer.Argument(metavar="LEDGER", help="The ledger's JSON document.")],
    create: Annotated[
        bool, typer.Option("--create", help="Write a new ledger with a budget.")
    ] = False,
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", metavar="NUMBER", help="--create: the budget.")
    ] = None,
    delta: Annotated[
        str, typer.Option("--delta", metavar="NUMBER", help="--create: the budget.")
    ] = "0",
    neighbours: Annotated[
        str | None,
        typer.Option(
            "--neighbours",
            metavar="RELATION",
            help="--create: replace-one or add-or-remove-one, for all its releases.",
        ),
    ] = None,
    tight: Annotated[
        bool,
        typer.Option(
            "--tight",
            help="--create: compose normal noise and pure epsilons numerically (needs "
            "dp-accounting), which allows more than adding them up. Plan the epsilons beforehand: "
            "none may follow from an answer.",
        ),
    ] = False,
    *,
    out: Output,
) -> None:
    """Show a ledger, or create one.

    Every release names it with --ledger and pays before its noise is drawn. Releases with normal
    noise add up more tightly than their epsilons. A payment that says "reserved" was interrupted:
    it stays spent, because whether somebody saw the output cannot be known.
    """
    stored = LedgerFile(file)
    if create:
        held = stored.create(_budget(epsilon, delta, neighbours), tight=tight)
    elif epsilon is not None or neighbours is not None or delta != "0" or tight:
        raise ArgumentError("a budget is set once, with --create")
    else:
        held = stored.read()
    rows = {"budget": str(held.budget), "spent": str(held.spent or "nothing"), "left": _left(held)}
    tables = [facts(rows)]
    if held.entries:
        body = [
            [entry.name, f"{float(entry.guarantee.epsilon):g}", _state(entry), entry.release or "-"]
            for entry in held.entries
        ]
        tables.insert(0, grid(file.name, ["release", "epsilon", "state", "identifier"], body))
    out.show({"command": "ledger", "ledger": held.to_document()}, *tables)


def _budget(epsilon: str | None, delta: str, neighbours: str | None) -> Guarantee:
    if epsilon is None or neighbours is None:
        raise ArgumentError("--create needs --epsilon and --neighbours (and --delta)")
    if neighbours not in ("replace-one", "add-or-remove-one"):
        raise PrivacyError(
            f"neighbours must be 'replace-one' or 'add-or-remove-one', got {neighbours!r}"
        )
    relation = cast(Neighbours, neighbours)
    return Guarantee(exact_epsilon(epsilon), exact_delta(delta), relation, "central")


def _state(entry: Entry) -> str:
    if entry.rounds == 1:
        return entry.state
    return f"{entry.state}, {entry.drawn} of {entry.rounds} rounds"


def _left(held: Ledger) -> str:
    left = held.remaining
    if left is None:
        return "nothing"
    return f"epsilon {float(left.epsilon):g}, delta {float(left.delta):g}, or more"
