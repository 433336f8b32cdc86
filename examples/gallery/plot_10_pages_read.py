"""
Made-up clicks: shrinking beats raw shares and thresholds on 4,096 pages
========================================================================

Most pages of a site are hardly read, so most raw shares are noise. The default estimator learns
from the reports how the shares are distributed, and shrinks each one. A threshold keeps few pages.
"""

import matplotlib.pyplot as plt
import numpy as np

import lapwing as lw

# %%
# 800,000 made-up clicks, which follow Zipf's law. Each click is one report of two bytes.

pages = 4096
law = 1 / np.arange(1, pages + 1) ** 1.05
clicks = np.random.default_rng(2).multinomial(800_000, law / law.sum())
truth = clicks / clicks.sum()
survey = lw.Survey("page", lw.randomizers.HadamardResponse(lw.Categories(pages), epsilon=2))
tally = lw.simulate(survey.randomizer, clicks, rng=1)

# %%
# Three estimates from the same reports.

estimates = {
    "raw": survey.decode(tally, decoder=lw.LeastSquares()),
    "thresholded": survey.decode(tally, decoder=lw.decoders.Threshold()),
    "shrunk (default)": survey.decode(tally),
}
errors = {name: np.sum((one.mass - truth) ** 2) for name, one in estimates.items()}

plt.style.use("lapwing.results.look")
figure, axes = plt.subplots(1, 3, sharey=True)
rank = np.arange(1, pages + 1)
for ax, (name, one) in zip(axes, estimates.items(), strict=True):
    ax.plot(rank, 100 * one.mass.clip(2.5e-5), ".", markersize=2, label="estimate")
    ax.plot(rank, 100 * truth, "--", label="truth")
    ax.set(xscale="log", yscale="log", xlabel="page, by true rank", ylim=(2e-3, 20))
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.yaxis.set_major_formatter("{x:g}")
    ax.set_title(f"{name}\nsquared error: {errors[name] / errors['raw']:.0%} of raw")
axes[0].set_ylabel("share of clicks, %")
axes[0].legend(loc="upper right", markerscale=4)
figure.suptitle("Shrinking beats raw shares and thresholds (made-up clicks)")

best = errors["shrunk (default)"]
print(
    f"The squared error of the default estimator is {best / errors['raw']:.0%} of that of raw "
    f"shares, and {best / errors['thresholded']:.0%} of that of thresholded shares."
)
