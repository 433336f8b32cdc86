"""
Nearly half of the people work exactly 40 hours, and nobody had to declare it
=============================================================================

48,842 people in the Adult data report their weekly hours of work. The estimator detects bins with
significantly more people than their neighbors. Each detected bin has an interval. An interval
that reaches zero is a hint, not a fact.
"""

import matplotlib.pyplot as plt
import numpy as np

import lapwing as lw

hours = lw.datasets.load_hours()
domain = lw.Interval(0, 100, bins=200)  # half hours, so that whole hours have empty bins between
survey = lw.Survey("hours of work", lw.MultiscaleWave(domain, epsilon=2))
with lw.testing.reproducible(1):
    result = survey.decode(survey.tally(survey.randomize(hours.values())))

# %%
# Each detected point mass has a place, a share and an interval.

place, share, low, high = np.transpose([(a.right, a.share, a.low, a.high) for a in result.atoms])
true_shares = hours.counts / hours.total
truth = np.interp(place, hours.numbers, true_shares)

plt.style.use("lapwing.results.look")
figure, ax = plt.subplots()
ax.vlines(hours.numbers, 0, 100 * true_shares, color="C1", linewidth=1.5, label="truth")
ax.vlines(place + 0.8, 100 * low, 100 * high, color="0.6", linewidth=6, label="95% interval")
ax.plot(place + 0.8, 100 * share, "o", label="detected in the reports")
for at, top in zip(place, np.maximum(high, truth), strict=True):
    ax.annotate(f"{at:g} h", (at + 0.8, 100 * top + 1), ha="center")
ax.set(xlabel="hours of work a week", ylabel="share of people, %", xlim=(0, 80), ylim=(0, 56))
ax.legend(loc="upper left")
ax.set_title("48,842 people, epsilon = 2, local model")
figure.suptitle("Nearly half of the people work exactly 40 hours a week")

at = share.argmax()
print(
    f"{share[at]:.1%} work {place[at]:g} hours "
    f"(95% interval {low[at]:.1%} to {high[at]:.1%}, truth {truth[at]:.1%})."
)
