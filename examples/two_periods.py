"""Two periods compared: how the hours of taxi trips shifted in the pandemic of 2020.

Run it with `python examples/two_periods.py [picture.png]`. Each report has a public label, the
period, by which reports are counted. Nothing else about a trip is known. No trip is in both
periods, but the same people may ride in both, so the guarantee holds for each trip.
"""

import sys
from pathlib import Path

import numpy as np

import lapwing as lw

PICTURE = Path(sys.argv[1] if len(sys.argv) > 1 else "two_periods.png")

values = {
    "before": lw.datasets.load_taxi("before-pandemic").values(),  # 2018-01 to 2020-02
    "pandemic": lw.datasets.load_taxi("pandemic").values(),  # 2020-03 to 2020-12
}
labels = [name for name, seconds in values.items() for _ in seconds]

day = lw.Interval("00:00", "24:00", bins=144, unit="time-of-day")
survey = lw.Survey("taxi pick-up time", lw.MultiscaleWave(day, epsilon=1))
reports = survey.randomize(np.concatenate(list(values.values())))
tallies = survey.tally(reports, by=labels, minimum=1000)
results = {
    name: survey.decode(tally, decoder=lw.SpectralPrior()) for name, tally in tallies.items()
}
change = results["pandemic"].difference(results["before"], people="different")
truths = {name: lw.Distribution.of_values(seconds, day) for name, seconds in values.items()}
true_change = truths["pandemic"].difference(truths["before"])

print(f"{change.first.reports:,} trips, compared with {change.second.reports:,} earlier ones")
print(f"guarantee of each trip: {change.guarantee}")
print(f"{'share of trips':18}  change    95% interval          truth")
for start, stop in ((0, 5), (5, 10), (10, 17), (17, 21), (21, 24)):
    span = (3600 * start, 3600 * stop)
    low, high = change.probability_interval(*span)
    print(
        f"{start:02d}:00 to {stop:02d}:00    {change.probability(*span):+8.2%}   "
        f"{low:+7.2%} to {high:+7.2%}   {true_change.probability(*span):+8.2%}"
    )
low, high = change.mean_interval()
shift, true = change.mean() / 60, true_change.mean() / 60
print(f"mean: {shift:+.0f} minutes ({low / 60:+.0f} to {high / 60:+.0f}), truth {true:+.0f}")
differ = change.confidence_band(0.95, kind="simultaneous").leaves_zero
print("the two periods differ" if differ else "no difference is shown")

axes = change.plot(
    names=("pandemic", "before"),
    label="time of day",
)
axes.figure.suptitle("Taxi trips moved from night and evening to the day", fontweight="bold")
axes.figure.savefig(PICTURE, dpi=180)
print(f"drawn: {PICTURE}")
