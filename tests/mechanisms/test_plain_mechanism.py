"""A mechanism that inherits nothing: a plain frozen dataclass with the public names."""

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import lapwing as lw
from lapwing.declared import Declared
from lapwing.docstrings import Documented
from lapwing.errors import ArgumentError, DomainError
from lapwing.mechanisms import LabelCounts
from lapwing.mechanisms.linear_mechanism import LinearMechanism
from lapwing.plugins import register
from lapwing.privacy import Promise
from lapwing.protocol.domains.domain import Described, Domain
from lapwing.protocol.release import Mechanism, Release
from lapwing.registry import MECHANISMS
from tests.mistaken import mistaken


@dataclass(frozen=True)
class PlainCounts:
    """Label counts without a base class."""

    noise: str | None = None

    name: ClassVar[str] = "plain-counts"
    linear: ClassVar[bool] = True
    most_people: ClassVar[int] = 2**40
    hides_units: ClassVar[bool] = False
    rounds: ClassVar[int] = 1

    @property
    def _counts(self) -> Any:
        return LabelCounts(mistaken(self.noise))

    def check(self, domain: Any) -> None:
        self._counts.check(domain)

    def loss(self, domain: Any, promise: Any) -> Any:
        return self._counts.loss(domain, promise)

    def release(self, summary: Any, promise: Any, **how: Any) -> Any:
        found = self._counts.release(summary, promise, **how)
        return lw.Release(mistaken(self), found.domain, found.answers, found.parts)

    def verify(self, release: Any) -> None:
        self._counts.verify(release)

    def channel_for(self, release: Any) -> Any:
        return self._counts.channel_for(release)

    def combined(self, release: Any) -> Any:
        return release.answers

    def estimated_people(self, release: Any) -> int:
        return int(release.answers.sum())

    def to_document(self) -> dict[str, Any]:
        return {"class": self.name, "noise": self.noise}


def test_a_plain_dataclass_releases_and_is_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MECHANISMS, "_registered", {})
    register(PlainCounts)
    assert Mechanism not in PlainCounts.__mro__
    values, domain = ["a"] * 60 + ["b"] * 40, lw.Categories(["a", "b"])
    how: dict[str, Any] = {"neighbors": "add-or-remove-one", "epsilon": 1}
    found = lw.release(values, domain, mechanism=mistaken(PlainCounts()), rng=lw.seeded(1), **how)
    ours = lw.release(values, domain, mechanism=LabelCounts(), rng=lw.seeded(1), **how)
    assert np.array_equal(found.release.answers, ours.release.answers)
    assert np.array_equal(found.release.channel.blocks[0].operator @ np.ones(3), np.ones(3))
    again = Release.from_document(found.release.to_document())
    assert again == found.release and again.total == found.release.total
    assert (again + ours_of(PlainCounts(), values, domain)).answers.size == 3
    each = Promise("replace-one", epsilon=1).split(4, PlainCounts(), domain)
    assert each == Promise("replace-one", epsilon="0.25")


def ours_of(mechanism: Any, values: Any, domain: Any) -> Any:
    counts = lw.protocol.ExactCounts.of_values(values, domain)
    return mechanism.release(counts, Promise("add-or-remove-one", epsilon=1), rng=lw.seeded(2))


def test_what_a_plain_mechanism_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MECHANISMS, "_registered", {})

    @dataclass(frozen=True)
    class NoChannel:
        name: ClassVar[str] = "no-channel"
        linear: ClassVar[bool] = True

        def loss(self, domain: Any, promise: Any) -> Any: ...

    with pytest.raises(ArgumentError, match="lacks channel_for, check, combined"):
        register(NoChannel)


def test_bases_are_at_most_two_deep() -> None:
    """Without those that complete docstrings, check fields and write documents."""

    def bases(made: type) -> list[type]:
        own = [base for base in made.__mro__[1:] if base.__module__.startswith("lapwing.")]
        return [base for base in own if base not in (Documented, Declared, Described)]

    for made in MECHANISMS.values():
        ours = bases(made)
        assert ours in ([Mechanism], [LinearMechanism, Mechanism])
    for domain in (lw.Interval, lw.Integers, lw.Categories, lw.HashedStrings):
        ours = bases(domain)
        assert ours[-1] is Domain and len(ours) <= 2


@pytest.mark.parametrize("made", MECHANISMS.values(), ids=lambda made: made.name)
def test_the_document_of_a_mechanism_is_its_fields(made: Any) -> None:
    document = made().to_document()
    assert document["class"] == made.name
    fields = [f.name for f in dataclasses.fields(made) if "absent" not in f.metadata]
    assert list(document) == ["class", *fields]


def british(call: Any, **named: Any) -> None:
    with pytest.raises(ArgumentError, match=r"has no argument neighbours=. Use neighbors="):
        call(neighbours="replace-one", **named)


def test_the_british_keyword_says_what_to_write() -> None:
    british(Promise, epsilon=1)
    british(lw.Guarantee, epsilon=1, delta=0, model="local")
    british(lw.release, values=[1.0], domain=lw.Interval(0, 1, bins=4), epsilon=1)
    british(lw.private_bounds, values=[1.0], epsilon=1)
    assert Promise("replace-one", epsilon=1) == Promise(neighbors="replace-one", epsilon=1)
    with pytest.raises(TypeError, match="neighbor"):
        mistaken(Promise)(neighbor="replace-one", epsilon=1)


def test_a_domain_without_bins_is_refused_where_values_are_counted() -> None:
    with pytest.raises(
        DomainError, match=r"^the number of bins is missing. Pass bins=, or call lw.recommend$"
    ):
        lw.protocol.ExactCounts.of_values([0.5], lw.Interval(0, 1))
