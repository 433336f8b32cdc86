"""What leaves the devices: the law of reports, their bytes, and what is refused."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from lapwing import Categories, Product
from lapwing.errors import DomainError, MismatchError, ReportError
from lapwing.privacy.sampling import randomness
from lapwing.privacy.sampling.randomness import Keystream, iterate, seeded
from lapwing.protocol.messages.reports import Reports
from lapwing.protocol.randomizer import CHUNK
from lapwing.testing.randomizer_contract import exact_law, report_tail
from tests.contracts.registered import RandomizerCase, at_epsilon, law_of, randomizer_cases
from tests.false_alarms import FEWER_REPORTS, REPORTS_PER_VALUE, accepts

laws = pytest.mark.parametrize("case", randomizer_cases(1, 4))
at_one = pytest.mark.parametrize("case", randomizer_cases(1))


@laws
def test_reports_of_every_value_in_one_batch_have_the_exact_law(case: RandomizerCase) -> None:
    """In any order, so that no report is of the value before or after its own."""
    points = np.repeat(np.arange(case.inputs), FEWER_REPORTS)
    np.random.default_rng(1).shuffle(points)
    reports = case.randomizer.randomize(case.column(points), rng=seeded(1000)).data
    for point, law in enumerate(case.laws):
        assert accepts(report_tail(reports[points == point], law)), f"input {point}"


@pytest.mark.soak
@laws
def test_reports_have_the_exact_law_for_each_value(case: RandomizerCase) -> None:
    for point, law in enumerate(case.laws):
        values = case.column(np.full(REPORTS_PER_VALUE, point))
        reports = case.randomizer.randomize(values, rng=seeded(1000 + point)).data
        assert accepts(report_tail(reports, law)), f"input {point}"


@pytest.mark.parametrize("case", randomizer_cases(1, once=True))
def test_another_epsilon_is_told_apart_by_as_many_reports(case: RandomizerCase) -> None:
    """What a decoder that believes in 1.1 epsilon would assume; the same test must reject it."""
    randomizer = case.randomizer
    values = case.column(np.zeros(REPORTS_PER_VALUE, dtype=np.int64))
    reports = randomizer.randomize(values, rng=seeded(1000)).data
    assert accepts(report_tail(reports, case.laws[0]))
    for factor in (Fraction(11, 10), Fraction(9, 10)):
        believed = at_epsilon(randomizer, factor)
        assert believed.report_width == randomizer.report_width
        assert not accepts(report_tail(reports, exact_law(believed, 0))), f"{factor} epsilon"


@pytest.mark.parametrize("case", randomizer_cases(0.1, 24, once=True))
def test_reports_have_the_exact_law_at_both_ends_of_the_range(case: RandomizerCase) -> None:
    randomizer, last = case.randomizer, case.inputs - 1
    values = case.column(np.full(REPORTS_PER_VALUE, last))
    reports = randomizer.randomize(values, rng=seeded(24)).data
    assert accepts(report_tail(reports, law_of(randomizer, last)))


# The exact law of every case comes from `from_words`, too: only real words are new here.
@pytest.mark.parametrize("case", randomizer_cases(1, once=True))
def test_scalar_path_on_real_words_has_the_same_law(case: RandomizerCase) -> None:
    words = iterate(seeded(3))
    point = case.inputs // 2
    reports = b"".join(case.randomizer.from_words(point, words) for _ in range(3000))
    table = np.frombuffer(reports, dtype=np.uint8).reshape(3000, case.randomizer.report_width)
    assert accepts(report_tail(table, law_of(case.randomizer, point)))


@at_one
def test_tally_is_the_count_by_hand(case: RandomizerCase) -> None:
    randomizer = case.randomizer
    points = np.arange(500) % case.inputs
    reports = randomizer.randomize(case.values(points), rng=seeded(5))
    assert reports.fingerprint == randomizer.fingerprint and len(reports) == 500
    assert reports.width == randomizer.report_width == randomizer._derived["report_width"]
    tally = case.counted(randomizer.tally(reports))
    blocks = [[0] * block.outputs for block in randomizer.channel.blocks]
    numbers = [0] * len(blocks)
    for row in reports.data:
        number, outputs = case.row.adds(randomizer, row.tobytes())
        numbers[number] += 1
        for output in outputs:
            blocks[number][output] += 1
    assert [counts.tolist() for counts in tally.blocks] == blocks
    assert list(tally.reports) == numbers and sum(numbers) == 500
    assert tally.fingerprint == randomizer.fingerprint
    randomizer.channel.check(tally)


@at_one
def test_tally_of_no_reports_is_zero(case: RandomizerCase) -> None:
    randomizer = case.randomizer
    empty = Reports(np.empty((0, randomizer.report_width), dtype=np.uint8), randomizer.fingerprint)
    tally = case.counted(randomizer.tally(empty))
    assert tally.total == 0 and not any(counts.any() for counts in tally.blocks)
    assert [counts.size for counts in tally.blocks] == [
        block.outputs for block in randomizer.channel.blocks
    ]


@at_one
def test_impossible_reports_are_refused_with_their_position(case: RandomizerCase) -> None:
    randomizer = case.randomizer
    impossible = case.row.impossible(randomizer)
    assert impossible, "these cases are small enough to leave codes or bits unused"
    good = randomizer.randomize(case.values(np.zeros(CHUNK + 10, dtype=np.int64)), rng=seeded(6))
    for report in impossible:
        for position in (0, 7, CHUNK + 3):
            data = good.data.copy()
            data[position] = np.frombuffer(report, dtype=np.uint8)
            data[CHUNK + 9] = data[position]
            with pytest.raises(ReportError, match=f"position {position} ") as caught:
                randomizer.tally(Reports(data, randomizer.fingerprint))
            assert caught.value.position == position
            assert "The batch was not counted" in str(caught.value)


@at_one
def test_foreign_or_misshapen_batches_are_refused(case: RandomizerCase) -> None:
    randomizer = case.randomizer
    width = randomizer.report_width
    other = at_epsilon(randomizer, Fraction(2))
    with pytest.raises(MismatchError, match="Tally them with the survey that asked for them"):
        randomizer.tally(other.randomize(case.values(np.array([0])), rng=seeded(1)))
    for wrong in (width + 1, width - 1):
        data = np.zeros((3, wrong), dtype=np.uint8)
        with pytest.raises(ReportError, match=f"must have {width} bytes, but these have {wrong}"):
            randomizer.tally(Reports(data, randomizer.fingerprint))
    with pytest.raises(ReportError, match="bytes of shape"):
        Reports(np.zeros(width, dtype=np.uint8), randomizer.fingerprint)
    with pytest.raises(ReportError, match="bytes of shape"):
        Reports(np.zeros((2, width), dtype=np.int64), randomizer.fingerprint)


SECRET = 987_654.25


@at_one
def test_bad_values_are_refused_before_anything_is_randomized(case: RandomizerCase) -> None:
    randomizer, domain = case.randomizer, case.randomizer.domain
    good = case.value(0)

    class NoWords:
        def words(self, count: int) -> np.ndarray:
            raise AssertionError("no randomness may be drawn for a batch that is refused")

    def refuse(values: object, *, position: int | None, match: str) -> None:
        with pytest.raises(DomainError, match=match) as caught:
            randomizer.randomize(values, rng=NoWords())
        assert caught.value.position == position
        assert "987" not in str(caught.value) and "secret" not in str(caught.value)

    refuse([], position=None, match="at least one")
    if isinstance(domain, Product):
        # Every form of a bad pair is in the tests of its domain.
        refuse([good, (good[0], object())], position=1, match="position 1")
        refuse([good, SECRET], position=1, match="position 1 is not a pair")
        refuse(np.array([SECRET, SECRET]), position=None, match="must be pairs of")
        return
    refuse(np.array([[good, good]]), position=None, match="shape")
    refuse(good, position=None, match="got one value alone")
    if domain.missing_index is None:
        refuse([good, None, None], position=1, match="position 1 is missing")
        if domain.ordered:
            refuse(np.array([good, SECRET, np.nan]), position=2, match="position 2 is missing")
    if domain.ordered and domain.missing_index is not None:
        # What cannot be read is missing where missing values are counted.
        unreadable = domain.index([good, object(), "secret", True, None])
        assert unreadable[0] != domain.missing_index
        assert (unreadable[1:] == domain.missing_index).all()
    else:
        refuse([good, good, object()], position=2, match="position 2")
    if domain.ordered and domain.missing_index is None:
        refuse([good, "secret"], position=1, match="position 1")
        refuse([good, True, None], position=1, match="position 1")
        refuse(np.array([good, SECRET + 1j]), position=None, match="complex128")
    elif isinstance(domain, Categories):
        refuse(["secret"], position=0, match="position 0")
        refuse([SECRET], position=0, match="position 0")


@at_one
def test_one_value_makes_one_report(case: RandomizerCase) -> None:
    reports = case.randomizer.randomize([case.value(0)], rng=seeded(9))
    assert reports.data.shape == (1, case.randomizer.report_width)
    assert reports.data.dtype == np.uint8 and not reports.data.flags.writeable


@at_one
def test_secure_randomness_is_the_default(
    case: RandomizerCase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a source the draws come from the process's own keystream, and only from there."""
    values = case.values(np.arange(200) % case.inputs)
    key = bytes(range(48))
    monkeypatch.setattr(randomness, "_secure", Keystream(lambda: key))
    by_default = case.randomizer.randomize(values)
    given = case.randomizer.randomize(values, rng=Keystream(lambda: key))
    np.testing.assert_array_equal(by_default.data, given.data)
    monkeypatch.undo()
    again = case.randomizer.randomize(values)
    assert not np.array_equal(again.data, case.randomizer.randomize(values).data)


@at_one
def test_seed_decides_and_batches_do_not(case: RandomizerCase) -> None:
    values = case.values(np.arange(300) % case.inputs)
    first = case.randomizer.randomize(values, rng=seeded(1))
    np.testing.assert_array_equal(first.data, case.randomizer.randomize(values, rng=seeded(1)).data)
    assert not np.array_equal(first.data, case.randomizer.randomize(values, rng=seeded(2)).data)


@at_one
def test_from_words_refuses_what_is_no_input(case: RandomizerCase) -> None:
    for value in (-1, case.inputs):
        with pytest.raises(DomainError, match=rf"from 0 to {case.inputs - 1}"):
            case.randomizer.from_words(value, iterate(seeded(1)))
