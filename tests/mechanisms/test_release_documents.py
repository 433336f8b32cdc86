"""Releases from others: every part once, sums that fit, and documents that say one thing."""

import copy
import dataclasses
import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from lapwing import Interval, seeded
from lapwing.errors import ArgumentError, FormatError, MismatchError
from lapwing.mechanisms import HistogramQuery, PrefixSums, SumTree
from lapwing.privacy import Promise
from lapwing.protocol import ExactCounts
from lapwing.protocol.release import Release
from tests.rows import each

DOMAIN = Interval(0, 1, bins=7)
PROMISE = Promise("replace-one", epsilon=1, delta="1e-6")


def made(mechanism: Any = None, seed: int = 1) -> Release:
    summary = ExactCounts.of_values(np.linspace(0, 1, 50), DOMAIN)
    return (mechanism or HistogramQuery(4)).release(summary, PROMISE, rng=seeded(seed))


def document_of(release: Release, **changes: Any) -> dict[str, Any]:
    return {**json.loads(release.to_json()), **changes}


def with_answers(release: Release, answers: list[int]) -> Release:
    return dataclasses.replace(release, answers=np.array(answers, dtype=np.int64), digests=())


def test_the_same_part_twice_is_refused() -> None:
    one, other = made(seed=1), made(seed=2)
    assert Release.from_document(document_of(one + other)).people == 100
    document = document_of(one, parts=[*document_of(one)["parts"]] * 2)
    with pytest.raises(FormatError, match="A repeated part"):
        Release.from_document(document)
    with pytest.raises(MismatchError, match="A repeated part"):
        dataclasses.replace(one, parts=[*one.parts, *one.parts])
    with pytest.raises(MismatchError, match="its people would count twice"):
        one + one


def test_parts_of_a_large_sum_share_what_they_state() -> None:
    one = document_of(made())
    parts = [one["parts"][0] | {"identifier": f"{place:032x}"} for place in range(300)]
    found = Release.from_document(one | {"parts": parts})
    assert len({id(part.loss) for part in found.parts}) == 1 and found.people == 300 * 50
    assert json.loads(found.to_json())["parts"] == parts


@pytest.mark.parametrize(
    "changes",
    [
        {"loss": {"mu_squared": "0", "rho": "0", "epsilon": "1/2", "delta": "0"}},
        {"noise": {"kind": "laplace", "scale": "1/9"}},
        {"people": 50.0},
        {"people": -1},
        {"identifier": "A" * 32},
        {"identifier": 7},
        {"standing": None},
    ],
    ids=str,
)
def test_one_wrong_part_after_many_right_ones_is_refused(changes: dict[str, Any]) -> None:
    one = document_of(made())
    parts = [one["parts"][0] | {"identifier": f"{place:032x}"} for place in range(4)]
    with pytest.raises(FormatError):
        Release.from_document(one | {"parts": [*parts[:3], parts[3] | changes]})


def test_sums_that_do_not_fit_are_refused_and_never_wrap() -> None:
    huge = 2**63 - 1
    for answers in ([huge, 0, 0, 0, 0], [0, -huge, 0, 0, 0], [2**62] * 5):
        one, other = with_answers(made(seed=1), answers), with_answers(made(seed=2), answers)
        assert Release.from_document(document_of(one)).answers.tolist() == answers
        with pytest.raises(MismatchError, match="too large to be added"):
            one + other
    half = [2**61, -(2**61), 0, 1, -1]
    total = with_answers(made(seed=1), half) + with_answers(made(seed=2), half)
    assert total.answers.tolist() == [2 * answer for answer in half]
    with pytest.raises(MismatchError, match="equally many"):
        with_answers(made(seed=1), [1]) + made(seed=2)


@pytest.mark.parametrize("answer", [2**63, -(2**63), 10**400])
def test_answers_beyond_64_bits_are_refused(answer: int) -> None:
    release = made()
    with pytest.raises(FormatError):
        Release.from_document(document_of(release, answers=[answer, 0, 0, 0, 0]))
    if answer == 2**63:
        with pytest.raises(ArgumentError, match="too large"):
            dataclasses.replace(release, answers=np.array([answer], dtype=np.uint64))


@pytest.mark.parametrize("mechanism", [HistogramQuery(4), SumTree(2), PrefixSums()], ids=repr)
def test_hidden_people_are_estimated_without_wrapping(mechanism: Any) -> None:
    hidden = Promise("add-or-remove-one", epsilon=1, delta="1e-6")
    summary = ExactCounts.of_values(np.linspace(0, 1, 50), DOMAIN)
    release = mechanism.release(summary, hidden, rng=seeded(1))
    loud = with_answers(release, [2**62] * release.answers.size)
    assert Release.from_document(document_of(loud)).total >= 2**40


CHANGES = [
    ("identifier", "X" * 32),
    ("identifier", "A" * 32),
    ("identifier", "0" * 31),
    ("identifier", "\uff10" * 32),
    ("identifier", None),
    ("people", -1),
    ("people", 2**41),
    ("people", 50.5),
    ("people", True),
    ("people", "50"),
    ("noise.scale", "0"),
    ("noise.scale", f"1/{10**150}"),
    ("noise.scale", str(10**150)),
    ("loss.mu_squared", str(10**300)),
    ("loss.mu_squared", "2/2"),
    ("promise.epsilon", "1.0"),
    ("promise.delta", "0/7"),
]


@each(("path", "value"), CHANGES, ids=str)
@each("mechanism", [HistogramQuery(4), PrefixSums()], ids=repr)
def test_a_part_says_one_thing(mechanism: Any, path: str, value: Any) -> None:
    document = copy.deepcopy(document_of(made(mechanism)))
    place = document["parts"][0]
    *above, last = path.split(".")
    for key in above:
        place = place[key]
    place[last] = value
    with pytest.raises(FormatError):
        Release.from_document(document)


def test_a_mechanism_and_a_domain_are_spelled_as_they_are_written() -> None:
    release = made(SumTree(4))
    document = document_of(release)
    for part, change in (
        ("mechanism", {"branching": 4.5}),
        ("mechanism", {"branching": True}),
        ("mechanism", {"noise": []}),
        ("domain", {"low": False}),
        ("domain", {"atoms": [0.5, 0.25]}),
    ):
        with pytest.raises(FormatError):
            Release.from_document({**document, part: {**document[part], **change}})
    same = Release.from_document({**document, "domain": {**document["domain"], "low": 0}})
    assert same.fingerprint == release.fingerprint


@pytest.mark.parametrize("order", [1, -1])
def test_the_guarantee_of_many_parts_is_the_worst_of_each(order: int) -> None:
    sites = [ExactCounts.of_values([0.5], Interval(0, 1, bins=4)) for _ in range(2)]
    promises = [Promise("replace-one", epsilon=e, delta=d) for e, d in ((1, "1e-6"), (2, "1e-9"))]
    parts = [
        PrefixSums().release(site, promise, rng=seeded(number))
        for number, (site, promise) in enumerate(zip(sites, promises, strict=True))
    ][::order]
    found = sum(parts[1:], start=parts[0]).guarantee
    assert (found.epsilon, found.delta) == (2, Fraction(1, 10**6))
