"""
Made-up columns: a budget for six releases by basic composition pays for thirteen
=================================================================================

Basic composition adds the epsilons. A ledger composes Gaussian noise more tightly. With
``tight=True`` it also composes Gaussian noise and pure epsilons numerically.
"""

import tempfile
from fractions import Fraction
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import lapwing as lw

# %%
# Releases alternate between Gaussian noise and pure epsilon, until the ledger refuses one.

budget = lw.Guarantee(Fraction(2), Fraction("1e-6"), "replace-one", "central")
column = np.random.default_rng(1).gamma(3, 10, 5_000)
payments = {1: {"epsilon": "0.4", "delta": "1e-7"}, 0: {"epsilon": "0.2", "delta": "0"}}
domain = lw.Interval(0, 100, bins=64)
with tempfile.TemporaryDirectory() as folder:
    own = {"ledger": Path(folder) / "budget.json", "neighbors": "replace-one"}
    lw.Ledger(budget, tight=True).save(own["ledger"])
    for number in range(1, 100):
        try:
            lw.release(column, domain, **payments[number % 2], **own)
        except lw.errors.BudgetError:
            break
    entries = lw.Ledger.load(own["ledger"]).entries

# %%
# The same payments under three composition methods. The large budget refuses none of them.

large = lw.Guarantee(Fraction(24), budget.delta, "replace-one", "central")
releases = np.arange(1, len(entries) + 1)
kept = {
    tight: [float(lw.Ledger(large, entries[:k], tight=tight).spent.epsilon) for k in releases]
    for tight in (False, True)
}
basic = np.cumsum([float(entry.guarantee.epsilon) for entry in entries])
curves = {"basic composition": basic, "Gaussian": kept[False], "numerical": kept[True]}
paid = {name: int(np.sum(np.array(curve) <= 2)) for name, curve in curves.items()}

plt.style.use("lapwing.results.look")
figure, ax = plt.subplots()
for (name, curve), style in zip(curves.items(), ("s--", "^-.", "o-"), strict=True):
    color = {"s--": "0.5", "^-.": "C1", "o-": "C0"}[style]
    ax.plot(releases, curve, style, color=color, label=f"{name}: pays for {paid[name]}")
ax.axhline(2, color="0.4", linestyle=":", label="budget")
ax.set(xlabel="releases", ylabel="epsilon, at delta = 1e-6", ylim=(0, 4.2), xticks=releases)
ax.legend(loc="upper left")
ax.set_title("made-up data, epsilon 0.4 (delta 1e-7) and 0.2 (delta 0) in turn, central model")
figure.suptitle(f"A budget of epsilon = 2 pays for {paid['numerical']} releases instead of 6")
print(f"The budget pays for {paid['numerical']} releases, and for 6 by basic composition.")
