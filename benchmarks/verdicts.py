"""Whether what a paper says holds here: one rule for every claim.

A claim speaks of cells, say one column at one epsilon each. In a cell it says that one number is
less than others; the repeats measured all of them on the same people, so the cell is judged by the
mean of the paired differences in units of its own standard error (as many standard errors of a
normal law as Student's law gives the same chance, for a few repeats err more than many).

=============  =====================================================================================
contradicted   a cell fails it by more than 2.5 standard errors, raised so that a claim of many
               comparisons is wrongly contradicted as seldom as one of a single comparison
               (Bonferroni); a claim about *most* cells: half of them or more fail it by 2
mostly holds   a cell fails it so, or by 2 standard errors, but at least 95% of the cells meet it
               by 2
holds          no cell fails it by 2 standard errors, and more than half of them meet it by 2;
               a claim about *most* cells: more than half meet it by 2
undecided      the rest
=============  =====================================================================================

Words such as "similar" state no limit, so we choose one. A cell that misses our limit fails the
claim only where it misses one half as far again, and nearly fails it between both
(:func:`loosely`).

Between 2 and 2.5 lies a zone of *undecided*: with one limit for both, a cell near it would turn a
sentence from *holds* to *contradicted* with the seed.

What is no comparison of two means ("the best width does not fall") is judged by repeats drawn anew
from those measured (the bootstrap): the share of draws in which it fails takes the place of the
chance that Student's law gives.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from scipy import special

HOLDS, CONTRADICTED, UNDECIDED = "holds", "contradicted", "undecided"
MOSTLY = "mostly holds"
IN_SOME = "contradicted in some readings"
NOT_MEASURED = "not measured"
VERDICTS = (HOLDS, MOSTLY, CONTRADICTED, IN_SOME, UNDECIDED, NOT_MEASURED)
"""Of a sentence; a single reading is never contradicted in some readings only."""

LIMIT = 2.0
"""Standard errors beyond which a difference is one."""

AGAINST = 2.5
"""Standard errors beyond which one cell contradicts a claim of every cell."""

NEARLY_ALL = 0.95
"""Share of the cells that must meet a claim of every cell where a few fail it."""

WIDER = 1.5
"""How many times as far a limit of ours reaches before a cell fails a word without a number."""

DRAWS = 4000
"""Bootstrap draws of a statement that is no comparison of two means."""


@dataclass(frozen=True)
class Cell:
    """What one cell says of a claim.

    Parameters
    ----------
    toward : float
        Standard errors by which the claim is met; negative, by which it fails. May be infinite,
        where nothing is left to chance.
    comparisons : int
        Of how many comparisons `toward` is the least.
    between : bool
        Whether it misses a limit that we chose for a word, and not one half as far again.
    """

    toward: float
    comparisons: int = 1
    between: bool = False

    @property
    def met(self) -> bool:
        """Whether the claim is met beyond the limit."""
        return self.toward > LIMIT

    @property
    def failed(self) -> bool:
        """Whether it fails beyond the limit, for one look at one cell."""
        return self.toward < -_raised(self.comparisons) and not self.between


def less(ours: Sequence[float], theirs: Iterable[Sequence[float]], *, factor: float = 1.0) -> Cell:
    """Return whether the mean of some repeats is less than `factor` times that of each of others.

    Parameters
    ----------
    ours, theirs : sequences of float
        One number per repeat, in the same order of repeats.

    Raises
    ------
    ValueError
        With nothing to compare with, or with series of another length.
    """
    own = np.asarray(ours, dtype=float)
    others = [np.asarray(other, dtype=float) for other in theirs]
    if any(other.shape != own.shape for other in others):
        raise ValueError("what is compared must have one number for each of the same repeats")
    towards = [_standard_errors(factor * other - own) for other in others]
    if not towards:
        raise ValueError("there is nothing to compare with")
    return Cell(min(towards), len(towards))


def near(ours: Sequence[float], value: float, *, tolerance: float) -> Cell:
    """Return whether the mean of some repeats is within a tolerance of a value."""
    own = np.asarray(ours, dtype=float)
    above, below = (
        _standard_errors(value + tolerance - own),
        _standard_errors(own - value + tolerance),
    )
    return Cell(min(above, below), 2)


def loosely(judge: Callable[[float], Cell], *, beyond: float) -> Cell:
    """Return the cell of a word without a number, such as "similar", under a limit of ours.

    Parameters
    ----------
    judge : callable
        Returns the cell under a limit that reaches so far.
    beyond : float
        How far our limit reaches: 0.2 for a factor of 1.2, or for 20%.
    """
    cell = judge(beyond)
    if not cell.failed:
        return cell
    wider = judge(WIDER * beyond)
    return wider if wider.failed else replace(cell, between=True)


def nearly(ours: Sequence[float], value: float, *, tolerance: float) -> Cell:
    """Return whether a mean is near a value, by a tolerance that we chose for a word."""
    return loosely(lambda beyond: near(ours, value, tolerance=beyond), beyond=tolerance)


def resampled(
    holds: Callable[[Mapping[str, float]], bool], series: Mapping[str, Sequence[float]]
) -> Cell:
    """Return whether a statement about means holds, from draws of the measured repeats.

    Parameters
    ----------
    holds : callable
        Takes the mean of every series, says yes or no.
    series : mapping
        Name -> one number per repeat. Series of one length are of the same people and are drawn
        together.
    """
    rng = np.random.default_rng(1)
    values = {name: np.asarray(kept, dtype=float) for name, kept in series.items()}
    chosen = {
        size: rng.integers(size, size=(DRAWS, size))
        for size in sorted({v.size for v in values.values()})
    }
    if any(np.isnan(kept).any() for kept in values.values()):
        return Cell(math.nan)
    means = [kept[chosen[kept.size]].mean(axis=1) for kept in values.values()]
    # All numbers of Python at once: to take each from its array is most of the time of the pages.
    yes = sum(
        bool(holds(dict(zip(values, drawn, strict=True))))
        for drawn in np.column_stack(means).tolist()
    )
    # Half a draw is added to each side: from so many draws nothing is known for certain.
    return Cell(float(special.ndtri((yes + 0.5) / (DRAWS + 1))))


def both(cells: Sequence[Cell]) -> Cell:
    """Return the cell of a statement that needs all of some: the least of them."""
    return Cell(min(cell.toward for cell in cells), sum(cell.comparisons for cell in cells))


def some(cells: Sequence[Cell]) -> Cell:
    """Return the cell of "in at least one of these", "it may": the best of them.

    The best of many looks good by chance, so its chance is multiplied by their number; the
    statement fails only where all of them fail.
    """
    best = max(cell.toward for cell in cells)
    if best <= 0 or math.isinf(best):
        return Cell(best)
    chance = min(len(cells) * float(special.ndtr(-best)), 0.5)
    return Cell(-float(special.ndtri(chance)))


def certain(holds: bool) -> Cell:
    """Return the cell of a statement about numbers without any noise."""
    return Cell(math.inf if holds else -math.inf)


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper and the cells that speak of it.

    Parameters
    ----------
    text : str
        The sentence, in the paper's sense.
    cells : sequence of Cell
    evidence : str
        The numbers behind it, for a reader.
    most : bool
        Whether it is said of most cells ("generally", "in most cases") and not of every one.
    where : str
        The place in the paper: "figure 2", "section 6.2".
    form : str
        Which of several readings of the sentence was measured: "SW-EM, B-R". Its readings are one
        sentence.
    arithmetic : bool
        Whether it follows from formulas alone, so that no stand-in for the paper's data enters.
    """

    text: str
    cells: Sequence[Cell]
    evidence: str = ""
    most: bool = False
    where: str = ""
    form: str = ""
    arithmetic: bool = False

    @property
    def verdict(self) -> str:
        """Return one of `VERDICTS` but `IN_SOME`: `NOT_MEASURED` without cells."""
        if not self.cells:
            return NOT_MEASURED
        met, failed, nearly = self.counts
        if self.most and 2 * failed >= len(self.cells):
            return CONTRADICTED
        if not self.most and (failed or nearly):
            if met >= NEARLY_ALL * len(self.cells):
                return MOSTLY
            return CONTRADICTED if failed else UNDECIDED
        return HOLDS if 2 * met > len(self.cells) else UNDECIDED

    @property
    def counts(self) -> tuple[int, int, int]:
        """Return how many cells meet it, fail it, and nearly fail it.

        A cell fails a claim of every cell beyond :data:`AGAINST` raised for all its comparisons,
        as the verdict says; beyond the limit of the cell alone, or between two limits of a word
        without a number, it nearly does.
        """
        met = sum(cell.met for cell in self.cells)
        failed = sum(cell.failed for cell in self.cells)
        if self.most:
            return met, failed, 0
        bound = _raised(sum(cell.comparisons for cell in self.cells), AGAINST)
        beyond = sum(cell.failed and cell.toward < -bound for cell in self.cells)
        return met, beyond, failed - beyond + sum(cell.between for cell in self.cells)

    @property
    def reading(self) -> str:
        """The sentence, and which reading of it was measured."""
        return f"{self.text} ({self.form})" if self.form else self.text

    def line(self) -> str:
        """Return the sentence, its verdict and the count of cells, as a line of a list."""
        return f"- *{self.text}* {self.counted()}"

    def counted(self) -> str:
        """Return the reading, its verdict and the count of cells."""
        form = f"({self.form}) " if self.form else ""
        if not self.cells:
            return f"{form}**Not measured.** {self.evidence}".rstrip()
        met, failed, nearly = self.counts
        counts = f"met in {met} of {len(self.cells)} cells, failed in {failed}"
        counts += f", nearly failed in {nearly}" if nearly else ""
        return f"{form}**{self.verdict.capitalize()}** ({counts}). {self.evidence}".rstrip()


@dataclass(frozen=True)
class Sentence:
    """A sentence of a paper with all readings of it that were measured: counted once."""

    claims: Sequence[Claim]

    @property
    def verdict(self) -> str:
        """Return the verdict that all readings share; else what stands in every paper's index.

        `IN_SOME` where some readings are contradicted and others are not, `MOSTLY` where all hold
        or mostly hold, and `UNDECIDED` where none is contradicted and not all hold.
        """
        each = {claim.verdict for claim in self.claims} - {NOT_MEASURED}
        if each == {HOLDS, MOSTLY}:
            return MOSTLY
        if len(each) > 1:
            return IN_SOME if CONTRADICTED in each else UNDECIDED
        return each.pop() if each else NOT_MEASURED

    def line(self) -> str:
        """Return the sentence and its verdict as a line of a list, its readings below it."""
        if len(self.claims) == 1:
            return self.claims[0].line()
        lines = [f"- *{self.claims[0].text}* **{self.verdict.capitalize()}**, of these readings:"]
        return "\n".join([*lines, *(f"    - {claim.counted()}" for claim in self.claims)])


def sentences(claims: Iterable[Claim]) -> list[Sentence]:
    """Return the sentences of some claims of one paper: those of one place with one text."""
    grouped: dict[tuple[str, str], list[Claim]] = {}
    for claim in claims:
        grouped.setdefault((claim.where, claim.text), []).append(claim)
    return [Sentence(group) for group in grouped.values()]


@cache
def _raised(comparisons: int, limit: float = LIMIT) -> float:
    """Return the limit at which so many comparisons together err as seldom as one at `limit`."""
    return float(-special.ndtri(special.ndtr(-limit) / comparisons))


def _standard_errors(differences: np.ndarray) -> float:
    """Return the mean of differences in its standard errors, as of a normal law."""
    repeats, mean = differences.size, float(differences.mean())
    if repeats < 2:
        return 0.0  # one repeat says nothing of its own error
    error = float(differences.std(ddof=1)) / math.sqrt(repeats)
    if error <= 1e-12 * abs(mean) or error == 0:
        return math.copysign(math.inf, mean) if mean else 0.0
    student = mean / error
    chance = float(special.stdtr(repeats - 1, -abs(student)))
    return math.copysign(-float(special.ndtri(chance)) if chance else math.inf, student)
