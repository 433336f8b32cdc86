"""
Made-up clicks: shrinking beats raw shares and thresholds on 4,096 pages
========================================================================

Most pages of a site are hardly ever read, so most raw shares are noise. The default estimator
learns from the reports how the shares are distributed, and shrinks each one. A threshold keeps
only a few pages.
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
    "thresholded": survey.decode(tally, decoder=lw.papers.baselines.Threshold()),
    "shrunk (default)": survey.decode(tally),
}
errors = {name: np.sum((one.mass - truth) ** 2) for name, one in estimates.items()}

plt.style.use("lapwing.results.look")
figure, (left, right) = plt.subplots(1, 2, width_ratios=(3, 2))
largest = slice(0, 100)
rank = np.arange(1, 101)
for name, marker, color in (("raw", "x", "0.6"), ("shrunk (default)", ".", "C0")):
    left.plot(rank, 100 * estimates[name].mass[largest], marker, color=color, ms=5, label=name)
left.plot(rank, 100 * truth[largest], "--", color="C1", label="truth")
left.set(xlabel="page, by true rank", ylabel="share of clicks, %")
left.set(xscale="log", yscale="log", ylim=(0.05, 20))
left.xaxis.set_major_formatter("{x:g}")
left.yaxis.set_major_formatter("{x:g}")
left.set(title="800,000 people, epsilon = 2, pure, local model")
left.legend(loc="upper right")
relative = [100 * errors[name] / errors["raw"] for name in estimates]
bars = right.barh(list(estimates), relative, color=("0.6", "0.8", "C0"))
right.bar_label(bars, fmt="%.0f%%", padding=3)
right.set(xlabel="squared error, % of raw", xlim=(0, 119), title="about the people in the data")
right.invert_yaxis()
figure.suptitle("Shrinking beats raw shares and thresholds (made-up clicks)")

best = errors["shrunk (default)"]
print(
    f"The squared error of the default estimator is {best / errors['raw']:.0%} of that of raw "
    f"shares, and {best / errors['thresholded']:.0%} of that of thresholded shares."
)
