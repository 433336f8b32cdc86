"""RAPPOR's two rounds: what several reports promise, and a permanent round that cannot be redrawn.

The law of one report is checked in `tests/contracts`.
"""

from __future__ import annotations

import itertools
import pickle
import stat
import threading
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lapwing import (
    Categories,
    Difference,
    Distribution,
    Guarantee,
    Ledger,
    Rappor,
    Survey,
    seeded,
)
from lapwing.errors import ArgumentError, BudgetError, DomainError, FormatError, PrivacyError
from lapwing.privacy.exact_numbers import exponential_bounds
from lapwing.privacy.sampling.randomness import WORD
from lapwing.randomizers import Memory, UnaryEncoding
from lapwing.randomizers.categorical.rappor import MOST_EXACT
from tests.false_alarms import accepts, binomial_tail, multinomial_tail
from tests.mistaken import mistaken
from tests.signed_decoder import unbiased

SURVEY = "5" * 64


def joint_law(randomizer: Rappor, value: int, reports: int) -> dict[tuple[int, ...], Fraction]:
    """Return the law of several reports of one device, by going through everything."""
    size = randomizer.domain.size
    keep, again = (Fraction(T, WORD) for T in randomizer._thresholds.values())
    codes = list(itertools.product((0, 1), repeat=size))
    law: dict[tuple[int, ...], Fraction] = {}
    for permanent in codes:
        chance = Fraction(1)
        for symbol, bit in enumerate(permanent):
            chance *= keep if bit == (symbol == value) else 1 - keep
        for sent in itertools.product(range(len(codes)), repeat=reports):
            here = chance
            for code in sent:
                for was, now in zip(permanent, codes[code], strict=True):
                    here *= again if was == now else 1 - again
            law[sent] = law.get(sent, Fraction(0)) + here
    assert sum(law.values()) == 1
    return law


@pytest.mark.parametrize(("epsilon", "lifetime"), [(1, None), ("0.2", "0.25"), (2, 12)])
@pytest.mark.parametrize("reports", [1, 2, 3])
def test_the_promise_of_several_reports_is_that_of_their_joint_law(
    epsilon: Any, lifetime: Any, reports: int
) -> None:
    randomizer = Rappor(Categories(2), epsilon, lifetime=lifetime)
    one, other = (joint_law(randomizer, value, reports) for value in (0, 1))
    worst = max(max(one[sent] / other[sent], other[sent] / one[sent]) for sent in one)
    certificate = randomizer.certificate_of(reports)
    assert certificate.ratio == worst and certificate.holds
    if reports == 1:
        assert certificate.ratio == randomizer.certificate().ratio


@pytest.mark.parametrize(("epsilon", "lifetime"), [(0.1, None), (1, 2), (4, 6), (12, 24)])
def test_promises_grow_to_the_lifetime_and_no_further(epsilon: Any, lifetime: Any) -> None:
    randomizer = Rappor(Categories(10), epsilon, lifetime=lifetime)
    ratios = [randomizer.certificate_of(n).ratio for n in (1, 2, 3, 10, 100, MOST_EXACT)]
    total = randomizer.certificate_of()
    assert ratios == sorted(ratios) and ratios[-1] <= total.ratio and total.holds
    assert total.epsilon == randomizer._total == Fraction(str(lifetime or 2 * epsilon))
    assert 0 <= total.loss < 1e-6
    assert randomizer.epsilon_of(1) <= randomizer.epsilon + Fraction(1, 10**6)
    assert randomizer.epsilon_of(10**9) == randomizer.epsilon_of()
    # The last reports cost next to nothing, the first ones nearly epsilon each.
    assert float(total.ratio / ratios[-1]) == pytest.approx(1, abs=1e-3)


def test_a_permanent_threshold_past_its_limit_breaks_the_lifetime() -> None:
    randomizer = Rappor(Categories(3), 1)
    keep, again = randomizer._keep_and_repeat
    randomizer.__dict__["_keep_and_repeat"] = (keep + 1, again)
    assert not randomizer.certificate_of().holds


def test_one_report_has_the_law_of_unary_encoding() -> None:
    randomizer, plain = Rappor(Categories(5), 1), UnaryEncoding(Categories(5), 1)
    assert float(randomizer._bit_kept) == pytest.approx(plain._thresholds["own"] / WORD, rel=1e-15)
    data = randomizer.randomize([2] * 100_000, rng=seeded(1))
    shares = unbiased(randomizer.channel, randomizer.tally(data)).mass
    np.testing.assert_allclose(shares, [0, 0, 1, 0, 0], atol=0.05)


# The memory.


def bits(reports: list[Any], size: int) -> np.ndarray:
    data = np.vstack([report.data for report in reports])
    return np.unpackbits(data, axis=1, count=size, bitorder="little")


def permanent_bits(randomizer: Rappor, memory: Memory, value: int) -> list[bool]:
    return randomizer._permanent(value, memory.words(SURVEY, randomizer.fingerprint, value))


def test_all_reports_of_a_device_show_one_permanent_round() -> None:
    # With 200 bits some were flipped in the permanent round, but for one device in 10^17.
    randomizer, device = Rappor(Categories(200), 2, lifetime=3), Memory()
    sent = bits([randomizer.report(4, device, survey=SURVEY) for _ in range(100)], 200)
    again = randomizer._thresholds["instantaneous"] / WORD
    permanent = np.array(permanent_bits(randomizer, device, 4))
    assert accepts(binomial_tail((sent == permanent).sum(axis=0), 100, again))
    # As if it were drawn anew each time: what devices without a memory would send.
    redrawn = bits([randomizer.report(4, Memory(), survey=SURVEY) for _ in range(100)], 200)
    assert not accepts(binomial_tail((redrawn == permanent).sum(axis=0), 100, again))


def test_permanent_rounds_have_their_law_over_devices() -> None:
    randomizer = Rappor(Categories(3), 1)
    keep = randomizer._thresholds["permanent"] / WORD
    found = np.zeros(8, dtype=np.int64)
    for _ in range(4000):
        one = permanent_bits(randomizer, Memory(), 1)
        found[sum(bit << symbol for symbol, bit in enumerate(one))] += 1
    truth = [0, 1, 0]
    law = np.array(
        [
            np.prod([keep if code >> s & 1 == truth[s] else 1 - keep for s in range(3)])
            for code in range(8)
        ]
    )
    assert accepts(multinomial_tail(found, law))
    assert not accepts(multinomial_tail(found, law[[1, 0, 2, 3, 4, 5, 6, 7]]))


def test_rounds_of_other_values_surveys_and_devices_are_others() -> None:
    randomizer, device = Rappor(Categories(64), 1), Memory()
    first = permanent_bits(randomizer, device, 3)
    assert permanent_bits(randomizer, device, 3) == first
    assert permanent_bits(Rappor(Categories(64), 1), device, 3) == first
    assert permanent_bits(randomizer, device, 5)[6:] != first[6:]
    assert permanent_bits(Rappor(Categories(64), 2), device, 3) != first
    assert permanent_bits(randomizer, Memory(), 3) != first
    other = device.words("6" * 64, randomizer.fingerprint, 3)
    assert randomizer._permanent(3, other) != first


def test_a_change_of_value_is_not_covered_by_the_lifetime() -> None:
    """Why the promise is stated for a value that stays: a change shows in the permanent rounds."""
    randomizer = Rappor(Categories(20), 1)
    keep = Fraction(randomizer._thresholds["permanent"], WORD)
    # Seen through enough reports, both rounds are known. A value that stays gives the same one
    # twice; one that changed gives it by chance, at best when each bit is the likelier one.
    staying_over_changing = 1 / keep**20
    assert staying_over_changing > exponential_bounds(2 * randomizer._total)[1]


def test_a_seed_fixes_the_instantaneous_round_only() -> None:
    randomizer, device = Rappor(Categories(64), 1), Memory()

    def sent(memory: Memory, seed: int) -> Any:
        return randomizer.report(3, memory, survey=SURVEY, rng=seeded(seed))

    one = sent(device, 1)
    np.testing.assert_array_equal(one.data, sent(device, 1).data)
    assert not np.array_equal(one.data, sent(device, 2).data)
    assert not np.array_equal(one.data, sent(Memory(), 1).data)
    assert randomizer.tally(one).total == 1


def test_a_memory_in_a_file_is_made_once_for_its_owner(tmp_path: Path) -> None:
    randomizer, path = Rappor(Categories(64), 1), tmp_path / "memory"
    first = permanent_bits(randomizer, Memory.open(path), 3)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.name for entry in tmp_path.iterdir()] == ["memory"]
    assert permanent_bits(randomizer, Memory.open(str(path)), 3) == first
    secret = path.read_bytes()[8:40].hex()
    assert secret not in repr(Memory.open(path)) and repr(Memory.open(path)) == "<Memory>"


def test_of_many_that_find_no_file_one_makes_it_and_all_use_it(tmp_path: Path) -> None:
    randomizer, found = Rappor(Categories(64), 1), []
    start = threading.Barrier(8)

    def device() -> None:
        start.wait()
        found.append(permanent_bits(randomizer, Memory.open(tmp_path / "memory"), 3))

    threads = [threading.Thread(target=device) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8 and all(one == found[0] for one in found)
    assert [entry.name for entry in tmp_path.iterdir()] == ["memory"]


def test_a_memory_cannot_be_sent_elsewhere() -> None:
    with pytest.raises(PrivacyError, match="must not leave its device"):
        pickle.dumps(Memory())


@pytest.mark.parametrize("damage", ["empty", "cut", "changed", "longer", "foreign"])
def test_a_damaged_memory_is_refused_and_not_replaced(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "memory"
    Memory.open(path)
    good = path.read_bytes()
    wrong = {
        "empty": b"",
        "cut": good[:-1],
        "changed": good[:20] + bytes([good[20] ^ 1]) + good[21:],
        "longer": good + b"\0",
        "foreign": b"x" * len(good),
    }[damage]
    path.write_bytes(wrong)
    with pytest.raises(FormatError, match="memory must be a RAPPOR memory") as refused:
        Memory.open(path)
    assert good[8:40].hex() not in str(refused.value)
    assert path.read_bytes() == wrong


# What it costs.


def test_charges_of_a_device_sum_to_what_is_proved_and_stay_below_the_lifetime() -> None:
    randomizer = Rappor(Categories(5), 1)
    ledger = Ledger(Guarantee(Fraction(2), Fraction(0), "replace-one", "local"))
    sent = 0
    for more in (1, 1, 3, 10, 100, 1000, 10**6):
        charge = randomizer.charge(more, after=sent)
        sent += more
        if charge is not None:
            ledger = ledger.spend(f"up to report {sent}", charge)
        assert ledger.spent is not None
        assert ledger.spent.epsilon == randomizer.epsilon_of(sent)
    assert charge is None, "after a million reports another million costs nothing"
    assert 1 < ledger.spent.epsilon <= 2
    # Without a memory every report costs epsilon, and the third one is refused.
    plain = Ledger(ledger.budget).spend("1", randomizer.guarantee).spend("2", randomizer.guarantee)
    with pytest.raises(BudgetError):
        plain.spend("3", randomizer.guarantee)


@pytest.mark.parametrize(
    ("epsilon", "lifetime"),
    [("0.2", "1/3"), ("1/7", "1/3"), ("1/3", None), (1, None), ("1e-4", "1/9000"), ("0.1", 24)],
)
@pytest.mark.parametrize("steps", [(1,) * 12, (5, 1, 300, 10**6), (10**9,), (256, 1, 1)])
def test_charges_never_sum_to_more_than_the_lifetime(
    epsilon: Any, lifetime: Any, steps: tuple[int, ...]
) -> None:
    randomizer = Rappor(Categories(5), epsilon, lifetime=lifetime)
    # The whole lifetime as a budget: no charge may be refused.
    ledger = Ledger(Guarantee(randomizer._total, 0, "replace-one", "local"))
    sent, paid = 0, Fraction(0)
    for more in steps:
        charge = randomizer.charge(more, after=sent)
        sent += more
        if charge is not None:
            ledger, paid = ledger.spend(str(sent), charge), paid + charge.epsilon
        # Enough for the exact worst ratio of all reports so far, and no more than promised.
        worst = randomizer.certificate_of(sent if sent <= MOST_EXACT else None).ratio
        assert worst <= exponential_bounds(paid)[0]
        assert paid <= min(sent * randomizer.epsilon, randomizer._total)


def test_what_a_lifetime_costs_stands_beside_the_promise_of_one_report() -> None:
    survey = Survey("habits", Rappor(Categories(5), "0.1", lifetime=24))
    reports = survey.randomize([1] * 400, rng=seeded(1))
    result = survey.decode(survey.tally(reports))
    assert isinstance(result, Distribution)
    for guarantee in (survey.guarantee, survey.randomizer.channel.guarantee, result.guarantee):
        assert guarantee is not None
        assert (guarantee.epsilon, guarantee.lifetime) == (Fraction(1, 10), 24)
        assert "all reports together: epsilon = 24" in str(guarantee)
    document = result.to_document()
    assert document["guarantee"]["lifetime"] == "24"
    again = Distribution.from_document(document)
    assert again.guarantee is not None and again.guarantee.lifetime == 24
    for text in ("1/20", "x", None, "1e9"):
        with pytest.raises(FormatError):
            Guarantee.from_document({**document["guarantee"], "lifetime": text})
    # By default it is twice epsilon, and other randomizers have none.
    assert Rappor(Categories(5), 1).guarantee.lifetime == 2
    plain = UnaryEncoding(Categories(5), 1).guarantee
    assert plain.lifetime is None and "lifetime" not in plain.to_document()


def test_a_difference_says_what_both_lifetimes_cost() -> None:
    survey = Survey("habits", Rappor(Categories(5), 1, lifetime=3))
    plain = Survey("habits", UnaryEncoding(Categories(5), 1))
    apart = Survey("other habits", survey.randomizer)
    one, two, other, third = (
        made.decode(made.tally(made.randomize([1] * 400, rng=seeded(seed))))
        for seed, made in enumerate((survey, survey, plain, apart))
    )
    for people, pair, lifetime, epsilon in (
        ("same", (one, two), 3, 2),  # one permanent round
        ("same", (one, third), 6, 2),  # one for each survey
        ("different", (one, two), 3, 1),
        ("same", (one, other), 4, 2),
    ):
        guarantee = Difference(*pair, people=people).guarantee
        assert guarantee is not None
        assert (guarantee.lifetime, guarantee.epsilon) == (lifetime, epsilon)


def test_two_periods_cost_at_most_the_lifetime() -> None:
    survey = Survey("habits", Rappor(Categories(5), 2, lifetime="2.5"))
    one, two = (
        survey.decode(survey.tally(survey.randomize([1] * 400, rng=seeded(seed))))
        for seed in range(2)
    )
    guarantee = Difference(one, two).guarantee
    assert guarantee is not None and guarantee.epsilon == guarantee.lifetime == Fraction(5, 2)


def test_bad_input_is_refused() -> None:
    for lifetime in (1, "0.5"):
        with pytest.raises(PrivacyError, match="lifetime, of all reports, must be larger"):
            Rappor(Categories(5), 1, lifetime=lifetime)
    with pytest.raises(PrivacyError, match="epsilon must be greater than 0"):
        Rappor(Categories(5), 1, lifetime=25)
    with pytest.raises(PrivacyError, match="raise lifetime"):
        Rappor(Categories(5), 12, lifetime=Fraction(12) + Fraction(1, 10**25))
    for size in (1, 2**25):
        with pytest.raises(DomainError, match=r"RAPPOR needs a domain of 2 to"):
            Rappor(Categories(size), 1)
    randomizer = Rappor(Categories(5), 1)
    for reports in (0, -1, MOST_EXACT + 1, 1.5, True):
        with pytest.raises(ArgumentError, match="reports must be"):
            randomizer.certificate_of(mistaken(reports))
    for reports, after in ((0, 0), (1, -1)):
        with pytest.raises(ArgumentError, match="reports must be at least 1"):
            randomizer.charge(reports, after=after)
    with pytest.raises(DomainError):
        randomizer.report(5, Memory(), survey=SURVEY)
    with pytest.raises(DomainError, match=r"a symbol must be from 0 to 4"):
        randomizer.from_words(5, iter([]))
