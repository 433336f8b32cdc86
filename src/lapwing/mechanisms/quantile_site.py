"""Adaptive quantiles over sites: the hub asks for a place, each site answers with its own noise."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

import numpy as np

from lapwing.errors import ArgumentError
from lapwing.mechanisms.adaptive_quantiles import AdaptiveQuantiles, question
from lapwing.mechanisms.asked_site import Asked, OpenSite, check_site, common, pay, spent, total
from lapwing.mechanisms.linear_mechanism import part_of
from lapwing.privacy.ledger import LedgerFile
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import RandomSource, source_of
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.protocol.release import Release


class QuantileSite(OpenSite):
    """One site's rows, which answers how many of them lie below a place, with noise of its own.

    Parameters
    ----------
    mechanism : AdaptiveQuantiles
        As at all other sites.
    summary : ExactCounts
        The site's exact counts; they stay here.
    promise : Promise
        To the people of this site, kept by this site alone.
    ledger : LedgerFile or path, optional
        Pays for all answers before any noise is drawn; the site's own.
    name : str
        Of the entry in the ledger.
    rng : RandomSource, optional
        Default: secure randomness. A seeded one is for tests and simulation only.

    Raises
    ------
    ArgumentError, PrivacyError
        When the mechanism cannot be used, before anything is paid. BudgetError when the ledger
        cannot pay.

    Privacy
    -------
    Whoever is the hub, and whatever it asks after earlier answers: a question is a place, the
    number of rows below it changes by at most one when a row is replaced, and it is shown with
    noise that no other answer has. There are at most `steps` answers, so all that leaves the site
    is an adaptive composition of `steps` mechanisms of sensitivity one: ``steps / sigma^2`` for
    the square of mu, or ``steps / b`` for epsilon, which is what the mechanism is charged for one
    table. Other sites and the hub are trusted with nothing; what the hub makes of the answers is
    post-processing. The noise is drawn before the counts are looked at, and a drawn number is
    given out once: a site cannot be copied.

    Examples
    --------
    >>> from lapwing.privacy.sampling.randomness import seeded
    >>> from lapwing.protocol.domains.interval import Interval
    >>> sites = [
    ...     QuantileSite(
    ...         AdaptiveQuantiles(8), ExactCounts.of_values(np.full(500, at), Interval(0, 1,
    bins=16)), ...         Promise("replace-one", epsilon=1, delta="1e-6"), rng=seeded(number))
    ...     for number, at in enumerate([0.2, 0.4, 0.4])]
    >>> quantiles_of_sites(sites).people
    1500
    """

    def __init__(
        self,
        mechanism: AdaptiveQuantiles,
        summary: ExactCounts,
        promise: Promise,
        *,
        ledger: LedgerFile | Path | str | None = None,
        name: str = "site",
        rng: RandomSource | None = None,
    ) -> None:
        check_site(mechanism, summary, promise, kind=AdaptiveQuantiles)
        super().__init__(summary)
        loss = mechanism.loss(summary.domain, promise)
        source = source_of(rng)
        noise, sensitivity = mechanism.noise_of(promise)
        self.mechanism = mechanism
        with ExitStack() as paying:
            identifier = pay(paying, promise, loss, ledger=ledger, name=name)
            self.part = part_of(
                noise, promise, sensitivity, summary.people, source=source, identifier=identifier
            )
            self._noise: list[int] = noise.draw(mechanism.steps, source).tolist()
        held = summary.domain.left.size
        self._below = np.concatenate([[0], np.cumsum(summary.counts[:held])])

    def below(self, place: int) -> int:
        """Return the number of rows before a place, with fresh noise.

        Parameters
        ----------
        place : int
            In 0..symbols, counted in present symbols.

        Raises
        ------
        ArgumentError
            When there is no such place.
        BudgetError
            When as many questions as were paid for have been answered.
        """
        self._check_process()
        if type(place) is not int or not 0 <= place < self._below.size:
            raise ArgumentError(f"a place must be a whole number in 0..{self._below.size - 1}")
        try:
            noise = self._noise.pop()
        except IndexError:
            raise spent("answers", self.mechanism.steps) from None
        return int(self._below[place]) + noise


class AskedForPlaces(Asked, Protocol):
    """A :class:`QuantileSite`, or what speaks for one that is elsewhere."""

    def below(self, place: int) -> int:
        """Return the noisy number of rows before a place."""
        ...


def quantiles_of_sites(sites: Sequence[AskedForPlaces]) -> Release:
    """Ask sites until the questions are used up, and return the release of all their people.

    Nobody may be behind two of them. A message to and from every site a question.

    Parameters
    ----------
    sites : sequence of QuantileSite
        Or of what speaks for them: with `mechanism`, `domain`, `part` and `below`.

    Raises
    ------
    ArgumentError, MismatchError
        When the sites do not belong together, before any is asked.
    BudgetError
        When a site was asked before.

    Accuracy
    --------
    The noise of an answer is that of all sites together: with S sites of one promise its root is
    S times larger in variance than a trusted curator's.

    Source: Tao et al. 2026, section VI-B (decentralized setting).
    """
    domain, people = common(sites, AdaptiveQuantiles)
    mechanism = sites[0].mechanism
    assert isinstance(mechanism, AdaptiveQuantiles)
    asked: list[int] = []
    answers: list[int] = []
    for _ in range(mechanism.steps):
        place = question(
            asked, answers, held=domain.left.size, people=people, guarded=mechanism.guarded
        )
        if place is None:
            break
        asked.append(place)
        answers.append(total([site.below(place) for site in sites]))
    return Release(
        mechanism, domain, np.array(answers, dtype=np.int64), [site.part for site in sites]
    )
