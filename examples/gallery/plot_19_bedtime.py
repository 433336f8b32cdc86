"""
Made-up bedtimes: on a circle the mean is near midnight, on a line it is in the daytime
=======================================================================================

Half of these made-up people go to bed before midnight and half after it. A mean over hours from 0
to 24 falls where nobody goes to bed. If you declare the circle, the answer is a direction on it.
"""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np

import lapwing as lw

# %%
# 40,000 made-up bedtimes around 23:40. Both means below are computed from the same reports.

hours = np.random.default_rng(1).normal(23.7, 1.2, 40_000) % 24
clock = lw.Interval("00:00", "24:00", bins=48, unit="time-of-day", circular=True)
survey = lw.Survey("bedtime", lw.MultiscaleWave(clock, epsilon=1))
with lw.testing.reproducible(1):
    result = survey.decode(survey.tally(survey.randomize(3600 * hours)))

# %%
# The mean on the line, and the mean and the median on the circle.

line = float(np.sum(result.mass * (np.arange(48) + 0.5) / 2))
circle, ends = result.mean(), result.mean_interval()
median = result.quantile(0.5, start="12:00")

plt.style.use("lapwing.results.look")
figure, ax = plt.subplots()
cuts = [f"{i // 2:02d}:{30 * (i % 2):02d}" for i in range(49)]
low, high = np.transpose([result.probability_interval(*pair) for pair in pairwise(cuts)])
truth = np.histogram(hours, 48, (0, 24))[0] / hours.size
edges = 12 + np.arange(49) / 2  # from noon to noon, so that the night is in the middle
order = (np.arange(48) + 24) % 48
ends_of = {"baseline": 100 * low[order], "fill": True, "color": "0.85"}
ax.stairs(100 * high[order], edges, label="95% interval, people in the data", **ends_of)
ax.stairs(100 * result.mass[order], edges, baseline=None, color="C0", label="estimate")
ax.stairs(100 * truth[order], edges, baseline=None, color="C1", ls="--", label="truth")
place = (int(circle[:2]) + int(circle[3:5]) / 60 - 12) % 24 + 12
for at, name in ((place, f"mean on the circle: {circle[:5]}"), (12 + line % 12, "on a line")):
    shown = name if at == place else f"mean {name}: {int(line):02d}:{int(line % 1 * 60):02d}"
    ax.axvline(at, color="0.2", linestyle="-" if at == place else ":", label=shown)
ax.set_xticks(range(12, 37, 3), [f"{hour % 24:02d}:00" for hour in range(12, 37, 3)])
ax.set(xlabel="time of day", ylabel="share of people in 30 minutes, %", xlim=(12, 36))
ax.legend(loc="upper right")
ax.set_title(f"made-up data: 40,000 people, {result.guarantee}")
figure.suptitle("On a circle the mean bedtime is near midnight")

print(
    f"The mean bedtime is {circle[:5]} (95% interval {ends[0][:5]} to {ends[1][:5]}) on the "
    f"circle, and {int(line):02d}:{int(line % 1 * 60):02d} on a line."
)
