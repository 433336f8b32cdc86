"""The alarm: silent for honest people whatever they hold, loud for copies of a report."""

import numpy as np
import pytest

import lapwing as lw
from lapwing.errors import MismatchError, TallyError, UnsupportedChannelError
from lapwing.linear.operators.operator import dense
from lapwing.planning import poisoning_alarm as alarms
from lapwing.planning.poisoning_alarm import ALARM, check_poisoning
from lapwing.protocol.messages.tally import CountTally
from lapwing.protocol.randomizer import Randomizer

RANDOMIZERS = {
    "codes": lw.RandomizedResponse(lw.Categories(20), epsilon=1),
    "square wave": lw.SquareWave(lw.Interval(0, 1, bins=64), epsilon=2),
    "mixture": lw.MultiscaleWave(lw.Interval(0, 1, bins=32), epsilon=1),
    "bits": lw.randomizers.OptimizedUnaryEncoding(lw.Categories(30), epsilon=1),
    "sets": lw.SubsetSelection(lw.Categories(30), epsilon=1),
    "signed sets": lw.papers.wavelet.Wavelet(lw.Interval(0, 1, bins=16), epsilon=1),
}


def shares(kind: str, size: int) -> np.ndarray:
    if kind == "one symbol":
        return np.eye(size)[size // 3]
    if kind == "uniform":
        return np.full(size, 1 / size)
    return np.random.default_rng(3).dirichlet(np.full(size, 0.1))


def honest(randomizer: Randomizer, kind: str, people: int, seed: int) -> CountTally:
    rng = np.random.default_rng(seed)
    held = rng.multinomial(people, shares(kind, randomizer.domain.size))
    return lw.simulate(randomizer, held, rng=rng)


def with_copies(tally: CountTally, randomizer: Randomizer, copies: int) -> CountTally:
    """A tally with copies of one honest report on top."""
    held = np.eye(randomizer.domain.size, dtype=np.int64)[0]
    one = lw.simulate(randomizer, held, rng=5)
    return CountTally(
        [a + copies * b for a, b in zip(tally.blocks, one.blocks, strict=True)],
        [a + copies * b for a, b in zip(tally.reports, one.reports, strict=True)],
        tally.fingerprint,
    )


@pytest.mark.parametrize("name", RANDOMIZERS)
@pytest.mark.parametrize(("kind", "people"), [("uniform", 100_000), ("one symbol", 300)])
def test_honest_people_do_not_sound_it(name: str, kind: str, people: int) -> None:
    randomizer = RANDOMIZERS[name]
    assert not check_poisoning(randomizer, honest(randomizer, kind, people, 0)).sounds


@pytest.mark.parametrize("name", RANDOMIZERS)
def test_twice_the_visible_share_of_copies_sounds_it(name: str) -> None:
    randomizer = RANDOMIZERS[name]
    tally = honest(randomizer, "uniform", 100_000, 1)
    silent = check_poisoning(randomizer, tally)
    assert silent.visible is not None
    assert silent.visible <= 0.1
    loud = check_poisoning(randomizer, with_copies(tally, randomizer, round(2e5 * silent.visible)))
    assert loud.sounds
    assert "fabricated" in loud.sentence
    few = with_copies(tally, randomizer, 2)
    assert not check_poisoning(randomizer, few).sounds


def test_its_distance_is_the_smallest_of_all() -> None:
    """No point of the simplex is nearer, and the one that is returned is as near as it says."""
    randomizer = RANDOMIZERS["square wave"]
    tally = honest(randomizer, "spiky", 5000, 2)
    found, mass = alarms._nearest(randomizer.channel, tally)
    matrix = dense(randomizer.channel.blocks[0].operator)
    counts, people = tally.blocks[0], tally.total
    pilot_weights = alarms._weights(randomizer.channel, mass, tally.reports)[0]

    def distance(law: np.ndarray) -> float:
        return float(pilot_weights @ (counts / people - matrix @ law) ** 2)

    # The weights of the pilot and of the fit differ by a few per cent.
    assert found == pytest.approx(distance(mass), rel=0.1)
    rng = np.random.default_rng(4)
    for other in rng.dirichlet(np.full(mass.size, 0.3), size=200):
        assert distance(0.9 * mass + 0.1 * other) > 0.98 * found


def test_the_p_value_does_not_depend_on_how_far_the_fit_came(monkeypatch) -> None:
    """Above DENSE the fit is cruder; what is left is subtracted, so honest people stay honest."""
    monkeypatch.setattr(alarms, "DENSE", 1)
    for kind in ("uniform", "one symbol"):
        randomizer = RANDOMIZERS["mixture"]
        found = check_poisoning(randomizer, honest(randomizer, kind, 1_000_000, 7))
        assert not found.sounds


def test_groups_of_wrong_sizes_sound_it() -> None:
    randomizer = RANDOMIZERS["mixture"]
    tally = honest(randomizer, "uniform", 50_000, 1)
    # Everybody in the first group twice: each block alone is what honest people send.
    blocks = [2 * tally.blocks[0], *tally.blocks[1:]]
    reports = [2 * tally.reports[0], *tally.reports[1:]]
    assert check_poisoning(randomizer, CountTally(blocks, reports, tally.fingerprint)).sounds


def test_asking_again_gives_the_same_answer() -> None:
    randomizer = RANDOMIZERS["codes"]
    tally = honest(randomizer, "spiky", 1000, 1)
    assert check_poisoning(randomizer, tally) == check_poisoning(randomizer, tally)


@pytest.mark.parametrize("planted", ["fit subtracted twice", "spread of a constant"])
def test_a_broken_one_would_be_noticed(planted: str, monkeypatch) -> None:
    randomizer = RANDOMIZERS["codes" if planted == "fit subtracted twice" else "mixture"]
    tally = honest(randomizer, "uniform", 20_000, 3)
    if planted == "spread of a constant":
        monkeypatch.setattr(alarms, "_distances", lambda *_: (0.5, 0.1))
        assert check_poisoning(randomizer, tally).sounds
        return
    forged = with_copies(tally, randomizer, 8000)
    assert check_poisoning(randomizer, forged).p_value <= ALARM
    monkeypatch.setattr(alarms, "gap", lambda *_: 1.0)
    assert check_poisoning(randomizer, forged).p_value > ALARM


def test_hashes_logs_empty_and_foreign_tallies_are_refused() -> None:
    hashing = lw.papers.baselines.LocalHashing(lw.Categories(9), epsilon=1)
    log = lw.LinearHashing(lw.Categories(9), epsilon=1)
    codes = RANDOMIZERS["codes"]
    with pytest.raises(UnsupportedChannelError, match="not detected"):
        check_poisoning(hashing, lw.simulate(hashing, [9] * 9, rng=1))
    with pytest.raises(UnsupportedChannelError, match="not detected"):
        check_poisoning(log, log.tally(log.randomize([1], rng=lw.seeded(1))))
    with pytest.raises(TallyError):
        check_poisoning(codes, CountTally([np.zeros(20, dtype=np.int64)], [0], codes.fingerprint))
    with pytest.raises(MismatchError):
        check_poisoning(codes, honest(RANDOMIZERS["bits"], "uniform", 10, 1))


def test_a_survey_checks_its_own_tallies() -> None:
    survey = lw.Survey("asked", RANDOMIZERS["square wave"])
    tally = honest(survey.randomizer, "uniform", 1000, 1)
    assert survey.check_poisoning(tally) == check_poisoning(survey.randomizer, tally)
    other = lw.Survey("other", survey.randomizer)
    with pytest.raises(MismatchError):
        other.check_poisoning(survey.tally(survey.randomize([0.5] * 10)))
