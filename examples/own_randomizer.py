"""Your own randomizer: one class, registered, checked against the contract, and used in a survey.

Seats form a ring. A device reports its own seat or the next one, each e^epsilon times as likely
as any other. The class defines these high-probability output sets. The probabilities, the exact
threshold, the certificate, documents and tallies come from `TwoLevel`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, aslinearoperator

import lapwing as lw
from lapwing.privacy.exact_numbers import ExactNumber
from lapwing.protocol.domains.domain import Domain
from lapwing.randomizers.two_level import TwoLevel
from lapwing.testing import check_randomizer


@lw.plugins.register
@dataclass(frozen=True)
class OwnOrNext(TwoLevel):
    """Report the own symbol or the next in the ring, more likely than any other."""

    name: ClassVar[str] = "own-or-next"

    if TYPE_CHECKING:  # people write epsilon as they like; the field keeps a Fraction

        def __init__(self, domain: Domain, epsilon: ExactNumber) -> None: ...

    @property
    def _near(self) -> int:
        """Two outputs are near: the own one and the next."""
        return 2

    @property
    def _outputs(self) -> int:
        """As many as symbols."""
        return self.domain.size

    def _locate(
        self, point: NDArray[np.int64], near: NDArray[np.bool_], offset: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return the output `offset` places after the symbol, or after its near set."""
        return (point + offset + np.where(near, 0, 2)) % self._outputs

    def _spread_near(
        self, people: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Return where people are who all report a near output: each on one of two."""
        own = rng.binomial(people, 0.5)
        return own + np.roll(people - own, 1)

    def _operator(self, inside: float, outside: float) -> LinearOperator:
        """Return the matrix with two entries `inside` in each column."""
        own = np.eye(self._outputs)
        near = own + np.roll(own, 1, axis=0)
        return aslinearoperator(outside + (inside - outside) * near)


def main() -> None:
    seats = lw.Categories(["A", "B", "C", "D", "E"])
    randomizer = OwnOrNext(seats, epsilon=1)
    # The same with a threshold one past its limit. It must violate the guarantee, and say so.
    loosened = replace(randomizer)
    loosened.__dict__["_threshold"] = randomizer._threshold + 1
    check_randomizer(randomizer, loosened=loosened, reports=20_000)
    print("the contract holds:", randomizer.guarantee)

    survey = lw.Survey.from_json(lw.Survey("seat", randomizer).to_json())
    people = ["A"] * 60_000 + ["C"] * 30_000 + ["D"] * 10_000
    result = survey.decode(survey.tally(survey.randomize(people)))
    assert isinstance(result, lw.Distribution)
    for seat, share in zip("ABCDE", result.mass, strict=True):
        print(f"{seat}  {share:6.1%}")


if __name__ == "__main__":
    main()
