"""
Made-up words: four of 67 million hashes stand out, and nobody listed them
==========================================================================

200,000 people send one word each in four bytes. Nobody has a list of words. A scan of all 2^26
hashes finds how many words are common. A list of candidates then tells which ones.
"""

import matplotlib.pyplot as plt
import numpy as np

import lapwing as lw

# %%
# Four words are common. All others are typed once.

common = {"lapwing": 0.12, "curlew": 0.08, "plover": 0.05, "godwit": 0.03}
people = 200_000
typed = [word for word, share in common.items() for _ in range(round(share * people))]
typed += [f"typo {number}" for number in range(people - len(typed))]

survey = lw.Survey("word", lw.LinearHashing(lw.HashedStrings(26), epsilon=2))
with lw.testing.reproducible(1):
    tally = survey.tally(survey.randomize(typed))

# %%
# The scan needs no list. The candidates only name what it found.

scan = survey.decode(tally, decoder=lw.decoders.ExhaustiveScan())
birds = ["avocet", "curlew", "dunlin", "godwit", "knot", "lapwing", "plover", "ruff"]
named = survey.decode(tally, decoder=lw.decoders.Candidates(birds))

plt.style.use("lapwing.results.look")
figure, ax = plt.subplots()
band = named.confidence_band(0.95)
place = np.arange(len(named))
ax.hlines(place, 100 * band.low, 100 * band.high, color="0.7", linewidth=8, label="95% interval")
ax.plot(100 * named.shares, place, "o", label="estimate")
ax.plot([100 * common[word] for word in named.values], place, "|", markersize=18, label="truth")
ax.axvline(100 * scan.threshold, color="0.3", linestyle=":", label="threshold of the scan")
ax.set_yticks(place, named.values)
ax.invert_yaxis()
ax.set(xlabel="share of people, %", ylabel="word", xlim=(0, 14), ylim=(len(named) - 0.5, -0.5))
ax.legend(loc="lower right")
ax.set_title("made-up data: 200,000 people, 2^26 hashes, epsilon = 2, local model")
figure.suptitle("Four words stand out among 67 million hashes")

print(f"The scan finds {len(scan)} of {scan.searched:,} hashes: {', '.join(named.values)}.")
