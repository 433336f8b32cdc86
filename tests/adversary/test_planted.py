"""Errors planted in the mechanisms: the adversary must reject each, knowing none of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from lapwing.linear import function_families
from lapwing.privacy import integer_noise
from lapwing.privacy.promise import Promise
from lapwing.protocol.release import ReleasePart
from lapwing.survey.publication import MECHANISMS
from tests.adversary.coupling import everywhere, forget
from tests.adversary.mechanisms import (
    OTHER_PROMISES,
    suitable,
    worst_of,
    worst_of_second,
)
from tests.adversary.neighbors import DOMAINS, RELATIONS

OVER = 1.01


@pytest.fixture(autouse=True)
def no_caches() -> Iterator[None]:
    forget()
    yield
    forget()


def is_found(name: str, by: Callable[..., float] = worst_of) -> bool:
    return any(
        by(*case) > OVER
        for relation in RELATIONS
        for case in suitable(MECHANISMS[name], most=3, relation=relation)
    )


def halve_sensitivity(patch: pytest.MonkeyPatch) -> None:
    """The noise hides half of what one row moves."""
    right = integer_noise.calibrated

    def half(promise: Any, sensitivity: Any, **how: Any) -> Any:
        squared, absolute = sensitivity.squared, sensitivity.absolute
        less = integer_noise.Sensitivity(max(1, squared // 4), max(1, absolute // 2))
        return right(promise, less, **how)

    everywhere(patch, "calibrated", half)
    loss = integer_noise.Noise.loss

    def half_loss(self: Any, sensitivity: Any) -> Any:
        squared, absolute = sensitivity.squared, sensitivity.absolute
        less = integer_noise.Sensitivity(max(1, squared // 4), max(1, absolute // 2))
        return loss(self, less)

    patch.setattr(integer_noise.Noise, "loss", half_loss)
    for name in ("own_sensitivity", "range_sensitivity", "published_sensitivity"):
        of = getattr(function_families.Dictionary, name)

        def less(self: Any, of: Any = of) -> Any:
            found = of(self)
            return tuple(x // 2 for x in found) if isinstance(found, tuple) else found // 2

        patch.setattr(function_families.Dictionary, name, less)


@pytest.mark.parametrize("name", MECHANISMS)
def test_half_the_sensitivity_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    halve_sensitivity(monkeypatch)
    assert is_found(name)


def test_a_symbol_left_out_is_found_in_a_projection(monkeypatch: pytest.MonkeyPatch) -> None:
    import lapwing.papers.functional_approximation.polynomial_projection as module

    right = module.most_moved
    everywhere(monkeypatch, "most_moved", lambda m, **how: right(m[:, :-1], **how))
    assert is_found("polynomial-projection")


@pytest.mark.filterwarnings("ignore:.* cannot represent a simple curve")  # by one term
def test_a_symbol_left_out_is_found_in_a_pursuit(monkeypatch: pytest.MonkeyPatch) -> None:
    products = function_families.Dictionary.products.fget
    facts = ("own_sensitivity", "range_sensitivity")
    for name in facts:
        of = getattr(function_families.Dictionary, name)

        def short(self: Any, of: Any = of) -> Any:
            with pytest.MonkeyPatch.context() as patch:
                present = property(lambda each: products(each)[:, :-1])
                patch.setattr(function_families.Dictionary, "products", present)
                return of(self)

        monkeypatch.setattr(function_families.Dictionary, name, short)
    made = MECHANISMS["matching-pursuit"]
    promise = Promise("replace-one", epsilon=1)
    found = [
        worst_of(
            made(1, dictionary, atoms=5 if dictionary == "splines" else 4),
            DOMAINS[-1].for_curator(),
            promise,
            tries=4,
        )
        for dictionary in ("legendre", "splines", "normal-curves")
    ]
    assert max(found) > OVER


def test_a_sensitivity_that_wraps_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    import lapwing.papers.functional_approximation.polynomial_projection as module

    right = module.most_moved

    def wrapped(matrix: Any, **how: Any) -> Any:
        # As 64 bits do with larger entries.
        return tuple(max(1, int(x) % 2**32) for x in right(matrix, **how))

    everywhere(monkeypatch, "most_moved", wrapped)
    assert is_found("polynomial-projection")


@pytest.mark.parametrize("name", MECHANISMS)
def test_noise_that_is_drawn_once_for_two_releases_is_found(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    right, kept = integer_noise.Noise.draw, {}

    def once(self: Any, count: int, source: Any) -> np.ndarray:
        place = (id(source), self, count)
        if place not in kept:
            kept[place] = (source, right(self, count, source))  # holds the source: no id twice
        drawn: np.ndarray = kept[place][1]
        return drawn

    monkeypatch.setattr(integer_noise.Noise, "draw", once)
    assert is_found(name, by=worst_of_second)


# What is published beside the noisy numbers.


def test_the_number_of_people_where_it_is_secret_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    import lapwing.mechanisms.linear_mechanism as module

    right = module.part_of

    def telling(noise: Any, promise: Any, sensitivity: Any, people: int, **how: Any) -> Any:
        part = right(noise, promise, sensitivity, people, **how)
        return replace(part, people=people)

    # The class itself refuses such a part, which would end this test too early.
    monkeypatch.setattr(ReleasePart, "__post_init__", lambda _: None)
    everywhere(monkeypatch, "part_of", telling)
    assert is_found("histogram-query")


def test_a_choice_made_without_noise_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    made = MECHANISMS["histogram-query"]
    right = made.release

    def telling(self: Any, summary: Any, promise: Any, **how: Any) -> Any:
        release = right(self, summary, promise, **how)
        return replace(release, choices={"most": [int(summary.counts.argmax())]})

    monkeypatch.setattr(made, "release", telling)
    assert is_found("histogram-query")


def test_noise_whose_scale_follows_the_data_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    made = MECHANISMS["histogram-query"]
    right = made.release

    def telling(self: Any, summary: Any, promise: Any, **how: Any) -> Any:
        smallest = int(summary.counts.min())
        with pytest.MonkeyPatch.context() as patch:
            of = integer_noise.calibrated

            def wider(*given: Any, **knobs: Any) -> Any:
                noise = of(*given, **knobs)
                return replace(noise, scale=noise.scale * (1 + smallest))

            everywhere(patch, "calibrated", wider)
            return right(self, summary, promise, **how)

    monkeypatch.setattr(made, "release", telling)
    assert is_found("histogram-query")


@pytest.mark.parametrize("kind", ["mu", "rho"])
def test_too_little_noise_for_a_promise_without_epsilon_is_found(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = integer_noise._normal

    def confused(promise: Any, sensitivity: Any) -> Any:
        # As if mu were mu^2, and rho were 2 rho.
        if promise.mu is not None:
            promise = replace(promise, mu=Fraction(math.isqrt(int(promise.mu * 10**12)), 10**6))
        if promise.rho is not None:
            promise = replace(promise, rho=2 * promise.rho)
        return right(promise, sensitivity)

    everywhere(monkeypatch, "_normal", confused)
    cases = suitable(
        MECHANISMS["prefix-sums"], most=1, relation="replace-one", promises=OTHER_PROMISES
    )
    found = [worst_of(*case) for case in cases if getattr(case[-1], kind) is not None]
    assert min(found) > OVER
