"""A spiky column: weekly hours of work, for which many people say exactly 40, 50 or 60.

Run it with `python examples/spiky_column.py [picture.png]`. Nobody declared these numbers. They
are detected in the reports, as bins with significantly more people than those around them. Each of
48,842 people sends one report at epsilon 2. The truth is known here, and is in the last column.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import lapwing as lw

PICTURE = Path(sys.argv[1] if len(sys.argv) > 1 else "spiky_column.png")

hours = lw.datasets.load_hours().values()

domain = lw.Interval(0, 100, bins=200)  # half hours, so that whole hours have empty bins between
survey = lw.Survey("hours of work", lw.MultiscaleWave(domain, epsilon=2))
tally = survey.tally(survey.randomize(hours))
result = survey.decode(tally, decoder=lw.SpectralPrior())

print(f"{result.reports:,} people, {result.guarantee}")
print("detected atoms       share    95% interval      truth")
for atom in result.atoms:
    true = np.mean((hours > atom.left) & (hours <= atom.right))
    where = f"{atom.left:g} to {atom.right:g} hours"
    print(f"{where:16}{atom.share:7.1%}   {atom.low:6.1%} to {atom.high:6.1%}   {true:7.1%}")

print("                   estimate    95% interval      truth")
low, high = result.mean_interval()
print(f"mean               {result.mean():8.2f}   {low:6.2f} to {high:6.2f}   {hours.mean():8.2f}")
low, high = (number**0.5 for number in result.variance_interval())
deviation = result.variance() ** 0.5
print(f"deviation          {deviation:8.2f}   {low:6.2f} to {high:6.2f}   {hours.std():8.2f}")
low, high = result.probability_interval(44.5, np.inf)  # bins hold their right ends
share, true = result.probability(44.5, np.inf), np.mean(hours >= 45)
print(f"45 hours or more   {share:8.1%}   {low:6.1%} to {high:6.1%}   {true:8.1%}")

plt.style.use("lapwing.results.look")
figure, ax = plt.subplots()
places, people = np.unique(hours, return_counts=True)
ax.vlines(places, 0, 100 * people / hours.size, color="C1", linewidth=1.5, label="truth")
for number, atom in enumerate(result.atoms):
    at = atom.right + 0.8  # alongside the truth
    names = ("95% interval, about the people in the data", "estimate") if number == 0 else ("", "")
    ax.vlines(at, 100 * atom.low, 100 * atom.high, color="0.6", linewidth=6, label=names[0])
    ax.plot(at, 100 * atom.share, "o", color="C0", label=names[1])
    ax.annotate(f"{atom.right:g} h", (at, 100 * atom.high + 1), ha="center")
ax.set(xlabel="hours of work a week", ylabel="share of people, %", xlim=(0, 100), ylim=(0, 56))
ax.legend(loc="upper right")
ax.set_title(f"{result.reports:,} people; {result.guarantee}")
figure.suptitle("Nearly half of the people work exactly 40 hours a week")
figure.savefig(PICTURE, dpi=200)
print(f"drawn: {PICTURE}")
