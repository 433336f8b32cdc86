"""In IPython every public object completes its public members.

IPython asks jedi. Where jedi cannot read the return type of one property, such as a `Literal` under
another name, it lists nothing of the whole object.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any, Literal

import jedi
import numpy as np
import pytest
from parso.cache import parser_cache

import lapwing as lw


@pytest.fixture(autouse=True, scope="module")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    # A file that another process has half written fails to load in this one, and jedi looks through
    # all folders beside its own for old files, whatever they are.
    with pytest.MonkeyPatch.context() as changed:
        folder = tmp_path_factory.mktemp("cache") / "jedi"
        changed.setattr(jedi.settings, "cache_directory", str(folder))
        yield
    parser_cache.clear()  # the trees of all that NumPy imports


NAMESPACES = (lw, lw.randomizers, lw.decoders, lw.mechanisms)


def _results() -> Iterator[Any]:
    """Yield what the five-minute program makes, and what a series and a watch make."""
    domain = lw.Interval(0, 100, bins=16)
    advice = lw.recommend(domain, epsilon=2, users=3000)
    survey = lw.Survey("age", advice)
    values = np.random.default_rng(1).normal(40, 10, 3000)
    reports = survey.randomize(values, rng=lw.seeded(1))
    tally = survey.tally(reports)
    result = survey.decode(tally)
    yield from (domain, advice, survey, reports, tally, result, survey.randomizer.channel)
    yield from (survey.randomizer.channel.blocks[0], survey.guarantee, result.cumulative)
    yield from (survey.randomizer.certificate(), result.confidence_band(0.95))
    yield survey.decode(tally, decoder=lw.LeastSquares(signed=True))
    other = survey.decode(survey.tally(survey.randomize(values / 2, rng=lw.seeded(2))))
    yield result.difference(other, people="different")
    yield lw.decode_series([(survey, tally)])
    watch, noticed = lw.Watch().look((survey, tally))
    yield from (watch, noticed)
    published = lw.release(values, domain, epsilon=1, neighbors="replace-one", rng=lw.seeded(1))
    yield from (published, published.release, lw.protocol.ExactCounts.of_values(values, domain))
    words = lw.Survey("word", lw.LinearHashing(lw.HashedStrings(20), 4))
    log = words.tally(words.randomize(["lapwing"] * 400, rng=lw.seeded(1)))
    yield from (log, words.decode(log, decoder=lw.decoders.Candidates(["lapwing"])))
    yield from (words.randomizer.domain, lw.Integers(0, 9), lw.Categories(8))


def _unmet(thing: Any) -> set[str]:
    """Return the public members that jedi does not complete."""
    listed = {name.name for name in jedi.Interpreter("thing.", [{"thing": thing}]).complete()}
    return {name for name in dir(thing) if not name.startswith("_")} - listed


CLASSES = {
    name: thing
    for namespace in NAMESPACES
    for name, thing in ((name, getattr(namespace, name)) for name in namespace.__all__)
    if inspect.isclass(thing) and not inspect.isabstract(thing)
    if not issubclass(thing, Exception)
}


def test_what_is_made_completes() -> None:
    """Of public classes the next test sees all members."""
    public = {*CLASSES.values()}
    others = [thing for thing in _results() if type(thing) not in public]
    unmet = [(type(thing).__name__, _unmet(thing)) for thing in others]
    assert len(unmet) > 8 and not [(name, members) for name, members in unmet if members]


def test_every_public_class_completes() -> None:
    # The class says what completes; the fields of an instance are no trouble.
    unmet = {name: _unmet(object.__new__(kind)) for name, kind in CLASSES.items()}
    assert not {name: members for name, members in unmet.items() if members}


def test_a_property_of_named_words_is_noticed() -> None:
    words = Literal["north", "south"]

    class Place:
        @property
        def side(self) -> words: ...  # type: ignore[valid-type]

    Place.side.fget.__annotations__["return"] = words  # type: ignore[attr-defined]
    with pytest.raises(AttributeError):
        _unmet(Place())
