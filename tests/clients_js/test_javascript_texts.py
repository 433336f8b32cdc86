"""Damaged texts of surveys: Python and JavaScript read the same ones, and the same out of them.

By hand, with more of them: ``python -m tests.clients_js.test_javascript_texts 50000 7`` (a number
and a seed).
"""

from __future__ import annotations

import base64
import json
import random
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

import lapwing as lw
from lapwing.client.collector_address import check_size, check_symbols
from lapwing.documents import parse
from lapwing.errors import FormatError, LapwingError
from tests.clients_js.programs import ask
from tests.clients_js.surveys import sealed

pytestmark = pytest.mark.service

BOM = b"\xef\xbb\xbf"
PEOPLE = {"owner": "me", "question": "Ou\u0301 ? \U0001f600"}


def documents() -> list[dict[str, Any]]:
    line, labels = lw.Interval(0, 10, bins=8), lw.Categories(["a", "cafe\u0301", "\u00df", "4"])
    return [
        json.loads(survey.to_json())
        for survey in (
            lw.Survey("plain", lw.RandomizedResponse(labels, 1)),
            lw.Survey("full", lw.SquareWave(line, "1/3"), segments=["n", "s"], remembered=True),
            lw.Survey("\u00fc", lw.SubsetSelection(lw.Categories(9), 2), **PEOPLE),  # type: ignore[arg-type]
            lw.Survey("words", lw.LinearHashing(lw.HashedStrings(bits=32), 1)),
            lw.Survey("wave", lw.MultiscaleWave(line, 1), segments=["x"], segment_minimum=7),
            lw.Survey("whole", lw.SquareWave(lw.Integers(-5, 5), "0.1")),
            lw.Survey("fine", lw.SquareWave(lw.Interval(-0.5, 1.25, bins=8, atoms=[0.5]), 1)),
        )
    ]


NUMBERS = [
    *(
        "1.0",
        "-0",
        "-0.0",
        "0.0",
        "1e0",
        "1e2",
        "1E+2",
        "1e-7",
        "1e400",
        "-1e400",
        "01",
        "+1",
        "1.",
    ),
    *(".5", "9007199254740991", "9007199254740992", "-9007199254740993", "9" * 400, "NaN"),
    *(
        "Infinity",
        "-Infinity",
        "0x10",
        "1_000",
        "\uff11",
        "5e-324",
        "1e-400",
        "0.30000000000000004",
    ),
    *("true", "null", "None", "True", '"1"', "1n", "-", "1e", "1e+", "2.2250738585072011e-308"),
]
PIECES = [
    *(
        "\ufeff",
        "\u0000",
        "\\u0000",
        "\\ud800",
        "\\udc00",
        "\\ud83d\\ude00",
        "\\ude00\\ud83d",
        "\\u00e",
    ),
    *(
        "\u2028",
        "\u2029",
        "\u0085",
        "\u00a0",
        "\u200b",
        "\u3000",
        "\x0b",
        "\x0c",
        "\x1f",
        "\x7f",
        "\t",
        "\n",
        "\r",
    ),
    *(
        "//",
        "/**/",
        "#",
        ",",
        ":",
        "{",
        "}",
        "[",
        "]",
        '"',
        "\\",
        "'",
        "\\x41",
        "\\u{41}",
        "\\'",
        "\\/",
    ),
    *("a", "e\u0301", "\u00e9", "__proto__", "constructor", " ", "  "),
]


def _number(text: str, rnd: random.Random) -> str:
    """Write a number in another way, or another number in its place."""
    places = [i for i, c in enumerate(text) if c.isdigit() and text[i - 1] in " [:,-"]
    start = rnd.choice(places)
    end = start
    while text[end] in "0123456789.eE+-":
        end += 1
    same = text[start:end]
    return text[:start] + rnd.choice([*NUMBERS, same + ".0", same + "e0", "-" + same]) + text[end:]


def _insert(text: str, rnd: random.Random) -> str:
    place = rnd.choice([0, len(text), rnd.randrange(len(text))])
    return text[:place] + rnd.choice(PIECES) + text[place:]


def _delete(text: str, rnd: random.Random) -> str:
    place = rnd.randrange(len(text))
    return text[:place] + text[place + rnd.choice([1, 1, 1, 2, 7]) :]


def _repeat(text: str, rnd: random.Random) -> str:
    """Name a key twice: with the same value or another one, or with an escape in its name."""
    key = rnd.choice(["name", "version", "class", "epsilon", "format", "derived"])
    where = text.find(f'"{key}":')
    if where < 0:
        return text
    other = rnd.choice([key, "\\u006e" + key[1:], key + " ", key.upper()])
    return f'{text[:where]}"{other}": {rnd.choice(["1", "null", "[]"])}, {text[where:]}'


def _escape(text: str, rnd: random.Random) -> str:
    """Write a letter as an escape, which changes nothing in a string."""
    place = rnd.choice([i for i, c in enumerate(text) if c.isalpha()])
    digits = f"{ord(text[place]) & 0xFFFF:04x}"
    return text[:place] + f"\\u{rnd.choice([digits, digits.upper()])}" + text[place + 1 :]


def _space(text: str, rnd: random.Random) -> str:
    spelled = json.dumps(json.loads(text), indent=rnd.choice([None, 0, 2, "\t"]))
    return spelled.replace("\n", rnd.choice(["\n", "\r\n", "\r", " ", "\x0c\n", "\u00a0"]))


def _order(text: str, rnd: random.Random) -> str:
    document = json.loads(text)
    keys = rnd.sample([*document], len(document))
    separators = rnd.choice([(",", ":"), (", ", ": "), (" , ", " : ")])
    plain = rnd.random() < 0.5
    return json.dumps({k: document[k] for k in keys}, separators=separators, ensure_ascii=plain)


def _deep(text: str, rnd: random.Random) -> str:
    levels = rnd.choice([50, 97, 98, 99, 100, 101, 2000, 100_000])
    return text[:-1] + ', "x": ' + "[" * levels + "]" * levels + "}"


def _comma(text: str, rnd: random.Random) -> str:
    places = [i for i, c in enumerate(text) if c in "]},"]
    place = rnd.choice(places)
    return text[:place] + "," + text[place:]


def _literal(text: str, rnd: random.Random) -> str:
    key = rnd.choice(["name", "class", "epsilon", "question", "version"])
    where = text.find(f'"{key}": ')
    if where < 0:
        return text
    start = where + len(key) + 4
    return text[:start] + rnd.choice([*NUMBERS, '""', "[]", "{}", '"\\ud800"']) + text[start:]


DAMAGE: list[Callable[[str, random.Random], str]] = [
    *(_number, _insert, _delete, _repeat, _escape, _space, _order, _deep, _comma, _literal),
]


def _encoded(text: str, rnd: random.Random) -> bytes:
    chosen = rnd.randrange(16)
    if chosen == 0:
        return BOM * rnd.choice([1, 1, 2]) + text.encode(errors="surrogatepass")
    if chosen == 1:
        codec = rnd.choice(["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-7", "cp1252"])
        return text.encode(codec, errors="replace")
    if chosen == 2:
        data = bytearray(text.encode(errors="surrogatepass"))
        bad = [b"\xff", b"\x80", b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82"]
        place = rnd.randrange(len(data))
        data[place:place] = rnd.choice(bad)
        return bytes(data)
    return text.encode(errors="surrogatepass")


def damaged_texts(number: int, *, seed: int) -> list[bytes]:
    """Return documents, sound or damaged in one place or two, in some encoding."""
    rnd = random.Random(seed)
    sound = documents()
    made = []
    while len(made) < number:
        text = json.dumps(rnd.choice(sound), ensure_ascii=rnd.random() < 0.5)
        # Half of them get the fingerprint of what they now say, so that more is read than that.
        for _ in range(rnd.choice([0, 1, 1, 1, 2])):
            try:
                text = rnd.choice(DAMAGE)(text, rnd)
                if rnd.random() < 0.5:
                    text = sealed(json.loads(text))
            except (ValueError, IndexError, RecursionError, FormatError, AttributeError, TypeError):
                continue
        made.append(_encoded(text, rnd))
    return made


def compared(texts: list[bytes]) -> tuple[Counter[str], list[bytes]]:
    """Return how many both read, both refuse, and which ones they read differently."""
    count: Counter[str] = Counter()
    different = []
    asked = [("readBytes", base64.b64encode(text).decode()) for text in texts]
    for text, answer in zip(texts, ask(*asked), strict=True):
        try:
            check_symbols(parse(text, name="the survey"))
            survey = lw.Survey.from_json(text)
            check_size(survey)
            ours = survey.fingerprint
        except LapwingError:
            ours = None
        theirs = answer if isinstance(answer, str) else None
        count["read" if ours and theirs else "refused" if ours is theirs else "different"] += 1
        if ours != theirs:
            different.append(text)
    return count, different


def test_damaged_texts_are_read_alike() -> None:
    count, different = compared(damaged_texts(600, seed=1))
    assert not different, different[0][:600]
    assert min(count["read"], count["refused"]) > 100, count


def test_a_byte_order_mark_is_no_part_of_a_document() -> None:
    """Editors on Windows write it. The fingerprint is that of the document without it."""
    (document, *_) = documents()
    text = json.dumps(document).encode()
    count, different = compared(
        [BOM + text, BOM + BOM + text, text + BOM, text.decode().encode("utf-16")]
    )
    assert not different and count == {"read": 1, "refused": 3}
    assert lw.Survey.from_json(BOM + text).fingerprint == document["fingerprint"]
    assert lw.Survey.from_json("\ufeff" + text.decode()).fingerprint == document["fingerprint"]
    with pytest.raises(FormatError, match="it is in UTF-16"):
        lw.Survey.from_json(text.decode().encode("utf-16"))


if __name__ == "__main__":
    wanted, seed = int(sys.argv[1]), int(sys.argv[2])
    total: Counter[str] = Counter()
    for part in range(0, wanted, 5000):
        found, odd = compared(damaged_texts(min(5000, wanted - part), seed=seed + part))
        total += found
        for each in odd[:3]:
            print(each[:700])
    print(dict(total))
