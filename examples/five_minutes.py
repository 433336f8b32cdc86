"""The README's example: what 29,144 people earn, learned without anybody telling it."""

import csv

import lapwing as lw

with open("examples/data/acs_income_2019.csv") as table:  # an income, and how many people have it
    values = [int(row["income"]) for row in csv.DictReader(table) for _ in range(int(row["count"]))]

# Agreed in public, before anybody answers. Many people have exactly 0: a symbol of its own.
domain = lw.Interval(0, 524_288, bins=128, atoms=[0])
survey = lw.Survey("income", lw.MultiscaleWave(domain, epsilon=2))  # what lw.recommend names

reports = survey.randomize(values)  # on each device; secure randomness by default
tally = survey.tally(reports)  # on the server; tallies add
result = survey.decode(tally)  # by the recommended decoder

print(survey.guarantee)
print(f"one report:       {bytes(reports.data[0]).hex()}, of {reports.width} bytes")
print(f"earn <= 50,000:   {result.cdf(50_000):.1%}")
deciles = result.quantile([0.1, 0.5, 0.9])
print("10 %, 50 %, 90 %:", "  ".join(f"{income:,.0f}" for income in deciles))
median = result.quantile_interval(0.5)
if median is not None:  # a decoder may leave out what intervals need
    print(f"median, 95 %:     {median[0]:,.0f} to {median[1]:,.0f}")

result.plot(title="What people earn", label="income, dollars").figure.savefig("income.png")

# A curator who does hold the values publishes them once instead, with noise.
published = lw.release(values, domain, epsilon=1, delta=1e-6, neighbors="replace-one")
print(f"published median: {published.distribution.quantile(0.5):,.0f}")
