"""RAPPOR's two rounds: what several reports promise, and the permanent round that is kept.

The law of one report is checked in `tests/contracts`.
"""

import itertools
from fractions import Fraction
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
from lapwing.errors import (
    ArgumentError,
    BudgetError,
    DomainError,
    FormatError,
    MismatchError,
    PrivacyError,
)
from lapwing.privacy.exact_numbers import exponential_bounds
from lapwing.privacy.sampling.randomness import WORD
from lapwing.randomizers import UnaryEncoding
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


# The permanent round.


def bits(reports: list[Any], size: int) -> np.ndarray:
    data = np.vstack([report.data for report in reports])
    return np.unpackbits(data, axis=1, count=size, bitorder="little")


def as_bits(permanent: bytes, size: int) -> np.ndarray:
    return np.unpackbits(np.frombuffer(permanent, np.uint8), count=size, bitorder="little")


def test_all_reports_of_a_device_show_one_permanent_round() -> None:
    # With 200 bits some were flipped in the permanent round, but for one device in 10^17.
    randomizer = Rappor(Categories(200), 2, lifetime=3)
    kept = randomizer.permanent_round(4)
    sent = bits([randomizer.report(kept) for _ in range(100)], 200)
    again = randomizer._thresholds["instantaneous"] / WORD
    permanent = as_bits(kept, 200)
    assert accepts(binomial_tail((sent == permanent).sum(axis=0), 100, again))
    # As if it were drawn anew each time: what devices would send that keep nothing.
    rounds = [randomizer.permanent_round(4) for _ in range(100)]
    redrawn = bits([randomizer.report(each) for each in rounds], 200)
    assert not accepts(binomial_tail((redrawn == permanent).sum(axis=0), 100, again))


def test_permanent_rounds_have_their_law_over_devices() -> None:
    randomizer = Rappor(Categories(3), 1)
    keep = randomizer._thresholds["permanent"] / WORD
    found = np.zeros(8, dtype=np.int64)
    for _ in range(4000):
        found[randomizer.permanent_round(1)[0]] += 1
    truth = [0, 1, 0]
    law = np.array(
        [
            np.prod([keep if code >> s & 1 == truth[s] else 1 - keep for s in range(3)])
            for code in range(8)
        ]
    )
    assert accepts(multinomial_tail(found, law))
    assert not accepts(multinomial_tail(found, law[[1, 0, 2, 3, 4, 5, 6, 7]]))


def test_a_second_round_of_another_value_is_not_covered_by_the_lifetime() -> None:
    """Why a device keeps its first round: a change would show in two of them."""
    randomizer = Rappor(Categories(20), 1)
    keep = Fraction(randomizer._thresholds["permanent"], WORD)
    # Seen through enough reports, both rounds are known. A value that stays gives the same one
    # twice; one that changed gives it by chance, at best when each bit is the likelier one.
    staying_over_changing = 1 / keep**20
    assert staying_over_changing > exponential_bounds(2 * randomizer._total)[1]


def test_seeds_fix_both_rounds() -> None:
    randomizer = Rappor(Categories(64), 1)
    kept = randomizer.permanent_round(3, rng=seeded(7))
    assert kept == randomizer.permanent_round(3, rng=seeded(7)) != randomizer.permanent_round(3)
    one = randomizer.report(kept, survey=SURVEY, rng=seeded(1))
    np.testing.assert_array_equal(one.data, randomizer.report(kept, rng=seeded(1)).data)
    assert not np.array_equal(one.data, randomizer.report(kept, rng=seeded(2)).data)
    assert randomizer.tally(one).total == 1 and one.survey == SURVEY
    # Both together are the first report of a new person.
    source = seeded(9)
    both = randomizer.report(randomizer.permanent_round(3, rng=source), rng=source)
    assert (both.data == randomizer.randomize([3], rng=seeded(9)).data).all()


def test_what_is_no_permanent_round_is_refused() -> None:
    randomizer = Rappor(Categories(5), 1)
    for wrong in (b"", b"\0\0", b"\xff", bytearray(1), "x", 3, None):
        with pytest.raises(ArgumentError, match="1 bytes that permanent_round"):
            randomizer.report(mistaken(wrong))


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
        assert "all reports from one device file together: epsilon = 24" in str(guarantee)
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
        ("same", (one, third), 6, 2),  # one for each survey
        ("different", (one, two), 3, 1),
        ("same", (one, other), 4, 2),
    ):
        guarantee = Difference(*pair, people=people).guarantee
        assert guarantee is not None
        assert (guarantee.lifetime, guarantee.epsilon) == (lifetime, epsilon)


def test_two_periods_have_no_difference() -> None:
    survey = Survey("habits", Rappor(Categories(5), 2, lifetime="2.5"))
    one, two = (
        survey.decode(survey.tally(survey.randomize([1] * 400, rng=seeded(seed))))
        for seed in range(2)
    )
    with pytest.raises(MismatchError, match="remembered round cannot be compared"):
        Difference(one, two)
    guarantee = Difference(one, two, people="different").guarantee
    assert guarantee is not None and (guarantee.epsilon, guarantee.lifetime) == (2, Fraction(5, 2))


def test_bad_input_is_refused() -> None:
    for lifetime in (1, "0.5"):
        with pytest.raises(PrivacyError, match="must be larger than epsilon"):
            Rappor(Categories(5), 1, lifetime=lifetime)
    with pytest.raises(PrivacyError, match="lifetime must be greater than 0"):
        Rappor(Categories(5), 1, lifetime=25)
    with pytest.raises(PrivacyError, match="Raise lifetime"):
        Rappor(Categories(5), 12, lifetime=Fraction(12) + Fraction(1, 10**25))
    for size in (1, 2**25):
        with pytest.raises(DomainError, match=r"domain must have 2 to"):
            Rappor(Categories(size), 1)
    randomizer = Rappor(Categories(5), 1)
    for reports in (0, -1, MOST_EXACT + 1, 1.5, True):
        with pytest.raises(ArgumentError, match="reports must be"):
            randomizer.certificate_of(mistaken(reports))
    for reports, after in ((0, 0), (1, -1)):
        with pytest.raises(ArgumentError, match="reports must be at least 1"):
            randomizer.charge(reports, after=after)
    with pytest.raises(DomainError):
        randomizer.permanent_round(5)
    with pytest.raises(DomainError, match=r"a symbol must be from 0 to 4"):
        randomizer.from_words(5, iter([]))
