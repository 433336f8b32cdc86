"""The randomizer of a survey's next epoch, chosen by the published answer of the epochs so far."""

from __future__ import annotations

from typing import Any

from lapwing.decoders.empirical_bayes.spectral_prior import SYMBOL_LIMIT
from lapwing.errors import ArgumentError, DomainError, MismatchError
from lapwing.planning.expected_error import USER_LIMIT
from lapwing.planning.planned_parts import planned_parts
from lapwing.privacy.exact_numbers import check_whole
from lapwing.protocol.randomizer import Randomizer
from lapwing.randomizers.numerical.multiscale_wave import MultiscaleWave
from lapwing.results.distribution import Distribution

LEAST = 8
"""Symbols that a multiscale wave needs."""


def next_randomizer(
    randomizer: Randomizer[Any], answer: Distribution, *, users: int | None = None
) -> MultiscaleWave:
    """Return the multiscale wave of least predicted error when both epochs are decoded together.

    Parameters
    ----------
    randomizer : Randomizer
        Of the epoch so far, over numbers. The new one has its domain and its epsilon.
    answer : Distribution
        Of its reports. All of them are counted as if this randomizer had made them; where several
        have, the parts are chosen by a little too much or too little that is known already.
    users : int, optional
        Who will report next; default as many as have.

    Raises
    ------
    ArgumentError
        When the answer is not one of reports, or `users` is out of range.
    DomainError
        When the domain has no order, less than 8 symbols or more than 65,536.
    MismatchError
        When the answer is on another domain.
    """
    domain = randomizer.domain
    if not domain.ordered or not LEAST <= domain.size <= SYMBOL_LIMIT:
        raise DomainError(
            f"the next epoch is chosen for numbers of {LEAST}..{SYMBOL_LIMIT} symbols; ask the "
            "same survey again, and add up the tallies"
        )
    if not isinstance(answer, Distribution):
        raise ArgumentError(
            f"the answer must be a decoded Distribution, got a {type(answer).__name__}"
        )
    if answer.domain.to_document() != domain.to_document():
        raise MismatchError(
            "the answer must be on the domain of the survey; decode its tally at its own bins"
        )
    if answer.guarantee is None or answer.guarantee.model != "local" or answer.reports < 1:
        raise ArgumentError(
            "the next epoch is chosen by the answer of a survey, whose promise is kept: parts "
            "chosen by raw values would tell of them. For a public column see recommend(like=...)"
        )
    if users is None:
        users = answer.reports
    check_whole("users", users, low=1, high=USER_LIMIT, error=ArgumentError)
    parts = planned_parts(
        domain,
        answer.mass,
        epsilon=randomizer.epsilon,
        users=users,
        before=[(randomizer.channel, answer.reports)],
    )
    return MultiscaleWave(domain, randomizer.epsilon, components=parts)
