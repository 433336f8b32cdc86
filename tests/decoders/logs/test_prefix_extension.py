"""From heavy prefixes to heavy values."""

from typing import Any

import numpy as np
import pytest

from lapwing import Categories, HashedStrings, HeavyHitters, Integers, LinearHashing, Survey
from lapwing.decoders import Candidates, ExhaustiveScan, PrefixExtension
from lapwing.errors import (
    ArgumentError,
    DomainError,
    MismatchError,
    ReportError,
    TallyError,
    UnsupportedChannelError,
)
from lapwing.papers.baselines import PrefixHashing
from lapwing.papers.baselines.prefix_hashing import default_prefixes
from lapwing.privacy.sampling.randomness import seeded
from lapwing.protocol.messages.reports import Reports
from lapwing.tallies import TallyLog
from tests.mistaken import mistaken

HASHING = PrefixHashing(Categories(2**20), 2, prefixes=(8, 14, 20))
HEAVY = {7: 0.35, 2**19 + 3: 0.25}


def _reports(people: int, *, seed: int) -> Reports:
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 2**20, people)
    values[: int(0.35 * people)] = 7
    values[int(0.35 * people) : int(0.6 * people)] = 2**19 + 3
    return HASHING.randomize(values, rng=seeded(seed))


LOG = HASHING.tally(_reports(30_000, seed=1))


@pytest.mark.parametrize(
    ("bits", "lengths"),
    [(40, (24, 32, 40)), (32, (24, 32)), (30, (24, 30)), (24, (24,)), (4, (4,))],
)
def test_default_lengths(bits: int, lengths: tuple[int, ...]) -> None:
    assert default_prefixes(bits) == lengths == PrefixHashing(Categories(2**bits), 1)._lengths


def test_heavy_values_are_found_with_honest_intervals() -> None:
    found = PrefixExtension().decode(HASHING.log_channel, LOG)
    assert found.values == list(HEAVY)
    band = found.confidence_band(0.95)
    for value, low, high in zip(found.values, band.low, band.high, strict=True):
        assert low < HEAVY[value] < high
    assert found.searched == 64 * 2**6 and found.reports == 30_000
    # Few kept prefixes are enough for heavy values, and compare fewer.
    one = PrefixExtension(survivors=2).decode(HASHING.log_channel, LOG)
    assert one.values == list(HEAVY) and one.threshold < found.threshold


def test_shares_are_those_of_the_last_group_alone() -> None:
    channel = HASHING.log_channel
    last = channel.split(LOG)[-1]
    supports = channel.parts[-1].supports(last, np.array(list(HEAVY)))
    found = PrefixExtension().decode(channel, LOG)
    np.testing.assert_array_equal(found.shares, channel.parts[-1].shares(supports, last.total))


def test_errors_have_the_stated_deviation() -> None:
    """Over 60 populations: about all people, though a third of them answered for whole values."""
    errors = []
    for seed in range(60):
        found = PrefixExtension(survivors=4).decode(
            HASHING.log_channel, HASHING.tally(_reports(6000, seed=seed))
        )
        place = found.values.index(7)
        errors.append((found.shares[place] - 0.35) / found.deviations[place])
    # Standard deviation 1 within 4 of its standard errors, and not half or twice of it.
    assert 0.63 < np.std(errors) < 1.37 and abs(np.mean(errors)) < 0.55


def test_prefixes_of_values() -> None:
    logs = HASHING.log_channel.split(LOG)
    assert sum(log.total for log in logs) == LOG.total
    assert all(abs(log.total - 10_000) < 600 for log in logs)
    for part, log, bits in zip(HASHING.log_channel.parts, logs, (8, 14, 20), strict=True):
        counts = part.counts(log).blocks[0]
        heavy = {value >> (20 - bits) for value in HEAVY}
        assert set(np.argsort(-counts)[:2].tolist()) == heavy


def test_through_a_survey_and_the_documents() -> None:
    survey = Survey("word", PrefixHashing(HashedStrings(40), 4, prefixes=(10, 20, 30, 40)))
    words = ["lapwing"] * 6000 + [f"word {n}" for n in range(2000)]
    tally = survey.tally(survey.randomize(words, rng=seeded(1)))
    assert isinstance(tally, TallyLog)
    found = survey.decode(tally)
    assert isinstance(found, HeavyHitters)
    assert found.values == [f"hash {HashedStrings(40).index(['lapwing'])[0]}"]
    assert Survey.from_json(survey.to_json()) == survey


def test_foreign_damaged_or_empty_logs_are_refused() -> None:
    other = PrefixHashing(Categories(2**20), 3, prefixes=(8, 14, 20))
    decoder = PrefixExtension()
    with pytest.raises(MismatchError, match="Decode it with the survey"):
        decoder.decode(other.log_channel, LOG)
    beyond = TallyLog([np.array([3], dtype=np.uint64)], LOG.width, LOG.fingerprint)
    with pytest.raises(TallyError, match="group that does not exist"):
        decoder.decode(HASHING.log_channel, beyond)
    one_group = TallyLog([np.array([0], dtype=np.uint64)], LOG.width, LOG.fingerprint)
    with pytest.raises(TallyError, match="at least one report"):
        decoder.decode(HASHING.log_channel, one_group)
    linear = LinearHashing(Categories(2**20), 2)
    with pytest.raises(UnsupportedChannelError, match="prefix hashing"):
        decoder.decode(mistaken(linear.log_channel), LOG)
    with pytest.raises(UnsupportedChannelError, match="linear hashing"):
        ExhaustiveScan().decode(mistaken(HASHING.log_channel), LOG)
    with pytest.raises(UnsupportedChannelError, match="from a log"):
        decoder.decode(HASHING.log_channel, mistaken(HASHING.log_channel.counts(LOG)))


def test_a_report_that_its_group_cannot_send_is_refused() -> None:
    data = _reports(10, seed=2).data.copy()
    data[4, 0], data[4, 1:] = 0, 0xFF
    with pytest.raises(ReportError, match="position 4 "):
        HASHING.tally(Reports(data, HASHING.fingerprint))


@pytest.mark.parametrize(
    "prefixes", [(), (8, 8, 20), (14, 8, 20), (0, 20), (25, 30), (8, 19), (8, 21)]
)
def test_illegal_prefixes_are_refused(prefixes: Any) -> None:
    with pytest.raises(ArgumentError, match="prefix"):
        PrefixHashing(Categories(2**20), 1, prefixes=prefixes)


def test_illegal_domains_are_refused() -> None:
    for domain in (Categories(1000), Categories(1024, missing="category"), Categories(2)):
        with pytest.raises(DomainError, match=r"2\*\*L|at least 4 symbols"):
            PrefixHashing(domain, 1)
    with pytest.raises(DomainError, match="without an order"):
        PrefixHashing(Integers(0, 7), 1)


LABELS = [f"label {number}" for number in range(31)] + [7]


@pytest.mark.parametrize(
    ("domain", "heavy", "kind"),
    [
        (Categories(2**12), 7, int),
        (Categories(LABELS), "label 7", str),
        (Categories(LABELS), 7, int),
    ],
    ids=["numbered", "text", "number among texts"],
)
def test_every_decoder_of_a_log_lists_values_of_the_domain(
    domain: Categories, heavy: Any, kind: type
) -> None:
    values = np.array([heavy, domain.listed[3]], dtype=object)[[0] * 3000 + [1] * 1000]
    linear, prefix = LinearHashing(domain, 4), PrefixHashing(domain, 4)
    log = linear.tally(linear.randomize(values, rng=seeded(1)))
    found = [
        Candidates([heavy, domain.listed[5]]).decode(linear.log_channel, log),
        ExhaustiveScan().decode(linear.log_channel, log),
    ]
    log = prefix.tally(prefix.randomize(values, rng=seeded(2)))
    found.append(PrefixExtension().decode(prefix.log_channel, log))
    for one in found:
        assert one.values[0] == heavy and type(one.values[0]) is kind
        again = HeavyHitters.from_json(one.to_json())
        assert again.values == one.values
