"""
Made-up bedtimes: on a circle the mean is near midnight, on a line it is in the daytime
=======================================================================================

Half of these made-up people go to bed before midnight and half after it. A mean over hours from 0
to 24 falls where nobody goes to bed. Declare the circle, and the answer is a direction on it.
"""

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np

import lapwing as lw

# %%
# 40,000 made-up bedtimes around 23:40. The same reports could not be asked differently.

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
figure = plt.figure(figsize=(7.2, 4.4))
ax = figure.add_subplot(projection="polar", theta_offset=np.pi / 2, theta_direction=-1)
angle = (np.arange(48) + 0.5) / 48 * 2 * np.pi
cuts = [f"{i // 2:02d}:{30 * (i % 2):02d}" for i in range(49)]
low, high = np.transpose([result.probability_interval(*pair) for pair in pairwise(cuts)])
truth = np.histogram(hours, 48, (0, 24))[0] / hours.size
ax.fill_between(angle, 100 * low, 100 * high, color="0.85", label="95% interval")
ax.plot(angle, 100 * result.mass, label="estimate")
ax.plot(angle, 100 * truth, "--", label="truth")
minutes = [int(end[:2]) * 60 + int(end[3:5]) for end in (circle, *ends)]
ax.axvline(minutes[0] / 1440 * 2 * np.pi, color="0.2", linewidth=2, label=f"mean: {circle[:5]}")
ax.axvline(line / 24 * 2 * np.pi, color="0.2", linestyle=":", label=f"on a line: {line:.0f}:00")
ax.set_rgrids([5, 10, 15], angle=110)
ax.set_xticks(np.arange(8) * np.pi / 4, [f"{3 * i}:00" for i in range(8)])
ax.set(xlabel="time of day, radius: share of people in 30 minutes, %")
ax.legend(loc="center left", bbox_to_anchor=(1.15, 0.5))
ax.set_title("made-up data: 40,000 people, epsilon = 1, local model")
figure.suptitle("On a circle the mean bedtime is near midnight")

print(
    f"The mean bedtime is {circle[:5]} (95% interval {ends[0][:5]} to {ends[1][:5]}) on the "
    f"circle, and {int(line):02d}:{int(line % 1 * 60):02d} on a line."
)
