"""A release under another identifier has the same numbers, and its people count once."""

import dataclasses
import json
import secrets
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.errors import FormatError, MismatchError
from lapwing.results.question_release import QuestionRelease

AGES = lw.Interval(0, 100, bins=64)
HOW: Any = {"neighbors": "add-or-remove-one", "epsilon": 1}
ASKED = ["mean", "histogram bins 32"]


def of_curve(seed: int) -> lw.Release:
    return lw.release(np.random.default_rng(seed).normal(50, 9, 500), AGES, **HOW).release


def of_answers(seed: int, questions: Any = ASKED) -> Any:
    values = np.random.default_rng(seed).normal(50, 9, 500)
    return lw.release(values, AGES, **HOW, questions=questions).release


def renamed(release: Any) -> Any:
    """Return a copy whose identifiers are others, as an edited file has them."""
    document = json.loads(release.to_json())
    if "identifiers" in document:
        document["identifiers"] = [secrets.token_hex(16) for _ in document["identifiers"]]
    for part in document["parts"]:
        if "identifier" in part:
            part["identifier"] = secrets.token_hex(16)
    return type(release).from_document(document)


@pytest.mark.parametrize("made", [of_curve, of_answers])
def test_a_renamed_copy_is_refused_also_where_others_were_added(made: Any) -> None:
    one, two, three = made(1), made(2), made(3)
    for whole in (one, one + two, two + one, (two + three) + one):
        stored = type(whole).from_json(whole.to_json())
        assert stored == whole
        with pytest.raises(MismatchError, match="same numbers"):
            stored + renamed(one)
        with pytest.raises(MismatchError, match="same numbers"):
            renamed(one) + stored
    assert (one + two + three).people is None


def test_a_renamed_sum_is_refused() -> None:
    whole = of_curve(1) + of_curve(2)
    with pytest.raises(MismatchError, match="same numbers"):
        whole + renamed(whole)
    with pytest.raises(MismatchError, match="same numbers"):
        lw.Release.sum_of([of_curve(3), whole, renamed(whole)], people="same")


def test_counts_of_another_library_are_one_release_under_any_guarantee() -> None:
    domain = lw.Categories([f"label {number}" for number in range(40)])
    own = lw.release(["label 1"] * 90, domain, **HOW).release
    read = lw.read_counts(own.domain, own.answers, noise="discrete-laplace", scale=1).release
    with pytest.raises(MismatchError, match="same numbers"):
        own + read


def test_a_series_has_each_release_once() -> None:
    one, two = of_curve(1), of_curve(2)
    weeks = ["2026-01", "2026-02", "2026-03"]
    with pytest.raises(MismatchError, match="are the same release"):
        lw.decode_series([one, two, renamed(one)], names=weeks)


def of_labels() -> lw.Release:
    return lw.release([], lw.Categories(["a", "b"]), **HOW).release


def of_share() -> Any:
    return of_answers(1, ["share above 50"])


def test_few_numbers_may_agree_by_chance() -> None:
    small = [of_labels() for _ in range(40)]
    whole = sum(small[1:], small[0])
    assert len(whole.parts) == 40 == len(whole.digests)
    assert lw.Release.from_json(whole.to_json()) == whole


@pytest.mark.parametrize("made", [of_labels, of_share])
def test_a_renamed_copy_of_few_numbers_does_not_load(made: Any) -> None:
    one, two = made(), made()
    with pytest.raises((FormatError, MismatchError), match="one of the three was edited"):
        renamed(one)
    document = json.loads(one.to_json())
    assert type(one).from_document(document) == one
    for wrong in ([], ["0" * 32], document["digests"] * 2):
        with pytest.raises((FormatError, MismatchError)):
            type(one).from_document({**document, "digests": wrong})
    del document["digests"]
    with pytest.raises(FormatError):
        type(one).from_document(document)
    whole = one + two
    for added in (one, renamed(whole)):
        with pytest.raises(MismatchError):
            whole + added


def test_digests_of_a_document_are_read_strictly() -> None:
    whole = of_curve(1) + of_curve(2)
    document = json.loads(whole.to_json())
    assert len(document["digests"]) == 2
    for wrong in ([], ["x"], document["digests"] * 2, ["0" * 32] * 2, None, [7], "0" * 32):
        with pytest.raises(FormatError):
            lw.Release.from_document({**document, "digests": wrong})
    alone = json.loads(of_curve(3).to_json())
    with pytest.raises(FormatError):
        lw.Release.from_document({**alone, "digests": ["0" * 32]})
    both: QuestionRelease = of_answers(1) + of_answers(2)
    for wrong_digests in (["x"], ["0" * 32] * 3, [7]):
        with pytest.raises(MismatchError):
            dataclasses.replace(both, digests=wrong_digests)
