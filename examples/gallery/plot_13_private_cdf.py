"""
Five lines publish the incomes of 29,144 people, and the error is known beforehand
==================================================================================

You hold a table and may publish its distribution, with a guarantee for each person in it. Compute
the error first, because a release spends privacy budget that you cannot get back.
"""

import matplotlib.pyplot as plt

import lapwing as lw

values = lw.datasets.load_income().values()
domain = lw.Interval(0, 400_000, bins=400, atoms=[0])  # many people have no income

# %%
# A dry run reads no data.

promise = {"epsilon": 1, "delta": 1e-6, "neighbors": "replace-one"}
expected = lw.expected_error(domain, 29_144, **promise)["kolmogorov_smirnov"]

# %%
# Publish. In real use, leave out ``lw.testing``, so that the draws are secure.

with lw.testing.reproducible(1):
    published = lw.release(values, domain, **promise)
result = published.distribution
low, high = result.quantile_interval(0.5)

# %%
# The largest error stays within what was expected.

truth = lw.Distribution.of_values(values, domain)
error = lw.distances.kolmogorov_smirnov(result, truth)

plt.style.use("lapwing.results.look")
figure, ax = plt.subplots()
band = result.confidence_band(0.95)
at, exact = band.points / 1000, truth.cdf(band.points)
ends = [100 * (end - exact) for end in (band.low, band.high)]
ax.fill_between(at, *ends, step="mid", color="0.8", label="95% band, people in the data")
ax.step(at, 100 * (result.cdf(band.points) - exact), where="mid", linewidth=1, label="published")
ax.axhline(0, color="C1", linestyle="--", label="truth")
ax.set(xlim=(0, 150), xlabel="income, thousand US dollars a year")
ax.set(ylabel="CDF minus the true one,\npercentage points", ylim=(-0.5, 0.5))
ax.legend(loc="lower right", ncols=3)
ax.set_title(f"29,144 people; {result.guarantee}")
figure.suptitle("The published curve is off by less than half a percentage point")

print(
    f"The median is between {low:,.0f} and {high:,.0f} dollars (95%), and the CDF is off by at "
    f"most {100 * error:.2f} percentage points, where {100 * expected.high:.2f} were expected."
)
