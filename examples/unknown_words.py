"""Which words are common when nobody can list them: a scan of 2^26 hashes, and candidates.

Each of 200,000 people sends one word that they typed, by linear hashing with epsilon 2: four bytes
that hide it. The collector keeps the sorted reports. The analyst scans every possible hash, without
any list, and finds how many words are common and how common they are. A list of candidates, made
without the reports, then shows which words these are.
"""

from __future__ import annotations

import numpy as np

import lapwing as lw

PEOPLE = 200_000
COMMON = {"lapwing": 0.12, "curlew": 0.08, "plover": 0.05, "godwit": 0.03}
CANDIDATES = ["avocet", "curlew", "dunlin", "godwit", "knot", "lapwing", "plover", "ruff"]


def typed_words(rng: np.random.Generator) -> list[str]:
    """Return a word for each person: four common ones, all others rare."""
    words = [f"typo {number}" for number in rng.integers(0, 10**6, PEOPLE)]
    start = 0
    for word, share in COMMON.items():
        stop = start + round(share * PEOPLE)
        words[start:stop] = [word] * (stop - start)
        start = stop
    return words


def show(title: str, found: lw.HeavyHitters) -> None:
    """Print a list with its intervals."""
    band = found.confidence_band(0.95)
    print(f"{title}: {len(found)} of {found.searched:,} at or above {found.threshold:.1%}")
    for value, share, low, high in zip(
        found.values, found.shares, band.low, band.high, strict=True
    ):
        print(f"  {value!s:>15}  {share:6.1%}  ({low:.1%} to {high:.1%})")
    print(f"  {'all others':>15}  {found.remainder:6.1%}")


def main() -> None:
    survey = lw.Survey("word", lw.LinearHashing(lw.HashedStrings(26), epsilon=2))
    with lw.testing.reproducible(1):
        reports = survey.randomize(typed_words(np.random.default_rng(1)))
    tally = survey.tally(reports)
    # Rows of a scan are hashes: they show how many words are common, but not which ones.
    show("every hash", survey.decode(tally, decoder=lw.decoders.ExhaustiveScan()))
    show("candidates", survey.decode(tally, decoder=lw.decoders.Candidates(CANDIDATES)))


if __name__ == "__main__":
    main()
