"""What `release` is told: the promise, the mechanism, and who pays."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from lapwing.cli.reading.knobs import make_with_knobs, pick
from lapwing.cli.reading.options import Settings
from lapwing.errors import ArgumentError
from lapwing.privacy.exact_numbers import exact_delta
from lapwing.privacy.guarantee import Neighbours
from lapwing.privacy.ledger_file import LedgerFile
from lapwing.privacy.promise import Promise
from lapwing.protocol.release import Mechanism
from lapwing.survey.publication import PlannedRelease
from lapwing.survey.registry import MECHANISMS


@dataclass(frozen=True, kw_only=True)
class PromiseOptions:
    """The options of a promise."""

    neighbours: Annotated[
        str,
        typer.Option(
            "--neighbours",
            metavar="RELATION",
            help="What is protected: replace-one (the number of rows is public) or "
            "add-or-remove-one. An epsilon means nothing without it, so there is no default.",
        ),
    ]
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", metavar="NUMBER", help="In (0, 24].")
    ] = None
    delta: Annotated[
        str, typer.Option("--delta", metavar="NUMBER", help="In [0, 1); 0 is pure epsilon.")
    ] = "0"
    mu: Annotated[
        str | None,
        typer.Option("--mu", metavar="NUMBER", help="Gaussian differential privacy instead."),
    ] = None
    rho: Annotated[
        str | None, typer.Option("--rho", metavar="NUMBER", help="Zero-concentrated instead.")
    ] = None

    def promise(self) -> Promise:
        """Return the promise that the options mean."""
        numbers: dict[str, Any] = {"epsilon": self.epsilon, "mu": self.mu, "rho": self.rho}
        neighbours = cast(Neighbours, self.neighbours)  # Promise checks it.
        return Promise(neighbours, delta=exact_delta(self.delta), **numbers)


@dataclass(frozen=True, kw_only=True)
class MechanismOptions:
    """The options of a mechanism."""

    mechanism: Annotated[
        str | None,
        typer.Option(
            "--mechanism",
            metavar="NAME",
            help=f"One of: {', '.join(MECHANISMS)}. Default: the best for the promise.",
        ),
    ] = None
    settings: Settings = None

    def made(self) -> Mechanism | None:
        """Return the mechanism that is named; None for that which suits the promise."""
        if self.mechanism is None:
            if self.settings:
                raise ArgumentError("--set is for a mechanism that is named with --mechanism")
            return None
        made = pick(MECHANISMS, self.mechanism, what="the mechanism")
        found: Mechanism = make_with_knobs(made, typed={}, settings=self.settings or ())
        return found


@dataclass(frozen=True, kw_only=True)
class PaymentOptions:
    """The options of a payment."""

    ledger: Annotated[
        Path | None,
        typer.Option(
            "--ledger",
            metavar="FILE",
            help="Pays before the noise is drawn (lapwing ledger); an unfinished release stays "
            "paid.",
        ),
    ] = None
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="TEXT", help="Of the entry; default: the output's name."),
    ] = None

    def checked(self, name: str, planned: PlannedRelease) -> LedgerFile | None:
        """Return the ledger, if one is named; BudgetError unless it can pay."""
        if self.ledger is None:
            return None
        file = LedgerFile(self.ledger)
        file.read().spend(name, planned.guarantee, loss=planned.loss)
        return file
