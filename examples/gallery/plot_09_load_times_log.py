"""
Made-up load times: on a log scale, one survey answers for the median and the tail
==================================================================================

Load times spread over four orders of magnitude. With ``scale="log"`` the bins have the same
relative width at 50 milliseconds and at 20 seconds, so one survey resolves both.
"""

import matplotlib.pyplot as plt
import numpy as np

import lapwing as lw

# %%
# 100,000 made-up page loads: most are quick, and one in ten waits for a cold cache.

rng = np.random.default_rng(5)
cold = rng.random(100_000) < 0.1
load = np.where(cold, rng.lognormal(8.3, 0.5, cold.size), rng.lognormal(6.2, 0.6, cold.size))

domain = lw.Interval(10, 60_000, bins=256, scale="log")
survey = lw.Survey("load time", lw.recommend(domain, epsilon=2, users=load.size))
with lw.testing.reproducible(1):
    result = survey.decode(survey.tally(survey.randomize(load)))

# %%
# Three numbers for a dashboard, each with an interval.

levels = (0.5, 0.95, 0.99)
estimates = [result.quantile(level) for level in levels]
intervals = [result.quantile_interval(level) for level in levels]
truth = np.quantile(load, levels)

plt.style.use("lapwing.results.look")
figure, ax = plt.subplots()
at = np.geomspace(10, 60_000, 400)
band = result.confidence_band(0.95)
ax.fill_between(band.points, 100 * band.low, 100 * band.high, color="0.85", label="95% band")
ax.plot(at, 100 * result.cdf(at), label="estimate")
ax.plot(np.sort(load)[::50], np.linspace(0, 100, 2000), "--", label="truth")
for level, value, (low, high) in zip(levels, estimates, intervals, strict=True):
    ax.plot([low, high], [100 * level] * 2, color="0.35", linewidth=5, solid_capstyle="butt")
    words = f"p{100 * level:g}: {value:,.0f} ms"
    ax.annotate(words, (high, 100 * level - (20 if level == 0.95 else 8)))
ax.set(xscale="log", xlabel="load time, milliseconds", ylabel="loads within this time, %")
ax.set(xlim=(20, 60_000), ylim=(0, 102))
ax.xaxis.set_major_formatter("{x:,.0f}")
ax.legend(loc="lower right")
ax.set_title("made-up data: 100,000 page loads, epsilon = 2, local model")
figure.suptitle("One survey answers for the median and for the tail")

said = [
    f"{e:,.0f} ({low:,.0f} to {high:,.0f})"
    for e, (low, high) in zip(estimates, intervals, strict=True)
]
print(f"The p50, p95 and p99 in milliseconds, with 95% intervals: {', '.join(said)}.")
