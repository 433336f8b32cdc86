"""Ten sites and ten rounds: what each method sends, and what its release is in the end."""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.accuracy.papers.functional_approximation.central_columns import People
from benchmarks.accuracy.papers.functional_approximation.central_methods import (
    DEFAULT,
    METHODS,
    Method,
)
from lapwing.central.adaptive_quantiles import AdaptiveQuantiles, noisy_answers
from lapwing.central.continual_prefix_sums import RunningPrefixSums
from lapwing.central.linear_mechanism import part_of
from lapwing.central.matching_pursuit import MatchingPursuit, triangular
from lapwing.central.polynomial_projection import PolynomialProjection
from lapwing.central.prefix_sums import PrefixSums
from lapwing.decoders.releases.step_pursuit import StepPursuit
from lapwing.linear.dictionaries import Dictionary
from lapwing.privacy.integer_noise import Sensitivity, calibrated
from lapwing.privacy.ledger_file import LedgerFile
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import RandomSource, seeded
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.messages.summary import Summary
from lapwing.protocol.release import Part, Release

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
        "PP, moments": Method(PolynomialProjection(functions, shape="moments", noise="normal")),
        PRINTED: Method(published, pure=True, valid=False),
        "MP, its true cost": Method(published, pure=True),
        "HQ 40, linear": METHODS["HQ 40, linear"],
        "PP 12, repaired": METHODS["PP 12, repaired"],
        "MP, repaired": Method(MatchingPursuit(terms, atoms=atoms)),
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
    method: Method, sites: Sequence[Summary], promise: Promise, *, seed: int
) -> tuple[Release, Traffic]:
    """Return the release of all sites, each with noise of its own for the whole promise.

    Linear mechanisms: each site releases, the hub adds. Adaptive quantiles: the hub sends a
    place, each site its noisy number of rows below it. Matching pursuit: each site sends the
    function that it would choose, the hub takes the one with most votes (the first of equals)
    and sends it back, each site sends its noisy product; the paper does not say how.
    """
    mechanism = method.mechanism
    if isinstance(mechanism, AdaptiveQuantiles):
        return _asked(mechanism, sites, promise, seed)
    if isinstance(mechanism, MatchingPursuit):
        return _voted(mechanism, sites, promise, seed)
    parts = [
        mechanism.release(site, promise, rng=source)
        for site, source in zip(sites, _sources(sites, seed), strict=True)
    ]
    total: Release = sum(parts[1:], parts[0])
    return total, Traffic(1, total.answers.size, 0)


def _sources(sites: Sequence[Summary], seed: int) -> list[RandomSource]:
    return [seeded(1000 * seed + number) for number in range(len(sites))]


def _asked(
    mechanism: AdaptiveQuantiles, sites: Sequence[Summary], promise: Promise, seed: int
) -> tuple[Release, Traffic]:
    sources = _sources(sites, seed)
    domain = sites[0].domain
    held = domain.left.size
    sensitivity = Sensitivity(mechanism.steps, mechanism.steps)
    law = calibrated(promise, sensitivity, kind=mechanism.noise)
    records = [
        part_of(law, promise, sensitivity, site.people, source=source)
        for site, source in zip(sites, sources, strict=True)
    ]
    noise = sum(law.draw(mechanism.steps, source) for source in sources)
    # The hub only sees sums, so summing first gives the same answers to the same questions.
    counts = np.sum([site.counts[:held] for site in sites], axis=0)
    answers = noisy_answers(
        np.append(0, np.cumsum(counts)),
        np.asarray(noise),
        people=sum(site.people for site in sites),
        guarded=mechanism.guarded,
    )
    release = Release(mechanism, domain, np.array(answers), records)
    return release, Traffic(len(answers), len(answers), len(answers))


def _voted(
    mechanism: MatchingPursuit, sites: Sequence[Summary], promise: Promise, seed: int
) -> tuple[Release, Traffic]:
    sources = _sources(sites, seed)
    domain = sites[0].domain
    dictionary = mechanism.curves(domain)
    plan = mechanism.plan(domain, promise)
    records = [
        Part(f"{number:032x}", promise, plan.record, plan.loss, site.people)
        for number, site in enumerate(sites)
    ]
    exact = [dictionary.products @ site.counts for site in sites]
    shares = np.array([site.people for site in sites]) / sum(site.people for site in sites)
    chosen: list[int] = []
    answers: list[int] = []
    for _ in range(mechanism.terms):
        explained = _explained(dictionary, chosen, answers)
        free = np.setdiff1d(np.arange(mechanism.atoms), chosen)
        votes = np.zeros(mechanism.atoms, dtype=np.int64)
        for own, share, source in zip(exact, shares, sources, strict=True):
            scores = np.abs(own - np.rint(share * explained).astype(np.int64))[free]
            votes[free[plan.choose(scores, source)]] += 1
        atom = int(np.argmax(votes))
        noise = [int(plan.weight_noise(atom).draw(1, source)[0]) for source in sources]
        chosen.append(atom)
        answers.append(sum(int(own[atom]) for own in exact) + sum(noise))
    release = Release(mechanism, domain, np.array(answers), records, {"atoms": chosen})
    # A vote and a product a term; the chosen function and the sum of products come back.
    return release, Traffic(2 * mechanism.terms, 2 * mechanism.terms, 2 * mechanism.terms)


def _explained(
    dictionary: Dictionary, chosen: list[int], answers: list[int]
) -> np.ndarray[Any, np.dtype[np.float64]]:
    if not chosen:
        return np.zeros(dictionary.gram.shape[0])
    weights = triangular(dictionary.gram, chosen) @ answers
    return np.asarray(weights @ dictionary.gram[chosen])


def after_rounds(
    method: Method, rounds: Sequence[Summary], promise: Promise, *, seed: int
) -> Release:
    """Return what is published after the last round of newly collected people.

    Linear mechanisms release each round once and add. The adaptive ones start again over all
    people in every round, so each run may only spend its share: a tenth of epsilon or of rho for
    ten rounds, or a root of ten of mu. Only the last run is published here.
    """
    mechanism = method.mechanism
    if isinstance(mechanism, RunningPrefixSums):
        return _running(mechanism, rounds, promise, _sources(rounds, seed))
    if mechanism.linear:
        return from_sites(method, rounds, promise, seed=seed)[0]
    everyone: Summary = sum(rounds[1:], rounds[0])
    share = shared(method, promise, len(rounds), everyone.domain)
    return mechanism.release(everyone, share, rng=seeded(1000 * seed))


def _running(
    mechanism: RunningPrefixSums,
    rounds: Sequence[Summary],
    promise: Promise,
    sources: Sequence[RandomSource],
) -> Release:
    """Return the release after the last round, paid for by a ledger that is not kept."""
    loss, paid = mechanism.loss(rounds[0].domain, promise), secrets.token_hex(16)
    guarantee = promise.guarantee(loss)
    with TemporaryDirectory() as folder:
        ledger = LedgerFile(Path(folder) / "budget.json")
        ledger.create(guarantee)
        with ledger.paying("rounds", guarantee, loss=loss, release=paid, rounds=mechanism.rounds):
            release = mechanism.release(rounds[0], promise, rng=sources[0], identifier=paid)
        for number in range(1, len(rounds)):
            release = mechanism.following(
                release, rounds[:number], rounds[number], ledger=ledger, rng=sources[number]
            )
    return release


def shared(method: Method, promise: Promise, runs: int, domain: Domain) -> Promise:
    """Return the promise of one of several runs over the same people."""
    assert promise.epsilon is not None
    if promise.pure:
        return replace(promise, epsilon=promise.epsilon / runs)
    if isinstance(method.mechanism, MatchingPursuit):
        # What the whole promise buys at once, in zero-concentrated privacy, cut into equal parts.
        whole = method.mechanism.loss(domain, promise).rho
        return Promise(
            promise.neighbours, rho=Fraction(float(whole) / runs).limit_denominator(10**9)
        )
    scale = calibrated(promise, Sensitivity(1, 1), kind="normal").scale
    squared = 1 / (scale**2 * runs)
    # Rounded down, so that all runs together keep the promise.
    return Promise(promise.neighbours, mu=Fraction(math.isqrt(math.floor(squared * 2**80)), 2**40))


def running(rounds: int) -> Method:
    """Return prefix sums that are square-root factored over rounds as well."""
    return Method(RunningPrefixSums(rounds), decoder=StepPursuit(band=False))


def multiplier(summaries: Sequence[Summary], promise: Promise) -> dict[str, float]:
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
