"""
Thirty-six months are published for the privacy cost of one
===========================================================

Each of 360,000 taxi trips belongs to one month. One release with a public list of months therefore
gives results for every month, and each trip has the guarantee of a single release.
"""

import matplotlib.pyplot as plt
import numpy as np

import lapwing as lw

taxi = lw.datasets.load_taxi_months()
day = lw.Interval("00:00", "24:00", bins=64, unit="time-of-day", circular=True)

# %%
# The table has one row per trip, with its month and its pick-up time.

middles = (np.arange(64) + 0.5) * 86_400 / 64
seconds = np.concatenate([np.repeat(middles, row) for row in taxi.counts])
month = np.repeat(taxi.months, 10_000)
with lw.testing.reproducible(1):
    published = lw.release(
        seconds,
        day,
        by=month,
        segments=list(taxi.months),
        epsilon=1,
        neighbors="replace-one",
    )
cost = published.guarantee.epsilon

# %%
# Read one result for each month.

parts = published.by_segment()
evening = ("18:00", "24:00")
share = np.array([parts[name].probability(*evening) for name in taxi.months])
low, high = np.transpose([parts[name].probability_interval(*evening) for name in taxi.months])
truth = taxi.counts[:, 48:].sum(axis=1) / 10_000

plt.style.use("lapwing.results.look")
figure, ax = plt.subplots()
at = np.arange(36)
ends = (100 * (end - truth) for end in (low, high))
ax.vlines(at, *ends, color="0.75", linewidth=7, label="95% interval, trips in the table")
ax.plot(at, 100 * (share - truth), "o", markersize=4, label="published")
ax.axhline(0, color="C1", linestyle="--", label="truth, 22% to 36%")
ax.set_xticks(at[::6], taxi.months[::6])
ax.set(xlabel="month", ylabel="share of 18:00 to 24:00 minus\nthe true one, percentage points")
ax.set(ylim=(-0.6, 0.6))
ax.legend(loc="lower left", ncols=3)
ax.set_title(f"360,000 trips; {published.guarantee}")
figure.suptitle("36 months are published for the privacy cost of one")

print(f"The 36 monthly curves cost epsilon = {cost} together, since each trip is in one month.")
