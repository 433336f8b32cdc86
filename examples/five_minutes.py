"""The README's example: what 29,144 people earn, learned without anybody telling it."""

import lapwing as lw

values = lw.datasets.load_income().values()  # in use, each income stays on its owner's device
survey = lw.Survey("income", lw.recommend(lw.Interval(0, 500_000), epsilon=2, users=30_000))

reports = survey.randomize(values)  # on each device; secure randomness by default
tally = survey.tally(reports)  # on the server; tallies add
result = survey.decode(tally)  # the recommended decoder

print(survey.guarantee)
print(f"one report:       {bytes(reports.data[0]).hex()}, of {reports.width} bytes")
print(f"earn <= 50,000:   {result.cdf(50_000):.1%}")
if interval := result.quantile_interval(0.5):  # an estimator may have none
    print("median, 95 %:     {:,.0f} to {:,.0f}".format(*interval))
title = "Half of the people earn at most about 30,000 dollars"
result.plot(title=title, label="income, dollars").figure.savefig("income.png", dpi=180)

# If you already hold the values, publish their distribution once, with noise.
published = lw.release(
    values, lw.Interval(0, 500_000), epsilon=1, delta=1e-6, neighbors="replace-one"
)
print(f"published median: {published.distribution.quantile(0.5):,.0f}")
published.release.save("income.json")
