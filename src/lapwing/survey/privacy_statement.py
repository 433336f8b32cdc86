"""Privacy cost of several surveys or rounds to one person, in plain words."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from lapwing.errors import ArgumentError
from lapwing.privacy.exact_numbers import check_whole_field, epsilon_text
from lapwing.privacy.guarantee import Guarantee
from lapwing.privacy.ledger import Ledger
from lapwing.privacy.ledger_entry import MOST_ROUNDS
from lapwing.randomizers.categorical.rappor import Rappor
from lapwing.results.rounding import level_text
from lapwing.results.weak_parameters import PRIORS, belief_text
from lapwing.survey.survey import Survey


@dataclass(frozen=True)
class Participation:
    """A survey that a person answers, and how often.

    rounds: Reports of the person, in 1..10,000.
    """

    survey: Survey
    rounds: int = 1

    def __post_init__(self) -> None:
        """Check the number of rounds."""
        check_whole_field(self, "rounds", low=1, high=MOST_ROUNDS)

    @property
    def cost(self) -> Guarantee:
        """Privacy cost of all rounds together.

        Reports made afresh add up. A memoized report costs once, however often it is sent.
        RAPPOR's reports come from the permanent round of the first value and cost at most its
        lifetime.
        """
        randomizer = self.survey.randomizer
        if self.survey.answers == "remembered report":
            return replace(self.survey.guarantee, lifetime=None)
        if isinstance(randomizer, Rappor):
            together = randomizer.charge(self.rounds)
            assert together is not None
            return together
        one = self.survey.guarantee
        return Guarantee(one.epsilon * self.rounds, one.delta * self.rounds, "replace-one", "local")


def person_ledger(asked: Sequence[Participation], budget: Guarantee) -> Ledger:
    """Return the ledger of one person who answers all of them.

    asked: Each survey once.
    budget: The most that one person may spend, declared before anybody is asked.

    Raises BudgetError when the surveys together cost more. Nothing is spent.
    Raises ArgumentError when a survey is named twice: count its rounds instead.

    >>> from lapwing.protocol.domains.interval import Interval
    >>> from lapwing.randomizers.numerical.square_wave import SquareWave
    >>> wave = Survey("age", SquareWave(Interval(0, 100, bins=10), "0.5"))
    >>> budget = Guarantee(Fraction(4), Fraction(0), "replace-one", "local")
    >>> person_ledger([Participation(wave, rounds=6)], budget).spent.epsilon
    Fraction(3, 1)
    """
    ledger = Ledger(budget)
    known: set[str] = set()
    for one in asked:
        if one.survey.fingerprint in known:
            raise ArgumentError(
                f"{one.survey.name!r} is named twice. Name it once, with its number of rounds"
            )
        known.add(one.survey.fingerprint)
        times = "once" if one.rounds == 1 else f"{one.rounds} times"
        ledger = ledger.spend(f"{one.survey.name} ({times})", one.cost)
    return ledger


def statement(asked: Sequence[Participation], ledger: Ledger) -> dict[str, Any]:
    """Return the privacy statement as JSON values: what is asked, and what it can tell at most."""
    spent = ledger.spent
    assert spent is not None
    return {
        "surveys": [
            {
                "name": one.survey.name,
                **({"notice": one.survey.notice} if one.survey.notice else {}),
                "fingerprint": one.survey.fingerprint,
                "randomizer": one.survey.randomizer.name,
                "rounds": one.rounds,
                "epsilon_of_one_report": epsilon_text(one.survey.guarantee.epsilon),
                "epsilon": epsilon_text(one.cost.epsilon),
                **_lifetime(one),
            }
            for one in asked
        ],
        "budget": ledger.budget.to_document(),
        "spent": spent.to_document(),
        "odds_factor": _factor(spent.epsilon),
        "text": [*_sentences(asked, ledger)],
    }


def _lifetime(one: Participation) -> dict[str, str]:
    lifetime = one.survey.guarantee.lifetime
    return {} if lifetime is None else {"epsilon_of_a_lifetime": epsilon_text(lifetime)}


def _factor(epsilon: Fraction) -> float | None:
    return math.exp(epsilon) if epsilon < 700 else None


def _sentences(asked: Sequence[Participation], ledger: Ledger) -> list[str]:
    spent = ledger.spent
    assert spent is not None
    factor = _factor(spent.epsilon)
    odds = "without a meaningful bound" if factor is None else f"by at most a factor {factor:.3g}"
    told = [
        "Your answers are randomized on your own device before they leave it. Nobody receives "
        "your true answers, not even the collector.",
        "Together, the reports from your device to the surveys listed here change the odds of any "
        f"guess about you {odds}. This holds whatever else is known about you, and however the "
        "reports are analyzed.",
        f"The most that you may be asked to spend is epsilon {float(ledger.budget.epsilon):g}. "
        f"The surveys listed here use {float(spent.epsilon):g} of it.",
    ]
    lifetimes = [
        f"{one.survey.name} {float(one.survey.guarantee.lifetime):g}"
        for one in asked
        if one.survey.answers == "remembered round" and one.survey.guarantee.lifetime is not None
    ]
    kept = [one.survey.name for one in asked if one.survey.answers == "remembered report"]
    if kept:
        told.append(
            f"Your device answers these once and keeps the report: {', '.join(kept)}. It sends "
            "the same report whenever they are asked, even if your answer changes. Further "
            "reports reveal nothing more about it. An observer can see that they come from one "
            "person."
        )
    if lifetimes:
        told.append(
            "For some surveys, your device draws one permanent random version of your first "
            "answer. It keeps this version when your answer changes, so no report depends on a "
            "later answer. All reports from your device to one survey together use at most this "
            f"epsilon, however many there are: {', '.join(lifetimes)}."
        )
    if kept or lifetimes:
        told.append(
            "If your device refuses changed answers, it stops sending when your answer "
            "changes. The factor above does not cover this silence."
        )
    told.append(
        "This covers the reports themselves. It does not cover their delivery: whether, when and "
        "from where they were sent."
    )
    return told


def statement_markdown(asked: Sequence[Participation], ledger: Ledger) -> str:
    """Return the privacy statement in plain words, as Markdown."""
    rows = "\n".join(
        f"| {one.survey.name} | {one.rounds} | {float(one.survey.guarantee.epsilon):g} | "
        f"{float(one.cost.epsilon):g} |"
        for one in asked
    )
    sentences = "\n\n".join(_sentences(asked, ledger))
    notices = "".join(
        f"\n## {_plain(one.survey.name)}\n\n"
        + "".join(f"- {name}: {_plain(text)}\n" for name, text in one.survey.notice.items())
        for one in asked
        if one.survey.notice
    )
    spent = ledger.spent
    assert spent is not None
    beliefs = "\n".join(
        f"| {level_text(prior)} | {belief_text(prior, float(spent.epsilon))} |" for prior in PRIORS
    )
    return (
        f"# What your reports can reveal\n\n{sentences}\n\nAll these reports together can raise "
        "an observer's belief in a statement about you at most this far:\n\n| belief before | "
        f"belief after, at most |\n|---|---|\n{beliefs}\n\n| survey | reports | epsilon of one "
        f"| epsilon of all |\n|---|---|---|---|\n{rows}\n{notices}"
    )


def _plain(text: str) -> str:
    """Return a string that Markdown shows as it is: no markup, link or HTML in it takes effect."""
    return re.sub(r"([\\`*_{}\[\]<>()#+!|~&:@.-])", r"\\\1", text)
