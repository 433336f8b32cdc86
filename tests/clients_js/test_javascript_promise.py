"""The JavaScript client proves what a survey promises, and refuses one that promises too much."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest

import lapwing as lw
from lapwing.errors import LapwingError
from lapwing.papers.baselines import PrefixHashing
from lapwing.papers.square_wave import Hierarchical
from lapwing.papers.wavelet import Wavelet
from lapwing.privacy.exact_numbers import epsilon_text
from lapwing.randomizers import HadamardResponse
from tests.clients_js.programs import ask, program
from tests.clients_js.surveys import cases, changed, sealed, survey_text, thresholds_of
from tests.contracts.registered import at_epsilon
from tests.damaged_documents import mutants

pytestmark = pytest.mark.service

CASES = cases(1, 24)


def _read(texts: dict[str, str], **options: Any) -> dict[str, Any]:
    answers = ask(*(("read", text, options) for text in texts.values()))
    return dict(zip(texts, answers, strict=True))


def _with_derived(name: str, tampered: Any) -> str:
    """Return a case's survey whose derived part is that of a tampered randomizer."""

    def change(document: dict[str, Any]) -> None:
        document["derived"] = tampered._derived

    return changed(survey_text(CASES[name].randomizer), change)


def test_sound_surveys_are_read() -> None:
    surveys = {name: survey_text(case.randomizer) for name, case in CASES.items()}
    for name, answer in _read(surveys).items():
        assert answer["fingerprint"] == json.loads(surveys[name])["fingerprint"], name
        assert answer["epsilon"] in ("1", "24")
        assert answer["width"] == CASES[name].randomizer.report_width


def test_one_unit_of_2_to_the_minus_64_too_much_is_refused_by_the_proof() -> None:
    """The contract suites loosen a threshold by one: its ratio is beyond e^epsilon."""
    surveys = {
        name: _with_derived(name, case.row.loosen(case.randomizer)) for name, case in CASES.items()
    }
    for name, answer in _read(surveys).items():
        assert answer["error"] == "PrivacyError", name
        assert "Do not answer it" in answer["message"]


def test_a_collector_cannot_state_1_and_send_the_thresholds_of_2() -> None:
    surveys = {
        name: _with_derived(name, at_epsilon(case.randomizer, Fraction(2)))
        for name, case in CASES.items()
        if case.randomizer.epsilon == 1
    }
    for name, answer in _read(surveys).items():
        assert answer["error"] == "PrivacyError", name
        # It says what the thresholds allow, which is the looser promise.
        assert "epsilon of 1, but these allow 2.000" in answer["message"], name


def _one_less(document: dict[str, Any]) -> None:
    for thresholds in thresholds_of(document["derived"]):
        name = sorted(thresholds)[-1]  # near, own, or of two the one of the own bit
        thresholds[name] = f"{int(thresholds[name], 16) - 1:#018x}"


def test_thresholds_that_keep_more_than_is_stated_do_not_follow_either() -> None:
    surveys = {
        name: changed(survey_text(case.randomizer), _one_less) for name, case in CASES.items()
    }
    for name, answer in _read(surveys).items():
        assert answer["error"] == "FormatError" and "does not follow" in answer["message"], name


WRONG_THRESHOLDS = [
    ("0x0000000000000000", "FormatError"),
    ("0x0000000000000001", "FormatError"),
    ("0xffffffffffffffff", "PrivacyError"),
    ("0x10000000000000000", "FormatError"),
    ("0X8000000000000000", "FormatError"),
    ("0x800000000000000", "FormatError"),
    ("9223372036854775808", "FormatError"),
    ("", "FormatError"),
    (None, "FormatError"),
    (1, "FormatError"),
]


def test_thresholds_of_any_kind_are_refused() -> None:
    kinds = {case.randomizer.name: survey_text(case.randomizer) for case in CASES.values()}
    surveys, expected = {}, {}
    for wrong, error in WRONG_THRESHOLDS:
        for name, text in kinds.items():

            def change(document: dict[str, Any], wrong: Any = wrong) -> None:
                for thresholds in thresholds_of(document["derived"]):
                    thresholds[sorted(thresholds)[-1]] = wrong

            surveys[f"{name}: {wrong}"] = changed(text, change)
            expected[f"{name}: {wrong}"] = error
    for what, answer in _read(surveys).items():
        assert answer.get("error") == expected[what], what


def _numbers(part: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where whole numbers stand in what a survey derives."""
    pairs: Any = part.items() if isinstance(part, dict) else enumerate(part)
    for key, value in pairs:
        if isinstance(value, dict | list):
            yield from _numbers(value, (*place, key))
        elif type(value) is int:
            yield (*place, key)


def test_sizes_that_are_off_by_one_are_refused() -> None:
    surveys = {}
    for name, case in CASES.items():
        text = survey_text(case.randomizer)
        for place in _numbers(json.loads(text)["derived"]):
            for step in (-1, 1):

                def change(document: dict[str, Any], place: Any = place, step: int = step) -> None:
                    part = document["derived"]
                    for key in place[:-1]:
                        part = part[key]
                    part[place[-1]] += step

                surveys[f"{name}: {place} {step:+}"] = changed(text, change)
    assert len(surveys) > 800
    for what, answer in _read(surveys).items():
        assert answer.get("error") in ("FormatError", "PrivacyError"), what


def test_sizes_that_agree_with_each_other_but_not_with_epsilon_are_refused() -> None:
    """The promise is kept, but the document is not the one that was agreed."""
    labels, line = lw.Categories(1000), lw.Interval(0, 1, bins=1024, outside="clip")
    words = lw.HashedStrings(32)
    circle = lw.Interval(0, 1, bins=1024, circular=True)
    sets, wave = lw.SubsetSelection(labels, 1), lw.SquareWave(line, 1)
    affine, ladder = lw.randomizers.AffineSubsetSelection(labels, 1), lw.MultiscaleWave(line, 1)
    assert ladder.components is not None
    parts = [list(part) for part in ladder.components]
    wider = [[kind, size * 1.01 if kind == "wave" else size, share] for kind, size, share in parts]
    pairs: list[tuple[Any, Any]] = [
        (sets, lw.SubsetSelection(labels, 1, size=sets._members + 1)),
        (sets, lw.SubsetSelection(labels, 1, size=sets._members - 1)),
        (affine, lw.randomizers.AffineSubsetSelection(labels, 1, size=affine._members + 1)),
        (wave, lw.SquareWave(line, 1, width=(wave._half_window + 1) / 1024)),
        (wave, lw.SquareWave(line, 1, width=(wave._half_window - 0.5) / 1024)),
        (lw.SquareWave(circle, 1), lw.SquareWave(circle, 1, width=0.2)),
        (HadamardResponse(labels, 1), HadamardResponse(labels, 1, blocks=2)),
        (HadamardResponse(labels, 4), HadamardResponse(labels, 4, blocks=16)),
        (lw.LinearHashing(labels, 2), lw.LinearHashing(labels, 2, hash_bits=4)),
        (PrefixHashing(words, 2), PrefixHashing(words, 2, hash_bits=4)),
        (ladder, lw.MultiscaleWave(line, 1, components=[(k, s, w) for k, s, w in wider])),
        (Hierarchical(line, 1), Hierarchical(line, 1, branching=2)),
        (Wavelet(line, 2), Wavelet(line, 2, levels=9)),
        (Wavelet(line, 2), Wavelet(line, 2, allocation="uniform")),
    ]  # fmt: skip
    texts = {}
    for number, (stated, derived) in enumerate(pairs):

        def change(document: dict[str, Any], derived: Any = derived) -> None:
            document["derived"] = derived._derived

        texts[f"{number}: {stated.name}"] = changed(survey_text(stated), change)
    for what, answer in _read(texts).items():
        assert answer.get("error") == "FormatError", (what, answer)


@pytest.mark.parametrize("moved", [1, 2**20])
def test_shares_that_do_not_follow_are_refused(moved: int) -> None:
    texts = {}
    for name, case in CASES.items():
        if hasattr(case.randomizer, "groups") and len(case.randomizer.groups) > 2:

            def change(document: dict[str, Any]) -> None:
                # Not of the largest: its share is what the others leave.
                groups = sorted(document["derived"]["groups"], key=lambda group: group["share"])
                groups[0]["share"] += moved
                groups[1]["share"] -= moved

            texts[name] = changed(survey_text(case.randomizer), change)
    assert len(texts) >= 6
    for what, answer in _read(texts).items():
        assert answer.get("error") == "FormatError", (what, answer)


def test_a_smaller_epsilon_than_the_thresholds_keep_is_refused() -> None:
    def change(document: dict[str, Any]) -> None:
        document["randomizer"]["epsilon"] = "0.999999999999"

    surveys = {
        name: changed(survey_text(case.randomizer), change)
        for name, case in CASES.items()
        if case.randomizer.epsilon == 1
    }
    for name, answer in _read(surveys).items():
        assert answer["error"] == "PrivacyError", name


WRONG_EPSILONS = [
    "0", "-1", "1.0", "01", "1e0", "+1", " 1", "24.1", "25", "1/1", "2/2", "10/5", "1/10",
    "3/0", "inf", "nan", "0x1", "1_0", "١", "0.0000000000001", 1, True, None, ["1"], "1" * 90,
    "1/" + "9" * 31,
]  # fmt: skip


def test_an_epsilon_in_another_spelling_or_out_of_range_is_refused() -> None:
    text = survey_text(lw.RandomizedResponse(lw.Categories(3), 1))
    surveys = {}
    for epsilon in WRONG_EPSILONS:

        def change(document: dict[str, Any], epsilon: Any = epsilon) -> None:
            document["randomizer"]["epsilon"] = epsilon

        surveys[repr(epsilon)] = changed(text, change)
    for epsilon, answer in _read(surveys).items():
        assert answer["error"] == "FormatError" and "epsilon" in answer["message"], epsilon


def test_changed_and_repeated_keys_are_refused() -> None:
    text = survey_text(lw.SquareWave(lw.Interval(0, 1, bins=8), 1))
    last = json.loads(text)["fingerprint"][-1]
    other = "0" if last != "0" else "1"
    surveys = {
        "another fingerprint": text.replace(f'{last}"\n}}', f'{other}"\n}}'),
        "a key twice": text.replace('"version": 1,', '"version": 1, "version": 1,'),
        "a key twice, deep": text.replace('"bins": 8,', '"bins": 8, "bins": 8,'),
        "another name": text.replace('"tested"', '"other"'),
        "a space": text.replace('"tested"', '"tested "'),
    }
    assert len({*surveys.values(), text}) == 6
    for what, answer in _read(surveys).items():
        assert answer["error"] == "FormatError", what


def test_a_cap_on_epsilon_is_exact() -> None:
    third = survey_text(lw.RandomizedResponse(lw.Categories(3), "1/3"))
    for most, sound in (("1/3", True), (0.34, True), ("0.3333333333", False), ("0", False)):
        (answer,) = ask(("read", third, {"epsilonCap": most}))
        assert ("fingerprint" in answer) is sound, most
        assert sound or answer["error"] == "PrivacyError"
    for wrong in ("a lot", "1e3", -1):
        (answer,) = ask(("read", third, {"epsilonCap": wrong}))
        assert answer["error"] == "PrivacyError" and "must be a number" in answer["message"]


def test_another_survey_than_was_asked_for_is_refused() -> None:
    text = survey_text(lw.RandomizedResponse(lw.Categories(3), 1))
    (answer,) = ask(("read", text, {"fingerprint": "0" * 64}))
    assert answer["error"] == "FormatError" and "was requested" in answer["message"]
    (answer,) = ask(("read", text, {"fingerprint": json.loads(text)["fingerprint"]}))
    assert "error" not in answer


@pytest.mark.filterwarnings("ignore::lapwing.errors.PrivacyWarning")
def test_all_that_lapwing_recommends_is_read() -> None:
    """Sizes follow from epsilon by formulas in floats: at many epsilons both find the same ones."""
    program("node", package="nodejs")  # skipped before anything is computed
    epsilons = [Fraction(1, 1000), Fraction(3, 4), Fraction(10, 3), Fraction(24)]
    domains: list[lw.Interval | lw.Integers | lw.Categories | lw.HashedStrings] = [
        lw.Interval(0, 1, bins=256),
        lw.Interval(0, 1, bins=1024),
        lw.Interval(0, 24, bins=96, circular=True),
        lw.Interval(0, 60, bins=100, atoms=(0, 40), missing="bin"),
        lw.Integers(0, 9),
        lw.Categories(2),
        lw.Categories(12, missing="category"),
        lw.Categories(5000),
        lw.Categories(2**20),
        lw.HashedStrings(40),
    ]
    found = {}
    for domain in domains:
        for epsilon in epsilons:
            made = lw.recommend(domain, epsilon=epsilon, users=100_000).randomizer
            found[f"{made.name}, {domain}, {epsilon}"] = survey_text(made)
    for what, answer in _read(found).items():
        assert "error" not in answer, (what, answer)
    names = {what.partition(",")[0] for what in found}
    assert names >= {"multiscale-wave", "square-wave", "subset-selection", "linear-hashing"}


def test_the_sizes_of_every_class_are_found_at_many_epsilons() -> None:
    labels, numbers = lw.Categories(1000), lw.Integers(0, 99, outside="clip")
    found = {}
    for step in range(1, 240, 11):
        epsilon = Fraction(step, 10)
        for made in (
            lw.SubsetSelection(labels, epsilon),
            lw.randomizers.AffineSubsetSelection(labels, epsilon),
            lw.randomizers.HadamardResponse(labels, epsilon),
            lw.LinearHashing(labels, epsilon),
            lw.papers.baselines.PrefixHashing(lw.HashedStrings(32), epsilon),
            lw.SquareWave(numbers, epsilon),
            lw.SquareWave(lw.Interval(0, 1, bins=90, circular=True), epsilon),
            lw.MultiscaleWave(numbers, epsilon),
            Hierarchical(numbers, epsilon, branching=2),
            lw.papers.square_wave.HaarHadamard(numbers, epsilon),
            Wavelet(numbers, epsilon),
            Wavelet(numbers, epsilon, users=10_000, allocation="uniform"),
        ):
            found[f"{made}"] = survey_text(made)
    for what, answer in _read(found).items():
        assert "error" not in answer, (what, answer)


def test_epsilons_are_written_as_python_writes_them() -> None:
    response = [
        lw.RandomizedResponse(lw.Categories(3), epsilon)
        for epsilon in ("0.1", "1/3", 24, "0.000000000001", "22/7", 1e-3, "1.0986122886681098")
    ]
    answers = ask(*(("read", survey_text(made)) for made in response))
    assert [a["epsilon"] for a in answers] == [epsilon_text(made.epsilon) for made in response]


def _strange_documents(*, most: int) -> list[str]:
    """Damaged surveys, as they are and with the fingerprint that their content has."""
    whole = lw.Interval(0, 10, bins=8, atoms=[2.5])
    surveys = [
        *(lw.Survey("tested", case.randomizer) for case in cases(1).values()),
        lw.Survey("full", lw.SquareWave(whole, 1), segments=["a"], remembered=True, owner="me"),
        lw.Survey("labels", lw.SubsetSelection(lw.Categories(["a", "b", "c", 4]), 1)),
        lw.Survey("narrow", lw.SquareWave(lw.Interval(0, 1, bins=8), 1, grid=64, width=0)),
    ]
    texts = {}
    for seed, survey in enumerate(surveys):
        for damaged in mutants(json.loads(survey.to_json()), most=most, seed=seed):
            with contextlib.suppress(Exception):  # not all of them can be written as JSON
                texts[json.dumps(damaged)] = None
                texts[sealed(damaged)] = None
    return [text for text in texts if len(text) < 400_000]


def test_damaged_documents_are_read_by_both_or_refused_by_both() -> None:
    """Of 31,218 of them 176 were not: a class in a list, a width that is no number.

    Also those with whole numbers written as 1.0.
    """
    texts = _strange_documents(most=14)
    assert len(texts) > 1500
    for text, answer in zip(texts, ask(*(("read", text) for text in texts)), strict=True):
        if answer.get("error") == "UnsupportedError":
            continue
        try:
            lw.Survey.from_json(text)
        except LapwingError:
            assert "error" in answer, text
        else:
            assert "error" not in answer, text


BY_NAME: dict[str, Any] = {
    "class": ["square-wave"],
    "domain": {"class": ["interval"]},
    "width": "",
    "width ": [],
    "width  ": False,
    "width   ": "0",
}


@pytest.mark.parametrize("place", BY_NAME)
def test_what_javascript_took_for_something_else_is_refused(place: str) -> None:
    text = survey_text(lw.SquareWave(lw.Interval(0, 1, bins=8), 1, width=0))
    new = BY_NAME[place]

    def change(document: dict[str, Any]) -> None:
        at = document["randomizer"]
        at[place.strip()] = {**at["domain"], **new} if isinstance(new, dict) else new

    (answer,) = ask(("read", changed(text, change)))
    assert answer["error"] == "FormatError"


def test_a_device_takes_surveys_of_a_million_symbols_and_no_more() -> None:
    """Before it has built anything: 2^24 bins cost 6 s and 1.5 GB, here too."""

    def enlarged(randomizer: Any, **domain: Any) -> str:
        document = json.loads(survey_text(randomizer))
        document["randomizer"]["domain"].update(domain)
        return sealed(document)

    line = lw.SquareWave(lw.Interval(0, 1, bins=16), 1)
    large = [
        enlarged(line, bins=2**24),
        survey_text(lw.SquareWave(lw.Interval(0, 1, bins=2**20), 1)),  # and two beyond the ends
        survey_text(lw.SquareWave(lw.Interval(0, 1, bins=16, outside="clip"), 1, grid=2**24)),
        survey_text(lw.SquareWave(lw.Integers(0, 2**20, outside="clip"), 1)),
        enlarged(lw.RandomizedResponse(lw.Categories(4), 1), labels=2**24),
    ]
    label = "x" * 200_000
    words = lw.RandomizedResponse(lw.Categories([*"abcdef"]), 1)
    large.append(enlarged(words, labels=[label + c for c in "abcdef"]))
    legal = [
        survey_text(lw.SquareWave(lw.Interval(0, 1, bins=2**20 - 2), 1)),
        survey_text(lw.RandomizedResponse(lw.Categories(2**20), 1)),
        survey_text(lw.LinearHashing(lw.HashedStrings(32), 1)),
    ]
    answers = ask(*(("read", text) for text in large + legal))
    assert [answer.get("error") for answer in answers] == ["UnsupportedError"] * 6 + [None] * 3
