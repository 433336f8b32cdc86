"""Interactive sites: adaptive mechanisms over sites that answer a coordinator.

Each site pays once, and never answers more than was paid for. A coordinator asks quantile sites for
the number of rows below a place, and pursuit sites for a function and for its noisy product.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NoReturn, Protocol

import numpy as np

from lapwing.docstrings import inherits
from lapwing.errors import ArgumentError, BudgetError, MismatchError, PrivacyError, kind_of
from lapwing.mechanisms.linear_mechanism import part_of
from lapwing.papers.functional_approximation.adaptive_quantiles import AdaptiveQuantiles, question
from lapwing.papers.functional_approximation.matching_pursuit import (
    MatchingPursuit,
    explained_by,
    free_atoms,
)
from lapwing.privacy.ledger import Ledger, LedgerFile
from lapwing.privacy.privacy_loss import PrivacyLoss
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import RandomSource, source_of, standing_of
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.protocol.release import LARGEST_ANSWER, Mechanism, Release, ReleasePart, check_unit


class Site(Protocol):
    """Interface of a site for its coordinator, without the answers."""

    @property
    def mechanism(self) -> Mechanism:
        """Mechanism of the site, the same at all sites."""
        ...

    @property
    def domain(self) -> Domain:
        """Domain with its missing symbol, the same at all sites."""
        ...

    @property
    def release_part(self) -> ReleasePart:
        """The public record of the site's noise, promise and people."""
        ...


_life = [object()]
"""Another one in every forked process: ids of processes come again when their owners are gone."""


def _start_child() -> None:
    _life[0] = object()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_child)


class InteractiveSite:
    """Base class of the sites: one payment, and one object that answers.

    Not to be copied, pickled or used by a forked process: two that hold the same noise would show
    by their difference what it hides.
    """

    def __init__(self, summary: ExactCounts) -> None:
        self._process = os.getpid(), _life[0]
        self.domain = summary.domain

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        """Refuse copies, which would answer twice with the same noise."""
        raise PrivacyError(
            "a site cannot be copied or pickled: a copy would use the same noise again. Pay "
            "for another one"
        )

    def _check_process(self) -> None:
        if (os.getpid(), _life[0]) != self._process:
            raise PrivacyError(
                "a site answers only in the process that created it: a forked process would "
                "use the same noise again. Pay for another one"
            )


def check_site(
    mechanism: Mechanism, summary: ExactCounts, promise: Promise, *, kind: type[Mechanism]
) -> None:
    """Raise ArgumentError unless a site is made of its mechanism, ExactCounts and a Promise."""
    if not isinstance(mechanism, kind):
        raise ArgumentError(
            f"this site answers for {kind.name}, got {kind_of(mechanism)}. Pass "
            f"{kind.__name__}(...), the same at all sites"
        )
    if not isinstance(summary, ExactCounts) or not isinstance(promise, Promise):
        raise ArgumentError(
            "a site answers for the counts of ExactCounts under a Promise, got a "
            f"{type(summary).__name__} and {kind_of(promise)}. Pass "
            "ExactCounts.of_values(values, domain)"
        )
    check_unit(mechanism, promise, summary)


def pay_site(
    open_until: ExitStack,
    promise: Promise,
    loss: PrivacyLoss,
    source: RandomSource,
    *,
    ledger: LedgerFile | Path | str | None,
    name: str,
) -> str:
    """Pay for all answers of a site, if there is a ledger, and return their identifier.

    The payment is marked as used when `open_until` closes.
    """
    identifier = secrets.token_hex(16)
    if ledger is not None:
        guarantee = promise.guarantee(loss).marked(standing_of(source))
        paying = Ledger.open(ledger).paying(name, guarantee, loss=loss, release=identifier)
        open_until.enter_context(paying)
    return identifier


def exhausted(what: str, count: int) -> BudgetError:
    """Return the error of a site that has given all that was paid for."""
    return BudgetError(
        f"this site has given the {count} {what} that were paid for. Nothing was drawn"
    )


def check_sites(sites: Sequence[Site], kind: type[Mechanism]) -> tuple[Domain, int]:
    """Return the domain of all sites and the number of their people, before any is asked.

    Raises ArgumentError without a site.
    Raises MismatchError when sites differ in mechanism or domain, or one of them is there twice.
    """
    if not sites:
        raise ArgumentError("a coordinator needs at least one site")
    first = sites[0]
    if not isinstance(first.mechanism, kind):
        raise MismatchError(f"these sites must answer for {kind.name}, got {first.mechanism.name}")
    if any(site.mechanism != first.mechanism or site.domain != first.domain for site in sites):
        raise MismatchError("all sites must have the same mechanism and the same domain")
    if len({site.release_part.identifier for site in sites}) < len(sites):
        raise MismatchError("a site is named twice, so its people would count twice. Name it once")
    return first.domain, max(1, sum(site.release_part.people or 0 for site in sites))


def sum_of_answers(answers: Sequence[int]) -> int:
    """Return the sum of the sites' answers.

    Raises MismatchError when the sum is too large to be stored.
    """
    added = sum(answers)
    if abs(added) >= LARGEST_ANSWER:
        raise MismatchError("the answers of these sites are too large to be added")
    return added


class QuantileSite(InteractiveSite):
    """Interactive site of adaptive quantiles: noisy prefix counts (Tao and Sarwate, 2026).

    It has one site's rows, and answers with its own noise how many of them lie below a place.

    Parameters
    ----------
    mechanism : AdaptiveQuantiles
        Mechanism, the same at all sites.
    summary : ExactCounts
        The site's exact counts, which never leave it.
    promise : Promise
        Privacy parameters for the people of this site. The site ensures them on its own.
    ledger : LedgerFile, Path or str, optional
        The site's own ledger, which pays for all answers before any noise is drawn. Default: none.
    name : str
        Name of the entry in the ledger. Default: "site".
    rng : RandomSource, optional
        Default: secure randomness. A seeded source is for tests and simulation only.

    Raises
    ------
    ArgumentError, PrivacyError
        When the mechanism cannot be used, before anything is paid.
    BudgetError
        When the ledger cannot pay.

    Notes
    -----
    **Privacy.** The guarantee holds for any coordinator, whatever it asks after earlier answers. A
    question is a place. The number of rows below it changes by at most one when a row is replaced,
    and every answer has independent noise. There are at most `steps` answers. So everything that
    leaves the site is an adaptive composition of `steps` mechanisms of sensitivity one. Its loss
    is ``steps / sigma^2`` for the square of mu, or ``steps / b`` for epsilon.
    :class:`AdaptiveQuantiles` is charged the same for one table. Neither other sites nor the
    coordinator have to be trusted, because the coordinator only post-processes answers. The noise
    is drawn before the counts are read, and each drawn number is used once. A site cannot be
    copied.

    **Cost.** One number in each direction for each question.

    The setting is the decentralized one of [1]_, section VI-B.

    References
    ----------
    .. [1] Y. Tao, A. D. Sarwate, "Functional Approximation Methods for Differentially Private
       Distribution Estimation", 2026. arXiv:2501.06620v2.

    Examples
    --------
    >>> import lapwing as lw
    >>> import numpy as np
    >>> domain = lw.Interval(0, 100, bins=64, outside="clip")
    >>> draw = np.random.default_rng(1)
    >>> sites = [
    ...     lw.papers.functional_approximation.QuantileSite(
    ...         lw.papers.functional_approximation.AdaptiveQuantiles(steps=20),
    ...         lw.protocol.ExactCounts.of_values(draw.normal(40, 12, size=5000), domain),
    ...         lw.privacy.Promise("replace-one", epsilon=1, delta="1e-6"),
    ...         rng=lw.seeded(number))
    ...     for number in (1, 2)]
    >>> release = lw.papers.functional_approximation.quantiles_of_sites(sites)
    >>> release.people, round(lw.survey.Publication(release).distribution.quantile(0.5))
    (10000, 40)
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
            identifier = pay_site(paying, promise, loss, source, ledger=ledger, name=name)
            self.release_part = part_of(
                noise, promise, sensitivity, summary.people, source=source, identifier=identifier
            )
            self._noise: list[int] = noise.draw(mechanism.steps, source).tolist()
        held = summary.domain.left.size
        self._below = np.concatenate([[0], np.cumsum(summary.counts[:held])])

    def below(self, place: int) -> int:
        """Return the number of rows below a place, with fresh noise.

        Parameters
        ----------
        place : int
            Place in 0..symbols, counted in present symbols.

        Returns
        -------
        int
            Noisy number of rows, which may be negative.

        Raises
        ------
        ArgumentError
            When there is no such place.
        BudgetError
            When all questions that were paid for have been answered.
        """
        self._check_process()
        if type(place) is not int or not 0 <= place < self._below.size:
            raise ArgumentError(
                "place", f"must be a whole number from 0 to {self._below.size - 1}", repr(place)
            )
        try:
            noise = self._noise.pop()
        except IndexError:
            raise exhausted("answers", self.mechanism.steps) from None
        return int(self._below[place]) + noise


class QuantileAnswers(Site, Protocol):
    """Interface of a :class:`QuantileSite`, or of a proxy for one that is elsewhere."""

    def below(self, place: int) -> int:
        """Return the noisy number of rows before a place."""
        ...


def quantiles_of_sites(sites: Sequence[QuantileAnswers]) -> Release:
    """Adaptive quantiles over interactive sites (Tao and Sarwate, 2026).

    The coordinator asks all sites until the questions are used up, and returns the release for all
    their people. No person may be counted at two sites. Each question takes one message to every
    site and one from it.

    Parameters
    ----------
    sites : sequence of QuantileSite
        Sites, or proxies with `mechanism`, `domain`, `release_part` and `below`. At least one.

    Returns
    -------
    Release
        Release for the people of all sites.

    Raises
    ------
    ArgumentError, MismatchError
        When the sites do not belong together, before any site is asked.
    BudgetError
        When a site has been asked before.

    Notes
    -----
    **Accuracy.** The noise of an answer is the sum of the noise of all sites. With S sites of one
    privacy guarantee, the variance is S times that of a trusted curator.

    The setting is the decentralized one of [1]_, section VI-B.

    References
    ----------
    .. [1] Y. Tao, A. D. Sarwate, "Functional Approximation Methods for Differentially Private
       Distribution Estimation", 2026. arXiv:2501.06620v2.

    Examples
    --------
    >>> import lapwing as lw
    >>> import numpy as np
    >>> domain = lw.Interval(0, 100, bins=64, outside="clip")
    >>> draw = np.random.default_rng(1)
    >>> sites = [
    ...     lw.papers.functional_approximation.QuantileSite(
    ...         lw.papers.functional_approximation.AdaptiveQuantiles(steps=20),
    ...         lw.protocol.ExactCounts.of_values(draw.normal(40, 12, size=5000), domain),
    ...         lw.privacy.Promise("replace-one", epsilon=1, delta="1e-6"),
    ...         rng=lw.seeded(number))
    ...     for number in (1, 2)]
    >>> release = lw.papers.functional_approximation.quantiles_of_sites(sites)
    >>> round(lw.survey.Publication(release).distribution.quantile(0.5))
    40
    """
    domain, people = check_sites(sites, AdaptiveQuantiles)
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
        answers.append(sum_of_answers([site.below(place) for site in sites]))
    return Release(
        mechanism, domain, np.array(answers, dtype=np.int64), [site.release_part for site in sites]
    )


class PursuitSite(InteractiveSite):
    """Interactive site of matching pursuit: noisy votes and products (Tao and Sarwate, 2026).

    It has one site's rows, votes for the next function and returns its product.

    Parameters
    ----------
    mechanism : MatchingPursuit
        Mechanism, the same at all sites.
    summary : ExactCounts
        The site's exact counts, which never leave it.
    promise : Promise
        Privacy parameters for the people of this site. The site ensures them on its own.
    ledger : LedgerFile, Path or str, optional
        The site's own ledger, which pays for all answers before any noise is drawn. Default: none.
    name : str
        Name of the entry in the ledger. Default: "site".
    rng : RandomSource, optional
        Default: secure randomness. A seeded source is for tests and simulation only.

    Raises
    ------
    ArgumentError, PrivacyError
        When the mechanism cannot be used, before anything is paid.
    BudgetError
        When the ledger cannot pay.

    Notes
    -----
    **Privacy.** The guarantee holds for any coordinator, whatever it says after earlier answers. A
    vote is a choice among ``|products - share of what is explained|``. The second term follows
    from the coordinator's messages. For any whole numbers there, a replaced row moves the
    difference of two scores by at most the range sensitivity, as for one table. A product is that
    of one function, whichever the coordinator names, with noise in proportion to that function's
    own range. There are at most `terms` votes and as many products, each with fresh noise. So
    everything that leaves the site is an adaptive composition, with the loss that
    :class:`MatchingPursuit` is charged for one table. The tests go through the transcripts of
    small tables with a coordinator that asks for the worst.

    Neither the other sites nor the coordinator have to be trusted. The time of a vote depends on
    the data.

    **Cost.** Two messages in each direction for each term.

    The setting is the decentralized one of [1]_, section VI-B.

    References
    ----------
    .. [1] Y. Tao, A. D. Sarwate, "Functional Approximation Methods for Differentially Private
       Distribution Estimation", 2026. arXiv:2501.06620v2.

    Examples
    --------
    >>> import lapwing as lw
    >>> import numpy as np
    >>> domain = lw.Interval(0, 100, bins=64, outside="clip")
    >>> draw = np.random.default_rng(1)
    >>> sites = [
    ...     lw.papers.functional_approximation.PursuitSite(
    ...         lw.papers.functional_approximation.MatchingPursuit(terms=8),
    ...         lw.protocol.ExactCounts.of_values(draw.normal(40, 12, size=5000), domain),
    ...         lw.privacy.Promise("replace-one", epsilon=1, delta="1e-6"),
    ...         rng=lw.seeded(number))
    ...     for number in (1, 2)]
    >>> release = lw.papers.functional_approximation.pursuit_of_sites(sites)
    >>> release.people, len(release.choices["atoms"])
    (10000, 8)
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
        mechanism = mechanism.on(summary.domain)
        self._plan = mechanism.plan(summary.domain, promise)
        self._dictionary = mechanism.curves(summary.domain)
        self._source = source_of(rng)
        self.mechanism = mechanism
        with ExitStack() as paying:
            plan, source = self._plan, self._source
            identifier = pay_site(paying, promise, plan.loss, source, ledger=ledger, name=name)
            self.release_part = ReleasePart(
                identifier, promise, plan.record, plan.loss, summary.people, standing_of(source)
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
            Indices of the functions chosen so far.
        answers : sequence of int
            Their noisy products, summed over all sites.
        people : int
            Number of people of all sites together, at least that of this site.

        Returns
        -------
        int
            Index of a function, chosen privately.

        Raises
        ------
        ArgumentError
            When the arguments are impossible.
        BudgetError
            When all votes that were paid for have been given.
        """
        self._check_process()
        # The coordinator must not choose what an answer costs in time either.
        if len(chosen) >= self.mechanism.terms:
            raise ArgumentError(
                f"at most {self.mechanism.terms - 1} functions can be chosen before a selection"
            )
        for atom in chosen:
            self._check_atom(atom)
        if len(chosen) != len(answers) or any(
            type(answer) is not int or abs(answer) >= LARGEST_ANSWER for answer in answers
        ):
            raise ArgumentError("every chosen function must have a whole number for its product")
        if type(people) is not int or people < max(1, self._people):
            raise ArgumentError(
                "the number of people at all sites must be whole, and at least this site's number"
            )
        free = free_atoms(self._exact.size, chosen, again=self.mechanism.again)
        if not free.size:
            raise ArgumentError("no function is left to choose")
        try:
            self._votes.pop()
        except IndexError:
            raise exhausted("votes", self.mechanism.terms) from None
        explained = explained_by(self._dictionary.gram, list(chosen), list(answers))
        # This site's share of what all together have explained.
        own = np.rint(explained * (self._people / people)).astype(np.int64)
        scores = np.abs(self._exact - own)[free]
        return int(free[self._plan.choose(scores, self._source)])

    def product(self, atom: int) -> int:
        """Return a function's product with the rows, times UNIT, with fresh noise.

        Parameters
        ----------
        atom : int
            Index of the function, at least 0.

        Returns
        -------
        int
            Noisy product, which may be negative.

        Raises
        ------
        ArgumentError
            When there is no such function.
        BudgetError
            When all products that were paid for have been given.
        """
        self._check_process()
        self._check_atom(atom)
        try:
            self._products.pop()
        except IndexError:
            raise exhausted("products", self.mechanism.terms) from None
        noise = self._plan.weight_noise(atom).draw(1, self._source)
        return int(self._exact[atom]) + int(noise[0])

    def _check_atom(self, atom: int) -> None:
        if type(atom) is not int or not 0 <= atom < self._exact.size:
            raise ArgumentError(
                "atom", f"must be a whole number from 0 to {self._exact.size - 1}", repr(atom)
            )


class PursuitAnswers(Site, Protocol):
    """Interface of a :class:`PursuitSite`, or of a proxy for one that is elsewhere."""

    def vote(self, chosen: Sequence[int], answers: Sequence[int], people: int) -> int:
        """Return the function that the site would choose next."""
        ...

    def product(self, atom: int) -> int:
        """Return the site's noisy product with a function."""
        ...


@inherits(quantiles_of_sites)
def pursuit_of_sites(sites: Sequence[PursuitAnswers]) -> Release:
    """Matching pursuit over interactive sites (Tao and Sarwate, 2026).

    In every round each site votes with the weight of its people. The function with the most votes
    is chosen (the first one in a tie), and each site returns its product with it. No person may be
    counted at two sites. Each term takes two messages to every site and two from it.

    Parameters
    ----------
    sites : sequence of PursuitSite
        Sites, or proxies with `mechanism`, `domain`, `release_part`, `vote` and `product`. At least
        one.

    Notes
    -----
    The setting is the decentralized one of [1]_, section VI-B. The paper does not say how sites
    agree on a function.

    References
    ----------
    .. [1] Y. Tao, A. D. Sarwate, "Functional Approximation Methods for Differentially Private
       Distribution Estimation", 2026. arXiv:2501.06620v2.

    Examples
    --------
    >>> import lapwing as lw
    >>> import numpy as np
    >>> domain = lw.Interval(0, 100, bins=64, outside="clip")
    >>> draw = np.random.default_rng(1)
    >>> sites = [
    ...     lw.papers.functional_approximation.PursuitSite(
    ...         lw.papers.functional_approximation.MatchingPursuit(terms=8),
    ...         lw.protocol.ExactCounts.of_values(draw.normal(40, 12, size=5000), domain),
    ...         lw.privacy.Promise("replace-one", epsilon=1, delta="1e-6"),
    ...         rng=lw.seeded(number))
    ...     for number in (1, 2)]
    >>> release = lw.papers.functional_approximation.pursuit_of_sites(sites)
    >>> round(lw.survey.Publication(release).distribution.quantile(0.5))
    40
    """
    domain, people = check_sites(sites, MatchingPursuit)
    mechanism = sites[0].mechanism
    assert isinstance(mechanism, MatchingPursuit)
    atoms = len(mechanism.curves(domain).curves)
    chosen: list[int] = []
    answers: list[int] = []
    for _ in range(mechanism.terms):
        votes = np.zeros(atoms, dtype=np.int64)
        for site in sites:
            votes[site.vote(chosen, answers, people)] += max(1, site.release_part.people or 0)
        atom = int(np.argmax(votes))
        answers.append(sum_of_answers([site.product(atom) for site in sites]))
        chosen.append(atom)
    parts = [site.release_part for site in sites]
    return Release(mechanism, domain, np.array(answers, dtype=np.int64), parts, {"atoms": chosen})
