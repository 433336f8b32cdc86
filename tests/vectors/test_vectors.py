"""The vectors are what this library makes, are pinned, and are enough for a second client."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing import Survey, errors
from lapwing.errors import DomainError
from lapwing.protocol.domains.domain_documents import build_domain
from lapwing.protocol.messages.reports import Reports
from lapwing.registry import RANDOMIZERS
from tests.rows import each
from tests.vectors import make_vectors, port
from tests.vectors.text_vectors import BATCH, EPOCH

V1 = Path(__file__).parent / "v1"
OTHERS = ("addresses", "bad_", "batches", "closed", "edges", "texts", "times", "unicode")
GOOD = sorted(path.name for path in V1.glob("*.json") if not path.name.startswith(OTHERS))
every = pytest.mark.parametrize("name", GOOD)


def _load(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((V1 / name).read_text(encoding="utf-8"))
    assert document["format"] == "lapwing-vectors" and document["version"] == 1
    return document


def _words(vector: dict[str, Any]) -> list[int]:
    return [int(word, 16) for word in vector["words"]]


def test_made_anew_they_are_the_same_files() -> None:
    made = make_vectors.vectors()
    assert set(made) == {path.name for path in V1.iterdir()}
    for name, text in made.items():
        assert (V1 / name).read_text(encoding="utf-8") == text, name


def test_every_randomizer_has_vectors() -> None:
    classes = {_load(name)["survey"]["randomizer"]["class"] for name in GOOD}
    assert classes == set(RANDOMIZERS)


@every
def test_library_meets_the_vectors(name: str) -> None:
    document = _load(name)
    survey = Survey.from_document(document["survey"])
    assert len(document["reports"]) >= 20
    for vector in document["reports"]:
        words = iter(_words(vector))
        assert survey.randomizer.from_words(vector["input"], words).hex() == vector["report"]
        assert next(words, None) is None, "exactly these words are used"
    data = np.array([list(bytes.fromhex(vector["report"])) for vector in document["reports"]])
    tally = survey.tally(Reports(data.astype(np.uint8), survey.randomizer.fingerprint))
    assert tally.total == len(document["reports"])


@every
def test_library_puts_values_where_the_vectors_say(name: str) -> None:
    document = _load(name)
    randomizer: Any = Survey.from_document(document["survey"]).randomizer
    to_input = getattr(randomizer, "_points_of", randomizer.domain.index)
    for case in document["inputs"]:
        if "error" in case:
            with pytest.raises(getattr(errors, case["error"])):
                to_input([case["value"]])
        else:
            assert to_input([case["value"]]).tolist() == [case["input"]]


@every
def test_a_client_written_from_the_page_meets_the_vectors(name: str) -> None:
    document = _load(name)
    survey = document["survey"]
    assert port.fingerprint(survey) == survey["fingerprint"]
    for vector in document["reports"]:
        words = iter(_words(vector))
        made = port.report(survey, vector["input"], words)
        assert made.hex() == vector["report"], vector["why"]
        assert next(words, None) is None
        port.check_report(survey, made)
    for case in document["inputs"]:
        if "error" in case:
            with pytest.raises(port.RefusedError):
                port.to_input(survey, case["value"])
        else:
            assert port.to_input(survey, case["value"]) == case["input"], case["value"]


def test_the_port_imports_nothing_of_lapwing() -> None:
    text = Path(port.__file__).read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith(("import", "from"))]
    assert not any("lapwing" in line for line in lines) and lines


def test_vectors_hold_rejected_words_and_both_sides_of_every_threshold() -> None:
    rejected = far = near = 0
    for name in GOOD:
        document = _load(name)
        derived = document["survey"]["derived"]
        if "groups" in derived:
            ends = [0, *itertools.accumulate(group["share"] for group in derived["groups"])]
            coins = {_words(vector)[0] for vector in document["reports"]}
            assert {end << 32 for end in ends[:-1]} | {(end << 32) - 1 for end in ends[1:]} <= coins
            continue
        thresholds = derived["thresholds"]
        if "near" not in thresholds:
            edges = {int(text, 16) for text in thresholds.values()}
            seen = {word for vector in document["reports"] for word in _words(vector)}
            assert edges <= seen and {edge - 1 for edge in edges} <= seen
            continue
        threshold = int(thresholds["near"], 16)
        firsts = {_words(vector)[0] for vector in document["reports"]}
        assert {threshold - 1, threshold, 0, 2**64 - 1} <= firsts
        rejected += sum(len(vector["words"]) > 2 for vector in document["reports"])
        near += sum(_words(vector)[0] < threshold for vector in document["reports"])
        far += sum(_words(vector)[0] >= threshold for vector in document["reports"])
    assert rejected > 50 and near > 100 and far > 100


EDGES = _load("edges.json")["edges"]
each_interval = pytest.mark.parametrize("case", EDGES, ids=lambda case: case["why"])


def _apart(case: dict[str, Any], edges: list[float]) -> float:
    """Return by how many units in the last place the edges differ at most."""
    assert len(edges) == len(case["edges"]) == case["domain"]["bins"] + 1
    return max(abs(a - b) / math.ulp(b) for a, b in zip(edges, case["edges"], strict=True))


@each_interval
def test_library_has_the_edges_of_the_vectors(case: dict[str, Any]) -> None:
    domain: Any = build_domain(case["domain"])
    assert _apart(case, domain.bin_edges.tolist()) <= case["units"]
    for value, symbol in case["inputs"]:
        assert domain.index([value]).tolist() == [symbol]


@each_interval
def test_a_client_written_from_the_page_has_the_edges_of_the_vectors(case: dict[str, Any]) -> None:
    assert _apart(case, port._edges(case["domain"])) <= case["units"]
    for value, symbol in case["inputs"]:
        assert port.to_input({"randomizer": {"domain": case["domain"]}}, value) == symbol


def test_texts_have_fingerprints_of_their_own() -> None:
    cases = _load("texts.json")["texts"]
    for case in cases:
        survey = lw.Survey.from_document(case["survey"])
        assert survey.text_fingerprint == case["text_fingerprint"], case["why"]
        assert port.text_fingerprint(case["survey"]) == case["text_fingerprint"], case["why"]
        assert port.fingerprint(case["survey"]) == case["survey"]["fingerprint"]
        assert port.upload_address(case["survey"], EPOCH, BATCH) == case["upload"], case["why"]
    assert len({case["survey"]["fingerprint"] for case in cases}) == 1
    assert len({case["text_fingerprint"] for case in cases}) == len(cases)


@pytest.mark.parametrize(
    "case", _load("unicode_labels.json")["labels"], ids=lambda case: case["why"]
)
def test_labels_are_compared_in_one_form(case: dict[str, Any]) -> None:
    domain = build_domain(case["domain"])
    assert domain.to_document() == case["domain"]  # as typed
    values = [value for value, _ in case["inputs"]]
    symbols = [symbol for _, symbol in case["inputs"]]
    assert domain.index(values).tolist() == symbols
    assert domain.index(np.array(values)).tolist() == symbols


@pytest.mark.parametrize(
    "case", _load("unicode_labels.json")["refused"], ids=lambda case: case["why"]
)
def test_equal_labels_are_refused(case: dict[str, Any]) -> None:
    with pytest.raises(DomainError, match="labels must all be different"):
        lw.Categories(case["labels"])


@pytest.mark.parametrize("case", _load("closed.json")["intervals"], ids=lambda case: case["why"])
def test_values_on_edges_lie_in_the_bin_that_is_closed_there(case: dict[str, Any]) -> None:
    domain: Any = build_domain(case["domain"])
    values, symbols = zip(*case["inputs"], strict=True)
    assert domain.index(values).tolist() == list(symbols)
    survey = {"randomizer": {"domain": case["domain"]}}
    assert [port.to_input(survey, value) for value in values] == list(symbols)


@pytest.mark.parametrize("case", _load("times.json")["intervals"], ids=lambda case: case["why"])
def test_texts_of_dates_and_times(case: dict[str, Any]) -> None:
    domain: Any = build_domain(case["domain"])
    for text, symbol in case["inputs"]:
        if symbol is None:
            with pytest.raises(DomainError):
                domain.index([text])
        else:
            assert domain.index([text]).tolist() == [symbol], text


def test_the_edges_tell_the_formula_from_others() -> None:
    """Dividing by the bins first, or multiplying without a scale, is another function."""
    linear = [case for case in EDGES if not case["units"]]
    divided = multiplied = 0
    for case in linear:
        low, high, bins = (case["domain"][key] for key in ("low", "high", "bins"))
        numbers = range(1, bins)
        inner = case["edges"][1:-1]
        divided += [low + (high - low) * (i / bins) for i in numbers] != inner
        multiplied += [low + (high - low) * i / bins for i in numbers] != inner
    assert divided >= 4 and multiplied >= 1


BAD_REPORTS = [
    case
    for name in ("bad_reports.json", "bad_sets.json", "bad_hashes.json")
    for case in _load(name)["reports"]
]


@each("case", BAD_REPORTS, ids=lambda case: case["why"])
def test_bad_reports_are_refused(case: dict[str, Any]) -> None:
    survey = Survey.from_document(case["survey"])
    data = np.frombuffer(bytes.fromhex(case["report"]), dtype=np.uint8).reshape(1, -1)
    with pytest.raises(getattr(errors, case["error"])):
        survey.tally(Reports(data.copy(), survey.randomizer.fingerprint))
    with pytest.raises(port.RefusedError):
        port.check_report(case["survey"], bytes.fromhex(case["report"]))


@pytest.mark.parametrize("case", _load("bad_surveys.json")["surveys"], ids=lambda case: case["why"])
def test_bad_surveys_are_refused(case: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(getattr(errors, case["error"])) as caught:
        Survey.from_json(case["text"])
    assert type(caught.value).__name__ == case["error"]
    path = tmp_path / "survey.json"
    path.write_text(case["text"], encoding="utf-8")
    with pytest.raises(getattr(errors, case["error"])):
        Survey.load(path)
