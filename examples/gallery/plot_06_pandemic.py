"""
The largest change in three years of taxi trips is dated to April 2020
======================================================================

10,000 trips report in each of 36 months. The months are decoded together: quiet months borrow
strength from each other, and a change point is dated instead of being smeared over its neighbors.
"""

import matplotlib.pyplot as plt
import numpy as np

import lapwing as lw

taxi = lw.datasets.load_taxi_months()
day = lw.Interval("00:00", "24:00", bins=64, unit="time-of-day", circular=True)
survey = lw.Survey("pick-up time", lw.MultiscaleWave(day, epsilon=1))
months = [
    (survey, lw.simulate(survey.randomizer, counts, rng=100 + month))
    for month, counts in enumerate(taxi.counts)
]
series = lw.decode_series(months, names=taxi.months)

# %%
# The series lists its change points. Each month is a distribution with intervals.

change = max(series.changes, key=lambda one: one.shift.size)
name, size = taxi.months[change.week], change.shift
evening = ("18:00", "24:00")
results = [series[month].distribution for month in taxi.months]
share = np.array([result.probability(*evening) for result in results])
low, high = np.transpose([result.probability_interval(*evening) for result in results])
truth = taxi.counts[:, 48:].sum(axis=1) / 10_000

plt.style.use("lapwing.results.look")
figure, ax = plt.subplots()
place = np.arange(36)
ax.fill_between(place, 100 * low, 100 * high, color="0.85", label="95% interval of each month")
ax.plot(place, 100 * share, "o-", markersize=3, label="estimate")
ax.plot(place, 100 * truth, "x", markersize=5, label="truth")
ax.axvline(change.week - 0.5, color="0.3", linestyle="--", label=f"largest change: {name}")
ax.set_xticks(place[::6], taxi.months[::6])
ax.set(xlabel="month", ylabel="trips from 18:00 to 24:00, %", ylim=(0, 45))
ax.legend(loc="lower left")
ax.set_title("10,000 trips a month, epsilon = 1, local model")
figure.suptitle("Taxi trips left the evening in April 2020")

print(
    f"The largest change is dated to {name}: {size.size:.1%} of all trips moved "
    f"(95% interval {size.low:.1%} to {size.high:.1%})."
)
