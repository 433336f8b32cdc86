"""A package from outside adds a randomizer and a decoder, and nothing here is changed for it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.errors import ArgumentError, FormatError, LapwingWarning
from lapwing.plugins import load
from lapwing.privacy.guarantee import Certificate
from lapwing.protocol.randomizer import Randomizer
from lapwing.registry import DECODERS, RANDOMIZERS
from lapwing.testing import check_decoder, check_randomizer
from tests.plugins.installed import install, install_example

COLORS = lw.Categories(["red", "green", "blue", "other"])


@pytest.fixture(autouse=True)
def as_before(registered_before: None) -> Iterator[None]:
    """Nothing stays registered or imported."""
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.startswith(("lapwing_example", "others_")):
            del sys.modules[name]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of installed packages, the example's among them."""
    install_example(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def _example(epsilon: Any = 1) -> Any:
    return RANDOMIZERS["own-or-any"](COLORS, epsilon)


def _overwritten(randomizer: Any, threshold: int) -> Any:
    changed = replace(randomizer)
    changed.__dict__["threshold"] = threshold
    return changed


def test_a_survey_of_somebody_elses_randomizer_is_asked_stored_and_decoded(site: Path) -> None:
    assert load() == ["own-or-any", "clipped-inverse"]
    survey = lw.Survey("colors", _example())
    again = lw.Survey.from_json(survey.to_json())
    assert again == survey and again.fingerprint == survey.fingerprint
    people = ["red"] * 6000 + ["blue"] * 2000
    tally = again.tally(again.randomize(people, rng=lw.seeded(1)))
    found = again.decode(tally, decoder=DECODERS["clipped-inverse"]())
    assert isinstance(found, lw.Distribution)
    np.testing.assert_allclose(found.mass, [0.75, 0, 0.25, 0], atol=0.05)
    assert lw.Distribution.from_json(found.to_json()).provenance["class"] == "clipped-inverse"
    # The randomizer names its decoder: no document says it, and decode uses it.
    assert "clipped-inverse" not in survey.to_json()
    default = again.decode(tally)
    assert default.provenance["class"] == "clipped-inverse"
    np.testing.assert_array_equal(default.mass, found.mass)
    assert lw.simulate(again.randomizer, [30, 0, 10, 0], rng=1).total == 40


def test_its_randomizer_and_decoder_keep_the_contracts(site: Path) -> None:
    load()
    for epsilon in (0.1, 1, 4):
        made = _example(epsilon)
        assert Randomizer not in type(made).__mro__
        check_randomizer(made, loosened=_overwritten(made, made.threshold + 1), reports=50_000)
    check_decoder(DECODERS["clipped-inverse"](), _example().channel)
    check_decoder(DECODERS["clipped-inverse"](), lw.SquareWave(lw.Integers(0, 5), 2).channel)


def _lying(made: Any) -> Any:
    """Return it with twice its privacy loss, and a certificate that says nothing of it."""
    honest = made.certificate()
    changed = _overwritten(made, made.threshold + made.threshold // 8)
    changed.__dict__["certificate"] = lambda: honest
    return changed


def _leaking(made: Any) -> Any:
    """Return it with a report that only one value sends."""
    changed = replace(made)

    def from_words(value: int, words: Any) -> bytes:
        own = next(words) < made.threshold
        return bytes([value if own or value == 0 else 1])

    changed.__dict__["from_words"] = from_words
    return changed


def _timid(made: Any) -> Any:
    """Return it with a certificate that states less than there is."""
    changed = replace(made)
    changed.__dict__["certificate"] = lambda: Certificate(made.epsilon, Fraction(2))
    return changed


def _other_law(made: Any) -> Any:
    """Return it with reports in bulk that are made at 1.1 epsilon."""
    changed, other = replace(made), replace(made, epsilon=made.epsilon * Fraction(11, 10))

    def randomize(values: Any, *, rng: Any = None) -> Any:
        return replace(other.randomize(values, rng=rng), fingerprint=made.fingerprint)

    changed.__dict__["randomize"] = randomize
    return changed


def _other_channel(made: Any) -> Any:
    """Return it with the channel of 1.1 epsilon."""
    changed, other = replace(made), replace(made, epsilon=made.epsilon * Fraction(11, 10))
    channel = lw.protocol.Channel(
        made.domain, other.channel.blocks, made.fingerprint, made.guarantee
    )
    changed.__dict__["channel"] = channel
    return changed


def _float_draw(made: Any) -> Any:
    """Return it with a word turned into a float before it is compared."""
    changed = replace(made)
    changed.__dict__["from_words"] = lambda value, words: bytes([int(next(words) / 2**64 * 4)])
    return changed


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (_lying, "the guarantee is broken"),
        (_leaking, "some report reveals a value"),
        (_timid, "the certificate states the ratio 2"),
        (_other_law, "do not have the distribution of from_words"),
        (_other_channel, "is not the distribution of the reports"),
        (_float_draw, "from_words may compare a word with a threshold"),
    ],
)
def test_a_randomizer_that_is_wrong_on_purpose_is_rejected(
    site: Path, wrong: Any, message: str
) -> None:
    load()
    with pytest.raises(AssertionError, match=message):
        check_randomizer(wrong(_example()))


def test_thresholds_that_could_be_larger_are_seen(site: Path) -> None:
    load()
    made = _example()
    with pytest.raises(AssertionError, match="they could be larger"):
        check_randomizer(made, loosened=_overwritten(made, made.threshold - 1), reports=1000)


class _Shifted:
    """A decoder whose answer is one symbol off."""

    name, reads = "shifted", "counts"

    def __init__(self, decoder: Any) -> None:
        self.decoder = decoder

    def decode(self, channel: Any, tally: Any) -> Any:
        found = self.decoder.decode(channel, tally)
        return replace(found, mass=np.roll(found.mass, 1))


class _Careless(_Shifted):
    """A decoder that takes a tally of any channel for one of its own."""

    name, reads = "clipped-inverse", "counts"

    def decode(self, channel: Any, tally: Any) -> Any:
        return self.decoder.decode(channel, replace(tally, fingerprint=channel.fingerprint))


class _Silent(_Shifted):
    """A decoder that returns nothing."""

    name = "silent"

    def decode(self, channel: Any, tally: Any) -> Any:
        return None


class _Elsewhere(_Shifted):
    """A decoder that answers another question."""

    name = "elsewhere"

    def decode(self, channel: Any, tally: Any) -> Any:
        return lw.Distribution(lw.Categories(2), np.array([0.5, 0.5]))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda decoder: 5, "decoder must be one, .* got an int"),
        (type, "decoder must be one, .* got the class ClippedInverse"),
        (_Silent, "_Silent must return a Distribution, .* it returned a NoneType"),
        (_Elsewhere, "_Elsewhere returned a result on a domain other than the channel's"),
    ],
)
def test_a_survey_passes_no_wrong_answer_on(site: Path, wrong: Any, message: str) -> None:
    load()
    survey = lw.Survey("colors", _example())
    tally = survey.tally(survey.randomize(["red"] * 9, rng=lw.seeded(1)))
    with pytest.raises(ArgumentError, match=message):
        survey.decode(tally, decoder=wrong(DECODERS["clipped-inverse"]()))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (_Silent, "a Distribution must be returned, not <class 'NoneType'>"),
        (_Shifted, "not the truth: off by"),
        (_Careless, "a tally of another channel must be refused by a MismatchError"),
    ],
)
def test_a_decoder_that_is_wrong_on_purpose_is_rejected(
    site: Path, wrong: Any, message: str
) -> None:
    load()
    with pytest.raises(AssertionError, match=message):
        check_decoder(wrong(DECODERS["clipped-inverse"]()), _example().channel)


def test_a_document_loads_no_package(site: Path) -> None:
    load()
    text = lw.Survey("colors", _example()).to_json()
    (site / "survey.json").write_text(text)
    code = (
        "import sys; from lapwing import Survey\n"
        "from lapwing.errors import FormatError\n"
        "try: Survey.load('survey.json')\n"
        "except FormatError as error: print(error)\n"
        "assert 'lapwing_example' not in sys.modules\n"
        "from lapwing.plugins import load; load()\n"
        "print(Survey.load('survey.json').randomizer.name)\n"
    )
    root = Path(lw.__file__).parents[1]
    ran = subprocess.run(
        [sys.executable, "-c", code],
        cwd=site,
        env={"PYTHONPATH": f"{root}:{site}"},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    refused, name = ran.stdout.splitlines()
    assert "must be a known class" in refused and "square-wave" in refused
    assert name == "own-or-any"


def test_one_that_fails_is_named_and_does_not_stop_the_others(site: Path) -> None:
    (site / "others_broken.py").write_text("raise ImportError('no such compiler')\n")
    (site / "others_taker.py").write_text(
        "from lapwing_example.own_or_any import OwnOrAny\n"
        "class Taker(OwnOrAny):\n    name = 'square-wave'\n"
    )
    (site / "others_quitter.py").write_text("raise SystemExit(3)\n")
    (site / "others_stray.py").write_text(
        "from lapwing_example.own_or_any import OwnOrAny\n"
        "class Stray(OwnOrAny):\n    name = 'stray'\n"
    )
    groups = {
        "lapwing.decoders": {
            "broken": "others_broken:Broken",
            "absent": "nowhere:Nothing",
            "quitter": "others_quitter:Quitter",
        },
        "lapwing.randomizers": {
            "taken": "lapwing_example.own_or_any:OwnOrAny",
            "square-wave": "others_taker:Taker",
        },
        "lapwing.mechanisms": {"stray": "others_stray:Stray"},
    }
    install(site, "others-failing", groups)
    with pytest.warns(LapwingWarning) as caught:
        loaded = load()
    assert sorted(loaded) == ["clipped-inverse", "own-or-any"]
    said = sorted(str(warning.message) for warning in caught)
    assert len(said) == 6 and all("of others-failing cannot be used" in each for each in said)
    for name, reason in {
        "absent": "ModuleNotFoundError: No module named 'nowhere'",
        "broken": "ImportError: no such compiler",
        "quitter": "SystemExit: 3",
        "square-wave": "must be a frozen dataclass",
        "stray": "it is not a mechanism, which its group requires",
        "taken": "its class is named 'own-or-any'",
    }.items():
        assert any(f"the plug-in '{name}'" in each and reason in each for each in said), name
    assert RANDOMIZERS["square-wave"] is lw.SquareWave and "stray" not in RANDOMIZERS


def test_one_that_takes_the_name_of_ours_is_refused(site: Path) -> None:
    load()
    taker = type("Taker", (type(_example()),), {"name": "square-wave"})
    taker.__annotations__ = {}
    with pytest.raises(ArgumentError, match="frozen dataclass"):
        lw.plugins.register(taker)
    with pytest.raises(ArgumentError, match="'square-wave' is the name of a randomizer of lapwing"):
        lw.plugins.register(dataclass(frozen=True)(taker))
    assert RANDOMIZERS["square-wave"] is lw.SquareWave


def test_without_the_package_its_survey_is_refused_by_name(site: Path) -> None:
    load()
    text = lw.Survey("colors", _example()).to_json()
    RANDOMIZERS._registered.clear()
    with pytest.raises(FormatError, match=r"got 'own-or-any'"):
        lw.Survey.from_json(text)


def _command(site: Path, *arguments: str) -> Any:
    root = Path(lw.__file__).parents[1]
    return subprocess.run(
        [sys.executable, "-m", "lapwing", *arguments],
        cwd=site,
        env={"PYTHONPATH": f"{root}:{site}"},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_the_command_line_knows_them_and_says_which_one_fails(site: Path) -> None:
    install(site, "others-failing", {"lapwing.decoders": {"absent": "nowhere:Nothing"}})
    agreed = ["--name", "s", "--categories", "4", "--epsilon", "1", "-o", "s.json"]
    made = _command(site, "new", *agreed, "--randomizer", "own-or-any")
    assert made.returncode == 0, made.stderr
    assert "lapwing: warning: the plug-in 'absent' of others-failing cannot be used" in made.stderr
    assert '"class": "own-or-any"' in (site / "s.json").read_text()
    near = _command(site, "new", *agreed, "--randomizer", "own-or-all", "--force")
    assert near.returncode != 0 and "did you mean own-or-any?" in near.stderr


def test_what_a_plug_in_prints_is_no_part_of_the_json(site: Path) -> None:
    (site / "others_loud.py").write_text("print('compiling ...')\nraise SystemExit\n")
    install(site, "others-loud", {"lapwing.decoders": {"loud": "others_loud:Loud"}})
    agreed = ["--name", "s", "--categories", "4", "--epsilon", "1", "-o", "s.json", "--json"]
    made = _command(site, "new", *agreed, "--randomizer", "own-or-any")
    assert json.loads(made.stdout)["survey"]["randomizer"]["class"] == "own-or-any"
    assert "compiling ..." in made.stderr
    assert "the plug-in 'loud' of others-loud cannot be used" in made.stderr


def test_nor_is_what_its_decoder_prints_while_a_command_computes(site: Path) -> None:
    (site / "others_loud.py").write_text(
        "from dataclasses import dataclass\n"
        "import lapwing as lw\n"
        "@dataclass(frozen=True)\n"
        "class Loud:\n"
        "    name = 'loud'\n"
        "    reads = 'counts'\n"
        "    def decode(self, channel, tally):\n"
        "        print('step 1 of 1')\n"
        "        return lw.LeastSquares().decode(channel, tally)\n"
    )
    install(site, "others-loud", {"lapwing.decoders": {"loud": "others_loud:Loud"}})
    survey = lw.Survey("x", lw.SquareWave(lw.Interval(0, 1, bins=8), epsilon=2))
    (site / "survey.json").write_text(survey.to_json())
    tally = survey.tally(survey.randomize([0.5] * 100, rng=lw.seeded(1)))
    (site / "tally.json").write_text(json.dumps(tally.to_document()))
    ran = _command(site, "decode", "survey.json", "tally.json", "--decoder", "loud", "--json")
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["command"] == "decode"
    assert "step 1 of 1" in ran.stderr


def test_a_defect_of_a_plug_in_is_not_called_ours(site: Path) -> None:
    (site / "others_fails.py").write_text(
        "from dataclasses import dataclass\n"
        "@dataclass(frozen=True)\n"
        "class Fails:\n"
        "    name = 'fails'\n"
        "    reads = 'counts'\n"
        "    def decode(self, channel, tally):\n        return int('a value')\n"
    )
    install(site, "others-failing", {"lapwing.decoders": {"fails": "others_fails:Fails"}})
    survey = lw.Survey("s", lw.RandomizedResponse(COLORS, 1))
    tally = survey.tally(survey.randomize(["red"] * 9, rng=lw.seeded(1)))
    (site / "s.json").write_text(survey.to_json())
    (site / "t.json").write_text(json.dumps(tally.to_document()))
    ran = _command(site, "decode", "s.json", "t.json", "--decoder", "fails")
    assert ran.returncode == 1 and "a value" not in ran.stderr
    assert "unexpected ValueError in others_fails.py, line 7, in decode" in ran.stderr
    assert "This is a defect in the plug-in others_fails" in ran.stderr


def test_the_command_line_does_not_give_the_name_of_ours_away(site: Path) -> None:
    (site / "others_thief.py").write_text(
        "from dataclasses import dataclass\n"
        "from lapwing_example.own_or_any import OwnOrAny\n"
        "@dataclass(frozen=True)\n"
        "class Thief(OwnOrAny):\n    name = 'subset-selection'\n"
    )
    install(site, "thieves", {"lapwing.randomizers": {"subset-selection": "others_thief:Thief"}})
    agreed = ["--name", "s", "--categories", "9", "--epsilon", "1", "-o", "s.json"]
    made = _command(site, "new", *agreed, "--randomizer", "subset-selection")
    assert made.returncode == 0
    assert "'subset-selection' is the name of a randomizer of lapwing" in made.stderr
    assert lw.Survey.load(site / "s.json").randomizer == lw.SubsetSelection(lw.Categories(9), 1)
