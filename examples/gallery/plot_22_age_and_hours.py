"""
The lower quartile of weekly hours is 40 from 25 to 60, and at most 20 before 20 and after 65
=============================================================================================

48,842 people in a census gave their age and their weekly hours of work. Each sends one report about
both, so the collector can ask for the quartiles of the hours at each age.
"""

import matplotlib.pyplot as plt
import numpy as np

import lapwing as lw

people = lw.datasets.load_ages_and_hours()
pairs = lw.Product(
    age=lw.Interval(15, 80, bins=13, closed="left", outside="overflow"),
    hours=lw.Integers(1, 60, outside="clip"),  # more than 60 counts as 60, which moves no quartile
)
truth = lw.results.JointDistribution.of_values(people.values(), pairs)

# %%
# Hours are whole numbers without bins, because 47% of the people work exactly 40.

survey = lw.Survey("age and hours", lw.recommend(pairs, epsilon=4, users=people.total))
with lw.testing.reproducible(1):
    joint = survey.decode(survey.tally(survey.randomize(people.values())))

# %%
# Quartiles in slices of at least 3.5% of the people. The last slice contains everybody from 65 on.

plt.style.use("lapwing.results.look")
figure, axes = plt.subplots(1, 2, sharey=True, figsize=(7.2, 4))
quartiles, inside = {}, 0
for ax, name, share in zip(axes, ("lower", "upper"), (0.25, 0.75), strict=True):
    for one, look, label in ((joint, "C0-", "estimate"), (truth, "C1--", "truth")):
        rows = one.conditional_quantiles("hours", [share], slice_share=0.035)
        # The first and the last slice have no end: people outside the range are in them.
        ages = np.clip(np.append(rows["from"], rows["to"][-1]), 15, 80)
        found = np.array(rows["quantile"])
        quartiles[name, label] = dict(zip(ages[:-1], found, strict=True))
        if one is joint:
            low, high = (np.append(rows[end], rows[end][-1]) for end in ("low", "high"))
            ax.fill_between(ages, low, high, step="post", color="0.85", label="95% interval")
        ax.step(ages, np.append(found, found[-1]), look, where="post", label=label)
    inside += int(np.sum((low[:-1] <= found) & (found <= high[:-1])))
    ax.set(xlabel="age, years", xlim=(15, 80), ylim=(0, 60), title=f"{name} quartile")
axes[0].set(ylabel="hours of work a week")
axes[0].set_title(f"{people.total:,} people, epsilon = 4, local model\nlower quartile")
axes[0].legend(loc="lower center")
figure.suptitle("A quarter work 20 hours or less before age 20 and after 65")

lower = quartiles["lower", "estimate"]
print(
    f"The lower quartile is {lower[15]:.0f} hours before 20, {lower[40]:.0f} at 40 and "
    f"{lower[65]:.0f} after 65, and {inside} of {2 * found.size} intervals hold the truth."
)
