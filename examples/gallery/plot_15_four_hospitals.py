"""
Made-up hospitals: four sites publish one curve, and nobody pools patients
==========================================================================

Each of four made-up hospitals adds noise to its own counts and sends one small file. The files add
up. No hospital has to trust another one, or a coordinator.
"""

import matplotlib.pyplot as plt
import numpy as np

import lapwing as lw

rng = np.random.default_rng(3)
sizes = {"north": 9_000, "east": 6_000, "south": 5_000, "west": 3_000}
stays = {name: rng.gamma(2, 2 + k / 2, n) for k, (name, n) in enumerate(sizes.items())}

# %%
# Each site releases on its own. The releases of the same question add exactly.

days = lw.Interval(0, 30, bins=120)
promise = {"epsilon": 1, "delta": 1e-6, "neighbors": "replace-one"}
sites = {}
for k, (name, values) in enumerate(stays.items()):
    with lw.testing.reproducible(k):
        sites[name] = lw.release(values, days, **promise)
total = sum(site.release for site in sites.values())
together = lw.survey.Publication(total, "").distribution

# %%
# The sum of four noisy curves is close to the curve of all patients.

everybody = np.concatenate(list(stays.values()))
truth = lw.Distribution.of_values(everybody, days)
error = lw.distances.kolmogorov_smirnov(together, truth)

plt.style.use("lapwing.results.look")
figure, ax = plt.subplots()
band = together.confidence_band(0.95)
at = np.linspace(0, 30, 301)
for name, site in sites.items():
    first = "single sites" if name == "north" else None
    ax.plot(at, 100 * site.distribution.cdf(at), color="0.6", linewidth=0.8, label=first)
ax.fill_between(band.points, 100 * band.low, 100 * band.high, color="0.75", label="95% band")
ax.plot(at, 100 * together.cdf(at), label="four sites together")
ax.plot(at, 100 * truth.cdf(at), "--", label="truth")
ax.set(xlabel="length of stay, days", ylabel="patients with at most this stay, %")
ax.set(xlim=(0, 30), ylim=(0, 100))
ax.legend(loc="lower right")
ax.set_title(f"made-up data: {total.people:,} patients, epsilon = 1, delta = 1e-6, central model")
figure.suptitle("Four sites publish one curve, and nobody pools patients")

print(f"The sum of four releases is off by at most {100 * error:.2f} percentage points.")
