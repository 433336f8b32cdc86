"""
Declare that many people earn nothing, and the curve starts in the right place
==============================================================================

Of 29,144 people in the American Community Survey, 12% have no income. Such a point mass is public
knowledge, so declare it with ``atoms=[0]``. Otherwise, the smooth estimate spreads the mass over
small incomes.
"""

import matplotlib.pyplot as plt
import numpy as np

import lapwing as lw

values = lw.datasets.load_income().values()

# %%
# Ask with and without the declaration. All else is equal: 256 bins and epsilon 2.


def ask(atoms):
    domain = lw.Interval(0, 2**19, bins=256, atoms=atoms)
    survey = lw.Survey("income", lw.recommend(domain, epsilon=2, users=30_000))
    with lw.testing.reproducible(1):
        return survey.decode(survey.tally(survey.randomize(values)))


declared, plain = ask([0]), ask([])

# %%
# The share of zeros is now a separate answer with an interval. If zero is not declared, these
# people are somewhere in the first bin, and the interval covers all possibilities.

share, (low, high) = declared.share(0), declared.share_interval(0)
least, most = plain.probability_interval(-np.inf, 0)
dollars = np.linspace(0, 12_000, 601)
truth = np.mean(values[:, None] <= dollars, axis=0)

plt.style.use("lapwing.results.look")
figure, ax = plt.subplots()
ax.plot(dollars, 100 * declared.cdf(dollars), label="zero declared")
ax.plot(dollars, 100 * truth, "--", label="truth")
ax.plot(dollars[1:], 100 * plain.cdf(dollars[1:]), ":", color="0.2", label="zero not declared")
ax.vlines(0, 100 * low, 100 * high, color="0.6", linewidth=6, label="share of zeros, 95% interval")
ax.plot(0, 100 * share, "o", color="C0", clip_on=False)
ax.xaxis.set_major_formatter("{x:,.0f}")
ax.set(xlabel="income, US dollars a year", ylabel="people with at most this income, %")
ax.set(xlim=(-150, 12_000), ylim=(0, 40))
ax.legend(loc="lower right")
ax.set_title("29,144 people, epsilon = 2, local model")
figure.suptitle("Declare the zero, and the curve starts in the right place")

print(
    f"{share:.1%} earn nothing (95% interval {low:.1%} to {high:.1%}, truth {truth[0]:.1%}), "
    f"but undeclared all that is known is {least:.1%} to {most:.1%}."
)
