"""The interval of a detected atom holds the share of the people who hold one value exactly."""

import numpy as np

import lapwing as lw
from tests.results.test_atoms import law

REPEATS = 20
PEOPLE = 6_000
BINS = lw.Interval(0, 100_000, bins=100)


def income(seed: int) -> np.ndarray:
    """Return whole numbers with a fifth at zero and 4% at 60,000, inside bins of other people."""
    rng = np.random.default_rng(seed)
    values = np.rint(rng.lognormal(10.2, 1.1, PEOPLE))
    kind = rng.random(PEOPLE)
    values[kind < 0.2] = 0
    values[kind > 0.96] = 60_000
    return values


def test_an_interval_holds_who_holds_one_value_exactly() -> None:
    """Of 20 releases; old intervals, of the excess alone, hold the zeros in almost none."""
    held: dict[float, list[bool]] = {0: [], 60_000: []}
    old: list[bool] = []
    for seed in range(700, 700 + REPEATS):
        values = income(seed)
        result = lw.release(
            values, BINS, epsilon=1, neighbors="replace-one", rng=lw.seeded(seed)
        ).distribution
        for atom in result.atoms:
            assert atom.low is not None and atom.high is not None
            assert 0 <= atom.low <= atom.share <= atom.high <= 1
            for point, hits in held.items():
                if atom.left == BINS.left[BINS.index(np.array([point]))[0]]:
                    truth = float(np.mean(values == point))
                    hits.append(atom.low <= truth <= atom.high)
                    if not point:
                        # Broken: as if the bin held nothing beside the atom but what is around it.
                        old.append(abs(truth - atom.share) <= 0.0015)
    for point, hits in held.items():
        assert len(hits) >= 18, point
        assert sum(hits) >= 18, point
    assert sum(old) < 0.5 * len(old)


def test_the_interval_reaches_from_what_surely_stands_out_to_the_whole_bin() -> None:
    """By hand: 0.1 expected in a bin of 0.5, without noise to speak of."""
    domain = lw.Interval(0, 6, bins=6, outside="clip")
    mass = np.array([0.1, 0.1, 0.5, 0.1, 0.1, 0.1])
    (atom,) = lw.Distribution(domain, mass, uncertainty=law(mass, 1e-6)).atoms
    assert abs(atom.share - 0.4) < 1e-9
    assert atom.low is not None and atom.high is not None
    assert abs(atom.low - 0.3) < 1e-4 and abs(atom.high - 0.5) < 1e-4
