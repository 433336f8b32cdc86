"""A spiky column: hours of work in a week, of which many people say exactly 40, 50 or 60.

Run it with `python examples/spiky_column.py [picture.png]`. Nobody declared these numbers.
They are detected in the reports, as bins that hold significantly more than those around them. Each
of 48,842 people sends one report at epsilon 2. The truth is known here, and is in the last column.
"""

import sys
from pathlib import Path

import numpy as np

import lapwing as lw

PICTURE = Path(sys.argv[1] if len(sys.argv) > 1 else "spiky_column.png")

hours = lw.datasets.load_hours().values()

domain = lw.Interval(0, 100, bins=200)  # half hours, so that whole hours have empty bins between
survey = lw.Survey("hours of work", lw.MultiscaleWave(domain, epsilon=2))
tally = survey.tally(survey.randomize(hours))
result = survey.decode(tally, decoder=lw.SpectralPrior())
truth = lw.Distribution.of_values(hours, domain)

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

axes = result.plot(
    truth=truth, title="Nearly half of the people work 40 hours a week", label="hours a week"
)
axes.figure.savefig(PICTURE, dpi=180)
print(f"drawn: {PICTURE}")
