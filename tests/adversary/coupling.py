"""Noise coupling: which noise makes a neighbor say the same, and how much less likely it is.

The samplers are replaced: a run is given its noise and remembers the law of every draw. A second
run, on the neighbor, is given the noise with which it publishes the same numbers; each number that
differs moves one draw until all agree. The shifts between both are the exact sensitivity of what
was really drawn, and its laws say what they cost. Nothing of a mechanism is known here: not its
strategy, not what it calls its sensitivity.

Whatever a mechanism draws without these samplers would go unseen, so a run counts its words: it
may have the two of an identifier.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import lapwing.mechanisms
from lapwing.linear.memoized import Memoized
from tests.papers.functional_approximation.test_matching_pursuit_law import log_chosen

WORDS_OF_AN_IDENTIFIER = 2


@dataclass
class Tape:
    """The noise of one run, and what was asked for."""

    rng: np.random.Generator
    given: list[list[int]] | None = None
    picks: list[int] | None = None
    noise: list[list[int]] = field(default_factory=list)
    laws: list[tuple[str, float]] = field(default_factory=list)
    picked: list[int] = field(default_factory=list)
    chances: list[np.ndarray] = field(default_factory=list)
    words_drawn: int = 0
    shown: list[Any] = field(default_factory=list)
    """All else that is published, beside the numbers: documents without random identifiers."""

    def words(self, count: int) -> np.ndarray:
        """Stand for the source of randomness: constant words, counted."""
        self.words_drawn += count
        return np.arange(count, dtype=np.uint64) + np.uint64(self.words_drawn)

    def draw(self, kind: str, scale: Any, count: int) -> np.ndarray:
        self.laws.append((kind, float(scale)))
        place = len(self.noise)
        if self.given is None:
            # Wider than the law: the worst noise lies in its tails.
            drawn = np.rint(self.rng.laplace(0, 2 * float(scale), count)).astype(np.int64)
        else:
            drawn = np.array(self.given[place] if place < len(self.given) else [0] * count)
        self.noise.append(drawn.tolist())
        return drawn[:count]

    def pick(self, scores: np.ndarray, scale: Any, *, gumbel: bool) -> int:
        law = SimpleNamespace(selection=scale, gumbel=gumbel)
        self.chances.append(np.asarray(log_chosen(np.asarray(scores, dtype=float), law)))
        place = len(self.picked)
        free = self.picks is None or place >= len(self.picks)
        self.picked.append(int(self.rng.integers(len(scores))) if free else self.picks[place])
        return self.picked[-1]


def everywhere(patch: pytest.MonkeyPatch, name: str, replacement: Callable[..., Any]) -> None:
    """Replace a function of the package in every module that has it by name."""
    # One that is imported later would take the replacement by name, and hold it for ever.
    for each in lapwing.mechanisms.__all__:
        getattr(lapwing.mechanisms, each)
    modules = [m for key, m in list(sys.modules.items()) if key.split(".")[0] == "lapwing"]
    holders = [module for module in modules if callable(vars(module).get(name))]
    assert holders, f"the package has no {name}; teach the adversary the new sampler"
    for module in holders:
        patch.setattr(module, name, replacement)


def forget() -> None:
    """Empty all caches of the package: they may hold what an error was planted in."""
    for key, module in list(sys.modules.items()):
        if key.split(".")[0] == "lapwing":
            for value in list(vars(module).values()):
                if isinstance(value, Memoized):
                    value.forget()


@dataclass
class Player:
    """Holds the tape of the run at hand: samplers are replaced once for many runs, it is slow."""

    tape: Tape


@contextmanager
def injected(tape: Tape) -> Iterator[Player]:
    """Let every sampler of noise take from the tape, or from the one that is put in its place."""
    player = Player(tape)

    def laplace(scale: Any, *, count: int, **_: Any) -> np.ndarray:
        return player.tape.draw("laplace", scale, count)

    def normal(scale: Any, *, count: int, **_: Any) -> np.ndarray:
        return player.tape.draw("normal", scale, count)

    def discrete(scale: Any, count: int) -> np.ndarray:
        # As smooth noise of a little less variance, which is how it is accounted.
        return player.tape.draw("normal", math.sqrt(float(scale) ** 2 - 4), count)

    def exponential(scores: Any, scale: Any, words: Any) -> int:
        return player.tape.pick(scores, scale, gumbel=True)

    def maximum(scores: Any, noise: Any) -> int:
        kind, scale = player.tape.laws[-1]
        assert kind == "laplace"
        return player.tape.pick(scores, scale, gumbel=False)

    with pytest.MonkeyPatch.context() as patch:
        everywhere(patch, "discrete_laplace", laplace)
        everywhere(patch, "rounded_normal", normal)
        everywhere(patch, "_by_opendp", discrete)
        everywhere(patch, "exponential_mechanism", exponential)
        everywhere(patch, "noisy_maximum", maximum)
        yield player


@dataclass(frozen=True)
class Found:
    """What one pair of runs with the same outputs costs, by the laws of the noise."""

    epsilon: float
    mu_squared: float
    rho: float

    def over(self, loss: Any) -> float:
        """Return how many times what was charged: at most 1 when the promise is kept."""
        if loss.rho:
            return _over(self.rho + self.mu_squared / 2, loss.rho + loss.mu_squared / 2)
        return max(_over(self.epsilon, loss.epsilon), _over(self.mu_squared, loss.mu_squared))


def _over(found: float, charged: Any) -> float:
    if found == 0:
        return 0.0
    return found / float(charged) if charged else math.inf


IMPOSSIBLE = Found(math.inf, math.inf, math.inf)

Run = Callable[[Any, Tape], list[int]]
"""Runs on one input with the noise of a tape, and returns the numbers that are published."""


def costs(run: Run, pairs: Iterable[tuple[Any, Any]], rng: np.random.Generator) -> list[Found]:
    """Return what one random output tells of two inputs; an output that only one can make, all."""
    costs = []
    with injected(Tape(rng)) as player:
        for first, second in pairs:
            tape = player.tape = Tape(rng)
            said = run(first, tape)
            found = _said_again(partial(_again, player, run, second, tape), tape, said)
            costs.append(IMPOSSIBLE if found is None else _cost(tape, *found))
    return costs


Again = Callable[[list[list[int]]], tuple[Tape, list[int]]]
"""Runs on the second input with the noise it is given."""

Noise = list[list[int]]


def _said_again(again: Again, tape: Tape, said: list[int]) -> tuple[Tape, Noise] | None:
    """Return the run on the second input that publishes the same, and its noise; None if none."""
    moved = [list(draw) for draw in tape.noise]
    other, answers = again(moved)
    places = [(i, j) for i, draw in enumerate(moved) for j in range(len(draw))]
    if len(answers) == len(said) == len(places) and answers != said:
        # As many numbers as draws: mostly each has one of its own.
        for (i, j), a, b in zip(places, said, answers, strict=True):
            moved[i][j] += a - b
        other, answers = again(moved)
    for place in range(len(said)):
        if len(answers) != len(said) or answers[place] != said[place]:
            found = _one_more(again, moved, said, place)
            if found is None:
                return None
            other, answers = found
    if answers != said or other.laws != tape.laws or other.picked != tape.picked:
        return None
    # Nothing random stands in the rest, so it must not tell the two apart.
    return (other, moved) if other.shown == tape.shown else None


def _cost(tape: Tape, other: Tape, moved: Noise) -> Found:
    epsilon = mu_squared = rho = 0.0
    for (kind, scale), one, two in zip(tape.laws, tape.noise, moved, strict=True):
        for a, b in zip(one, two, strict=True):
            if kind == "laplace":
                # At the noise for which the shift costs most; a shift of every draw has one.
                epsilon += abs(b - a) / scale
            else:
                mu_squared += ((b - a) / scale) ** 2
    for place, one, two in zip(tape.picked, tape.chances, other.chances, strict=True):
        ratios = one - two
        epsilon += abs(float(ratios[place]))
        rho += float(np.ptp(ratios)) ** 2 / 8
    return Found(epsilon, mu_squared, rho + epsilon**2 / 2 if not mu_squared and not rho else rho)


def _again(player: Player, run: Run, held: Any, tape: Tape, noise: Noise) -> tuple[Tape, list[int]]:
    player.tape = Tape(tape.rng, given=noise, picks=tape.picked)
    return player.tape, run(held, player.tape)


def _one_more(
    again: Again, moved: Noise, said: Sequence[int], place: int
) -> tuple[Tape, list[int]] | None:
    """Move the draw that makes one more number agree; None when no draw does."""
    _, answers = again(moved)
    if place >= len(answers):
        return None
    gap = said[place] - answers[place]
    places = [(i, j) for i, draw in enumerate(moved) for j in range(len(draw))]
    # The draw of the same place is the likeliest one.
    for i, j in sorted(places, key=lambda at: places.index(at) != place):
        moved[i][j] += gap
        found = again(moved)
        if found[1][: place + 1] == list(said[: place + 1]):
            return found
        moved[i][j] -= gap
    return None


def delta_of(epsilon: float, mu_squared: float) -> float:
    """Return the exact delta of normal noise at an epsilon, in floating point."""
    mu = math.sqrt(mu_squared)
    if mu == 0:
        return 0.0
    below = stats.norm.logcdf(-epsilon / mu - mu / 2)
    return float(stats.norm.cdf(-epsilon / mu + mu / 2) - math.exp(epsilon + below))
