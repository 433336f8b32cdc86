"""Every mechanism of the registry against its neighbors, without knowing any."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import lapwing as lw
from lapwing.errors import LapwingError
from lapwing.privacy.promise import Promise
from lapwing.survey.publication import MECHANISMS
from lapwing.testing import reproducible
from tests.adversary.coupling import WORDS_OF_AN_IDENTIFIER, Found, Tape, costs, delta_of
from tests.adversary.knobs import instances
from tests.adversary.neighbors import DOMAINS, RELATIONS, neighbors

ROUNDING = 1 + 1e-9
PROMISES = ({"epsilon": 1}, {"epsilon": 1, "delta": "1e-6"})
OTHER_PROMISES = ({"epsilon": 3, "delta": "1e-3"}, {"mu": "0.5"}, {"rho": "0.1"})
"""Tried less often. No number is 1, where a square or a root that was forgotten would not show."""


def suitable(
    made: type[Any], *, most: int, relation: str, promises: Sequence[dict[str, Any]] = PROMISES
) -> Iterator[tuple[Any, Any, Promise]]:
    """Yield instances with a small domain and a promise that they accept."""
    for mechanism in instances(made, most=most):
        for domain in (domain.for_curator() for domain in DOMAINS):
            for stated in promises:
                promise = Promise(relation, **stated)
                try:
                    mechanism.check(domain)
                    mechanism.loss(domain, promise)
                except LapwingError:
                    continue
                yield mechanism, domain, promise


def shown_of(release: Any, tape: Tape) -> list[int]:
    """Return the noisy numbers of a release; the tape keeps the rest of its document."""
    document = release.to_document()
    numbers = [int(number) for number in document.pop("answers")]
    for part in document["parts"]:
        del part["identifier"]
    tape.shown.append((len(numbers), document))
    return numbers


def one_release(mechanism: Any, domain: Any, promise: Promise) -> Any:
    """Return a run that releases one table."""

    def run(counts: np.ndarray, tape: Tape) -> list[int]:
        release = mechanism.release(lw.protocol.ExactCounts(domain, counts), promise, rng=tape)
        assert tape.words_drawn <= WORDS_OF_AN_IDENTIFIER, "randomness that nobody recorded"
        return shown_of(release, tape)

    return run


def two_releases(mechanism: Any, domain: Any, promise: Promise) -> Any:
    """Return a run that releases two tables: two releases, or two rounds of one."""

    def run(tables: tuple[np.ndarray, np.ndarray], tape: Tape) -> list[int]:
        held = [lw.protocol.ExactCounts(domain, counts) for counts in tables]
        if not hasattr(mechanism, "following") or mechanism.rounds < 2:
            shown = [mechanism.release(each, promise, rng=tape) for each in held]
            return [number for release in shown for number in shown_of(release, tape)]
        with tempfile.TemporaryDirectory() as folder:
            ledger = lw.Ledger.open(Path(folder) / "ledger.json")
            loss = mechanism.loss(domain, promise)
            lw.Ledger(promise.guarantee(loss)).save(ledger.path)
            # A ledger pays for no release that was drawn from a source of one's own.
            with reproducible(tape):
                first = lw.release(
                    held[0],
                    neighbors=promise.neighbors,
                    epsilon=promise.epsilon,
                    delta=promise.delta,
                    mechanism=mechanism,
                    ledger=ledger,
                ).release
                both = mechanism.following(first, held[:1], held[1], ledger=ledger)
            return shown_of(both, tape)

    return run


def over_promise(found: Found, promise: Promise, loss: Any) -> float:
    """Return how far a cost is over what was charged, and over the promise itself."""
    over = found.over(loss)
    if promise.epsilon is not None and not loss.rho:
        if promise.delta and found.mu_squared and not found.epsilon:
            if np.isinf(found.mu_squared):
                return over
            spent = delta_of(float(promise.epsilon), found.mu_squared)
            # Only which side it is on counts; the size is that of the charge.
            assert over > 1 or spent <= float(promise.delta) * ROUNDING
        elif not found.mu_squared:
            over = max(over, found.epsilon / float(promise.epsilon))
    if promise.mu is not None:
        over = max(over, np.inf if found.epsilon else found.mu_squared / float(promise.mu) ** 2)
    if promise.rho is not None:
        over = max(over, (found.rho + found.mu_squared / 2) / float(promise.rho))
    return over


def worst_of(
    mechanism: Any, domain: Any, promise: Promise, *, tries: int = 1, most_rest: int = 1
) -> float:
    """Return the largest cost of an output of two neighbors, as a share of the charge."""
    rng = np.random.default_rng(1)
    run = one_release(mechanism, domain, promise)
    loss = mechanism.loss(domain, promise)
    pairs = neighbors(domain.size, promise.neighbors, most_rest=most_rest)
    tried = (pair for pair in pairs for _ in range(tries))
    return max(over_promise(found, promise, loss) for found in costs(run, tried, rng))


def worst_of_second(mechanism: Any, domain: Any, promise: Promise) -> float:
    """Return that of two releases of which only the second holds the row that changes."""
    rng = np.random.default_rng(2)
    run = two_releases(mechanism, domain, promise)
    loss = mechanism.loss(domain, promise)
    pairs = neighbors(domain.size, promise.neighbors, most_rest=0)[-2:]
    tried = [((np.ones_like(a), a), (np.ones_like(a), c)) for a, c in pairs]
    return max(over_promise(found, promise, loss) for found in costs(run, tried, rng))


def worst_of_all(name: str, *, most: int) -> tuple[float, Any]:
    """Return the worst share of the charge of a mechanism's instances, with where it was found.

    Of few instances only the first that suits a domain and a promise meets tables with other rows;
    with adaptive quantiles all do, because the first one asks too little to show an error there.
    """
    worst: tuple[float, Any] = (0.0, None)
    met: list[Any] = []
    for relation in RELATIONS:
        for case in suitable(MECHANISMS[name], most=most, relation=relation):
            rest = int(most > 1 or name == "adaptive-quantiles" or case[1:] not in met)
            met.append(case[1:])
            try:
                found = worst_of(*case, most_rest=rest)
                worst = max(worst, (found, case), key=lambda found: found[0])
            except LapwingError as error:
                raise AssertionError(f"charged, and then refused: {case}") from error
    return worst
