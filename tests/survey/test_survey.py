"""The agreed document: what it fixes, what it refuses, and that it says so in one error."""

import copy
import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

from lapwing import (
    Categories,
    CompressivePrivatization,
    Distribution,
    ExpectationMaximization,
    Integers,
    Interval,
    LapwingError,
    LeastSquares,
    RandomizedResponse,
    SquareWave,
    Survey,
    recommend,
    seeded,
)
from lapwing.documents import canonical, fingerprint
from lapwing.errors import ArgumentError, FormatError, MismatchError
from lapwing.planning.recommendation import recommended_decoder
from lapwing.protocol.randomizer import thresholds_of
from lapwing.randomizers import OptimizedUnaryEncoding, UnaryEncoding
from lapwing.results import SignedEstimate
from lapwing.tallies import CountTally
from tests.rows import each

STEADY = settings(deadline=None, max_examples=40, derandomize=True)

SURVEYS = {
    survey.name: survey
    for survey in (
        Survey(
            "income",
            SquareWave(Interval(0, 524_288, bins=1024, closed="left", outside="clip"), epsilon=1),
        ),
        Survey("fine", SquareWave(Interval(0, 1, bins=8), "0.1", width=0.2, grid=32)),
        Survey(
            "pick-up",
            SquareWave(
                Interval("00:00", "24:00", bins=48, unit="time-of-day", circular=True), "1/3"
            ),
        ),
        Survey("age", RandomizedResponse(Integers(17, 90, outside="clip", missing="bin"), 24)),
        Survey("color", UnaryEncoding(Categories(["red", "green", 3], missing="category"), 2)),
        Survey("rent", OptimizedUnaryEncoding(Interval(0, 9, bins=9, atoms=(0,)), 0.5)),
    )
}
INCOME = SURVEYS["income"]


def test_the_fingerprint_is_pinned() -> None:
    """It must never change: devices in the field compare it."""
    assert INCOME.fingerprint == PINNED
    assert INCOME.fingerprint == fingerprint(
        {k: v for k, v in INCOME.to_document().items() if k != "fingerprint"}
    )


PINNED = "d41f50afc15657437bd1715b539c517a6756d92224fc80614a9e55778faed943"


@pytest.mark.parametrize("name", SURVEYS)
def test_stored_and_back(name: str) -> None:
    survey = SURVEYS[name]
    again = Survey.from_json(survey.to_json())
    assert again == survey and hash(again) == hash(survey)
    assert again.fingerprint == survey.fingerprint
    assert again.to_json() == survey.to_json()
    assert again.randomizer.channel.fingerprint == survey.randomizer.fingerprint
    assert canonical(again.to_document()) == canonical(json.loads(survey.to_json()))
    assert Survey.from_json(survey.to_json().encode()) == survey


def test_reading_a_file(tmp_path: Path) -> None:
    path = tmp_path / "survey.json"
    path.write_text(INCOME.to_json())
    assert Survey.load(path) == Survey.load(str(path)) == INCOME
    path.write_text("damaged")
    with pytest.raises(FormatError, match=r"survey\.json"):
        Survey.load(path)


def test_different_agreements_have_different_fingerprints() -> None:
    others = [
        Survey("Income", INCOME.randomizer),
        Survey(
            "income",
            SquareWave(Interval(0, 524_288, bins=1024, outside="clip"), epsilon="1.0000001"),
        ),
        Survey(
            "income",
            SquareWave(Interval(0, 524_288, bins=1024, outside="clip"), epsilon=1, width=0.25),
        ),
        Survey("income", SquareWave(Interval(0, 524_288, bins=1024, outside="refuse"), epsilon=1)),
        *SURVEYS.values(),
    ]
    assert len({survey.fingerprint for survey in others}) == len(others)
    same = Survey(
        "income",
        SquareWave(Interval(0.0, 2.0**19, bins=1024, closed="left", outside="clip"), epsilon="1.0"),
    )
    assert same.fingerprint == INCOME.fingerprint and same == INCOME


@pytest.mark.parametrize("name", SURVEYS)
def test_thresholds_are_carried_for_other_languages(name: str) -> None:
    survey = SURVEYS[name]
    derived = survey.to_document()["derived"]
    carried = {key: int(text, 16) for key, text in derived["thresholds"].items()}
    assert carried == thresholds_of(survey.randomizer)
    assert derived["report_width"] == survey.randomizer.report_width
    assert survey.guarantee == survey.randomizer.guarantee


def changed(document: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """Return a copy with the entry at a path like "randomizer.domain.low" replaced."""
    document = copy.deepcopy(document)
    *above, last = path.split(".")
    place = document
    for key in above:
        place = place[key]
    place[last] = value
    return document


@each(
    ("path", "value", "says"),
    [
        ("format", "lapwing-tally", "must be a survey, but it is a tally"),
        ("format", None, "must be a survey"),
        ("version", 2, "version"),
        ("version", True, "version"),
        ("more", 1, "unknown key 'more'"),
        ("randomizer.more", 1, "unknown key 'more'"),
        ("randomizer.domain.more", 1, "unknown key 'more'"),
        ("derived.more", 1, "'more'"),
        ("derived.thresholds.more", "0x0", "thresholds"),
        ("randomizer.class", "squares-wave", "square-wave"),
        ("randomizer.class", None, "known class"),
        ("randomizer.domain.class", "square-wave", "known class"),
        ("randomizer", None, "known class"),
        ("randomizer.domain", [], "known class"),
        ("derived", None, "derived part"),
        ("derived", {}, "match"),
        ("derived.near", 7, "'near'"),
        ("derived.report_width", 3, "'report_width'"),
        ("fingerprint", "0" * 64, "fingerprint"),
        ("fingerprint", None, "fingerprint"),
        ("name", "outcome", "fingerprint"),
        ("name", "", "name"),
        ("name", 3, "name"),
        ("name", "two\nlines", "printable"),
        ("randomizer.epsilon", "2", "match"),
        ("randomizer.epsilon", "25", "epsilon"),
        ("randomizer.epsilon", True, "epsilon"),
        ("randomizer.epsilon", "1e999999999", "epsilon"),
        ("randomizer.epsilon", None, "epsilon"),
        ("randomizer.width", "wide", "width"),
        ("randomizer.width", 0.1, "match"),
        ("randomizer.grid", 1.5, "grid"),
        ("randomizer.domain.low", 600_000, "low"),
        ("randomizer.domain.low", 1, "fingerprint"),
        ("randomizer.domain.bins", 10**9, "bins"),
        ("randomizer.domain.bins", "1024", "bins"),
        ("randomizer.domain.atoms", 3, "atoms"),
        ("randomizer.domain.unit", "dollar", "unit"),
    ],
)
def test_what_was_changed_is_refused_and_named(path: str, value: Any, says: str) -> None:
    with pytest.raises(FormatError) as caught:
        Survey.from_document(changed(INCOME.to_document(), path, value))
    assert says in str(caught.value)
    assert len(str(caught.value)) < 500


OTHER_EPSILONS = [
    *("01", "0_1", "1_", " 1 ", "1 ", "+1", "1.0", "1.", "1e0", "2/2", "1/1", 1, 1.0),
    *("\uff11", "\u0661", "\u0967"),
]

OTHER_SPELLINGS = [
    *(("randomizer.epsilon", spelling) for spelling in OTHER_EPSILONS),
    ("randomizer.domain.low", "0"),
    ("randomizer.domain.low", False),
    ("randomizer.domain.bins", 1024.0),
    ("randomizer.domain.bins", "1024"),
    ("randomizer.domain.circular", 0),
    ("randomizer.domain.atoms", {}),
    ("derived.near", "199"),
    ("derived.points", 1024.5),
]


@pytest.mark.parametrize(("path", "value"), OTHER_SPELLINGS, ids=repr)
def test_a_survey_has_one_spelling(path: str, value: Any) -> None:
    """With the fingerprint of its own bytes, or that of the document that it imitates."""
    document = changed(INCOME.to_document(), path, value)
    for mark in (INCOME.fingerprint, _own_fingerprint(document)):
        with pytest.raises(FormatError) as caught:
            Survey.from_document({**document, "fingerprint": mark})
        assert len(str(caught.value)) < 300


def _own_fingerprint(document: dict[str, Any]) -> str:
    return fingerprint({key: value for key, value in document.items() if key != "fingerprint"})


def test_the_message_says_how_it_is_written() -> None:
    document = changed(INCOME.to_document(), "randomizer.epsilon", "0_1")
    with pytest.raises(FormatError, match=r"epsilon.*0_1"):
        Survey.from_document(document)
    with pytest.raises(FormatError, match=r'epsilon of the randomizer must be written "1", got'):
        Survey.from_document(changed(INCOME.to_document(), "randomizer.epsilon", "1.0"))


def test_atoms_and_knobs_have_one_spelling_too() -> None:
    """Orders that are sorted away, and sizes that follow from another knob."""
    rent = Survey("rent", OptimizedUnaryEncoding(Interval(0, 9, bins=9, atoms=(0, 3)), 1))
    page = Survey("page", CompressivePrivatization(Categories(30), 4, sparsity=2))
    for survey, path, value in (
        (rent, "randomizer.domain.atoms", [3.0, 0.0]),
        (rent, "randomizer.domain.atoms", [0.0, 3.0, 3.0]),
        (page, "randomizer.outputs", 0),
    ):
        document = changed(survey.to_document(), path, value)
        assert Survey.from_document(survey.to_document()).fingerprint == survey.fingerprint
        for mark in (survey.fingerprint, _own_fingerprint(document)):
            with pytest.raises(FormatError, match="must be written"):
                Survey.from_document({**document, "fingerprint": mark})


@pytest.mark.parametrize("name", SURVEYS)
def test_thresholds_that_do_not_match_are_refused_with_any_fingerprint(name: str) -> None:
    """An attacker who loosens a threshold can recompute the fingerprint, but not the law."""
    document = SURVEYS[name].to_document()
    for key, text in document["derived"]["thresholds"].items():
        for step in (1, -1, 2**40):
            broken = changed(document, f"derived.thresholds.{key}", f"{int(text, 16) + step:#018x}")
            del broken["fingerprint"]
            broken["fingerprint"] = fingerprint(broken)
            with pytest.raises(FormatError, match="thresholds"):
                Survey.from_document(broken)


@pytest.mark.parametrize("name", ["", "x" * 201, None, 3, "tab\t", "\ud800", b"income"])
def test_illegal_names(name: Any) -> None:
    with pytest.raises(ArgumentError, match=r"^name must"):
        Survey(name, INCOME.randomizer)


@pytest.mark.parametrize("randomizer", [None, "square-wave", SquareWave, Integers(0, 3)])
def test_illegal_randomizers(randomizer: Any) -> None:
    with pytest.raises(ArgumentError, match="randomizer"):
        Survey("income", randomizer)


@pytest.mark.parametrize("name", [name for name in SURVEYS if name != "income"])
def test_from_values_to_an_answer(name: str) -> None:
    survey = SURVEYS[name]
    domain: Any = survey.randomizer.domain
    held = domain.listed if isinstance(domain, Categories) else domain.left
    values = [held[i % len(held)] for i in range(3000)]
    reports = survey.randomize(values, rng=seeded(5))
    assert reports.fingerprint == survey.randomizer.fingerprint and len(reports) == 3000
    tally = sum(survey.tally(reports[start : start + 1000]) for start in range(0, 3000, 1000))
    assert isinstance(tally, CountTally)
    assert tally == survey.tally(reports) and tally.total == 3000
    assert tally.survey == survey.fingerprint
    made = survey.decode(tally)
    assert isinstance(made, Distribution)
    assert made.reports == 3000 and made.guarantee == survey.guarantee
    assert made.provenance["class"] == recommended_decoder(survey.randomizer).name


STRONG = Survey("strong", SquareWave(Interval(0, 1, bins=8), 4, grid=32))


@pytest.fixture(scope="module")
def tally() -> CountTally:
    return STRONG.tally(STRONG.randomize(np.linspace(0, 1, 20_000), rng=seeded(1)))


def test_the_decoder_is_a_choice(tally: CountTally) -> None:
    assert isinstance(
        STRONG.decode(tally, decoder=LeastSquares(signed=True)).signed, SignedEstimate
    )
    plain = STRONG.decode(tally, decoder=ExpectationMaximization())
    assert plain.provenance["smoothed"] is False


def test_the_bins_of_a_grid_are_a_choice(tally: CountTally) -> None:
    for bins in (4, 16, 32):
        assert STRONG.decode(tally, bins=bins).domain == Interval(0, 1, bins=bins, outside="clip")
    with pytest.raises(ArgumentError, match="divide"):
        STRONG.decode(tally, bins=5)
    age = SURVEYS["age"]
    with pytest.raises(ArgumentError, match="square wave"):
        age.decode(age.tally(age.randomize([20], rng=seeded(1))), bins=2)


def test_a_tally_of_another_survey_is_refused(tally: CountTally) -> None:
    other = Survey("another name", STRONG.randomizer)
    with pytest.raises(MismatchError, match="Use the survey file that collected it"):
        other.decode(tally)
    STRONG.check(tally)
    # A tally that no survey claims is judged by its randomizer.
    other.check(dataclasses.replace(tally, survey=None))
    with pytest.raises(LapwingError):
        INCOME.decode(dataclasses.replace(tally, survey=None))


def test_nothing_can_be_changed() -> None:
    for field in ("name", "randomizer"):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(INCOME, field, "x")


def test_a_survey_of_a_recommendation_keeps_its_randomizer() -> None:
    advice = recommend(Interval(0, 100, bins=64, outside="clip"), epsilon=2, users=30_000)
    survey = Survey("age", advice)
    assert survey == Survey("age", advice.randomizer)
    assert survey.randomizer == advice.randomizer
    assert survey.to_json() == Survey("age", advice.randomizer).to_json()
