"""How far released shares of labels will be from the truth, before anything is read or spent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lapwing.errors import ArgumentError
from lapwing.mechanisms.label_counts import LabelCounts
from lapwing.privacy.guarantee import Neighbors, american
from lapwing.privacy.promise import Promise
from lapwing.privacy.sampling.randomness import seeded
from lapwing.protocol.domains.domain import Domain, require_domain
from lapwing.protocol.messages.exact_counts import MOST_PEOPLE, ExactCounts
from lapwing.results.independent_errors import independent_critical_values

_LEVEL = 0.95


@dataclass(frozen=True)
class ExpectedLabelError:
    """Errors of released shares of labels about the people themselves.

    Parameters
    ----------
    users : int
    deviation : float
        Standard deviation of the noise in one unbiased share; exact.
    one : float
        What the noise of one share is within at 95 %.
    every : float
        What the noise of all shares is within at once at 95 %.
    """

    users: int
    deviation: float
    one: float
    every: float

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "users": self.users,
            "deviation": self.deviation,
            "one": self.one,
            "every": self.every,
        }


@american
def expected_label_release_error(
    domain: Domain,
    *,
    users: int,
    neighbors: Neighbors,
    epsilon: Any = None,
    delta: Any = 0,
    mu: Any = None,
    rho: Any = None,
    mechanism: LabelCounts | None = None,
) -> ExpectedLabelError:
    """Return how far the shares of a release of labels will be from those of the people.

    Needs no data and costs no privacy. Where neighbors hide the number of people, shares are
    divided by a noisy number, too, which adds less than a share of this for each share.

    Parameters
    ----------
    domain : Categories or Segmented
        Of segments the shares are those of the whole table.
    users : int
        People, in 1..2^40: their public or expected number.
    neighbors, epsilon, delta, mu, rho
        As for :func:`lapwing.survey.publication.release`.
    mechanism : LabelCounts, optional

    Raises
    ------
    ArgumentError, PrivacyError
        Where the release itself would be refused.

    Examples
    --------
    >>> from lapwing.protocol.domains.categories import Categories
    >>> error = expected_label_release_error(Categories(50), users=20_000,
    ...                                      neighbors="replace-one", epsilon=1)
    >>> round(error.deviation, 5), round(error.one, 5), round(error.every, 5)
    (0.00014, 0.0003, 0.00069)
    """
    require_domain(domain)
    promise = Promise(neighbors, epsilon=epsilon, delta=delta, mu=mu, rho=rho)
    if isinstance(users, bool) or not isinstance(users, int) or not 1 <= users <= MOST_PEOPLE:
        raise ArgumentError(f"users must be a whole number in 1..2^40, got {users!r}")
    if domain.ordered:
        raise ArgumentError("of numbers ask for expected_release_error; this is for labels")
    domain, chosen = domain.for_curator(), mechanism or LabelCounts()
    chosen.check(domain)
    nobody = ExactCounts(domain, np.zeros(domain.size, dtype=np.int64))
    release = chosen.release(nobody, promise, rng=seeded(1))
    deviation = float(np.sqrt(release.variance)) / users
    laplace = np.array([1.0 if release.parts[0].noise.kind == "laplace" else 0.0])
    one, every = (
        float(independent_critical_values(_LEVEL, count, laplace)[0]) for count in (1, domain.size)
    )
    return ExpectedLabelError(users, deviation, one * deviation, every * deviation)
