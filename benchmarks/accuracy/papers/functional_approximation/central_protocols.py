"""Ten sites and ten rounds: what each method sends, and what its release is in the end."""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.accuracy.papers.functional_approximation.central_columns import People
from benchmarks.accuracy.papers.functional_approximation.central_methods import (
    DEFAULT,
    METHODS,
    Method,
)
from benchmarks.accuracy.papers.functional_approximation.central_sweeps import number
from lapwing.decoders.releases.step_pursuit import StepPursuit
from lapwing.mechanisms.continual_prefix_sums import RunningPrefixSums
from lapwing.mechanisms.prefix_sums import PrefixSums
from lapwing.papers.functional_approximation.adaptive_quantiles import AdaptiveQuantiles
from lapwing.papers.functional_approximation.interactive_sites import (
    PursuitSite,
    QuantileSite,
    pursuit_of_sites,
    quantiles_of_sites,
)
from lapwing.papers.functional_approximation.matching_pursuit import MatchingPursuit
from lapwing.papers.functional_approximation.polynomial_projection import PolynomialProjection
from lapwing.privacy.ledger import Ledger
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import RandomSource, seeded
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.protocol.release import Release
from lapwing.testing import reproducible

RUNNING = "prefix sums, running"
PRINTED = "MP, as printed*"


def methods_of(column: People) -> dict[str, Method]:
    """Return the methods with the paper's parameters for a column; the names are the same."""
    functions, terms, atoms = column.sizes
    published = MatchingPursuit(terms, atoms=atoms, form="published")
    return {
        "HQ 40, steps": METHODS["HQ 40, steps"],
        "AQ 80": METHODS["AQ 80"],
        "AQ 80, Laplace": METHODS["AQ 80, Laplace"],
        "PP, algorithm 1": Method(
            PolynomialProjection(functions, shape="algorithm-1", noise="normal")
        ),
        PRINTED: Method(published, pure=True, valid=False),
        "MP, its true cost": Method(published, pure=True),
        DEFAULT: METHODS[DEFAULT],
    }


@dataclass(frozen=True)
class Traffic:
    """What one site exchanges with the hub.

    Parameters
    ----------
    messages : int
        From a site to the hub, one a round.
    up, down : int
        Numbers in all messages to the hub, and back.
    """

    messages: int
    up: int
    down: int


def from_sites(
    method: Method, sites: Sequence[ExactCounts], promise: Promise, *, seed: int
) -> tuple[Release, Traffic]:
    """Return the release of all sites, each with noise of its own for the whole promise.

    Linear mechanisms: each site releases, the hub adds. Adaptive quantiles and matching pursuit:
    the hub asks each site, by :func:`lapwing.papers.functional_approximation.quantiles_of_sites` or
    :func:`lapwing.papers.functional_approximation.pursuit_of_sites`.
    """
    mechanism = method.mechanism
    pairs = list(zip(sites, _sources(sites, seed), strict=True))
    if isinstance(mechanism, AdaptiveQuantiles):
        release = quantiles_of_sites(
            [QuantileSite(mechanism, site, promise, rng=source) for site, source in pairs]
        )
        sent = release.answers.size
        return release, Traffic(sent, sent, sent)
    if isinstance(mechanism, MatchingPursuit):
        release = pursuit_of_sites(
            [PursuitSite(mechanism, site, promise, rng=source) for site, source in pairs]
        )
        # A vote and a product a term; the chosen function and the sum of products come back.
        sent = 2 * mechanism.terms
        return release, Traffic(sent, sent, sent)
    parts = [mechanism.release(site, promise, rng=source) for site, source in pairs]
    total: Release = sum(parts[1:], parts[0])
    return total, Traffic(1, total.answers.size, 0)


def _sources(sites: Sequence[ExactCounts], seed: int) -> list[RandomSource]:
    return [seeded(number(seed, place)) for place in range(len(sites))]


def after_rounds(
    method: Method, rounds: Sequence[ExactCounts], promise: Promise, *, seed: int
) -> Release:
    """Return what is published after the last round of newly collected people.

    Linear mechanisms release each round once and add. The adaptive ones start again over all people
    in every round, so each run may only spend its part
    (:func:`lapwing.privacy.Promise.split`): a tenth of epsilon or of rho for ten rounds, or a
    root of ten of mu. Only the last run is published here.
    """
    mechanism = method.mechanism
    if isinstance(mechanism, RunningPrefixSums):
        return _running(mechanism, rounds, promise, seed=seed)
    if mechanism.linear:
        return from_sites(method, rounds, promise, seed=seed)[0]
    everyone: ExactCounts = sum(rounds[1:], rounds[0])
    share = promise.split(len(rounds), mechanism, everyone.domain)
    return mechanism.release(everyone, share, rng=seeded(seed))


def _running(
    mechanism: RunningPrefixSums, rounds: Sequence[ExactCounts], promise: Promise, *, seed: int
) -> Release:
    """Return the release after the last round, paid for by a ledger that is not kept."""
    loss, paid = mechanism.loss(rounds[0].domain, promise), secrets.token_hex(16)
    guarantee = promise.guarantee(loss)
    with TemporaryDirectory() as folder:
        ledger = Ledger.open(Path(folder) / "budget.json")
        Ledger(guarantee).save(ledger.path)
        # A ledger pays for no release that was drawn from a source of one's own.
        with (
            reproducible(number(seed, 0)),
            ledger.paying("rounds", guarantee, loss=loss, release=paid, rounds=mechanism.rounds),
        ):
            release = mechanism.release(rounds[0], promise, identifier=paid)
        for place in range(1, len(rounds)):
            with reproducible(number(seed, place)):
                release = mechanism.following(release, rounds[:place], rounds[place], ledger=ledger)
    return release


def as_many_messages(column: People) -> Method:
    """Return adaptive quantiles with as many rounds of messages as matching pursuit has."""
    return Method(
        AdaptiveQuantiles(2 * column.sizes[1], noise="normal", guarded=False),
    )


def running(rounds: int) -> Method:
    """Return prefix sums that are square-root factored over rounds as well."""
    return Method(RunningPrefixSums(rounds), decoder=StepPursuit(band=False))


def multiplier(summaries: Sequence[ExactCounts], promise: Promise) -> dict[str, float]:
    """Return the noise after all rounds, in those of one release: running, and added."""
    once = PrefixSums().release(summaries[0], promise, rng=seeded(1))
    last = after_rounds(running(len(summaries)), summaries, promise, seed=1)
    added = after_rounds(METHODS[DEFAULT], summaries, promise, seed=1)

    def deviation(release: Release) -> float:
        law: Any = release.channel.blocks[0].law
        return math.sqrt(law.variance)

    return {
        "running": deviation(last) / deviation(once),
        "added": deviation(added) / deviation(once),
    }
