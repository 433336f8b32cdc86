"""
One report moves a guess about its sender by a bounded factor
=============================================================

An observer knows how New York's taxi trips are spread over the day, and sees one trip's report.
At epsilon 1 the odds of any statement about the trip change by at most e, which is 2.72.
"""

import math

import matplotlib.pyplot as plt
import numpy as np

import lapwing as lw

taxi = lw.datasets.load_taxi()
day = lw.Interval("00:00", "24:00", bins=96, unit="time-of-day", circular=True)
survey = lw.Survey("pick-up time", lw.SquareWave(day, epsilon=1))

# %%
# One trip at 18:30 sends one report. The transition matrix of the survey is public, so the
# observer applies Bayes' rule.

with lw.testing.reproducible(3):
    report = survey.randomize(["18:30"])
(seen,) = survey.tally(report).blocks
(block,) = survey.randomizer.channel.blocks
likelihood = block.operator.rmatvec(seen.astype(float))
prior = lw.Distribution.of_values(taxi.values(), day).mass
posterior = prior * likelihood / (prior @ likelihood)

# %%
# The odds of each quarter of an hour change by no more than the guarantee allows.

factor = (posterior / (1 - posterior)) / (prior / (1 - prior))
bound = math.exp(1)

plt.style.use("lapwing.results.look")
figure, ax = plt.subplots()
hours = np.arange(96) / 4
low, high = (prior * f / (1 - prior + prior * f) for f in (1 / bound, bound))
ax.fill_between(
    hours, 100 * low, 100 * high, step="post", color="0.85", label="all that epsilon = 1 allows"
)
ax.step(hours, 100 * posterior, where="post", label="belief after the report")
ax.step(hours, 100 * prior, "--", where="post", color="0.3", label="belief before")
ax.axvline(18.5, color="#d55e00", linestyle=":", label="the secret: 18:30")
ax.set(xlabel="pick-up time, hour of the day", ylabel="belief per quarter of an hour, %")
ax.set(xlim=(0, 24), ylim=(0, None), xticks=range(0, 25, 3))
ax.legend(loc="upper left")
ax.set_title("one report of a taxi trip, epsilon = 1, local model")
figure.suptitle("One report moves every belief by less than the guarantee")

print(
    f"The odds change by factors from {factor.min():.2f} to {factor.max():.2f}. "
    f"The guarantee allows {1 / bound:.2f} to {bound:.2f}."
)
