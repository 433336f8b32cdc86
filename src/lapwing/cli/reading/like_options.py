"""``--like``: a public column to plan for, and the mixture components that suit it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lapwing.cli.console import Output, grid
from lapwing.cli.option_groups import option
from lapwing.cli.reading.column_options import PopulationOptions, is_result
from lapwing.errors import ArgumentError, DomainError, MismatchError
from lapwing.linear.arrays import Vector
from lapwing.planning.label_recommendation import LABEL_LIMIT
from lapwing.planning.question_design import question_design
from lapwing.planning.recommendation import masses_on
from lapwing.privacy.exact_numbers import ExactNumber, exact_epsilon
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.domains.domain_text import domain_text
from lapwing.protocol.domains.product import Product
from lapwing.questions import read_questions
from lapwing.randomizers.categorical.asked_labels import AskedLabels
from lapwing.randomizers.numerical.multiscale_wave import MultiscaleWave
from lapwing.results.distribution import Distribution
from lapwing.results.rounding import count_text, exact_text, percent

if TYPE_CHECKING:
    from rich.table import Table


FEW = 30
"""Values for each bin below which a table is warned of: of a smooth column of 64 and 256 bins the
components suited spikes with 2 values for a bin and less, were the default mixture with 8 to 30,
and those of the column itself from 80 on."""

_TREATMENT = ("outside", "missing")
"""What a domain does with values that have no bin: two with the same bins may differ in it."""


@dataclass(frozen=True, kw_only=True)
class LikeOptions(PopulationOptions):
    """The options that name a public column: a result, a table of values, or one of counts."""

    like: Path | None = option(
        "Plan for a column like this one. FILE is a stored result or release (.json) on the same "
        "bins, or a table of values (- is standard input, CSV). FILE must be public, such as last "
        "year's published answer. The plan is not private and reveals FILE, so never name the "
        "values of the people to be protected.",
        "FILE",
    )

    def masses(self, domain: Domain, out: Output, *, moved: object = False) -> Vector | None:
        """Return what the column holds of each symbol: float64 [domain.size]. None without one.

        moved: Whether a result on other bins is moved to these, which questions have chosen.

        Raises
        ------
        ArgumentError
            When a column is not there, or the domain is too large for a distribution.
        DomainError
            With the row of the first value that is not legal. When there is none.
        FormatError
            When the file is no result, no release and no table.
        MismatchError
            When a result is on other bins.
        """
        self.check_table(self.like, option="like")
        if self.like is None:
            return None
        if domain.size > LABEL_LIMIT:
            raise ArgumentError(
                f"--like is not supported for {domain.size} values. Leave it out, or declare at "
                f"most {LABEL_LIMIT} values"
            )
        if is_result(self.like):
            from lapwing.cli.reading.stored_answers import read_result  # slow to import

            found = read_result(self.like)
            masses = masses_on(found, domain) if moved else _on(found, domain, name=self.like.name)
        else:
            masses = self.people(self.like, domain, out, what="like").astype(np.float64)
        present = np.delete(masses, [] if domain.missing_index is None else domain.missing_index)
        if present.sum() <= 0:
            raise DomainError(f"{self.like} must contain at least one value, but it has none")
        inside = _inside_of(domain)
        bins = inside.stop - inside.start
        if domain.ordered and not is_result(self.like) and present.sum() < FEW * bins:
            values = count_text(int(present.sum()))
            out.warn(
                f"{self.like} has {values} values for {bins} bins. With fewer than {FEW} per "
                "bin, the plan may mistake chance for point masses"
            )
        return masses


def asked_domain(
    domain: Domain, epsilon: ExactNumber | None, ask: Sequence[str] | None, users: int | None
) -> Domain:
    """Return a domain with the bins that its questions choose, where it has none."""
    if not ask:
        return domain
    if isinstance(domain, Product):
        raise ArgumentError(
            "ask", "is for one attribute. Leave it out for pairs, and ask the result"
        )
    asked, exact = read_questions(ask), exact_epsilon(epsilon or 0)
    return question_design(domain, exact, asked, users=users or 1).domain


def _on(result: Distribution, domain: Domain, *, name: str) -> Vector:
    """Return a result's masses in the symbols of a domain of the same bins.

    A release counts missing values where a survey may refuse them: they are left out, or nobody's.
    Values outside are what the domain makes of them: counted apart, in the end bins, or left out.
    """
    if _bins_of(result.domain) != _bins_of(domain):
        raise MismatchError(
            f"{name} must have the domain asked about, {domain_text(domain)}, but it has "
            f"{domain_text(result.domain)}. Use that domain, or give a table of values, which "
            "fits any domain"
        )
    masses: Vector = np.zeros(domain.size)
    inside, found = _inside_of(domain), _inside_of(result.domain)
    masses[inside] = result.mass[found]
    ends = domain.outside_indices
    if domain.open_ended:
        ends = [inside.start, inside.stop - 1]
    for end, beyond in zip(ends, result.domain.outside_indices, strict=False):
        masses[end] += result.mass[beyond]
    if domain.missing_index is not None and result.domain.missing_index is not None:
        masses[domain.missing_index] = result.mass[result.domain.missing_index]
    return masses


def _inside_of(domain: Domain) -> slice:
    """Return the symbols of a domain's bins, without those of missing values and values outside."""
    held = domain.size if domain.missing_index is None else domain.missing_index
    below = len(domain.outside_indices) // 2
    return slice(below, held - below)


def _bins_of(domain: Domain) -> dict[str, Any]:
    document: dict[str, Any] = domain.to_document()
    return {key: value for key, value in document.items() if key not in _TREATMENT}


def is_default_mixture(randomizer: MultiscaleWave) -> bool:
    """Return whether the components are those of a randomizer that is given none."""
    return randomizer == MultiscaleWave(randomizer.domain, randomizer.epsilon)


def components_text(randomizer: MultiscaleWave, *, chosen_by: str) -> str:
    """Return how the mixture components were chosen."""
    if is_default_mixture(randomizer):
        return "the default mixture: no other mixture lowers the expected error by 3% or more"
    return f"chosen by {chosen_by}"


def components_table(randomizer: MultiscaleWave | AskedLabels) -> Table:
    """Return the table of the mixture components: a row for each."""
    parts: list[tuple[str, Any, float]]
    if isinstance(randomizer, AskedLabels):
        parts = [("asked labels", len(randomizer.labels) + 1, randomizer.share)]
        if randomizer.share < 1:
            parts.append(("all labels", randomizer.domain.size, 1 - randomizer.share))
    else:
        parts = [*(randomizer.components or ())]
    rows = [
        [kind, exact_text(len(size) if isinstance(size, tuple) else size), percent(share)]
        for kind, size, share in parts
    ]
    return grid("mixture components", ["component", "width or cells", "people"], rows)
