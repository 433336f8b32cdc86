"""Write the test vectors anew: ``python -m tests.vectors.make_vectors``.

A test asserts that this gives exactly the files of `v1`. They are a promise to ports in other
languages: a released file never changes; what is new gets a new file, what differs a new folder.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any

from lapwing import (
    Categories,
    CompressivePrivatization,
    HashedStrings,
    Integers,
    Interval,
    LinearHashing,
    MultiscaleWave,
    RandomizedResponse,
    Rappor,
    SquareWave,
    SubsetSelection,
    Survey,
)
from lapwing.errors import DomainError
from lapwing.papers.baselines import LocalHashing, PrefixHashing
from lapwing.papers.square_wave import GeneralWave, HaarHadamard, Hierarchical
from lapwing.papers.wavelet import Wavelet
from lapwing.privacy.sampling.randomness import iterate, seeded
from lapwing.randomizers import (
    AskedLabels,
    HadamardResponse,
    OptimizedUnaryEncoding,
    Piecewise,
    UnaryEncoding,
)
from tests.contracts.registered import example_surveys
from tests.vectors.address_vectors import address_vectors
from tests.vectors.affine_vectors import BAD_NAMES, BIT_LADDER, NAMED
from tests.vectors.bad_answers import bad_answers
from tests.vectors.batch_vectors import batches
from tests.vectors.closed_sides import closed_sides
from tests.vectors.edge_words import edges
from tests.vectors.label_vectors import label_vectors
from tests.vectors.pair_vectors import PAIRED
from tests.vectors.text_vectors import text_vectors
from tests.vectors.time_vectors import time_vectors

FOLDER = Path(__file__).parent / "v1"


def interval(*ends: Any, **fields: Any) -> Interval:
    """Return an interval whose document does not say which side is closed: the left one."""
    return Interval(*ends, closed="left", **fields)


LINEAR = Survey("income", SquareWave(interval(0, 50_000, bins=10), 1))
COLORS = Survey("color", RandomizedResponse(Categories(["red", "green", "blue"]), "1"))
SEGMENTED = Survey(
    "color",
    COLORS.randomizer,
    segments=["north", "south", "grün"],
    segment_minimum=500,
    remembered=True,
)
BITS = Survey("symptoms", OptimizedUnaryEncoding(Categories(13), 1))
SETS = Survey("browser", SubsetSelection(Categories(11), 1))
LADDER = Survey(
    "wage",
    MultiscaleWave(
        interval(0, 100, bins=16),
        1,
        components=[
            ("wave", 0.5, 0.5),
            ("wave", 1.0, 0.25),
            ("subset", 11, 0.1),
            ("subset", 16, 0.15),
        ],
    ),
)
SIGNS = Survey("score", Wavelet(Integers(0, 19), 2, levels=4, allocation="uniform"))

GOOD: dict[str, tuple[Survey, list[Any]]] = {
    **NAMED,
    **PAIRED,
    "randomized-response": (COLORS, ["red", "green", "blue", "purple", "Red", None, 0]),
    "randomized-response-two-bytes": (
        Survey("postcode", RandomizedResponse(Categories(1000), "0.1")),
        [0, 1, 499, 999, 1000, -1],
    ),
    "randomized-response-segments": (SEGMENTED, ["red", "blue", None]),
    "randomized-response-missing": (
        Survey("party", RandomizedResponse(Categories(6, missing="category"), "1/3")),
        [0, 5, 6, None],
    ),
    "square-wave": (
        LINEAR,
        [0, 4999.99, 5000, 12_345.6, 45_000, 49_999, 50_000, 50_001, -3, 1e300, None],
    ),
    "square-wave-two-bytes": (
        Survey("weight", SquareWave(interval(-1, 2, bins=300, outside="refuse"), "4")),
        [-1, -0.999, 0, 0.005, 1.23, 1.99, 2, 2.1, -1.000001],
    ),
    "square-wave-overflow": (
        Survey(
            "income",
            SquareWave(
                interval(0, 60, bins=8, atoms=(0, 60), outside="overflow", missing="bin"), 1
            ),
        ),
        [-1e300, -0.001, 0, 0.001, 29.9, 59.9, 60, 60.001, 1e300, None],
    ),
    "multiscale-wave-overflow": (
        Survey("score", MultiscaleWave(Interval(0, 31, bins=31, outside="overflow"), 1)),
        [-1, 0, 0.5, 1, 30.5, 31, 31.5, 1e300],
    ),
    "multiscale-wave-cells": (
        Survey(
            "wage",
            MultiscaleWave(
                interval(0, 100, bins=20),
                "0.5",
                components=[
                    ("cells", (0, 13), 0.4),
                    ("cells", tuple(range(18)), 0.2),
                    ("cells", (0, 1, 2, 3, 5, 8, 13, 19), 0.3),
                    ("wave", 0.5, 0.1),
                ],
            ),
            questions=["share at-least 65", "curve"],
        ),
        [0, 4.99, 5, 64.9, 65, 94.9, 95, 100, 101],
    ),
    "asked-labels": (
        Survey(
            "mode",
            AskedLabels(
                Categories(["red", "green", "blue", "gray"], missing="category"),
                1,
                labels=[1, 4],
            ),
            questions=["share label green"],
        ),
        ["red", "green", "blue", "gray", "pink", None],
    ),
    "asked-labels-and-all": (
        Survey(
            "number",
            AskedLabels(Categories(40), "0.5", labels=[*range(3, 21)], share=0.5),
            questions=["share label 3", "curve"],
        ),
        [0, 3, 20, 21, 39],
    ),
    "multiscale-wave-wide": (  # the default mixture at epsilon 8
        Survey("share", MultiscaleWave(interval(0, 1, bins=64), 8)),
        [0, 0.3, 0.999, 1],
    ),
    "square-wave-circle": (
        Survey(
            "pick-up",
            SquareWave(interval(0, 86_400, bins=24, circular=True, unit="time-of-day"), "2"),
        ),
        [0, 3599, 3600, 43_200, 86_399, 86_400, 90_000, -1],
    ),
    "square-wave-fine-grid": (
        Survey("share", SquareWave(interval(0, 1, bins=4), 3, grid=16, width=0.1)),
        [0, 0.06, 0.0625, 0.25, 0.3, 0.999, 1],
    ),
    "square-wave-atoms": (
        Survey(
            "hours",
            SquareWave(interval(0, 60, bins=4, atoms=(0, 40), missing="bin"), 2, width=0.2),
        ),
        [0, 0.001, 14.9, 15, 39.9, 40, 40.1, 45, 60, 61, None],
    ),
    "square-wave-log": (
        Survey("salary", SquareWave(interval(1, 1000, bins=6, scale="log"), 1.5)),
        [0, 1, 3, 3.5, 10.5, 99, 101, 999, 1000, 5000],
    ),
    "square-wave-integers": (
        Survey("age", SquareWave(Integers(17, 90, outside="clip"), 1)),
        [17, 18, 50, 89, 90, 91, 3, 17.5],
    ),
    "square-wave-integers-outside": (
        Survey("age", SquareWave(Integers(17, 90, missing="bin"), 1)),
        [17, 18, 50, 89, 90, 91, 1e300, 16, -1, 0, None, 17.5, 90.5],
    ),
    "unary-encoding": (
        Survey("hobby", UnaryEncoding(Categories(["a", "b", "c", "d", "e"]), "2")),
        ["a", "c", "e", "f"],
    ),
    "optimized-unary-encoding": (BITS, [0, 7, 8, 12, 13]),
    "subset-selection": (SETS, [0, 5, 10, 11]),
    "subset-selection-size": (
        Survey("age", SubsetSelection(Integers(17, 24), "1/3", size=5)),
        [17, 20, 24, 25],
    ),
    "rappor": (Survey("habit", Rappor(Categories(11), 1)), [0, 5, 10, 11]),
    "rappor-lifetime": (
        Survey("habit", Rappor(Integers(17, 22), "0.3", lifetime="0.4")),
        [17, 20, 22, 23],
    ),
    "compressive-privatization": (
        Survey("page", CompressivePrivatization(Categories(1000), 2, outputs=300)),
        [0, 17, 999, 1000],
    ),
    "compressive-privatization-weight": (
        Survey(
            "page",
            CompressivePrivatization(Categories(40), "0.5", outputs=9, weight=4, seed=2**53 - 1),
        ),
        [0, 39, 40],
    ),
    "compressive-privatization-medium": (
        Survey(
            "page",
            CompressivePrivatization(
                Categories(12), 1, outputs=11, matrix="medium", uneven="banded", seed=9
            ),
        ),
        [0, 11, 12],
    ),
    "compressive-privatization-published": (
        Survey(
            "page",
            CompressivePrivatization(
                Categories(12), 1, outputs=11, matrix="rademacher", accept_epsilon=3
            ),
        ),
        [0, 11, 12],
    ),
    "compressive-privatization-given": (
        Survey(
            "color",
            CompressivePrivatization(
                Categories(["red", "green", "blue", "gray"]),
                1,
                matrix=[[1, 1, -1, -1], [1, -1, 1, -1], [-1, 1, 1, -1], [-1, -1, -1, 1], [-1] * 4],
                uneven="scaled",
            ),
        ),
        ["red", "gray", "black"],
    ),
    "multiscale-wave": (LADDER, [0, 6.24, 6.25, 50, 99, 100, 101]),
    "multiscale-wave-ladder": (BIT_LADDER, [0, 10, 19, 20]),
    "general-wave": (
        Survey("weight", GeneralWave(interval(0, 1, bins=10), 1, ratio=0.4)),
        [0, 0.05, 0.1, 0.95, 1],
    ),
    "general-wave-circle": (
        Survey(
            "wind",
            GeneralWave(interval(0, 360, bins=12, circular=True), 2, shape=(0.25, 0.5, 1, 0, 0)),
        ),
        [0, 29, 30, 180, 359, 360, -1],
    ),
    "piecewise": (Survey("age", Piecewise(Integers(17, 35), 1)), [17, 18, 35, 36]),
    "hierarchical": (
        Survey("score", Hierarchical(interval(0, 1, bins=16), "0.5", branching=2)),
        [0, 0.4, 1],
    ),
    "hierarchical-odd": (
        Survey("score", Hierarchical(Integers(0, 9), 1, branching=3)),
        [0, 3, 9],
    ),
    "haar-hadamard": (Survey("score", HaarHadamard(Integers(0, 8), 1)), [0, 4, 8]),
    "hadamard-response": (Survey("browser", HadamardResponse(Categories(11), 1)), [0, 7, 10, 11]),
    "hadamard-response-blocks": (
        Survey("browser", HadamardResponse(Categories(11), 3, blocks=4)),
        [0, 3, 4, 10, 11],
    ),
    "local-hashing": (Survey("browser", LocalHashing(Categories(1000), 1)), [0, 1, 999, 1000]),
    "local-hashing-pool": (
        Survey("browser", LocalHashing(Categories(50), 2, hashes=100, seed=3)),
        [0, 49, 50],
    ),
    "linear-hashing": (
        Survey("word", LinearHashing(HashedStrings(40), 2)),
        ["lapwing", "Lapwing", "", "Kiebitz 🐦", 5],
    ),
    "linear-hashing-categories": (
        Survey("browser", LinearHashing(Categories(11, missing="category"), 4)),
        [0, 10, 11, None],
    ),
    "prefix-hashing": (Survey("word", PrefixHashing(HashedStrings(40), 2)), ["lapwing", "", 5]),
    "wavelet": (Survey("score", Wavelet(interval(0, 1, bins=16), 1)), [0, 0.4, 1]),
    "wavelet-sparse": (SIGNS, [0, 9, 10, 19]),
}
GOOD |= {
    name: (survey, list(range(survey.randomizer.domain.size)))
    for name, survey in example_surveys([survey for survey, _ in GOOD.values()]).items()
}


class _Recorded:
    """Words that remember which of them were taken."""

    def __init__(self, words: Iterable[int]) -> None:
        self.source = iter(words)
        self.taken: list[int] = []

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        self.taken.append(next(self.source))
        return self.taken[-1]


def _vector(survey: Survey, point: int, words: Iterable[int], why: str) -> dict[str, Any]:
    recorded = _Recorded(words)
    report = survey.randomizer.from_words(point, recorded)
    return {
        "input": point,
        "words": [f"{word:#018x}" for word in recorded.taken],
        "report": report.hex(),
        "why": why,
    }


def _vectors(survey: Survey) -> list[dict[str, Any]]:
    randomizer: Any = survey.randomizer
    size = getattr(randomizer, "_points", randomizer.domain.size)
    points = sorted({0, 1, size // 2, size - 1})
    vectors = [_vector(survey, *case) for case in edges(randomizer, points)]
    words = iterate(seeded(2026))
    for number in range(12):
        point = number * (size // 3 + 1) % size
        vectors.append(_vector(survey, point, words, "random words"))
    return vectors


def _inputs(survey: Survey, values: list[Any]) -> list[dict[str, Any]]:
    randomizer: Any = survey.randomizer
    to_input = getattr(randomizer, "_points_of", randomizer.domain.index)
    found: list[dict[str, Any]] = []
    for value in values:
        try:
            found.append({"value": value, "input": int(to_input([value])[0])})
        except DomainError:
            found.append({"value": value, "error": "DomainError"})
    return found


def _bad_reports() -> list[dict[str, Any]]:
    cases: list[tuple[str, Survey, str, str]] = []
    for survey, codes in ((COLORS, (3, 4, 255)), (LINEAR, (14, 15, 255))):
        for code in codes:
            cases.append((f"code {code} cannot occur", survey, f"{code:02x}", "ReportError"))
        cases.append(("no bytes", survey, "", "ReportError"))
        cases.append(("two bytes instead of one", survey, "0000", "ReportError"))
    wide = GOOD["randomized-response-two-bytes"][0]
    cases.append(("code 1000 of 0..999", wide, "e803", "ReportError"))
    cases.append(("the largest code of two bytes", wide, "ffff", "ReportError"))
    cases.append(("one byte instead of two", wide, "00", "ReportError"))
    for bit in (13, 14, 15):
        report = (1 << bit).to_bytes(2, "little").hex()
        cases.append((f"spare bit {bit} is set", BITS, report, "ReportError"))
    cases.append(("all bits are set, the spare ones too", BITS, "ffff", "ReportError"))
    cases.append(("one byte instead of two", BITS, "00", "ReportError"))
    cases.append(("three bytes instead of two", BITS, "000000", "ReportError"))
    return _refused(cases)


def _bad_sets() -> list[dict[str, Any]]:
    cases: list[tuple[str, Survey, str, str]] = []
    # Of 11 symbols 3 are in a set.
    for bits, why in (
        (0x0003, "a set of 2 instead of 3"),
        (0x000F, "a set of 4 instead of 3"),
        (0x0803, "a set of 3, but one of them is a spare bit"),
    ):
        cases.append((why, SETS, bits.to_bytes(2, "little").hex(), "ReportError"))
    for report, why in (
        ("040000", "group 4 of 0..3"),
        ("001600", "a code that the wave of group 0 does not have"),
        ("000001", "padding that is not 0"),
        ("020308", "a spare bit in the set of group 2"),
        ("0000", "a byte is absent"),
    ):
        cases.append((why, LADDER, report, "ReportError"))
    for report, why in (
        ("030000", "no coordinate in the set of level 3"),
        ("030708", "the sign of a coordinate that is not in"),
        ("030300", "two coordinates instead of three"),
        ("000200", "a spare bit at level 0, where all coordinates are in"),
        ("000001", "padding that is not 0"),
    ):
        cases.append((why, SIGNS, report, "ReportError"))
    return _refused(cases)


def _refused(cases: list[tuple[str, Survey, str, str]]) -> list[dict[str, Any]]:
    return [
        {"why": why, "survey": survey.to_document(), "report": report, "error": error}
        for why, survey, report, error in cases
    ]


def _bad_hashes() -> list[dict[str, Any]]:
    seeds, pool = GOOD["local-hashing"][0], GOOD["local-hashing-pool"][0]
    linear, prefixes = GOOD["linear-hashing-categories"][0], GOOD["prefix-hashing"][0]
    rows = GOOD["hadamard-response-blocks"][0]
    cases = [
        ("the value 4 of a hash of 0..3", seeds, "000000000000000004", "ReportError"),
        ("a seed without a value", seeds, "0000000000000000", "ReportError"),
        ("hash 100 of a pool of 100", pool, (800).to_bytes(2, "little").hex(), "ReportError"),
        (
            "a seed with a bit too many",
            linear,
            (1 << 19).to_bytes(3, "little").hex(),
            "ReportError",
        ),
        ("length 3 of 0..2", prefixes, "03" + "00" * 6, "ReportError"),
        ("a seed too long for its length", prefixes, "00" + "ff" * 6, "ReportError"),
        ("row 16 of 4 blocks of 4", rows, "10", "ReportError"),
    ]
    return _refused(cases)


def _bad_surveys() -> list[dict[str, Any]]:
    good = LINEAR.to_document()
    randomizer, derived, domain = good["randomizer"], good["derived"], good["randomizer"]["domain"]
    threshold = int(derived["thresholds"]["near"], 16)

    def with_threshold(text: Any) -> dict[str, Any]:
        return {**good, "derived": {**derived, "thresholds": {"near": text}}}

    def with_randomizer(**changes: Any) -> dict[str, Any]:
        return {**good, "randomizer": {**randomizer, **changes}}

    def with_domain(**changes: Any) -> dict[str, Any]:
        return with_randomizer(domain={**domain, **changes})

    documents: list[tuple[str, Any]] = [
        ("the threshold is one too large", with_threshold(f"{threshold + 1:#018x}")),
        ("the threshold is one too small", with_threshold(f"{threshold - 1:#018x}")),
        ("the threshold is a number", with_threshold(threshold)),
        ("the threshold is absent", {**good, "derived": {**derived, "thresholds": {}}}),
        ("another window", {**good, "derived": {**derived, "near": 7}}),
        ("a smaller epsilon is promised than the thresholds keep", with_randomizer(epsilon="0.5")),
        ("a key that nobody knows", {**good, "note": "please"}),
        ("a key of the randomizer that nobody knows", with_randomizer(seed=1)),
        ("a key of the domain that nobody knows", with_domain(step=1)),
        (
            "a key of the domain is absent",
            with_randomizer(
                domain={key: value for key, value in domain.items() if key != "outside"}
            ),
        ),
        ("a version that nobody knows", {**good, "version": 2}),
        ("the version is a text", {**good, "version": "1"}),
        ("another format", {**good, "format": "lapwing-tally"}),
        ("a randomizer that nobody knows", with_randomizer(**{"class": "triangle-wave"})),
        ("a domain that nobody knows", with_domain(**{"class": "circle"})),
        ("epsilon is zero", with_randomizer(epsilon="0")),
        ("epsilon is infinite", with_randomizer(epsilon="Infinity")),
        ("epsilon is above 24", with_randomizer(epsilon="24.5")),
        ("epsilon is true", with_randomizer(epsilon=True)),
        ("another name under the old fingerprint", {**good, "name": "outcome"}),
        ("the fingerprint of something else", {**good, "fingerprint": "0" * 64}),
        ("the fingerprint is absent", {k: v for k, v in good.items() if k != "fingerprint"}),
        ("no name", {**good, "name": ""}),
        ("a list", [good]),
        *bad_answers(SEGMENTED),
    ]
    texts = [(why, json.dumps(document)) for why, document in documents]
    whole = json.dumps(good)
    texts += [
        ("cut off in the middle", whole[: len(whole) // 2]),
        ("nothing", ""),
        ("a key twice", whole.replace('"version": 1,', '"version": 1, "version": 1,', 1)),
        ("a constant that JSON does not have", whole.replace('"width": null', '"width": NaN', 1)),
    ]
    return [{"why": why, "text": text, "error": "FormatError"} for why, text in texts]


LINEAR_EDGES: tuple[tuple[str, Interval], ...] = (
    ("whole numbers", interval(0, 50_000, bins=10)),
    ("dividing by bins first is wrong here", interval(0, 100, bins=12)),
    ("tenths", interval(-0.3, 0.7, bins=10)),
    ("sevenths of a decimal", interval(0, 0.7, bins=7)),
    ("nothing is round", interval(17.3, 92.1, bins=23)),
    ("bins one less than a power of two", interval(-1, 1, bins=31)),
    ("neighboring bins differ in the last digits", interval(1, 1 + 2**-40, bins=11)),
    ("far from zero", interval(1e15, 1e15 + 7, bins=9)),
    ("the product with a whole number would overflow", interval(-8e307, 8e307, bins=7)),
    ("hardly above the smallest normal number", interval(0, 1e-306, bins=13)),
    ("dates", interval("2026-01-01", "2027-01-01", bins=9, unit="date")),
    ("a circle", interval("00:00", "24:00", bins=7, unit="time-of-day", circular=True)),
    ("one bin", interval(0.1, 0.3, bins=1)),
)

LOGARITHMIC_EDGES: tuple[tuple[str, Interval], ...] = (
    ("decades", interval(0.001, 1e6, bins=9, scale="log")),
    ("no decades", interval(3, 1000, bins=11, scale="log")),
    ("close together", interval(1, 1.001, bins=5, scale="log")),
)


def _edges() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for why, domain in LINEAR_EDGES:
        edges = domain.bin_edges.tolist()
        values = sorted({*edges, *(math.nextafter(edge, -math.inf) for edge in edges[1:])})
        symbols = domain.index(values).tolist()
        found.append(
            {
                "why": why,
                "domain": domain.to_document(),
                "units": 0,
                "edges": edges,
                "inputs": [list(pair) for pair in zip(values, symbols, strict=True)],
            }
        )
    for why, domain in LOGARITHMIC_EDGES:
        # The power by decimals of 60 digits, because another machine may give another one.
        ratio, bins = Decimal(domain.high / domain.low), domain.bins
        with localcontext(prec=60):
            powers = [float(ratio ** Decimal(i / bins)) for i in range(bins + 1)]
        edges = [domain.low * power for power in powers[:-1]] + [domain.high]
        found.append(
            {"why": why, "domain": domain.to_document(), "units": 4, "edges": edges, "inputs": []}
        )
    return found


def _written(document: dict[str, Any]) -> str:
    """Return JSON text with one entry of a list a line, so that a change shows as one line."""
    parts = []
    for key, value in document.items():
        if isinstance(value, list):
            lines = ",\n  ".join(json.dumps(entry, ensure_ascii=False) for entry in value)
            parts.append(f' "{key}": [\n  {lines}\n ]')
        else:
            parts.append(f' "{key}": {json.dumps(value, ensure_ascii=False)}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def vectors() -> dict[str, str]:
    """Return the text of every file by its name."""
    files: dict[str, dict[str, Any]] = {}
    for name, (survey, values) in GOOD.items():
        files[f"{name}.json"] = {
            "format": "lapwing-vectors",
            "version": 1,
            "survey": survey.to_document(),
            "inputs": _inputs(survey, values),
            "reports": _vectors(survey),
        }
    for name, kind, bad in (
        ("bad_reports", "reports", _bad_reports()),
        ("bad_sets", "reports", _bad_sets()),
        ("bad_affine_sets", "reports", _refused(BAD_NAMES)),
        ("bad_hashes", "reports", _bad_hashes()),
        ("bad_surveys", "surveys", _bad_surveys()),
    ):
        files[f"{name}.json"] = {"format": "lapwing-vectors", "version": 1, kind: bad}
    files["edges.json"] = {"format": "lapwing-vectors", "version": 1, "edges": _edges()}
    files["closed.json"] = {"format": "lapwing-vectors", "version": 1, "intervals": closed_sides()}
    files["times.json"] = {"format": "lapwing-vectors", "version": 1, "intervals": time_vectors()}
    files["batches.json"] = {"format": "lapwing-vectors", "version": 1, **batches()}
    files["texts.json"] = {"format": "lapwing-vectors", "version": 1, "texts": text_vectors()}
    files["addresses.json"] = {
        "format": "lapwing-vectors",
        "version": 1,
        "addresses": address_vectors(),
    }
    files["unicode_labels.json"] = {"format": "lapwing-vectors", "version": 1, **label_vectors()}
    return {name: _written(document) for name, document in files.items()}


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in vectors().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
