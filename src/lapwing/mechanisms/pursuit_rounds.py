"""The rounds of matching pursuit: what is chosen, what is released, what is left to explain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from lapwing.linear.dictionaries import Dictionary
from lapwing.mechanisms.exponential_mechanism import exponential_mechanism, noisy_maximum
from lapwing.privacy.gaussian_dp import scale_up
from lapwing.privacy.integer_noise import Noise
from lapwing.privacy.privacy_loss import PrivacyLoss
from lapwing.privacy.sampling.randomness import RandomSource, iterate

LARGEST_RESIDUAL = 2**61
"""Bound of what the chosen functions explain: with the products of 2^40 rows it is below 2^62."""


@dataclass(frozen=True)
class Plan:
    """The noise of every round.

    Parameters
    ----------
    rounds : int
    selection : Fraction
        Scale of the noise of the scores.
    gumbel : bool
        Whether it is Gumbel noise; otherwise discrete Laplace.
    record : Noise
        Of a weight whose function has the largest own range; others have it in proportion.
    ranges : tuple of int or None
        Own ranges of all functions; None for the same noise in every weight.
    loss : PrivacyLoss
        Of all rounds.
    """

    rounds: int
    selection: Fraction
    gumbel: bool
    record: Noise
    ranges: tuple[int, ...] | None
    loss: PrivacyLoss

    def check(self) -> None:
        """Raise PrivacyError unless all noise that a release may need can be drawn."""
        # Gumbel noise is drawn by coins that bound the same parts of a scale as Laplace noise.
        Noise("laplace", self.selection).check()
        for atom in range(1 if self.ranges is None else len(self.ranges)):
            self.weight_noise(atom).check()

    def choose(self, scores: NDArray[np.int64], source: RandomSource) -> int:
        """Return the place of a large score, chosen privately."""
        if self.gumbel:
            return exponential_mechanism(scores, self.selection, iterate(source))
        return noisy_maximum(scores, Noise("laplace", self.selection).draw(scores.size, source))

    def weight_noise(self, atom: int) -> Noise:
        """Return the noise of one function's weight."""
        if self.ranges is None:
            return self.record
        share = Fraction(self.ranges[atom], max(self.ranges))
        return Noise(self.record.kind, scale_up(float(self.record.scale * share) * (1 + 2.0**-50)))


def pursue(
    exact: NDArray[np.int64],
    dictionary: Dictionary,
    *,
    terms: int,
    plan: Plan | None = None,
    source: RandomSource | None = None,
    again: bool = False,
) -> tuple[list[int], list[int]]:
    """Return the chosen functions and their products with the data, times UNIT.

    Parameters
    ----------
    exact : numpy.ndarray
        int64 [atoms]: exact products with the data, times UNIT.
    dictionary : Dictionary
    terms : int
        Functions to choose.
    plan : Plan, optional
        None: without noise and without privacy, for reference curves.
    source : RandomSource, optional
        Needed with a plan.
    again : bool
        Whether a function may be chosen again; then its weights add.

    Notes
    -----
    The residual's products follow from the released products and the Gram matrix, which are
    public, so only the choice and the new product are paid for.
    """
    gram = dictionary.gram
    chosen: list[int] = []
    answers: list[int] = []
    explained = np.zeros(exact.size, dtype=np.int64)
    for _ in range(terms):
        free = free_atoms(exact.size, chosen, again=again)
        scores = np.abs(exact - explained)[free]
        noise = 0
        if plan is None:
            atom = int(free[np.argmax(scores)])
        else:
            assert source is not None
            atom = int(free[plan.choose(scores, source)])
            noise = int(plan.weight_noise(atom).draw(1, source)[0])
        chosen.append(atom)
        answers.append(int(exact[atom]) + noise)
        explained = explained_by(gram, chosen, answers)
    return chosen, answers


def explained_by(
    gram: NDArray[np.float64], chosen: list[int], answers: list[int]
) -> NDArray[np.int64]:
    """Return what the chosen functions explain of all products: int64 [atoms].

    It is public, and any whole numbers would be as private; but a wrapped difference would break
    the bound on how far one row moves what is left, so they stay below LARGEST_RESIDUAL.
    """
    if not chosen:
        return np.zeros(gram.shape[0], dtype=np.int64)
    with np.errstate(over="ignore", invalid="ignore"):
        weights = triangular(gram, chosen) @ answers
        explained = np.nan_to_num(np.rint(weights @ gram[chosen]))
    return explained.clip(-LARGEST_RESIDUAL, LARGEST_RESIDUAL).astype(np.int64)


def free_atoms(atoms: int, chosen: Sequence[int], *, again: bool) -> NDArray[np.int64]:
    """Return the functions that may be chosen next: int64 [up to atoms], increasing."""
    every = np.arange(atoms, dtype=np.int64)
    return every if again else np.setdiff1d(every, chosen)


def triangular(gram: NDArray[np.float64], chosen: list[int]) -> NDArray[np.float64]:
    """Return the matrix from products with the data to weights.

    A function's weight is its product with what those before it have left over.
    """
    before = np.tril(gram[np.ix_(chosen, chosen)], -1)
    weights: NDArray[Any] = solve_triangular(
        before, np.eye(len(chosen)), lower=True, unit_diagonal=True
    )
    return weights
