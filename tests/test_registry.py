"""Methods by name: read when asked for, joined by others', never by what a document says."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

import lapwing as lw
from lapwing import registry
from lapwing.errors import ArgumentError, FormatError
from lapwing.plugins import register
from lapwing.registry import DECODERS, MECHANISMS, RANDOMIZERS
from tests.test_import import modules_after

TABLES = [RANDOMIZERS, DECODERS, MECHANISMS]

MOST_MODULES = 65
"""Files of ours that a program pays for when it only wants to read a survey."""


pytestmark = pytest.mark.usefixtures("registered_before")


@dataclass(frozen=True)
class Half:
    """A decoder of nobody's."""

    name: ClassVar[str] = "half-decoder"
    reads: ClassVar[str] = "counts"

    def decode(self, channel: Any, tally: Any) -> Any:
        raise NotImplementedError


@dataclass(frozen=True)
class OtherHalf(Half):
    """Another with its name."""


def test_reading_a_survey_loads_few_files() -> None:
    loaded = {name for name in modules_after("from lapwing import Survey") if "lapwing" in name}
    assert "lapwing.survey.survey" in loaded
    assert len(loaded) <= MOST_MODULES
    assert not any(
        name.startswith(("lapwing.randomizers.", "lapwing.mechanisms.")) for name in loaded
    )


def test_names_are_told_without_reading_the_classes() -> None:
    code = (
        "from lapwing.registry import RANDOMIZERS as R, DECODERS as D, MECHANISMS as M; "
        "assert 'square-wave' in R and 'fish' not in D and list(M) and len(R) > 10; "
    )
    methods = ("lapwing.randomizers.", "lapwing.mechanisms.", "lapwing.decoders.")
    assert not [name for name in modules_after(code + "pass") if name.startswith(methods)]
    one = modules_after(code + "assert R['rappor'].name == 'rappor'")
    assert "lapwing.randomizers.categorical.rappor" in one
    assert not [name for name in one if name.startswith("lapwing.randomizers.numerical.")]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.kind)
def test_every_row_leads_to_the_class_of_its_name(table: registry.Registry) -> None:
    assert len(table) == len(list(table)) == len(list(table.values())) > 5
    for name, made in table.items():
        assert made.name == name and table.knows(made) and table[name] is made
    with pytest.raises(KeyError):
        _ = table["fish"]
    assert not table.knows(Half) and not table.knows(int)


def test_a_class_comes_in_once_by_its_name() -> None:
    assert register(Half) is Half and register(Half) is Half
    assert "half-decoder" in DECODERS and DECODERS["half-decoder"] is Half
    assert list(DECODERS)[-1] == "half-decoder" and DECODERS.knows(Half)
    with pytest.raises(ArgumentError, match=r"already the name of .*\.Half. Give .*OtherHalf"):
        register(OtherHalf)
    assert DECODERS["half-decoder"] is Half


def test_a_cell_that_runs_again_defines_its_class_again() -> None:
    again = dataclass(frozen=True)(type("Half", (Half,), {"__module__": Half.__module__}))
    again.__qualname__ = Half.__qualname__
    register(Half)
    register(again)
    assert DECODERS["half-decoder"] is again


@pytest.mark.parametrize("name", ["least-squares", "wiener"])
def test_the_name_of_one_of_ours_cannot_be_taken(name: str) -> None:
    taker = dataclass(frozen=True)(type("Taker", (Half,), {"name": name}))
    ours = DECODERS[name]
    with pytest.raises(ArgumentError, match=f"'{name}' is the name of a decoder of lapwing. Give"):
        register(taker)
    assert DECODERS[name] is ours and not DECODERS.knows(taker)


@dataclass
class Thawed:
    """Not frozen."""

    name: ClassVar[str] = "thawed"
    reads: ClassVar[str] = "counts"

    def decode(self, channel: Any, tally: Any) -> Any:
        raise NotImplementedError


class Inherits(Half):
    """No dataclass of its own: its knobs would be those of its parent."""


@dataclass(frozen=True)
class Nameless:
    """No name."""

    reads: ClassVar[str] = "counts"

    def decode(self, channel: Any, tally: Any) -> Any:
        raise NotImplementedError


@dataclass(frozen=True)
class Silent:
    """A randomizer without its law."""

    domain: Any
    epsilon: Any
    name: ClassVar[str] = "silent"

    def from_words(self, value: int, words: Iterator[int]) -> bytes:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("thing", "message"),
    [
        (int, "register a randomizer, decoder or mechanism class, got int"),
        (Half(), "register a randomizer,"),
        (Thawed, "Thawed must be a frozen dataclass"),
        (Inherits, "Inherits must be a frozen dataclass"),
        (Nameless, "lacks name"),
        (
            Silent,
            "a randomizer must have certificate, channel, .*Silent lacks certificate, channel",
        ),
        (
            dataclass(frozen=True)(type("Odd", (Half,), {"reads": "tea leaves"})),
            "the `reads` of a decoder must be one of counts, log, release",
        ),
        *[
            (
                dataclass(frozen=True)(type("Odd", (Half,), {"name": name})),
                "lowercase words joined by",
            )
            for name in ["Half", "a_b", "", "-a", "a" * 61, 3, None]
        ],
    ],
)
def test_what_cannot_be_used_is_not_let_in(thing: Any, message: str) -> None:
    sizes = [len(table) for table in TABLES]
    with pytest.raises(ArgumentError, match=message):
        register(thing)
    assert sizes == [len(table) for table in TABLES]


def test_of_two_that_come_at_once_one_is_let_in() -> None:
    takers = [
        dataclass(frozen=True)(type(f"Taker{number}", (Half,), {"name": "contended"}))
        for number in range(16)
    ]
    start, refused = threading.Barrier(len(takers)), []

    def come(taker: Any) -> None:
        start.wait()
        try:
            register(taker)
        except ArgumentError:
            refused.append(taker)

    threads = [threading.Thread(target=come, args=[taker]) for taker in takers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == len(takers) - 1 and DECODERS["contended"] not in refused


def _document(name: Any) -> dict[str, Any]:
    survey = lw.Survey("s", lw.SquareWave(lw.Interval(0, 1, bins=4), 1))
    document = survey.to_document()
    document["randomizer"]["class"] = name
    return document


def test_an_unknown_class_names_what_exists_and_what_comes_close() -> None:
    with pytest.raises(FormatError) as caught:
        lw.Survey.from_document(_document("squarewave"))
    message = str(caught.value)
    assert "did you mean square-wave?" in message and "unary-encoding" in message
    assert "lapwing.plugins.load() registers those of other packages" in message
    with pytest.raises(FormatError) as caught:
        lw.Survey.from_document(_document("q" * 10**6))
    assert "did you mean" not in str(caught.value) and len(str(caught.value)) < 600


def test_a_document_imports_nothing_by_the_name_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lured.py").write_text("raise SystemExit")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("lured", "lured:Class", "lured.Class", "lapwing.randomizers.numerical.piecewise"):
        with pytest.raises(FormatError, match="must be a known class"):
            lw.Survey.from_json(json.dumps(_document(name)))
    assert "lured" not in sys.modules


def test_a_survey_takes_no_class_that_is_not_registered() -> None:
    wave = type("Wave", (lw.SquareWave,), {})(lw.Interval(0, 1, bins=4), 1)
    with pytest.raises(ArgumentError, match="a survey needs a randomizer, got a Wave"):
        lw.Survey("s", wave)
