"""Privacy parameters that a curator sets before a release."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from lapwing.errors import ArgumentError, PrivacyError
from lapwing.privacy.exact_numbers import (
    ExactNumber,
    check_whole,
    epsilon_text,
    exact_delta,
    exact_epsilon,
)
from lapwing.privacy.guarantee import NEIGHBORS_NEEDED, Guarantee, Neighbors, PrivacyUnit, american
from lapwing.privacy.privacy_loss import PrivacyLoss
from lapwing.stored_fields import UNSAID, Coded, Exact, FromFields

STATED_DELTA = Fraction(1, 10**6)
"""The delta at which an epsilon is stated for a privacy guarantee given in mu or rho."""

_FINE = 2**40
"""Parts of mu and rho are whole multiples of 1 / _FINE, rounded down."""


Written = Annotated[Fraction, Coded(epsilon_text, lambda text, _: text)]
"""An epsilon in a document, which the constructor reads."""


@american
@dataclass(frozen=True)
class Promise(FromFields):
    """Privacy parameters: (epsilon, delta), mu or rho, with the neighbor relation.

    Parameters
    ----------
    neighbors : {"replace-one", "add-or-remove-one"}
        Which data sets must be indistinguishable. With "replace-one" the number of people is
        public. "add-or-remove-one" hides it, and a replaced row then has up to twice the epsilon.
    epsilon : int, float, str, Decimal or Fraction, optional
        Privacy parameter in nats, in (0, 24].
    delta : int, float, str, Decimal or Fraction
        Privacy parameter, in [0, 1). Default: 0, which is pure differential privacy.
    mu : int, float, str, Decimal or Fraction, optional
        Parameter of Gaussian differential privacy, in (0, 24].
    rho : int, float, str, Decimal or Fraction, optional
        Parameter of zero-concentrated differential privacy, in (0, 24].
    unit : PrivacyUnit, optional
        Privacy unit, which is replaced, added or removed with all its rows. The number of rows is
        then never public, under either relation. Default: a person has one row.

    Raises
    ------
    PrivacyError
        When not exactly one of epsilon, mu and rho is given, or one is out of range.

    Notes
    -----
    **Privacy.** The definitions are those of [1]_ (epsilon and delta), [2]_ (mu) and [3]_ (rho).

    References
    ----------
    .. [1] C. Dwork, A. Roth, "The algorithmic foundations of differential privacy", Foundations and
       Trends in Theoretical Computer Science, 2014. doi:10.1561/0400000042
    .. [2] J. Dong, A. Roth, W. J. Su, "Gaussian differential privacy", Journal of the Royal
       Statistical Society Series B, 2022. doi:10.1111/rssb.12454
    .. [3] M. Bun, T. Steinke, "Concentrated differential privacy: simplifications, extensions, and
       lower bounds", TCC, 2016. doi:10.1007/978-3-662-53641-4_24

    Examples
    --------
    >>> import lapwing as lw
    >>> promise = lw.privacy.Promise("replace-one", epsilon=1, delta="1e-6")
    >>> promise.shows_people, promise.pure
    (True, False)
    """

    neighbors: Neighbors
    _: KW_ONLY
    epsilon: Written | None = None
    delta: Exact = Fraction(0)
    mu: Written | None = None
    rho: Written | None = None
    unit: PrivacyUnit | None = field(default=None, metadata=UNSAID)

    _name: ClassVar = "a promise"
    _spelled: ClassVar = True

    if TYPE_CHECKING:  # what it takes; the fields say what it keeps

        def __init__(
            self,
            neighbors: Neighbors,
            *,
            epsilon: ExactNumber | None = None,
            delta: ExactNumber = 0,
            mu: ExactNumber | None = None,
            rho: ExactNumber | None = None,
            unit: PrivacyUnit | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        """Make the numbers exact and check them."""
        if self.neighbors not in ("replace-one", "add-or-remove-one"):
            raise PrivacyError(
                "neighbors", "must be one of two words", repr(self.neighbors), NEIGHBORS_NEEDED
            )
        given = [name for name in ("epsilon", "mu", "rho") if getattr(self, name) is not None]
        if len(given) != 1:
            raise PrivacyError(
                "exactly one of epsilon, mu and rho must be given, got "
                f"{' and '.join(given) or 'none'}"
            )
        (name,) = given
        # mu and rho have the range of an epsilon
        object.__setattr__(self, name, exact_epsilon(getattr(self, name), name=name))
        object.__setattr__(self, "delta", exact_delta(self.delta))
        if self.delta and self.epsilon is None:
            raise PrivacyError(
                "delta",
                "belongs to epsilon",
                advice="With mu or rho, leave it out",
                others=("epsilon", "mu", "rho"),
            )
        if not isinstance(self.unit, PrivacyUnit | None):
            raise PrivacyError("unit", "must be a PrivacyUnit, or left out")

    @property
    def shows_people(self) -> bool:
        """Whether the number of rows is public: for replaced rows, and one row for each person."""
        return self.neighbors == "replace-one" and self.unit is None

    @property
    def pure(self) -> bool:
        """Whether the guarantee is pure: epsilon with delta 0.

        Only noise with exponential tails satisfies a pure guarantee.
        """
        return self.epsilon is not None and self.delta == 0

    @property
    def whole_loss(self) -> PrivacyLoss:
        """Largest privacy loss that the parameters allow."""
        return PrivacyLoss(
            epsilon=self.epsilon or Fraction(0),
            delta=self.delta,
            mu_squared=(self.mu or Fraction(0)) ** 2,
            rho=self.rho or Fraction(0),
        )

    def guarantee(self, loss: PrivacyLoss) -> Guarantee:
        """Return the guarantee, in epsilon and delta, of a release with this loss.

        Parameters
        ----------
        loss : PrivacyLoss
            Privacy loss of the release.

        Returns
        -------
        Guarantee
            Guarantee in the central model. For mu and rho it states the epsilon at delta 1e-6.
        """
        epsilon, delta = self.epsilon, self.delta
        if epsilon is None:
            delta = Fraction(0) if loss.pure else STATED_DELTA
            epsilon = loss.epsilon_at(delta)
        return Guarantee(epsilon, delta, self.neighbors, "central", unit=self.unit)

    def allows(self, loss: PrivacyLoss) -> bool:
        """Return whether a loss is proved to meet the privacy guarantee.

        Parameters
        ----------
        loss : PrivacyLoss
            Privacy loss of a release.

        Returns
        -------
        bool
            True when the loss is proved to be within the privacy parameters.
        """
        if self.epsilon is not None:
            return loss.within(self.epsilon, self.delta)
        if self.mu is not None:
            gaussian = loss.epsilon == loss.delta == loss.rho == 0
            return gaussian and loss.mu_squared <= self.mu**2
        assert self.rho is not None
        # Epsilon-DP is epsilon^2 / 2 zero-concentrated, mu-GDP by Gaussian noise mu^2 / 2.
        return loss.delta == 0 and loss.rho + (loss.mu_squared + loss.epsilon**2) / 2 <= self.rho

    def split(self, releases: int, mechanism: Any, domain: Any) -> Promise:
        """Return the privacy parameters of each of several releases under this privacy guarantee.

        Use it for mechanisms that release again over all people after each round, such as
        :class:`AdaptiveQuantiles` and :class:`MatchingPursuit`. In these, the people of the first
        round contribute to every release. Releases of linear mechanisms are added instead, and
        each of their rounds has different people.

        Parameters
        ----------
        releases : int
            Number of releases, in 1..1000. It is fixed before the first release.
        mechanism : Mechanism
            Mechanism of all releases.
        domain : Interval, Integers or Categories
            Domain of the values, with its bins.

        Returns
        -------
        Promise
            Parameters in epsilon if the mechanism's loss is pure, and otherwise in mu or rho,
            which compose more tightly than epsilons with deltas.

        Raises
        ------
        ArgumentError, PrivacyError
            As for the mechanism, and when a part would be too small.

        Notes
        -----
        **Privacy.** The loss of one release under the whole privacy guarantee is divided into equal
        parts. Epsilons add, squares of mu add, and rho adds (:class:`PrivacyLoss`), even when each
        release is chosen after the earlier ones. The sum is computed and compared with the privacy
        guarantee.

        Examples
        --------
        >>> import lapwing as lw
        >>> promise = lw.privacy.Promise("replace-one", epsilon=1, delta="1e-6")
        >>> domain = lw.Interval(0, 1, bins=64, outside="clip")
        >>> from lapwing.papers.functional_approximation import AdaptiveQuantiles
        >>> each = promise.split(10, AdaptiveQuantiles(20), domain)
        >>> round(float(each.mu), 4)
        0.0749
        """
        check_whole("releases", releases, low=1, high=1000)
        if getattr(domain, "bins", 1) is None:
            raise ArgumentError(
                "split needs the number of bins, which all releases share. Pass bins= to the "
                "domain, for example bins=256"
            )
        domain = domain.for_curator()
        loss: PrivacyLoss = mechanism.loss(domain, self)
        kind = "rho" if loss.rho else "mu" if loss.mu_squared else "epsilon"
        part = self._part_of(loss, releases)
        if not part:
            raise PrivacyError(
                "each release would get too small a privacy parameter. Give a larger "
                "total, or make fewer releases"
            )
        each = Promise(self.neighbors, unit=self.unit, **{kind: part})
        one: PrivacyLoss = mechanism.loss(domain, each)
        if not self.allows(sum([one] * (releases - 1), one)):
            raise PrivacyError(
                f"releases of {mechanism.name} with parts of these privacy parameters do not "
                "compose to the whole. Give each release an epsilon"
            )
        return each

    def _part_of(self, loss: PrivacyLoss, releases: int) -> Fraction:
        """Return an equal part of a loss, rounded down. Of mu where squares add."""
        if loss.rho:
            return Fraction(math.floor(loss.rho / releases * _FINE), _FINE)
        if loss.mu_squared:
            squared = loss.mu_squared / releases
            return Fraction(math.isqrt(math.floor(squared * _FINE**2)), _FINE)
        if self.epsilon is not None:
            return self.epsilon / releases
        return Fraction(math.floor(loss.epsilon / releases * _FINE), _FINE)
