"""
Made-up Beta(5, 2): smoothing helps EM, and from epsilon 1.5 on the default gains more
======================================================================================

This is the experiment of Li et al. (2020) on made-up Beta(5, 2) values. EM is their
maximum-likelihood estimator, and EMS is EM with smoothing. The error is the Wasserstein distance
on [0, 1].
"""

import matplotlib.pyplot as plt
import numpy as np

import lapwing as lw

domain = lw.Interval(0, 1, bins=256)
values = np.random.default_rng(1).beta(5, 2, 100_000)
counts = np.bincount(domain.index(values), minlength=domain.size)
truth = lw.Distribution.of_counts(counts, domain)

# %%
# EM, EMS and the default pair of Lapwing, five repeats at each epsilon.

epsilons, repeats = (0.5, 1, 1.5, 2, 2.5), 5
ems = lw.ExpectationMaximization(smoothed=True, band=False)
methods = {
    "square wave, EM": (lw.SquareWave, lw.ExpectationMaximization(band=False)),
    "square wave, EMS": (lw.SquareWave, ems),
    "multiscale wave, default": (lw.MultiscaleWave, None),
}


def error(kind, decoder, epsilon, seed):
    survey = lw.Survey("beta", kind(domain, epsilon=epsilon))
    tally = lw.simulate(survey.randomizer, counts, rng=seed)
    return lw.distances.wasserstein(survey.decode(tally, decoder=decoder), truth)


# %%
# Means of five repeats, with one standard error on each side.

plt.style.use("lapwing.results.look")
figure, ax = plt.subplots()
means = {}
looks = zip(("s:", "^--", "o-"), ("0.4", "C1", "C0"), strict=True)
for (name, method), (style, color) in zip(methods.items(), looks, strict=True):
    runs = np.array([[error(*method, e, seed) for seed in range(repeats)] for e in epsilons])
    means[name] = runs.mean(axis=1)
    bars = runs.std(axis=1, ddof=1) / np.sqrt(repeats)
    ax.errorbar(epsilons, means[name], bars, fmt=style, color=color, capsize=3, label=name)
ax.set(xlabel="epsilon", ylabel="Wasserstein distance on [0, 1]", ylim=(0, None))
ax.legend()
ax.set_title(
    "100,000 made-up values of Beta(5, 2), 256 bins, local model. Bars: one standard error"
)
figure.suptitle("Smoothing helps EM, and from epsilon 1.5 on the default helps more")

last = ", ".join(f"{name} {mean[-1]:.4f}" for name, mean in means.items())
print(f"Wasserstein distances at epsilon 2.5: {last}.")
