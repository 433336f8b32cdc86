"""The methods of the convolution paper as literal scripts, and the cases they are run on.

Fang et al. 2023, sections IV and V: complex transforms of all frequencies, one line per line.
"""

from dataclasses import replace

import numpy as np
import pytest

from lapwing import Interval, RandomizedResponse, SquareWave, simulate
from lapwing.linear.operators.operator import dense
from lapwing.papers.convolution.wiener import Wiener
from lapwing.papers.square_wave.general_wave import GeneralWave
from lapwing.protocol import Channel
from lapwing.protocol.randomizer import Randomizer
from lapwing.randomizers import OptimizedUnaryEncoding
from lapwing.randomizers.categorical.subset_selection import SubsetSelection
from lapwing.tallies import CountTally
from tests.signed_decoder import signed_estimate

SIZE = 50
CIRCLE = Interval(0, 24, bins=SIZE, circular=True)
LINE = Interval(0, 1, bins=SIZE, outside="clip")

PURE: dict[str, Randomizer] = {
    "response": RandomizedResponse(LINE, 3),
    "optimized bits": OptimizedUnaryEncoding(LINE, 3),
    "subsets": SubsetSelection(LINE, 3),
}
CIRCULAR: dict[str, Randomizer] = {
    "square wave on a circle": SquareWave(CIRCLE, 3, width=0.07),
    "triangle on a circle": GeneralWave(CIRCLE, 3, ratio=0, width=0.11),
}
ALL = PURE | CIRCULAR

each_pure = pytest.mark.parametrize("name", list(PURE))
each = pytest.mark.parametrize("name", list(ALL))


def smooth_signal(size: int = SIZE, *, seed: int = 0) -> np.ndarray:
    """Return a smooth positive signal on a circle, summing to one."""
    rng = np.random.default_rng(seed)
    angle = 2 * np.pi * np.arange(size) / size
    signal = np.ones(size)
    for k in (1, 2, 3):
        signal += 0.3 * rng.uniform() * np.cos(k * angle + rng.uniform(0, 2 * np.pi))
    return signal / signal.sum()


def tally_of(randomizer: Randomizer, *, people: int = 200_000, seed: int = 1) -> CountTally:
    counts = np.random.default_rng(seed).multinomial(people, smooth_signal(seed=seed))
    return simulate(randomizer, counts, rng=seed + 1)


def unbiased(channel: Channel, tally: CountTally) -> np.ndarray:
    """Return the unbiased estimate with total one, by a dense solve."""
    raw = np.linalg.solve(dense(channel.blocks[0].operator), tally.blocks[0] / tally.total)
    return np.asarray(raw + (1 - raw.sum()) / raw.size)


def signed(decoder: Wiener, channel: Channel, tally: CountTally) -> np.ndarray:
    return signed_estimate(replace(decoder, band=False), channel, tally).mass


# The paper's scripts, with complex transforms of all frequencies.


def equation_20(p: float, q: float, d: int, m: int) -> float:
    return d * q * (1 - q) / m + (p - q) * (1 - p - q) / m


def direct(g: np.ndarray, h: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Return DW as printed, with frequency 0 set to the known total."""
    G, H = np.fft.fft(g), np.fft.fft(h)
    P = np.abs(G / H) ** 2
    W = np.conj(H) / (np.abs(H) ** 2 + noise / P)
    F = W * G
    F[0] = 1
    return np.fft.ifft(F).real


def iterative(
    g: np.ndarray,
    h: np.ndarray,
    noise: np.ndarray,
    rounds: int,
    *,
    start: str = "G/H",
    corrected: bool = True,
) -> np.ndarray:
    """Return algorithm 1 with P_f(i) assigned, with or without its correction."""
    G, H = np.fft.fft(g), np.fft.fft(h)
    P = np.abs(G / H) ** 2 if start == "G/H" else np.abs(G) ** 2
    F = np.conj(H) / (np.abs(H) ** 2 + noise / P) * G
    for _ in range(rounds):
        correction = noise / (np.abs(H) ** 2 + noise / P)
        P = np.abs(F) ** 2 + (correction if corrected else 1e-200)
        F = np.conj(H) / (np.abs(H) ** 2 + noise / P) * G
    F[0] = 1
    return np.fft.ifft(F).real


def averaged(g: np.ndarray, h: np.ndarray, noise: np.ndarray, times: int, seed: int) -> np.ndarray:
    """Return AMRP: permute, filter, put back, average."""
    rng = np.random.default_rng(seed)
    results = []
    for _ in range(times):
        order = rng.permutation(g.size)
        back = np.empty(g.size)
        filtered = direct(g[order], h, noise)
        for place, symbol in enumerate(order):
            back[symbol] = filtered[place]
        results.append(back)
    return np.mean(results, axis=0)
