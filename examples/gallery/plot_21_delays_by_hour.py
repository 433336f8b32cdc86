"""
Three in ten flights after 20:00 arrive over 20 minutes late, fewer than one in ten before 09:00
================================================================================================

223,874 flights left Houston in 2011. Each sends one report about both its departure and its delay.
The collector can then ask how late flights are in any part of the day.
"""

import matplotlib.pyplot as plt
import numpy as np

import lapwing as lw

flights = lw.datasets.load_departures_and_delays()
pairs = lw.Product(
    departure=lw.Interval("00:00", "24:00", bins=24, unit="time-of-day", circular=True),
    delay=lw.Interval(-30, 90, bins=24, outside="overflow"),
)
truth = lw.results.JointDistribution.of_values(flights.values(), pairs)

# %%
# Epsilon 4 protects both values of a pair together.

survey = lw.Survey("delays", lw.recommend(pairs, epsilon=4, users=flights.total))
with lw.testing.reproducible(1):
    joint = survey.decode(survey.tally(survey.randomize(flights.values())))

# %%
# The share of late flights in two parts of the day.

evening, morning = ("20:00", "24:00"), ("00:00", "09:00")
late = {part: joint.given(departure=part).probability(20, np.inf) for part in (evening, morning)}
known = {part: truth.given(departure=part).probability(20, np.inf) for part in late}
ends = [joint.given(departure=part).probability_interval(20, np.inf) for part in late]

# %%
# The map of all flights, and the upper quartile of the delay along it.

plt.style.use("lapwing.results.look")
figure, (chart, steps) = plt.subplots(2, 1, sharex=True, figsize=(7.2, 5.6))
chart.pcolormesh(np.arange(25), np.linspace(-30, 90, 25), joint.table[:, 1:-1].T, cmap="Blues")
chart.set(ylabel="arrival delay, minutes")
beyond = f"Darker means more flights, above 90 minutes: {joint.probability(delay=(90, np.inf)):.0%}"
chart.set_title(f"{flights.total:,} flights, epsilon = 4, local model. {beyond}")
for one, look, name in ((joint, "C0-", "estimate"), (truth, "C1--", "truth")):
    rows = one.conditional_quantiles("delay", [0.75], slice_share=0.03)
    hours = np.append(rows["from"], rows["to"][-1]) / 3600
    if one is joint:
        low, high = (np.append(rows[end], rows[end][-1]) for end in ("low", "high"))
        steps.fill_between(hours, low, high, step="post", color="0.85", label="95% interval")
    steps.step(hours, [*rows["quantile"], rows["quantile"][-1]], look, where="post", label=name)
steps.set(ylabel="upper quartile, minutes", xlim=(0, 24), xticks=range(0, 25, 3))
steps.set_xlabel("departure, hour of the day")
steps.legend(loc="upper left")
figure.suptitle("Three in ten flights after 20:00 arrive over 20 minutes late")

shares = f"{late[evening]:.0%} after 20:00 and {late[morning]:.0%} before 09:00"
print(f"Of the flights, {shares} arrive over 20 minutes late.")
