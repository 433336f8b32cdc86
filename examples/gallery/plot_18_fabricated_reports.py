"""
One percent of fabricated reports moves some randomizers far more than others
=============================================================================

Attackers send 1% of all reports, each favoring the upper half as much as a valid report can.
"""

import matplotlib.pyplot as plt
import numpy as np

import lapwing as lw
from lapwing.protocol.messages.reports import pack_codes

domain = lw.Interval(0, 2**19, bins=64, outside="clip")
counts = np.bincount(domain.index(lw.datasets.load_income().values()), minlength=64)
half, fakes = 2**18, round(counts.sum() / 99)

# %%
# The valid report that favors the upper half most, for each randomizer at epsilon 1.


def fabricate(randomizer):
    if isinstance(randomizer, lw.randomizers.OptimizedUnaryEncoding):
        data = np.tile(np.repeat([0, 255], 4).astype(np.uint8), (fakes, 1))
    else:
        first = -(randomizer._near if isinstance(randomizer, lw.SquareWave) else 32)
        codes = np.resize(np.arange(randomizer._outputs)[first:], fakes)
        data = pack_codes(codes, width=randomizer.report_width)
    return randomizer.tally(lw.Reports(data, randomizer.fingerprint))


kinds = {
    "square wave": lw.SquareWave,
    "randomized response": lw.RandomizedResponse,
    "optimized unary encoding": lw.randomizers.OptimizedUnaryEncoding,
}
plt.style.use("lapwing.results.look")
figure, ax = plt.subplots(figsize=(7.2, 3))
moved, sounds = {}, {}
for name, kind in kinds.items():
    survey, shifts = lw.Survey("income", kind(domain, epsilon=1)), []
    decoder = None if kind is lw.SquareWave else lw.LeastSquares()
    for seed in range(5):
        honest = lw.simulate(survey.randomizer, counts, rng=seed)
        attacked = honest + fabricate(survey.randomizer)
        pair = [survey.decode(tally, decoder=decoder) for tally in (honest, attacked)]
        shifts.append(pair[1].probability(half, np.inf) - pair[0].probability(half, np.inf))
    moved[name], sounds[name] = np.mean(shifts), survey.check_poisoning(attacked).sounds
    label = f"{name}\nalarm: {'yes' if sounds[name] else 'no'}"
    ax.barh(label, 100 * moved[name], color="C0", height=0.5)
    ax.plot(100 * np.array(shifts), [label] * 5, "|", color="k", markersize=16)
ax.axvline(1, color="C1", linestyle="--", label="share of fabricated reports")
ax.set(xlabel="change of the share above 262,144 dollars, percentage points", ylabel="randomizer")
ax.legend(loc="lower right")
ax.set_title("29,144 people, 1% more fabricated reports, epsilon = 1. Black: five repeats")
figure.suptitle("1% of fabricated reports moves some randomizers far more than others")

said = ", ".join(f"{name} {100 * shift:.0f}" for name, shift in moved.items())
print(f"The share above 262,144 dollars moves by percentage points: {said}.")
