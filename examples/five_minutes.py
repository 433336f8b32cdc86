"""The README's example: the incomes of 29,144 people, from reports and from a table."""

import lapwing as lw

values = lw.datasets.load_income().values()  # in real use, each stays on its owner's device
survey = lw.Survey("income", lw.recommend(lw.Interval(0, 500_000), epsilon=2, users=30_000))
reports = survey.randomize(values)  # on the devices
result = survey.decode(survey.tally(reports))  # on your server
mid = result.answer("quantile 0.5")
print(f"{result.cdf(50_000):.1%} earn at most $50,000. Median: ${mid.low:,.0f} to ${mid.high:,.0f}")

published = lw.release(values, lw.Interval(0, 500_000), epsilon=1, neighbors="replace-one")
published.save("income.json")
print(f"Median: ${published.distribution.quantile(0.5):,.0f}, {published.guarantee}")
