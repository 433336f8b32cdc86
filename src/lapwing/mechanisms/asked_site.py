"""A site that answers a hub step by step: paid for once, and never asked more than was paid for."""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NoReturn, Protocol

from lapwing.errors import ArgumentError, BudgetError, MismatchError, PrivacyError
from lapwing.privacy.ledger import Ledger, LedgerFile
from lapwing.privacy.privacy_loss import PrivacyLoss
from lapwing.privacy.promise import Promise
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.protocol.release import LARGEST_ANSWER, Mechanism, Part


class Asked(Protocol):
    """What a hub needs to know of a site, beside the answers themselves."""

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism; the same at all sites."""
        ...

    @property
    def domain(self) -> Domain:
        """The domain, with its missing symbol; the same at all sites."""
        ...

    @property
    def part(self) -> Part:
        """The public record of the site's noise, promise and people."""
        ...


_life = [object()]
"""Another one in every forked process: ids of processes come again when their owners are gone."""


def _start_child() -> None:
    _life[0] = object()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_child)


class OpenSite:
    """What the kinds of sites share: the payment, and that there is one of each.

    Not to be copied, pickled or used by a forked process: two that hold the same noise would show
    by their difference what it hides.
    """

    def __init__(self, summary: ExactCounts) -> None:
        self._process = os.getpid(), _life[0]
        self.domain = summary.domain

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        """Refuse copies, which would answer twice with the same noise."""
        raise PrivacyError(
            "a site that answers a hub cannot be copied or pickled: a copy would use the same "
            "noise again; pay for another one"
        )

    def _check_process(self) -> None:
        if (os.getpid(), _life[0]) != self._process:
            raise PrivacyError(
                "a site answers in the process that made it: a forked one would use the same "
                "noise again; pay for another one"
            )


def check_site(
    mechanism: Mechanism, summary: ExactCounts, promise: Promise, *, kind: type[Mechanism]
) -> None:
    """Raise ArgumentError unless a site is made of its mechanism, ExactCounts and a Promise."""
    if not isinstance(mechanism, kind):
        raise ArgumentError(
            f"this site answers for {kind.name}, got a {type(mechanism).__name__}; pass "
            f"{kind.__name__}(...), the same at all sites"
        )
    if not isinstance(summary, ExactCounts) or not isinstance(promise, Promise):
        raise ArgumentError(
            "a site answers for the counts of ExactCounts under a Promise, got a "
            f"{type(summary).__name__} and a {type(promise).__name__}; pass "
            "ExactCounts.of_values(values, domain)"
        )


def pay(
    open_until: ExitStack,
    promise: Promise,
    loss: PrivacyLoss,
    *,
    ledger: LedgerFile | Path | str | None,
    name: str,
) -> str:
    """Pay for all answers of a site, if there is a ledger, and return their identifier.

    The payment is marked as used when `open_until` closes.
    """
    identifier = secrets.token_hex(16)
    if ledger is not None:
        guarantee = promise.guarantee(loss)
        paying = Ledger.open(ledger).paying(name, guarantee, loss=loss, release=identifier)
        open_until.enter_context(paying)
    return identifier


def spent(what: str, count: int) -> BudgetError:
    """Return the error of a site that has given all that was paid for."""
    return BudgetError(
        f"this site has given the {count} {what} that were paid for; nothing was drawn"
    )


def common(sites: Sequence[Asked], kind: type[Mechanism]) -> tuple[Domain, int]:
    """Return the domain of all sites and the number of their people, before any is asked.

    Raises
    ------
    ArgumentError
        Without a site.
    MismatchError
        When sites differ in mechanism or domain, or one of them is there twice.
    """
    if not sites:
        raise ArgumentError("a hub needs at least one site")
    first = sites[0]
    if not isinstance(first.mechanism, kind):
        raise MismatchError(f"these sites answer for {first.mechanism.name}, not for {kind.name}")
    if any(one.mechanism != first.mechanism or one.domain != first.domain for one in sites):
        raise MismatchError("all sites must have the same mechanism and the same domain")
    if len({one.part.identifier for one in sites}) < len(sites):
        raise MismatchError("a site is there twice; it would count its people twice")
    return first.domain, max(1, sum(one.part.people or 0 for one in sites))


def total(answers: Sequence[int]) -> int:
    """Return the sum of the sites' answers; MismatchError where it is too large to be kept."""
    added = sum(answers)
    if abs(added) >= LARGEST_ANSWER:
        raise MismatchError("the answers of these sites are too large to be added")
    return added
