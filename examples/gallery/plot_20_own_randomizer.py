"""
Made-up seats: your own randomizer is one short class, and the contract checks it
=================================================================================

Seats form a ring. A device reports its own seat or the next one more often than any other.
"""

from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse.linalg import aslinearoperator

import lapwing as lw
from lapwing.randomizers.two_level import TwoLevel


@lw.plugins.register
@dataclass(frozen=True)
class OwnOrNext(TwoLevel):
    name = "own-or-next-seat"
    _near = property(lambda self: 2)
    _outputs = property(lambda self: self.domain.size)

    def _locate(self, point, near, offset):
        return (point + offset + np.where(near, 0, 2)) % self._outputs

    def _spread_near(self, people, rng):
        own = rng.binomial(people, 0.5)
        return own + np.roll(people - own, 1)

    def _operator(self, inside, outside):
        own = np.eye(self._outputs)
        return aslinearoperator(outside + (inside - outside) * (own + np.roll(own, 1, axis=0)))


# %%
# Compare it with randomized response on the same made-up people.

seats = lw.Categories(9)
people = np.random.default_rng(1).multinomial(50_000, np.arange(9, 0, -1) / 45)
truth = people / people.sum()
kinds = {"own or next": OwnOrNext(seats, 1), "default": lw.RandomizedResponse(seats, 1)}
lw.testing.check_randomizer(kinds["own or next"], reports=20_000)

plt.style.use("lapwing.results.look")
figure, ax = plt.subplots()
for shift, (name, randomizer) in zip((-0.15, 0.15), kinds.items(), strict=True):
    result = lw.Survey("seat", randomizer).decode(lw.simulate(randomizer, people, rng=1))
    band, at = result.confidence_band(0.95), np.arange(9) + shift
    ax.vlines(at, 100 * band.low, 100 * band.high, color="0.75", linewidth=7)
    ax.plot(at, 100 * result.mass, "os"[shift > 0], label=name)
ax.plot(np.arange(9), 100 * truth, "_", color="k", markersize=22, label="truth")
ax.set(xlabel="seat", ylabel="share of people, %", ylim=(0, 30), xticks=range(9))
ax.legend(title="grey: 95% interval")
ax.set_title("made-up data: 50,000 people, epsilon = 1, local model")
figure.suptitle("Your own randomizer, registered and checked, next to the default")

print(f"The contract holds: {kinds['own or next'].guarantee}.")
