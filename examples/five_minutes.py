"""The README's example: what 29,144 people earn, learned without anybody telling it."""

import csv

import lapwing as lw

with open("examples/data/acs_income_2019.csv") as table:  # an income, and how many people have it
    values = [int(row["income"]) for row in csv.DictReader(table) for _ in range(int(row["count"]))]

# Agreed in public, before anybody answers.
survey = lw.Survey("income", lw.recommend(lw.Interval(0, 500_000), epsilon=2, users=30_000))

reports = survey.randomize(values)  # on each device; secure randomness by default
tally = survey.tally(reports)  # on the server; tallies add
result = survey.decode(tally)  # the recommended decoder

print(survey.guarantee)
print(f"one report:       {bytes(reports.data[0]).hex()}, of {reports.width} bytes")
print(f"earn <= 50,000:   {result.cdf(50_000):.1%}")
deciles = result.quantile([0.1, 0.5, 0.9])
print("10 %, 50 %, 90 %:", "  ".join(f"{income:,.0f}" for income in deciles))
band = result.confidence_band(0.95)
if band is not None:  # a decoder may leave out what a band needs
    low, high = band.quantile(0.5)
    print(f"median, 95 %:     {low:,.0f} to {high:,.0f}")

title = "Half of the people earn at most about 30,000 dollars"
result.plot(title=title, label="income, dollars").figure.savefig("income.png", dpi=180)

# A curator who already holds the values publishes them once, with noise.
published = lw.release(
    values, lw.Interval(0, 500_000), epsilon=1, delta=1e-6, neighbors="replace-one"
)
print(f"published median: {published.distribution.quantile(0.5):,.0f}")
print(published.guarantee)
published.release.save("income.json")
