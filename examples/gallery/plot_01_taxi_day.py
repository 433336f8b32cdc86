"""
New York rides most in the evening, and three bytes a trip show it
==================================================================

Each of 260,000 real taxi trips sends one three-byte report of its pick-up time. The hourly shares
are estimated from these reports, with 95% intervals. A smaller epsilon protects more but widens
the intervals.
"""

import matplotlib.pyplot as plt
import numpy as np

import lapwing as lw

taxi = lw.datasets.load_taxi()
day = lw.Interval("00:00", "24:00", bins=144, unit="time-of-day", circular=True)
hours = np.arange(24)

# %%
# Ask each trip once, at two epsilons. In real use, leave out ``lw.testing``.


def ask(epsilon):
    survey = lw.Survey("pick-up time", lw.MultiscaleWave(day, epsilon=epsilon))
    with lw.testing.reproducible(1):
        return survey.decode(survey.tally(survey.randomize(taxi.values())))


results = {epsilon: ask(epsilon) for epsilon in (1, 2)}
truth = lw.Distribution.of_values(taxi.values(), day)

# %%
# The collector never sees the truth. Here it is known, so it is drawn as well.


def shares(result):
    return np.array([result.probability(3600 * h, 3600 * (h + 1)) for h in hours])


plt.style.use("lapwing.results.look")
figure, axes = plt.subplots(1, 2, sharey=True)
for ax, (epsilon, result) in zip(axes, results.items(), strict=True):
    ends = [result.probability_interval(3600 * h, 3600 * (h + 1)) for h in hours]
    low, high = 100 * np.transpose(ends)
    ax.fill_between(hours, low, high, step="mid", color="0.8", label="95% interval")
    ax.step(hours, 100 * shares(result), where="mid", label="estimate")
    ax.step(hours, 100 * shares(truth), "--", where="mid", label="truth")
    ax.set(xlabel="hour of the day", xticks=range(0, 24, 3), ylim=(0, None))
    ax.set_title(f"epsilon = {epsilon}, local model")
axes[0].set_ylabel("share of trips, %")
axes[0].legend(loc="upper left")
figure.suptitle("New York rides most in the evening: 260,000 reports show it")

evening = (17 * 3600, 20 * 3600)
low, high = results[1].probability_interval(*evening)
print(
    f"{results[1].probability(*evening):.1%} of the trips begin from 17:00 to 20:00 "
    f"(95% interval at epsilon 1: {low:.1%} to {high:.1%})."
)
