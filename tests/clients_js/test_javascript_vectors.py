"""The JavaScript client meets the shared vectors, and makes of any words Python's reports."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.errors import FormatError
from lapwing.papers.wavelet.signed_subset_selection import optimal_members
from lapwing.privacy.exact_numbers import exact_epsilon, exponential_bounds
from lapwing.privacy.sampling.randomness import iterate, scalar_below, seeded
from tests.clients_js.programs import ask, program
from tests.clients_js.surveys import ELSEWHERE, cases, sealed, survey_text

pytestmark = pytest.mark.service

V1 = Path(__file__).parent.parent / "vectors" / "v1"


def _load(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((V1 / name).read_text(encoding="utf-8"))
    return document


SURVEYS = {
    path.name: _load(path.name)
    for path in sorted(V1.glob("*.json"))
    if "survey" in json.loads(path.read_text(encoding="utf-8"))
}


def _class(name: str) -> str:
    return str(SURVEYS[name]["survey"]["randomizer"]["class"])


OURS = [name for name in SURVEYS if _class(name) not in ELSEWHERE]
OTHERS = [name for name in SURVEYS if _class(name) in ELSEWHERE]


def _text(name: str) -> str:
    return json.dumps(SURVEYS[name]["survey"])


def test_reports_of_the_vectors_are_made_of_exactly_their_words() -> None:
    answers = ask(
        *(
            ("fromWords", _text(name), [[v["input"], v["words"]] for v in SURVEYS[name]["reports"]])
            for name in OURS
        )
    )
    for name, made in zip(OURS, answers, strict=True):
        vectors = SURVEYS[name]["reports"]
        assert len(vectors) >= 20
        for vector, (report, used) in zip(vectors, made, strict=True):
            assert report == vector["report"], (name, vector["why"])
            assert used == len(vector["words"]), (name, vector["why"])
    assert len(OURS) >= 25


def test_values_of_the_vectors_become_their_inputs() -> None:
    inputs = {name: SURVEYS[name]["inputs"] for name in OURS}
    answers = ask(*(("inputs", _text(name), [c["value"] for c in inputs[name]]) for name in OURS))
    for name, made in zip(OURS, answers, strict=True):
        for case, found in zip(inputs[name], made, strict=True):
            if "error" in case:
                assert found["error"] == case["error"], (name, case)
            else:
                assert found == case["input"], (name, case)


def test_randomizers_that_the_client_lacks_are_refused_by_their_names() -> None:
    assert {_class(name) for name in OTHERS} == ELSEWHERE
    for name, answer in zip(OTHERS, ask(*(("read", _text(name)) for name in OTHERS)), strict=True):
        assert answer["error"] == "UnsupportedError" and _class(name) in answer["message"]
        assert "square-wave" in answer["message"]


def test_bad_surveys_are_refused() -> None:
    bad = _load("bad_surveys.json")["surveys"]
    for case, answer in zip(bad, ask(*(("read", case["text"]) for case in bad)), strict=True):
        assert answer.get("error") in ("FormatError", "PrivacyError"), case["why"]


def _refuse(word: str) -> Any:
    raise ValueError(word)


def test_bad_surveys_are_refused_also_with_a_fingerprint_that_fits() -> None:
    """Or one check, that of the fingerprint, would hide that the others are missing."""
    resealed = {}
    for case in _load("bad_surveys.json")["surveys"]:
        # What is no JSON, or has no canonical form, has no fingerprint that fits; a wrong
        # fingerprint is mended by sealing.
        with suppress(ValueError, FormatError):
            document = json.loads(case["text"], parse_constant=_refuse)
            if isinstance(document, dict) and "fingerprint" not in case["why"]:
                resealed[case["why"]] = sealed(document)
    # It is gone once it has been read.
    del resealed["a key twice"]
    assert len(resealed) >= 20
    answers = ask(*(("read", text) for text in resealed.values()))
    for why, answer in zip(resealed, answers, strict=True):
        assert answer.get("error") in ("FormatError", "PrivacyError"), why
        assert "fingerprint" not in answer["message"], why


def test_bad_reports_are_refused() -> None:
    bad = [
        case
        for name in ("bad_reports.json", "bad_sets.json", "bad_hashes.json")
        for case in _load(name)["reports"]
        if case["survey"]["randomizer"]["class"] not in ELSEWHERE
    ]
    answers = ask(*(("check", json.dumps(case["survey"]), case["report"]) for case in bad))
    assert len(bad) > 30
    for case, answer in zip(bad, answers, strict=True):
        assert answer["error"] == "ReportError", case["why"]


def test_what_the_contracts_call_impossible_is_refused_and_what_is_sent_is_not() -> None:
    tasks, expected = [], []
    for case in cases(1).values():
        text = survey_text(case.randomizer)
        for report in case.row.impossible(case.randomizer):
            tasks.append(("check", text, report.hex()))
            expected.append("ReportError")
        reports = case.randomizer.randomize([case.value(0)] * 20, rng=seeded(5)).data
        for report in np.unique(reports, axis=0):
            tasks.append(("check", text, report.tobytes().hex()))
            expected.append("sound")
    found = [a if isinstance(a, str) else a["error"] for a in ask(*tasks)]
    assert found == expected and expected.count("ReportError") > 100


def test_random_words_make_python_s_reports() -> None:
    """All randomizers of the contract suites, on all their domains, at both ends of the range."""
    program("node", package="nodejs")  # before words are drawn for nothing
    words = iterate(seeded(2026))
    randomizers = [case.randomizer for case in cases(0.1, 1, 4, 24).values()]
    randomizers += [
        lw.RandomizedResponse(lw.Categories(2**20), 3),
        lw.SquareWave(lw.Interval(0, 1, bins=2**20 - 2), "0.5"),
        lw.randomizers.HadamardResponse(lw.Categories(2**19 + 1), "1/3"),
        lw.LinearHashing(lw.Categories(2**40), 3),
        lw.LinearHashing(lw.Categories(2**39 + 1), 12, hash_bits=8),
        lw.papers.baselines.PrefixHashing(lw.HashedStrings(40), 1),
        lw.MultiscaleWave(lw.Interval(0, 1, bins=1024), 4),
        lw.randomizers.AffineSubsetSelection(lw.Categories(2**16), 4),
        lw.randomizers.AffineSubsetSelection(lw.Categories(3000), 1),
        lw.papers.square_wave.HaarHadamard(lw.Integers(0, 99_999, outside="clip"), 1),
    ]
    tasks, expected = [], []
    for randomizer in randomizers:
        size = getattr(randomizer, "_points", randomizer.domain.size)
        made, asked = [], []
        for point in {0, 1, size // 3, size // 2, size - 1}:
            taken = []

            def supply(taken: list[int] = taken) -> Any:
                while True:
                    taken.append(next(words))
                    yield taken[-1]

            report = randomizer.from_words(point, supply())
            made.append([report.hex(), len(taken)])
            asked.append([point, [hex(word) for word in taken]])
        tasks.append(("fromWords", survey_text(randomizer), asked))
        expected.append(made)
    assert ask(*tasks) == expected


def test_bounded_draws_are_python_s_also_of_words_that_must_be_rejected() -> None:
    words = iterate(seeded(7))
    asked, expected = [], []
    for bound in (1, 2, 3, 5, 255, 2**16 + 1, 2**21 - 1, 2**21, 2**21 + 1, 2**26 - 5, 2**40 - 87):
        for _ in range(40):
            wanted = next(words) % bound
            # The smallest words with this result: the ones that a bound may reject.
            first = -(-wanted * 2**64 // bound)
            edge = [first, first + 1, (first - 1) % 2**64, 2**64 - 1, next(words), next(words)]
            given = [0, *edge] if wanted % 2 else edge
            count = 0

            def supply(given: list[int] = given) -> Any:
                nonlocal count
                for word in given:
                    count += 1
                    yield word

            expected.append([scalar_below(supply(), bound), count])
            asked.append([bound, [hex(word) for word in given]])
    assert ask(("below", asked)) == [expected]
    assert sum(count > 1 for _, count in expected) > 50


def test_secure_words_come_in_order_from_a_pool_and_are_wiped() -> None:
    (answer,) = ask(("pool", 10_000))
    assert answer["calls"] == [65_536, 65_536]
    # Each word is two numbers of 32 bits, the low half first; both pools are the same array.
    numbers = [(2 * i + 2 << 32) + 2 * i + 1 for i in range(10_000)]
    assert answer["drawn"] == [str(number) for number in numbers]
    assert answer["left"] == [2 * 16_384 - 20_000]


def test_thresholds_and_bounds_are_python_s_bit_for_bit() -> None:
    epsilons = ["0.1", "1", "24", "1/3", "0.000000000001", "23.999", "1.0986122886681098", "7/11"]
    sizes = [(1, 1), (1, 2**26 - 1), (513, 511), (2**25, 2**25), (3, 7)]
    for text, answer in zip(
        epsilons, ask(*(("thresholds", e, sizes) for e in epsilons)), strict=True
    ):
        low = exponential_bounds(exact_epsilon(text))[0]
        assert int(answer["low"]) == low * 2**256
        assert [int(t) for t in answer["near"]] == [
            int(2**64 * (low * near) / (low * near + far)) for near, far in sizes
        ]
        assert answer["members"] == [optimal_members(near, text) for near, _ in sizes]
        if float(exact_epsilon(text)) > 1e-9:
            for kind, name in (
                (lw.randomizers.UnaryEncoding, "symmetric"),
                (lw.randomizers.OptimizedUnaryEncoding, "asymmetric"),
            ):
                made = kind(lw.Categories(3), text)._thresholds
                assert [int(t) for t in answer[name]] == [made["own"], made["other"]]
