"""What a curator promises before a release: a privacy budget and what it protects."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from lapwing.documents import require, require_spelling, spelled_number
from lapwing.errors import FormatError, PrivacyError
from lapwing.privacy.exact_numbers import ExactNumber, epsilon_text, exact_delta, exact_epsilon
from lapwing.privacy.guarantee import Guarantee, Neighbors
from lapwing.privacy.privacy_loss import PrivacyLoss

STATED_DELTA = Fraction(1, 10**6)
"""The delta at which an epsilon is stated for a promise that is made in mu or rho."""


@dataclass(frozen=True)
class Promise:
    """Epsilon with delta, or mu, or rho, between the neighbors that are named.

    Parameters
    ----------
    neighbors : {"replace-one", "add-or-remove-one"}
        Which data sets must not be told apart. Always stated: with "replace-one" the number of
        people is public; "add-or-remove-one" hides it, and its epsilon is worth half as much.
    epsilon, delta : number or text
        Epsilon in (0, 24], delta in [0, 1). Delta 0 is pure differential privacy.
    mu : number or text
        Of Gaussian differential privacy.
    rho : number or text
        Of zero-concentrated differential privacy.

    Raises
    ------
    PrivacyError
        Unless exactly one of epsilon, mu and rho is given, in its range.
    """

    neighbors: Neighbors
    _: KW_ONLY
    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)
    mu: Fraction | None = None
    rho: Fraction | None = None

    if TYPE_CHECKING:  # what it takes; the fields say what it keeps

        def __init__(
            self,
            neighbors: Neighbors,
            *,
            epsilon: ExactNumber | None = None,
            delta: ExactNumber = 0,
            mu: ExactNumber | None = None,
            rho: ExactNumber | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        """Make the numbers exact and check them."""
        if self.neighbors not in ("replace-one", "add-or-remove-one"):
            raise PrivacyError(
                "neighbors must be 'replace-one' (the number of people is public) or "
                f"'add-or-remove-one', got {self.neighbors!r}; there is no default, because an "
                "epsilon means nothing without it"
            )
        given = [name for name in ("epsilon", "mu", "rho") if getattr(self, name) is not None]
        if len(given) != 1:
            raise PrivacyError(
                "exactly one of epsilon, mu and rho must be given, got "
                f"{' and '.join(given) or 'none'}"
            )
        (name,) = given
        try:
            object.__setattr__(self, name, exact_epsilon(getattr(self, name)))
        except PrivacyError as error:  # mu and rho have the range of an epsilon
            raise PrivacyError(str(error).replace("epsilon", name)) from None
        object.__setattr__(self, "delta", exact_delta(self.delta))
        if self.delta and self.epsilon is None:
            raise PrivacyError("delta belongs to epsilon; with mu or rho, leave it out")

    @property
    def pure(self) -> bool:
        """Whether delta is zero, so that only noise with exponential tails keeps it."""
        return self.epsilon is not None and self.delta == 0

    def guarantee(self, loss: PrivacyLoss) -> Guarantee:
        """Return what a release of this loss guarantees, in epsilon and delta."""
        epsilon, delta = self.epsilon, self.delta
        if epsilon is None:
            delta = Fraction(0) if loss.pure else STATED_DELTA
            epsilon = loss.epsilon_at(delta)
        return Guarantee(epsilon, delta, self.neighbors, "central")

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form."""
        numbers = {
            name: None if value is None else epsilon_text(value)
            for name, value in (("epsilon", self.epsilon), ("mu", self.mu), ("rho", self.rho))
        }
        return {"neighbors": self.neighbors, **numbers, "delta": str(self.delta)}

    @classmethod
    def from_document(cls, document: Any) -> Promise:
        """Return the promise that :meth:`to_document` wrote; FormatError when it is none."""
        require(document, {"neighbors", "epsilon", "delta", "mu", "rho"}, name="a promise")
        try:
            made = cls(
                document["neighbors"],
                epsilon=document["epsilon"],
                delta=spelled_number(document["delta"], name="the delta of a promise"),
                mu=document["mu"],
                rho=document["rho"],
            )
        except PrivacyError as error:
            raise FormatError(f"the promise cannot be used: {error}") from None
        require_spelling(document, made.to_document(), name="a promise")
        return made


def kept(promise: Promise, loss: PrivacyLoss) -> bool:
    """Return whether a loss is proved to keep a promise."""
    if promise.epsilon is not None:
        return loss.within(promise.epsilon, promise.delta)
    gaussian = loss.epsilon == loss.delta == loss.rho == 0
    if promise.mu is not None:
        return gaussian and loss.mu_squared <= promise.mu**2
    assert promise.rho is not None
    # Epsilon-DP is epsilon^2 / 2 zero-concentrated, mu-GDP by normal noise mu^2 / 2.
    return loss.delta == 0 and loss.rho + (loss.mu_squared + loss.epsilon**2) / 2 <= promise.rho
