"""
The error of a survey is known before anybody is asked
======================================================

The expected largest error of a CDF follows from the number of people and epsilon.
"""

import matplotlib.pyplot as plt
import numpy as np

import lapwing as lw

domain = lw.Interval(0, 60, bins=256)
people = np.logspace(3, 6, 13).astype(int)

# %%
# Ask for the expected error at four epsilons. This reads no data.


def errors(epsilon):
    found = (lw.expected_error(domain, int(n), epsilon=epsilon) for n in people)
    return [error["kolmogorov_smirnov"] for error in found]


curves = {epsilon: errors(epsilon) for epsilon in (0.5, 1, 2, 4)}

# %%
# Read off the number of people for a wanted error, or ask :func:`lapwing.recommend` for it.


def users(epsilon):
    return lw.recommend(domain, epsilon=epsilon, error=0.02, distance="kolmogorov_smirnov").users


needed = {epsilon: users(epsilon) for epsilon in (1, 2)}

plt.style.use("lapwing.results.look")
figure, ax = plt.subplots()
low, high = 100 * np.transpose([(e.low, e.high) for e in curves[1]])
ax.fill_between(people, low, high, color="0.88", label="epsilon = 1, easy to hard columns")
looks = zip(("0.5", "C0", "C1", "C3"), ("-.", "-", "--", ":"), strict=True)
for (epsilon, curve), (color, line) in zip(curves.items(), looks, strict=True):
    points = [100 * e.typical for e in curve]
    ax.plot(people, points, line, color=color, label=f"epsilon = {epsilon}")
for n in needed.values():
    ax.plot([n, n, 1000], [0.1, 2, 2], color="0.3", linewidth=1)
    ax.annotate(f"{n:,} people", (n, 0.12), xytext=(5, 0), textcoords="offset points")
ax.set(xscale="log", yscale="log", xlim=(1000, 1.2e6), ylim=(0.1, 200))
ax.xaxis.set_major_formatter("{x:,.0f}")
ax.yaxis.set_major_formatter("{x:g}")
ax.set(xlabel="people who report", ylabel="largest error of the CDF,\npercentage points")
ax.legend(loc="upper right", ncols=2)
ax.set_title("expected errors, 256 bins, local model")
figure.suptitle("The error of a survey is known before anybody is asked")

print(
    f"An expected largest error of 2 percentage points takes {needed[1]:,} people at epsilon 1 "
    f"and {needed[2]:,} at epsilon 2."
)
