"""Tokens: what opens what, and what is kept of them."""

from __future__ import annotations

import pytest

from lapwing.errors import ArgumentError
from lapwing.service.security import (
    ROLE_PREFIX,
    UPLOAD_PREFIX,
    Roles,
    bearer,
    check_token,
    hash_of,
    new_token,
)


def test_a_token_opens_its_role_and_no_other() -> None:
    admin, analyst, other = (new_token(ROLE_PREFIX) for _ in range(3))
    roles = Roles([(hash_of(admin), "admin"), (hash_of(analyst), "analyst")])
    assert roles.role_of(admin) == "admin"
    assert roles.role_of(analyst) == "analyst"
    assert roles.has("admin")
    for wrong in (other, admin[:-1], admin + "x", "", None, hash_of(admin).hex()):
        assert roles.role_of(wrong) is None
    roles.remove(hash_of(admin))
    assert roles.role_of(admin) is None and not roles.has("admin")
    roles.add(hash_of(admin), "analyst")
    assert roles.role_of(admin) == "analyst"


def test_tokens_are_long_and_all_different() -> None:
    tokens = {new_token(UPLOAD_PREFIX) for _ in range(1000)}
    assert len(tokens) == 1000
    assert all(len(token) == 47 and token.startswith("lwu_") for token in tokens)


@pytest.mark.parametrize("header", [None, b"", b"lwa_x", b"Basic abc", b"Bearer", b"Bearer  "])
def test_what_is_no_bearer_token_is_none(header: bytes | None) -> None:
    assert bearer(header, prefix=ROLE_PREFIX) is None


def test_a_bearer_token_is_read_of_its_kind_only() -> None:
    token = new_token(ROLE_PREFIX)
    assert bearer(f"Bearer {token}".encode(), prefix=ROLE_PREFIX) == token
    assert bearer(f"bearer  {token} ".encode(), prefix=ROLE_PREFIX) == token
    assert bearer(f"Bearer {token}".encode(), prefix=UPLOAD_PREFIX) is None
    assert bearer(f"Bearer {token}{'x' * 500}".encode(), prefix=ROLE_PREFIX) is None
    assert bearer(f"Bearer {token[:-1]}é".encode("latin-1"), prefix=ROLE_PREFIX) is None


def test_a_token_that_somebody_chose_must_be_a_long_one() -> None:
    assert check_token("lwa_" + "x" * 43, name="it") == "lwa_" + "x" * 43
    for weak in ("", "admin", "lwa_x", "lwu_" + "x" * 43, "lwa_" + "x" * 42 + " "):
        with pytest.raises(ArgumentError, match="the admin token must be") as caught:
            check_token(weak, name="the admin token")
        assert not weak or weak not in str(caught.value) or weak == "admin"
