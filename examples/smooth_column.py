"""A smooth column: when 260,000 taxi trips began, with an interval on every answer.

Run it with `python examples/smooth_column.py [picture.png]`. The day is a circle, so 23:59 is
next to 00:00. Each trip sends one report at epsilon 1. The truth is known here, and drawn as well.
"""

import sys
from pathlib import Path

import lapwing as lw

PICTURE = Path(sys.argv[1] if len(sys.argv) > 1 else "smooth_column.png")

seconds = lw.datasets.load_taxi().values()

day = lw.Interval("00:00", "24:00", bins=240, unit="time-of-day", circular=True)
survey = lw.Survey("taxi pick-up time", lw.MultiscaleWave(day, epsilon=1))
tally = survey.tally(survey.randomize(seconds))
result = survey.decode(tally, decoder=lw.SpectralPrior())
truth = lw.Distribution.of_values(seconds, day)


print(f"{result.reports:,} trips, {result.guarantee}")
print(f"{'':24}estimate   95 % interval        truth")
for name, start, stop in (
    ("before 06:00", "00:00", "06:00"),
    ("17:00 to 20:00", "17:00", "20:00"),
):
    low, high = result.probability_interval(start, stop)
    share, true = (one.probability(start, stop) for one in (result, truth))
    print(f"{name:24}{share:8.2%}   {low:6.2%} to {high:6.2%}   {true:8.2%}")
# On a circle quantiles are counted from somewhere: here from 04:00, when few people ride.
for name, probability in (("a quarter by", 0.25), ("half by", 0.5), ("three quarters by", 0.75)):
    low, high = result.quantile_interval(probability, start="04:00")
    estimate, true = (one.quantile(probability, start="04:00") for one in (result, truth))
    print(f"{name:24}{estimate[:5]:>8}   {low[:5]:>6} to {high[:5]:>6}   {true[:5]:>8}")

bounds = lw.distances.range_error_bounds(result)
print(f"with 95 %, the share of any range of hours is off by at most {bounds.worst:.1%},")
print(f"and on average over ranges by at most {bounds.average:.1%}")

axes = result.plot(truth=truth, title="Taxi trips peak in the evening", label="time of day")
axes.figure.savefig(PICTURE, dpi=180)
print(f"drawn: {PICTURE}")
