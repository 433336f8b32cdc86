"""What `release` is told: the promise, the mechanism, and who pays."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lapwing.cli.option_groups import option
from lapwing.cli.reading.knobs import make_with_knobs, pick
from lapwing.cli.reading.options import Settings, relation_of
from lapwing.errors import ArgumentError
from lapwing.planning.registry import MECHANISMS
from lapwing.privacy.exact_numbers import exact_delta
from lapwing.privacy.ledger import Ledger, LedgerFile
from lapwing.privacy.promise import Promise
from lapwing.protocol.release import Mechanism
from lapwing.survey.publication import PlannedRelease


@dataclass(frozen=True, kw_only=True)
class PromiseOptions:
    """The options of a promise."""

    neighbors: str | None = option(
        "What is protected: replace-one (the number of rows is public) or "
        "add-or-remove-one. An epsilon means nothing without it, so there is no default.",
        "RELATION",
    )
    epsilon: str | None = option("In (0, 24].", "NUMBER")
    delta: str = option("In [0, 1); 0 is pure epsilon.", "NUMBER", default="0")
    mu: str | None = option("Gaussian differential privacy instead.", "NUMBER")
    rho: str | None = option("Zero-concentrated instead.", "NUMBER")

    def promise(self) -> Promise:
        """Return the promise that the options mean."""
        numbers: dict[str, Any] = {"epsilon": self.epsilon, "mu": self.mu, "rho": self.rho}
        given = [name for name, number in numbers.items() if number is not None]
        if len(given) != 1:
            raise ArgumentError(
                f"give one of --epsilon, --mu and --rho, got {' and '.join(given) or 'none'}"
            )
        if self.neighbors is None:
            raise ArgumentError("missing option '--neighbors': replace-one or add-or-remove-one")
        neighbors = relation_of(self.neighbors)
        return Promise(neighbors, delta=exact_delta(self.delta), **numbers)


@dataclass(frozen=True, kw_only=True)
class MechanismOptions:
    """The options of a mechanism."""

    mechanism: str | None = option(
        f"One of: {', '.join(MECHANISMS)}. Default: the best for the promise.", "NAME"
    )
    settings: Settings = None

    def made(self) -> Mechanism | None:
        """Return the mechanism that is named; None for that which suits the promise."""
        if self.mechanism is None:
            if self.settings:
                raise ArgumentError("--set is for a mechanism that is named with --mechanism")
            return None
        made = pick(MECHANISMS, self.mechanism, what="--mechanism")
        found: Mechanism = make_with_knobs(made, settings=self.settings or ())
        return found


@dataclass(frozen=True, kw_only=True)
class PaymentOptions:
    """The options of a payment."""

    ledger: Path | None = option(
        "Pays before the noise is drawn (lapwing ledger); an unfinished release stays paid.", "FILE"
    )
    name: str | None = option("Of the entry; default: the output's name.", "TEXT")

    def checked(self, name: str, planned: PlannedRelease) -> LedgerFile | None:
        """Return the ledger, if one is named; BudgetError unless it can pay."""
        if self.ledger is None:
            return None
        file = Ledger.open(self.ledger)
        file.read().spend(name, planned.guarantee, loss=planned.loss)
        return file
