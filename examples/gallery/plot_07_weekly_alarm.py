"""
Made-up load times: a weekly look at a band cries wolf, a watch does not
========================================================================

10,000 made-up page loads report in each of 52 weeks. Pages get 15% slower from week 41 on.
A pointwise 95% band excludes zero somewhere in most quiet weeks. :class:`lapwing.Watch` bounds the
probability of a false alarm over all its looks together.
"""

import matplotlib.pyplot as plt
import numpy as np

import lapwing as lw

seconds = lw.Interval(0, 10, bins=32)
survey = lw.Survey("load time", lw.MultiscaleWave(seconds, epsilon=1))
rng = np.random.default_rng(1)
loads = [rng.gamma(4, 0.69 if week > 40 else 0.6, 10_000) for week in range(1, 53)]

# %%
# Look at each week as it comes, once with a band and once with a watch.

watch, results, naive, noticed = lw.Watch(alpha=0.05), [], [], []
for week, values in enumerate(loads, start=1):
    counts = np.bincount(seconds.index(values), minlength=seconds.size)
    tally = lw.simulate(survey.randomizer, counts, rng=rng)
    results.append(survey.decode(tally))
    change = results[-1].difference(results[0], people="different")
    if week > 1 and change.confidence_band(0.95, kind="pointwise").leaves_zero:
        naive.append(week)
    watch, look = watch.look((survey, tally), name=f"week {week}")
    if look.change is not None:
        noticed.append(week)

# %%
# The watch reports once. The band had cried wolf many times before.

false = sum(week <= 40 for week in naive)

plt.style.use("lapwing.results.look")
figure, ax = plt.subplots()
weeks = np.arange(1, 53)
low, high = np.transpose([result.mean_interval() for result in results])
ax.fill_between(weeks, low, high, step="mid", color="0.85", label="95% interval of the mean")
ax.step(weeks, [r.mean() for r in results], where="mid", label="estimated mean")
ax.step(weeks, [v.mean() for v in loads], "--", where="mid", label="true mean")
ax.plot(naive, np.full(len(naive), 1.6), "kx", markersize=5, label="a pointwise band excludes zero")
ax.vlines(noticed, 1.5, 3.5, color="#007a5e", linewidth=2.5, label="the watch reports a change")
ax.set(xlabel="week", ylabel="load time, seconds", xlim=(0.5, 52.5), ylim=(1.5, 4.2))
ax.legend(loc="upper left", ncols=2)
ax.set_title("made-up data: 10,000 page loads a week, epsilon = 1, local model")
figure.suptitle("The band cries wolf in quiet weeks, the watch reports one change")

print(
    f"In 39 comparisons of quiet weeks the band raised {false} false alarms. "
    f"The watch raised none and reported the change in week {noticed[0]}."
)
