"""Matching pursuit over sites: each votes for a function, and gives its noisy product."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

import numpy as np

from lapwing.errors import ArgumentError
from lapwing.mechanisms.asked_site import Asked, OpenSite, check_site, common, pay, spent, total
from lapwing.mechanisms.matching_pursuit import MatchingPursuit
from lapwing.mechanisms.pursuit_rounds import explained_by, free_atoms
from lapwing.privacy.ledger import LedgerFile
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import RandomSource, source_of
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.protocol.release import LARGEST_ANSWER, Part, Release


class PursuitSite(OpenSite):
    """One site's rows, which votes for the next function and gives its product, each with noise.

    Parameters
    ----------
    mechanism : MatchingPursuit
        As at all other sites.
    summary : ExactCounts
        The site's exact counts; they stay here.
    promise : Promise
        To the people of this site, kept by this site alone.
    ledger : LedgerFile or path, optional
        Pays for all answers before anything is drawn; the site's own.
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
    Whoever is the hub, and whatever it says after earlier answers. A vote is a choice among
    ``|products - share of what is explained|``, where the second part is made of what the hub
    said: for any whole numbers there, a replaced row moves the difference of two scores by at most
    the range sensitivity, as for one table. A product is one function's, whichever the hub names,
    with noise in proportion to that function's own range. There are at most `terms` votes and as
    many products, each drawn afresh, so all that leaves the site is an adaptive composition of
    what :class:`MatchingPursuit` is charged for one table. The tests go through the transcripts of
    small tables with a hub that asks for the worst.

    Other sites and the hub are trusted with nothing. The time of a vote depends on the data.
    """

    def __init__(
        self,
        mechanism: MatchingPursuit,
        summary: ExactCounts,
        promise: Promise,
        *,
        ledger: LedgerFile | Path | str | None = None,
        name: str = "site",
        rng: RandomSource | None = None,
    ) -> None:
        check_site(mechanism, summary, promise, kind=MatchingPursuit)
        super().__init__(summary)
        self._plan = mechanism.plan(summary.domain, promise)
        self._dictionary = mechanism.curves(summary.domain)
        self._source = source_of(rng)
        self.mechanism = mechanism
        with ExitStack() as paying:
            identifier = pay(paying, promise, self._plan.loss, ledger=ledger, name=name)
            self.part = Part(
                identifier, promise, self._plan.record, self._plan.loss, summary.people
            )
        self._people = summary.people
        self._exact = self._dictionary.products @ summary.counts
        # Taken one by one: two threads cannot take the same.
        self._votes = list(range(mechanism.terms))
        self._products = list(range(mechanism.terms))

    def vote(self, chosen: Sequence[int], answers: Sequence[int], people: int) -> int:
        """Return the function that this site would choose next.

        Parameters
        ----------
        chosen : sequence of int
            The functions chosen so far.
        answers : sequence of int
            Their noisy products, of all sites together.
        people : int
            Of all sites together: at least those of this one.

        Raises
        ------
        ArgumentError
            When these cannot be.
        BudgetError
            When as many votes as were paid for have been given.
        """
        self._check_process()
        # Also what it costs to answer must not be the hub's choice.
        if len(chosen) >= self.mechanism.terms:
            raise ArgumentError(
                f"at most {self.mechanism.terms - 1} functions can be chosen before a vote"
            )
        for atom in chosen:
            self._check_atom(atom)
        if len(chosen) != len(answers) or any(
            type(answer) is not int or abs(answer) >= LARGEST_ANSWER for answer in answers
        ):
            raise ArgumentError("every chosen function must have a whole number for its product")
        if type(people) is not int or people < max(1, self._people):
            raise ArgumentError(
                "the people of all sites must be a whole number, at least this one's"
            )
        free = free_atoms(self._exact.size, chosen, again=self.mechanism.again)
        if not free.size:
            raise ArgumentError("no function is left to be chosen")
        try:
            self._votes.pop()
        except IndexError:
            raise spent("votes", self.mechanism.terms) from None
        explained = explained_by(self._dictionary.gram, list(chosen), list(answers))
        # This site's share of what all together have explained.
        own = np.rint(explained * (self._people / people)).astype(np.int64)
        scores = np.abs(self._exact - own)[free]
        return int(free[self._plan.choose(scores, self._source)])

    def product(self, atom: int) -> int:
        """Return a function's product with the rows, times UNIT, with fresh noise.

        Raises
        ------
        ArgumentError
            When there is no such function.
        BudgetError
            When as many products as were paid for have been given.
        """
        self._check_process()
        self._check_atom(atom)
        try:
            self._products.pop()
        except IndexError:
            raise spent("products", self.mechanism.terms) from None
        noise = self._plan.weight_noise(atom).draw(1, self._source)
        return int(self._exact[atom]) + int(noise[0])

    def _check_atom(self, atom: int) -> None:
        if type(atom) is not int or not 0 <= atom < self._exact.size:
            raise ArgumentError(f"a function must be a whole number in 0..{self._exact.size - 1}")


class AskedForFunctions(Asked, Protocol):
    """A :class:`PursuitSite`, or what speaks for one that is elsewhere."""

    def vote(self, chosen: Sequence[int], answers: Sequence[int], people: int) -> int:
        """Return the function that the site would choose next."""
        ...

    def product(self, atom: int) -> int:
        """Return the site's noisy product with a function."""
        ...


def pursuit_of_sites(sites: Sequence[AskedForFunctions]) -> Release:
    """Let sites choose functions together, and return the release of all their people.

    In every round each site votes with the weight of its people, the function with most is
    chosen (the first of equals), and each site gives its product with it. Nobody may be behind
    two sites. Two messages to and from every site a term.

    Parameters
    ----------
    sites : sequence of PursuitSite
        Or of what speaks for them: with `mechanism`, `domain`, `part`, `vote` and `product`.

    Raises
    ------
    ArgumentError, MismatchError
        When the sites do not belong together, before any is asked.
    BudgetError
        When a site was asked before.

    Source: Tao et al. 2026, section VI-B (decentralized setting), which does not say how sites
    agree on a function.

    Examples
    --------
    >>> from lapwing.privacy.sampling.randomness import seeded
    >>> from lapwing.protocol.domains.interval import Interval
    >>> sites = [
    ...     PursuitSite(
    ...         MatchingPursuit(3, atoms=8),
    ...         ExactCounts.of_values(np.linspace(0, 1, 900), Interval(0, 1, bins=16)),
    ...         Promise("replace-one", epsilon=1, delta="1e-6"), rng=seeded(number))
    ...     for number in range(2)]
    >>> release = pursuit_of_sites(sites)
    >>> release.people, len(release.choices["atoms"])
    (1800, 3)
    """
    domain, people = common(sites, MatchingPursuit)
    mechanism = sites[0].mechanism
    assert isinstance(mechanism, MatchingPursuit)
    atoms = len(mechanism.curves(domain).curves)
    chosen: list[int] = []
    answers: list[int] = []
    for _ in range(mechanism.terms):
        votes = np.zeros(atoms, dtype=np.int64)
        for site in sites:
            votes[site.vote(chosen, answers, people)] += max(1, site.part.people or 0)
        atom = int(np.argmax(votes))
        answers.append(total([site.product(atom) for site in sites]))
        chosen.append(atom)
    parts = [site.part for site in sites]
    return Release(mechanism, domain, np.array(answers, dtype=np.int64), parts, {"atoms": chosen})
