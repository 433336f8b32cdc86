"""
Trusting nobody costs a wider band at the same epsilon
======================================================

29,144 incomes are estimated twice with epsilon 1. In the local model, nobody sees an income. In
the central model, a curator sees all of them and publishes one noisy distribution.
"""

import matplotlib.pyplot as plt
import numpy as np

import lapwing as lw

values = lw.datasets.load_income().values()
domain = lw.Interval(0, 2**19, bins=512, atoms=[0])

# %%
# Local: each person's device sends one report. Central: one call on the table.

survey = lw.Survey("income", lw.recommend(domain, epsilon=1, users=values.size))
with lw.testing.reproducible(1):
    local = survey.decode(survey.tally(survey.randomize(values)))
with lw.testing.reproducible(2):
    published = lw.release(values, domain, epsilon=1, delta=1e-6, neighbors="replace-one")

# %%
# Both answer the same questions. The width of an interval is the price of trusting nobody.

results = {"local: nobody sees an income": local, "central: a curator does": published.distribution}
ends = [result.quantile_interval(0.5) for result in results.values()]

plt.style.use("lapwing.results.look")
figure, axes = plt.subplots(1, 2, sharey=True)
dollars = np.linspace(0, 120_000, 601)
truth = 100 * np.searchsorted(values, dollars, side="right") / values.size
for ax, (name, result), (low, high) in zip(axes, results.items(), ends, strict=True):
    band = result.confidence_band(0.95)
    ax.fill_between(
        band.points / 1000, 100 * band.low, 100 * band.high, color="0.8", label="95% band"
    )
    ax.plot(dollars / 1000, 100 * result.cdf(dollars), label="estimate")
    ax.plot(dollars / 1000, truth, "--", label="truth")
    ax.set(xlim=(-1, 120), ylim=(0, 100), xlabel="income, thousand US dollars a year")
    ax.set_title(f"{name}\nmedian {low:,.0f} to {high:,.0f} dollars")
axes[0].set_ylabel("people with at most this income, %")
axes[0].legend(loc="lower right")
figure.suptitle("Trusting nobody costs a wider band at the same epsilon")

widths = [high - low for low, high in ends]
print(
    f"The 95% interval of the median is {widths[0]:,.0f} dollars wide without a trusted "
    f"curator, and {widths[1]:,.0f} dollars with one."
)
