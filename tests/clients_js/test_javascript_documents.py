"""Documents of the JavaScript client: strict JSON, canonical JSON, SHA-256."""

from __future__ import annotations

import hashlib
import json

import pytest

from lapwing.documents import canonical
from tests.clients_js.programs import ask

pytestmark = pytest.mark.service


def test_canonical_json_is_python_s() -> None:
    documents = [
        {"b": 1, "a": [1.0, 0.1, -0.0, 1e21, 1e-7, 5e-324, 2**53 - 1, 123456789012345680.0]},
        {"€": 1, "\r": 2, "דּ": 3, "1": 4, "😀": 5, "\x80": 6, "ö": 7},
        {"nested": [[], {}, None, True, False, '\u2028 "\\ \x07 \x7f é']},
    ]
    texts = [json.dumps(document) for document in documents]
    answers = ask(*(("parse", text) for text in texts))
    assert answers == [canonical(document).decode() for document in documents]


def test_hashes_are_sha256() -> None:
    data = [
        bytes(range(256)) * 3,
        *(b"a" * size for size in (0, 1, 54, 55, 56, 63, 64, 65, 119, 1000)),
    ]
    answers = ask(*(("sha256", each.hex()) for each in data))
    assert answers == [hashlib.sha256(each).hexdigest() for each in data]


REFUSED = [
    '{"a": 1, "a": 1}', '{"a": 1, "\\u0061": 2}', "[9007199254740992]", "[-9007199254740993]",
    "[1e400]", "[01]", "[1.]", "[.5]", "[+1]", "[1,]", "{,}", '{"a" 1}', "[NaN]", "[Infinity]",
    '"\\ud800"', '"\\x"', '"\t"', "'a'", "[1] 2", "", "[", '{"a":', "nul", '{"a": "b}',
    "[" * 101 + "]" * 101, "\ufeff\ufeff[]", "[]\ufeff", "[\ufeff]", "[1]\x00",
]  # fmt: skip


def test_json_that_two_readers_might_read_differently_is_refused() -> None:
    for text, answer in zip(REFUSED, ask(*(("parse", text) for text in REFUSED)), strict=True):
        assert answer["error"] == "FormatError", text[:20]
        assert len(answer["message"]) < 200


def test_names_of_prototypes_are_keys_like_others() -> None:
    (answer,) = ask(("parse", '{"__proto__": 1, "constructor": {"__proto__": []}}'))
    assert answer == '{"__proto__":1,"constructor":{"__proto__":[]}}'
