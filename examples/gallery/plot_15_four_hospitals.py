"""
Made-up hospitals: four sites publish one curve, and nobody pools patients
==========================================================================

Each of four made-up hospitals adds noise to its own counts and sends one small file. The files add
up. No hospital has to trust another hospital or a coordinator.
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
at = band.points
for name, site in sites.items():
    first = "each site, about its own patients" if name == "north" else None
    own = lw.Distribution.of_values(stays[name], days).cdf(at)
    off = 100 * (site.distribution.cdf(at) - own)
    ax.plot(at, off, color="0.6", linewidth=0.8, label=first)
ends = (100 * (end - truth.cdf(at)) for end in (band.low, band.high))
ax.fill_between(at, *ends, color="0.85", label="95% band, patients of the four sites")
ax.plot(at, 100 * (together.cdf(at) - truth.cdf(at)), label="four sites together")
ax.axhline(0, color="C1", linestyle="--", label="truth")
ax.set(xlabel="length of stay, days", ylabel="CDF minus the true one,\npercentage points")
ax.set(xlim=(0, 30), ylim=(-1, 0.7))
ax.legend(loc="lower right", ncols=2)
ax.set_title(f"made-up data: {total.people:,} patients, {sites['north'].guarantee}", fontsize=8)
figure.suptitle("Four sites publish one curve, and nobody pools patients")

print(f"The sum of four releases is off by at most {100 * error:.2f} percentage points.")
