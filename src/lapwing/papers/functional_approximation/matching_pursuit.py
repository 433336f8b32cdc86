"""Matching pursuit: choose the functions that fit best, one by one, and release their weights.

The exponential mechanism chooses over integer scores, without floating-point numbers.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from lapwing.declared import From, Read
from lapwing.errors import ArgumentError, FormatError, LapwingWarning, PrivacyError
from lapwing.linear.arrays import Vector
from lapwing.linear.function_families import UNIT, Dictionary, independent, orthonormal
from lapwing.linear.memoized import memoized
from lapwing.linear.operators.sums import CurveAnswers
from lapwing.mechanisms.linear_mechanism import check_part
from lapwing.papers.functional_approximation.plain_curves import CurveSum
from lapwing.papers.functional_approximation.pursuit_functions import (
    FAMILIES,
    Part,
    dictionary_of,
    family,
    values_at,
)
from lapwing.privacy.gaussian_dp import scale_up
from lapwing.privacy.integer_noise import Noise, exponential_coin
from lapwing.privacy.privacy_loss import PrivacyLoss, concentrated_epsilon
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import RandomSource, iterate, scalar_below, standing_of
from lapwing.protocol.domains.domain import Domain, check_no_overflow, check_ordered
from lapwing.protocol.messages.exact_counts import ExactCounts
from lapwing.protocol.release import Mechanism, Release, ReleasePart
from lapwing.results.distribution import Distribution


def exponential_mechanism(scores: NDArray[np.int64], scale: Fraction, words: Iterator[int]) -> int:
    """Exponential mechanism over integer scores, exactly (McSherry and Talwar, 2007).

    Index i is returned with probability proportional to ``exp(scores[i] / scale)``. The same
    distribution has the largest score after Gumbel noise of this scale is added to each.

    scores: int64 [candidates].
    scale: Positive.
    words: Random 64-bit words.
    returns: Chosen index.

    **Privacy.** Let the difference of any two scores change by at most R between neighbors. Then
    the log-ratio of the probabilities of any two outcomes changes by at most ``R / scale``, which
    is bounded range. That is ``R / scale`` differentially private and ``(R / scale)^2 / 8``
    zero-concentrated [1]_. The time it takes depends on the scores.

    The mechanism is that of [2]_.

    **Cost.** On average at most as many proposals as candidates.

    .. [1] M. Cesar, R. Rogers, "Bounding, concentrating, and truncating: unifying privacy loss
       composition for data analytics", ALT, 2021.
    .. [2] F. McSherry, K. Talwar, "Mechanism design via differential privacy", FOCS, 2007.
       doi:10.1109/FOCS.2007.66
    """
    largest = int(scores.max())
    gaps = [largest - int(score) for score in scores]
    while True:
        i = scalar_below(words, len(gaps))
        if _exponential_trial(gaps[i] / scale, words):
            return i


def _exponential_trial(exponent: Fraction, words: Iterator[int]) -> bool:
    """Return True with probability ``exp(-exponent)``, for any exponent of at least 0."""
    whole, rest = divmod(exponent, 1)
    # Beyond 2^10 the coins end long before; the loop is short on average anyway.
    for _ in range(int(whole)):
        if not exponential_coin(words, 1, 1):
            return False
    return exponential_coin(words, rest.numerator, rest.denominator)


def noisy_maximum(scores: NDArray[np.int64], noise: NDArray[np.int64]) -> int:
    """Return the index of the largest score plus noise that was drawn before.

    **Privacy.** The noise is discrete Laplace of scale b. Given the noise of the others, an index
    wins when its own noise passes a threshold. The threshold moves by at most R between neighbors,
    so the loss is ``R / b``. For absolute values of residuals R is up to twice the sensitivity of
    one score, which the published matching pursuit overlooks.
    """
    return int(np.argmax(scores + noise))


LARGEST_RESIDUAL = 2**61
"""Bound of what the chosen functions explain: with the products of 2^40 rows it is below 2^62."""


@dataclass(frozen=True)
class PursuitPlan:
    """Noise of every round of a pursuit.

    rounds: Number of rounds.
    selection: Scale of the noise of the scores.
    gumbel: True: Gumbel noise. False: discrete Laplace noise.
    record: Noise of the weight whose function has the largest own range. Others have it in
        proportion.
    ranges: Own ranges of all functions. None: the same noise in every weight.
    loss: Loss of all rounds.
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
    plan: PursuitPlan | None = None,
    source: RandomSource | None = None,
    again: bool = False,
) -> tuple[list[int], list[int]]:
    """Return the chosen functions and their products with the data, times UNIT.

    exact: int64 [atoms]: exact products with the data, times UNIT.
    terms: Functions to choose.
    plan: None: without noise and without privacy, for reference curves.
    source: Needed with a plan.
    again: Whether a function may be chosen again. Then its weights add.

    The residual's products follow from the released products and the Gram matrix, which are
    public. So the loss is that of the choice and of the new product only.
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

    It is public, and any whole numbers would be as private. But a wrapped difference would break
    the bound on how far one row moves the residual. So the numbers stay below LARGEST_RESIDUAL.
    """
    if not chosen:
        return np.zeros(gram.shape[0], dtype=np.int64)
    with np.errstate(over="ignore", invalid="ignore"):
        weights = weight_matrix(gram, chosen) @ answers
        explained = np.nan_to_num(np.rint(weights @ gram[chosen]))
    return explained.clip(-LARGEST_RESIDUAL, LARGEST_RESIDUAL).astype(np.int64)


def free_atoms(atoms: int, chosen: Sequence[int], *, again: bool) -> NDArray[np.int64]:
    """Return the functions that may be chosen next: int64 [up to atoms], increasing."""
    every = np.arange(atoms, dtype=np.int64)
    return every if again else np.setdiff1d(every, chosen)


def weight_matrix(gram: NDArray[np.float64], chosen: list[int]) -> NDArray[np.float64]:
    """Return the matrix from products with the data to weights.

    A function's weight is its product with what those before it have left over.
    """
    before = np.tril(gram[np.ix_(chosen, chosen)], -1)
    weights: NDArray[Any] = solve_triangular(
        before, np.eye(len(chosen)), lower=True, unit_diagonal=True
    )
    return weights


Form = Literal["repaired", "published"]

MOST_SYMBOLS = 1024
MOST_ATOMS = 1000

SELECTION_SHARE = Fraction(35, 100)
"""Part of the budget that choosing gets. The weights get the rest."""


_DICTIONARY = f"one of {', '.join(FAMILIES)}, or a list of functions"


@dataclass(frozen=True)
class MatchingPursuit(Mechanism):
    """Private matching pursuit of the empirical CDF (Tao and Sarwate, 2026).

    It fits the CDF with a few functions from a dictionary, chosen privately.

    Parameters
    ----------
    terms : int
        Number of functions to choose, in 1..64. Default: 6.
    dictionary : str, or sequence
        "legendre" (default), "splines" (of several widths), "normal-curves" or "fourier". Or a
        list of such names and of your own functions, such as CDFs of public data. A function is a
        callable of an array of values of the domain, or its values at the middles of the symbols.
        None may come from the data that are released.
    atoms : int, optional
        Largest number of functions of each named family, in 1..1000. Default: 40 of "legendre" and
        "fourier", 109 of "splines", 400 of "normal-curves".
    degree : int
        Degree of the splines that are not of degree 0, in 0..5. Default: 1.
    orthogonal : bool
        True: the dictionary is orthonormalized first, in its order. A function that is a
        combination of earlier ones is left out. Default: False.
    form : {"repaired", "published"}
        "repaired" (default): Gumbel noise for the choice, and each function's own sensitivity for
        its weight. "published": Laplace noise of one size for both, as in algorithm 2 of the paper.
        There a function may be chosen again, and the loss is up to 1.5 times what the paper states.
    monotone : bool
        True (default): decoding makes the CDF nondecreasing by isotonic regression.

    Raises
    ------
    ArgumentError
        When a parameter is out of range, or a function is not finite.

    Notes
    -----
    **Privacy.** A round chooses among absolute residuals, which one replaced row can move against
    each other. The difference of two residuals moves by up to R, the range sensitivity. It is
    computed in whole numbers over all pairs of symbols, including the missing one. Then the round
    releases the chosen product, which moves by that function's own range. The losses are as
    follows.

    * Repaired, with a delta: ``rounds * ((R / scale)^2 / 8 + range^2 / (2 sigma^2))``
      zero-concentrated.
    * Repaired, pure: epsilon ``rounds * (R / scale + range / b)``.
    * Published: the same sum with the paper's noise.

    The tests find the worst log-ratio of a transcript by brute force. It is 6.68 where the paper
    claims 6, and below the loss charged here. On small domains the tests go through all neighbors
    and all choices of the exact distribution.

    **Accuracy.** The method is kept for comparison. The same functions fitted to a release of
    prefix sums (:meth:`fit`) cost no further privacy and are closer to the data.

    **Cost.** Two numbers for each term, at most 1024 symbols. The time of a choice depends on the
    data.

    The method is that of [1]_, section V, algorithm 2. For the differences see `form`. The repaired
    form chooses no function twice. For several sites see :func:`pursuit_of_sites`.

    References
    ----------
    .. [1] Y. Tao, A. D. Sarwate, "Functional Approximation Methods for Differentially Private
       Distribution Estimation", 2026. arXiv:2501.06620v2.

    Examples
    --------
    >>> import lapwing as lw
    >>> from lapwing.papers.functional_approximation import MatchingPursuit
    >>> import numpy as np
    >>> ages = np.random.default_rng(1).normal(40, 12, size=5000)
    >>> published = lw.release(
    ...     ages, lw.Interval(0, 100, bins=64, outside="clip"), neighbors="replace-one", epsilon=1,
    ...     delta="1e-6", mechanism=MatchingPursuit(terms=8), rng=lw.seeded(1))
    >>> round(published.distribution.quantile(0.5))
    40
    """

    terms: Annotated[int, From(1, 64)] = 6
    dictionary: Annotated[str | Sequence[Part], Read(dictionary_of, _DICTIONARY)] = "legendre"
    atoms: Annotated[int, From(1, MOST_ATOMS)] | None = None
    degree: Annotated[int, From(0, 5)] = 1
    orthogonal: bool = False
    form: Form = "repaired"
    monotone: bool = True

    _adaptive: ClassVar[bool] = True
    name: ClassVar[str] = "matching-pursuit"

    @property
    def _decoder(self) -> CurveSum:
        """Decoder of its releases."""
        return CurveSum(monotone=self.monotone)

    def __post_init__(self) -> None:
        """Check the fields, and the number of functions of the dictionary."""
        super().__post_init__()
        if isinstance(self.dictionary, str) and self.atoms is None:
            object.__setattr__(self, "atoms", FAMILIES[self.dictionary])
        entries = (self.dictionary,) if isinstance(self.dictionary, str) else self.dictionary
        named = sum(self.atoms or FAMILIES[name] for name in entries if isinstance(name, str))
        functions = named + sum(not isinstance(entry, str) for entry in entries)
        if functions > MOST_ATOMS:
            raise ArgumentError(
                f"a dictionary must have at most {MOST_ATOMS} functions, got {functions}. Use "
                "smaller atoms"
            )
        if self.terms > functions:
            raise ArgumentError(
                "terms", f"must be at most the number of functions, {functions}", str(self.terms)
            )

    @property
    def again(self) -> bool:
        """Whether a function may be chosen again, for the residual that its first weight left."""
        return self.form == "published"

    def check(self, domain: Domain) -> None:
        """Raise ArgumentError unless there are 2 to 1024 present symbols.

        Raises
        ------
        ArgumentError
            When there are fewer or more symbols, or your own functions have another number of
            values.
        DomainError
            When the symbols have no order, or values outside the range have separate symbols.
        """
        check_ordered(domain, name=self.name)
        check_no_overflow(domain, name=self.name)
        held = domain.left.size
        if not 2 <= held <= MOST_SYMBOLS:
            raise ArgumentError(
                f"matching pursuit is for 2 to {MOST_SYMBOLS} symbols, got {held}. Use fewer bins"
            )
        for part in self.dictionary:
            if isinstance(part, tuple) and len(part) != held:
                raise ArgumentError(
                    f"every function of the dictionary must have {held} values, one per symbol, "
                    f"got {len(part)}"
                )

    def on(self, domain: Domain) -> MatchingPursuit:
        """Return the mechanism with all functions given by their values on a domain.

        This is the form in which a release stores it.

        Parameters
        ----------
        domain : Domain
            Domain of the exact counts.

        Returns
        -------
        MatchingPursuit
            The same mechanism, without callables.

        Raises
        ------
        ArgumentError
            When a function does not return a number for every value.
        """
        if isinstance(self.dictionary, str) or not any(map(callable, self.dictionary)):
            return self
        middles = (domain.left + domain.right) / 2
        parts = [values_at(part, middles) if callable(part) else part for part in self.dictionary]
        return replace(self, dictionary=parts)

    def _check_stored(self) -> None:
        if not isinstance(self.dictionary, str) and any(map(callable, self.dictionary)):
            raise ArgumentError(
                "a function that is given as a callable has no JSON form. Use mechanism.on(domain)"
            )

    def curves(self, domain: Domain) -> Dictionary:
        """Return the dictionary on the symbols of a domain.

        Parameters
        ----------
        domain : Domain
            Domain of the exact counts.

        Returns
        -------
        Dictionary
            Functions at the symbols, their products and their Gram matrix.
        """
        self.check(domain)
        return _dictionary(self.on(domain), domain.left.size)

    def plan(self, domain: Domain, promise: Promise) -> PursuitPlan:
        """Return the noise of every round, and its privacy loss.

        Parameters
        ----------
        domain : Domain
            Domain of the exact counts.
        promise : Promise
            Privacy parameters of the release, with a public number of rows.

        Returns
        -------
        PursuitPlan
            Noise of choices and weights, and the loss of all rounds.

        Raises
        ------
        ArgumentError
            When the domain has fewer different functions than terms.
        PrivacyError
            When the privacy guarantee keeps the number of rows secret, or no noise meets the
            guarantee.
        """
        if not promise.shows_people:
            raise PrivacyError(
                "matching pursuit divides by the number of people, so this number must be "
                "public. Use neighbors 'replace-one' without a unit, or a linear mechanism"
            )
        held = len(self.curves(domain).curves)
        if held < self.terms:
            raise ArgumentError(
                f"only {held} of these functions differ on {domain.left.size} symbols, which is "
                f"too few for {self.terms} terms. Use fewer terms, or more bins"
            )
        facts = _sensitivities(self.on(domain), domain.left.size)
        if self.form == "published":
            plan = _published(self.terms, facts, promise)
        else:
            plan = _repaired(self.terms, facts, promise)
        plan.check()
        return plan

    def loss(self, domain: Domain, promise: Promise) -> PrivacyLoss:
        """Return the privacy loss of a release, before anything is drawn.

        Warns
        -----
        LapwingWarning
            When the dictionary cannot approximate a plain curve. The best `terms` functions,
            without noise, are fitted to a uniform and a normal distribution. The warning comes when
            a fit is farther from its target than a straight line is from that normal distribution.
            Dictionaries with only CDFs are not judged, because the data may follow any of them.
        """
        loss = self.plan(domain, promise).loss
        worst = _distance_without_noise(self.on(domain), domain.left.size)
        if worst > STRAIGHT_LINE:
            warnings.warn(
                f"{self.terms} functions of this dictionary cannot represent a simple curve. "
                "Even without noise, they miss a uniform or normal distribution by up to "
                f"{worst:.2f} (KS), and a straight line does by {STRAIGHT_LINE:.2f}. Use more "
                "terms or another dictionary",
                LapwingWarning,
                stacklevel=3,
            )
        return loss

    def claimed_epsilon(self, domain: Domain, promise: Promise) -> Fraction:
        """Return the epsilon that theorem 4 of the paper states for the published form.

        Parameters
        ----------
        domain : Domain
            Domain of the exact counts.
        promise : Promise
            Privacy parameters of the release.

        Returns
        -------
        Fraction
            Claimed epsilon, which may be below the epsilon of :meth:`loss`.

        Raises
        ------
        ArgumentError
            When the form is "repaired".
        """
        if self.form != "published":
            raise ArgumentError("only the published form has a claim that differs from its cost")
        facts = _sensitivities(self.on(domain), domain.left.size)
        return 2 * self.terms * facts.published / self.plan(domain, promise).selection

    def _draw(
        self, summary: ExactCounts, promise: Promise, source: RandomSource, identifier: str | None
    ) -> Release:
        dictionary = self.curves(summary.domain)
        plan = self.plan(summary.domain, promise)
        exact = dictionary.products @ summary.counts
        drawn = source.words(2).astype("<u8").tobytes().hex()
        made = plan.record, plan.loss, summary.people, standing_of(source)
        part = ReleasePart(identifier or drawn, promise, *made)
        chosen, answers = pursue(
            exact, dictionary, terms=self.terms, plan=plan, source=source, again=self.again
        )
        found = np.array(answers, dtype=np.int64)
        return Release(self.on(summary.domain), summary.domain, found, [part], {"atoms": chosen})

    def verify(self, release: Release) -> None:
        """Raise PrivacyError unless the noise of a release meets its privacy guarantee.

        Raises
        ------
        FormatError
            When the release does not name the functions that were chosen.
        PrivacyError
            When a stated loss does not match the noise, or the noise is too small for the privacy
            guarantee.
        """
        self._chosen(release)
        for part in release.parts:
            plan = self.plan(release.domain, part.promise)
            if part.noise != plan.record:
                raise PrivacyError(
                    "the noise does not match the privacy guarantee. Do not use this release"
                )
            check_part(part, plan.loss)

    def _chosen(self, release: Release) -> list[int]:
        atoms = release.choices.get("atoms")
        if not isinstance(atoms, list) or len(atoms) != self.terms:
            raise FormatError(
                "a release of matching pursuit must name the functions it chose. "
                "Do not use this document"
            )
        functions = len(self.curves(release.domain).curves)
        if any(type(atom) is not int or not 0 <= atom < functions for atom in atoms):
            raise FormatError("a release of matching pursuit names a function that does not exist")
        if not self.again and len(set(atoms)) != len(atoms):
            raise FormatError(
                "a release of matching pursuit must not choose a function more than once. "
                "Do not use this document"
            )
        return atoms

    def _operator_for(self, release: Release) -> CurveAnswers:
        chosen = self._chosen(release)
        dictionary = self.curves(release.domain)
        curves = dictionary.curves[chosen]
        weights = weight_matrix(dictionary.gram, chosen)
        ends = np.column_stack([(curves[:, :-1] + curves[:, 1:]) / 2, curves[:, -1]])
        matrix = dictionary.products[chosen, : release.domain.size].astype(np.float64)
        return CurveAnswers(matrix, curve=ends.T @ weights / UNIT, start=np.zeros(ends.shape[1]))

    def fit(self, distribution: Distribution) -> Distribution:
        """Return a distribution fitted by the best functions, chosen without noise.

        Use it on a distribution that is already published, such as that of the default release.
        Such post-processing costs no privacy, so the choice is exact.

        Parameters
        ----------
        distribution : Distribution
            Distribution on a domain of :meth:`check`. If it is computed from raw data, the result
            must stay secret.

        Returns
        -------
        Distribution
            Fitted distribution, with the guarantee of the given one.
        """
        domain = distribution.domain
        chosen, curve = _fit(self, self.curves(domain), distribution.mass)
        mass = np.zeros(domain.size)
        mass[: curve.size] = np.diff(curve, prepend=0.0)
        provenance = {"class": "matching-pursuit", "atoms": chosen, "of": distribution.provenance}
        return Distribution(
            domain, mass, distribution.reports, distribution.guarantee, provenance=provenance
        )


@dataclass(frozen=True)
class _DictionarySensitivity:
    """Sensitivities of a dictionary, in whole numbers."""

    ranges: tuple[int, ...]
    range_of_differences: int
    published: int


@memoized(most=16)
def _dictionary(mechanism: MatchingPursuit, held: int) -> Dictionary:
    middles = (2 * np.arange(held) + 1) / held - 1
    given = mechanism.dictionary
    parts = [
        family(part, mechanism.atoms or FAMILIES[part], middles, degree=mechanism.degree)
        if isinstance(part, str)
        else np.array([part], dtype=np.float64)
        for part in ((given,) if isinstance(given, str) else given)
    ]
    functions = np.vstack(parts)
    try:
        return Dictionary.of(
            orthonormal(independent(functions)) if mechanism.orthogonal else functions
        )
    except ValueError as error:
        raise ArgumentError(str(error)) from None


STRAIGHT_LINE = 0.25
"""Distance (KS) of a straight line from a normal distribution of deviation 1/8 of the range."""


@memoized(most=16)
def _distance_without_noise(mechanism: MatchingPursuit, held: int) -> float:
    """Return how far the best functions are from a uniform and from a normal distribution.

    It depends on the dictionary and on the number of terms only: on no data. 0 for functions that
    are distribution functions themselves.
    """
    from scipy.special import ndtr

    dictionary = _dictionary(mechanism, held)
    steps = np.diff(dictionary.curves, axis=1)
    if (steps >= 0).all() and (dictionary.curves >= 0).all():
        return 0.0
    right = 2 * np.arange(1, held + 1) / held - 1
    worst = 0.0
    for curve in ((right + 1) / 2, ndtr(4 * right)):
        curve = curve / curve[-1]
        mass = np.diff(curve, prepend=0.0)
        _, fitted = _fit(mechanism, dictionary, mass)
        worst = max(worst, float(np.abs(fitted - curve).max()))
    return worst


def _fit(
    mechanism: MatchingPursuit, dictionary: Dictionary, mass: Vector
) -> tuple[list[int], Vector]:
    """Return the functions chosen without noise, and their curve at the right ends."""
    from scipy.optimize import isotonic_regression  # slow to import

    exact = np.rint(dictionary.products[:, : mass.size] @ mass * UNIT).astype(np.int64)
    chosen, answers = pursue(exact, dictionary, terms=mechanism.terms, again=mechanism.again)
    weights = weight_matrix(dictionary.gram, chosen) @ np.array(answers) / UNIT**2
    middles = weights @ dictionary.curves[chosen]
    ends = np.append((middles[:-1] + middles[1:]) / 2, 1.0)
    curve: Vector = np.clip(isotonic_regression(ends).x, 0.0, 1.0)
    curve[-1] = 1.0
    return chosen, curve


@memoized(most=16)
def _sensitivities(mechanism: MatchingPursuit, held: int) -> _DictionarySensitivity:
    dictionary = _dictionary(mechanism, held)
    return _DictionarySensitivity(
        dictionary.own_sensitivity(),
        dictionary.range_sensitivity(),
        dictionary.published_sensitivity(),
    )


def _published(terms: int, facts: _DictionarySensitivity, promise: Promise) -> PursuitPlan:
    each = facts.range_of_differences + max(facts.ranges)
    scale = scale_up(float(terms * each / _pure_epsilon(promise)) * (1 + 2.0**-50))
    loss = PrivacyLoss(epsilon=terms * each / scale)
    return PursuitPlan(terms, scale, False, Noise("laplace", scale), None, loss)


def _pure_epsilon(promise: Promise) -> Fraction:
    if promise.mu is not None:
        raise PrivacyError("matching pursuit has no Gaussian guarantee. Pass epsilon or rho")
    if promise.epsilon is not None:
        return promise.epsilon
    assert promise.rho is not None
    return Fraction(math.isqrt(math.floor(2 * promise.rho * 2**80)), 2**40)


def _repaired(terms: int, facts: _DictionarySensitivity, promise: Promise) -> PursuitPlan:
    moved, own = facts.range_of_differences, max(facts.ranges)
    if promise.pure:
        epsilon = _pure_epsilon(promise) / terms
        selection = _up(moved / (SELECTION_SHARE * epsilon))
        scale = _up(own / ((1 - SELECTION_SHARE) * epsilon))
        loss = PrivacyLoss(epsilon=terms * (moved / selection + own / scale))
        return PursuitPlan(terms, selection, True, Noise("laplace", scale), facts.ranges, loss)
    rho = float(_largest_rho(promise)) / terms
    selection = _up(moved / math.sqrt(8 * float(SELECTION_SHARE) * rho))
    scale = _up(own / math.sqrt(2 * float(1 - SELECTION_SHARE) * rho))
    loss = PrivacyLoss(rho=terms * ((moved / selection) ** 2 / 8 + (own / scale) ** 2 / 2))
    return PursuitPlan(terms, selection, True, Noise("normal", scale), facts.ranges, loss)


def _up(number: float | Fraction) -> Fraction:
    # A little above, so that rounding in the formulas before it cannot take from the promise.
    return scale_up(float(number) * (1 + 2.0**-40))


@memoized(most=64)
def _largest_rho(promise: Promise) -> Fraction:
    """Return the largest rho, to nine digits, that keeps the privacy guarantee."""
    if promise.rho is not None:
        return promise.rho
    if promise.epsilon is None:
        raise PrivacyError("matching pursuit has no Gaussian guarantee. Pass epsilon or rho")
    low, high = Fraction(0), promise.epsilon**2 / 2 + promise.epsilon
    for _ in range(40):
        middle = (low + high) / 2
        within = concentrated_epsilon(middle, promise.delta) <= promise.epsilon
        low, high = (middle, high) if within else (low, middle)
    if not low:
        raise PrivacyError(
            "this epsilon and delta are too small for matching pursuit. Give a larger epsilon, "
            "or use prefix sums"
        )
    return low
