"""
Made-up columns: a budget for four releases by basic composition pays for sixteen
=================================================================================

A ledger adds up what was spent. Basic composition adds the epsilons. Releases with Gaussian noise
compose more tightly, and the ledger knows it.
"""

import tempfile
from fractions import Fraction
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import lapwing as lw

# %%
# Columns are published one after the other, each with epsilon 0.5, until the ledger refuses.

budget = lw.Guarantee(Fraction(2), Fraction("1e-6"), "replace-one", "central")
column = np.random.default_rng(1).gamma(3, 10, 5_000)
spent = []
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "budget.json"
    lw.Ledger(budget).save(path)
    for number in range(1, 100):
        try:
            lw.release(
                column,
                lw.Interval(0, 100, bins=128),
                epsilon="0.5",
                delta="1e-7",
                neighbors="replace-one",
                ledger=path,
                rng=lw.seeded(number),
            )
        except lw.errors.BudgetError:
            break
        spent.append(float(lw.Ledger.load(path).spent.epsilon))

# %%
# The cost so far, as the ledger says it and as the sum of the epsilons.

releases = np.arange(1, len(spent) + 1)
plt.style.use("lapwing.results.look")
figure, ax = plt.subplots()
ax.plot(releases, spent, "o-", label="spent, as the ledger composes it")
ax.plot(releases, 0.5 * releases, "s--", color="0.5", label="sum of the epsilons")
ax.axhline(2, color="C1", linestyle=":", label="budget")
ax.set(xlabel="releases", ylabel="epsilon, at delta = 1e-6", ylim=(0, 8))
ax.set_xticks(releases[1::2])
ax.legend(loc="upper left")
ax.set_title("each release: epsilon = 0.5, delta = 1e-7, replace-one, central model")
figure.suptitle(f"A budget of epsilon = 2 pays for {len(spent)} releases instead of 4")

print(f"The budget pays for {len(spent)} releases; by the sum of epsilons it would pay for 4.")
