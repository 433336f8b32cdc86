"""Texts known by a public hash."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest

from lapwing import HashedStrings
from lapwing.errors import DomainError
from lapwing.protocol.domains.domain_documents import build_domain


def test_symbols_are_the_first_bits_of_the_digest() -> None:
    for text in ("", "lapwing", "Kiebitz 🐦", " lapwing"):
        digits = bin(int(hashlib.sha256(text.encode()).hexdigest(), 16))[2:].zfill(256)
        for bits in (1, 7, 8, 32, 40):
            assert HashedStrings(bits).index([text]).tolist() == [int(digits[:bits], 2)]


def test_missing_is_refused_or_the_last_symbol() -> None:
    with pytest.raises(DomainError, match="position 1 is missing") as caught:
        HashedStrings(8).index(["a", None])
    assert caught.value.position == 1
    counted = HashedStrings(8, missing="category")
    assert counted.size == 257 and counted.index([None, float("nan")]).tolist() == [256, 256]


@pytest.mark.parametrize("wrong", [5, 2.5, b"a", True, "\ud800"])
def test_what_is_no_text_is_refused_without_being_named(wrong: Any) -> None:
    with pytest.raises(DomainError, match="position 1") as caught:
        HashedStrings(8).index(np.array(["a", wrong], dtype=object))
    assert repr(wrong) not in str(caught.value)


def test_it_is_a_domain_without_an_order() -> None:
    domain = HashedStrings(40)
    assert domain.size == 2**40 and not domain.ordered and not domain.circular
    assert domain.listed[2**40 - 1] == 2**40 - 1
    with pytest.raises(DomainError, match="no order"):
        _ = domain.left
    assert build_domain(domain.to_document()) == domain
