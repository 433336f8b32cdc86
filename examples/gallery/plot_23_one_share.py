"""
A share that you ask for in advance has a third of the error and a fifth of the interval
========================================================================================

How many of 29,144 people earn more than 50,000 dollars? The default design answers every question
about the curve. A survey that asks only this question is designed for it.
"""

import matplotlib.pyplot as plt
import numpy as np

import lapwing as lw

people = lw.datasets.load_income()
values, question = people.values(), "share above 50000"
truth = np.mean(values > 50_000)

# %%
# Both designs have the same bins, epsilon 1 and the same people. 50,000 is an edge of the bins.

line = lw.Interval(0, 500_000, outside="clip")
asked = lw.recommend(line, epsilon=1, users=people.total, questions=[question])
domain = asked.randomizer.domain
default = lw.recommend(domain, epsilon=1, users=people.total)
counts = np.bincount(domain.index(values), minlength=domain.size)

# %%
# Repeat each survey twenty times, and compare the answers with the share in the data.


def answers(design):
    survey = lw.Survey("income", design)
    for seed in range(20):
        yield survey.decode(lw.simulate(survey.randomizer, counts, rng=seed)).answer(question)


plt.style.use("lapwing.results.look")
figure, axes = plt.subplots(1, 2, sharex=True, sharey=True)
errors, widths = {}, {}
for ax, name, design in zip(axes, ("default", "asked"), (default, asked), strict=True):
    found = np.array([(one.value, one.low, one.high) for one in answers(design)])
    value, low, high = 100 * found.T
    errors[name] = np.sqrt(np.mean((value - 100 * truth) ** 2))
    widths[name] = np.mean(high - low)
    ax.hlines(range(20), low, high, color="C0", label="95% interval")
    ax.plot(value, range(20), "o", color="C0", label="answer")
    ax.axvline(100 * truth, color="C1", linestyle="--", label="share in the data")
    ax.set(xlabel="share above 50,000 dollars, %", yticks=[], title=f"{name} design")
axes[0].set(ylabel="twenty surveys")
axes[1].legend(loc="lower right")
figure.suptitle(f"{people.total:,} people, epsilon 1: a share asked beforehand is sharper")

times = (errors["default"] / errors["asked"]) ** 2
print(
    f"The error falls from {errors['default']:.1f} to {errors['asked']:.2f} percentage points and "
    f"the interval from {widths['default']:.1f} to {widths['asked']:.1f}. "
    f"The default needs about {times:.0f} times the people for this error."
)
