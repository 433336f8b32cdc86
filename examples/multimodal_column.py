"""A column of many peaks: the waves of departures at Houston's airports in 2011.

Run it with `python examples/multimodal_column.py [picture.png]`. Flights leave a hub in
waves, so the departure times have a dozen peaks, none of them at night. Each of 224,591 flights
sends one report, once at epsilon 1 and once at epsilon 4. The peaks of each estimate are compared
with those of the truth.
"""

import sys
from pathlib import Path

import numpy as np

import lapwing as lw

PICTURE = Path(sys.argv[1] if len(sys.argv) > 1 else "multimodal_column.png")

seconds = lw.datasets.load_departures().values()
day = lw.Interval("00:00", "24:00", bins=144, unit="time-of-day", circular=True)
truth = lw.Distribution.of_values(seconds, day)


def peaks(distribution: lw.Distribution) -> int:
    """Count the bins that hold a tenth more than all others within half an hour."""
    mass = distribution.mass
    around = np.array([np.roll(mass, step) for step in (-3, -2, -1, 1, 2, 3)])
    lowest_beside = np.maximum(around[:3].min(axis=0), around[3:].min(axis=0))
    return int(((mass >= around.max(axis=0)) & (mass > 1.1 * lowest_beside)).sum())


print(f"{'':12}{'peaks':>8}{'Wasserstein-1':>16}{'KS':>8}")
print(f"{'truth':12}{peaks(truth):8}")
for epsilon in (1, 4):
    survey = lw.Survey("departure", lw.MultiscaleWave(day, epsilon=epsilon))
    tally = survey.tally(survey.randomize(seconds))
    result = survey.decode(tally, decoder=lw.SpectralPrior())
    minutes = lw.distances.wasserstein(result, truth, circular=True) / 60
    largest = lw.distances.kolmogorov_smirnov(result, truth)
    print(f"epsilon {epsilon:<4}{peaks(result):8}{minutes:12.2f} min{largest:8.4f}")

axes = result.plot(truth=truth, title="Flights leave Houston in waves", label="time of day")
axes.figure.savefig(PICTURE, dpi=180)
print(f"drawn: {PICTURE}")
