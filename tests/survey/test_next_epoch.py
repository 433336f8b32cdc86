"""The survey of the next epoch: what it keeps, what it takes from the answer, what it refuses."""

import dataclasses
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.errors import ArgumentError, DomainError, MismatchError
from lapwing.planning import planned_parts
from lapwing.planning.simulation import reference_column

LINE = lw.Interval(0, 60, bins=48, outside="clip")
FIRST = lw.Survey(
    "wait", lw.MultiscaleWave(LINE, 2), segments=("north", "south"), segment_minimum=2000
)
SMOOTH = reference_column("smooth", size=48, number=3)
ATOMS = 0.4 * SMOOTH + 0.6 * np.eye(48)[[5, 20, 41]].mean(axis=0)


def answered(survey: lw.Survey, mass: Any, *, people: int = 100_000) -> lw.Distribution:
    counts = np.round(people * mass).astype(np.int64)
    tally = lw.simulate(survey.randomizer, counts, rng=1)
    return survey.decode(tally, decoder=lw.SpectralPrior(band=False))


def fine(survey: lw.Survey) -> float:
    parts: Any = survey.randomizer
    return sum(share for kind, _, share in parts.components if kind != "wave")


def test_the_promise_and_the_question_stay_and_the_document_is_another() -> None:
    second = FIRST.next_epoch(answered(FIRST, SMOOTH), users=300_000)
    assert second.randomizer.epsilon == FIRST.randomizer.epsilon == 2
    assert second.guarantee == FIRST.guarantee
    certificate = second.randomizer.certificate()
    assert certificate.holds and certificate.epsilon == 2
    assert second.randomizer.domain == LINE
    assert (second.segments, second.segment_minimum) == (FIRST.segments, FIRST.segment_minimum)
    assert second.name == "wait, next epoch" and second.fingerprint != FIRST.fingerprint
    assert lw.Survey.from_json(second.to_json()).fingerprint == second.fingerprint
    report = second.randomize([7.0, 30.0], rng=lw.seeded(1))
    with pytest.raises(MismatchError):
        _ = FIRST.tally(FIRST.randomize([3.0], rng=lw.seeded(2))) + second.tally(report)


def test_the_answer_chooses() -> None:
    after_smooth, after_atoms = (
        FIRST.next_epoch(answered(FIRST, mass), users=300_000, name="again")
        for mass in (SMOOTH, ATOMS)
    )
    assert after_smooth.name == after_atoms.name == "again"
    assert fine(after_smooth) < 0.6 * fine(FIRST) < fine(after_atoms)


def test_who_has_reported_and_who_will_both_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many will as have, unless it is said; the parts are chosen for both together."""
    answer, asked = answered(FIRST, SMOOTH, people=3000), []

    def watched(*_: Any, **options: Any) -> Any:
        asked.append(options)
        return [("wave", 1.0, 1.0)]

    monkeypatch.setattr(planned_parts, "planned_parts", watched)
    for users in (None, 700):
        FIRST.next_epoch(answer, users=users)
    assert [one["users"] for one in asked] == [answer.reports, 700]
    for one in asked:
        assert one["before"] == [(FIRST.randomizer.channel, answer.reports)]
        assert one["epsilon"] == 2


def test_both_epochs_decode_together_and_another_kind_of_first_epoch_may_stand() -> None:
    wave = lw.Survey("wait", lw.SquareWave(LINE, 4))
    second = wave.next_epoch(answered(wave, SMOOTH))
    assert second.randomizer.name == "multiscale-wave" and second.randomizer.epsilon == 4
    counts = np.round(50_000 * SMOOTH).astype(np.int64)
    pairs = [(one, lw.simulate(one.randomizer, counts, rng=3)) for one in (wave, second)]
    both = lw.decode_together(pairs, decoder=lw.SpectralPrior(band=False))
    assert both.reports == 2 * counts.sum()
    assert np.abs(np.cumsum(both.mass - SMOOTH)).max() < 0.01


def test_what_must_not_choose() -> None:
    answer = answered(FIRST, SMOOTH, people=1000)
    raw = lw.Distribution.of_counts(np.arange(48), LINE)
    other = lw.Distribution(lw.Interval(0, 60, bins=24), np.full(24, 1 / 24))
    kept = lw.Survey("kept", lw.SquareWave(LINE, 1), remembered=True)
    rounds = lw.Survey("kept", lw.Rappor(LINE, 1))
    four = lw.Survey("four", lw.SquareWave(lw.Interval(0, 60, bins=4), 1))
    labels = lw.Survey("red", lw.RandomizedResponse(lw.Categories(range(9)), 1))
    curator = lw.Guarantee(1, 0, "add-or-remove-one", "central")
    released = lw.Distribution(LINE, raw.mass, reports=500, guarantee=curator)
    refused: list[tuple[lw.Survey, Any, dict[str, Any], type[Exception], str]] = [
        (FIRST, raw, {}, ArgumentError, "raw values"),
        (FIRST, released, {}, ArgumentError, "answer of a survey"),
        (FIRST, other, {}, MismatchError, "domain of the survey"),
        (FIRST, np.full(48, 1 / 48), {}, ArgumentError, "Distribution"),
        (FIRST, answer, {"users": 0}, ArgumentError, "users"),
        (FIRST, answer, {"users": 10**13}, ArgumentError, "users"),
        (FIRST, dataclasses.replace(answer, reports=0), {}, ArgumentError, "answer of a survey"),
        (FIRST, answer, {"name": "wait"}, ArgumentError, "its own name"),
        (
            dataclasses.replace(FIRST, name=190 * "a"),
            answer,
            {},
            ArgumentError,
            "Pass a shorter",
        ),
        (kept, answer, {}, ArgumentError, "memoized"),
        (rounds, answer, {}, ArgumentError, "memoized"),
        (four, answer, {}, DomainError, "8 to 65536 bins"),
        (labels, answer, {}, DomainError, "numbers"),
    ]
    for survey, given, options, error, words in refused:
        with pytest.raises(error, match=words):
            survey.next_epoch(given, **options)
