"""A list of candidates scored in a log of 2^32 values, beside the scan of them all."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import lapwing as lw
from benchmarks.markdown import seconds, table
from benchmarks.summaries import summary

TITLE = "Candidates of a huge domain"
FULL: dict[str, Any] = {
    "people": 1_000_000,
    "bits": 32,
    "epsilon": 2,
    "candidates": [1000, 66_470],
    "rounds": 3,
}
QUICK: dict[str, Any] = {**FULL, "people": 50_000, "bits": 26, "candidates": [1000], "rounds": 1}

SCAN = "all values"


def measure(
    *, people: int, bits: int, epsilon: Any, candidates: list[int], rounds: int
) -> dict[str, Any]:
    """Return CPU seconds of lists of candidates and of one scan, all of the same log.

    People hold a Zipf law's values, which lie anywhere among all; half of the candidates are held.
    """
    rng = np.random.default_rng(1)
    held = rng.integers(0, 2**bits, max(candidates))
    weights = np.arange(1, held.size + 1) ** -1.1
    values = held[rng.choice(held.size, people, p=weights / weights.sum())]
    hashing = lw.LinearHashing(lw.Categories(2**bits), epsilon)
    log = hashing.tally(hashing.randomize(values, rng=lw.seeded(1)))
    channel = hashing.log_channel
    others = rng.integers(0, 2**bits, held.size)
    mixed = list(dict.fromkeys(np.stack([held, others], axis=1).ravel().tolist()))
    lists = {
        f"{number:,} candidates": lw.decoders.Candidates(mixed[:number]) for number in candidates
    }
    spent: dict[str, list[float]] = {name: [] for name in lists}
    lw.decoders.Candidates([1, 2]).decode(channel, log)  # compiles
    for _ in range(rounds):
        for name, decoder in lists.items():
            spent[name].append(_seconds(decoder, channel, log))
    spent[SCAN] = [_seconds(lw.decoders.ExhaustiveScan(), channel, log)]
    return {"cpu": {name: summary(times) for name, times in spent.items()}}


def _seconds(decoder: Any, channel: Any, log: Any) -> float:
    start = time.process_time()
    decoder.decode(channel, log)
    return time.process_time() - start


def section(measured: dict[str, Any], settings: dict[str, Any]) -> str:
    """Return the times, and each as part of the scan's."""
    cpu = measured["cpu"]
    scan = cpu[SCAN]["median"]
    rows = [
        [name, seconds(one["median"]), f"{one['median'] / scan:.3f}"] for name, one in cpu.items()
    ]
    return "\n\n".join(
        [
            f"{settings['people']:,} people, 2^{settings['bits']} values, epsilon "
            f"{settings['epsilon']:g}; CPU time, median of {settings['rounds']} rounds, of the "
            "scan one, kernels warm. Target: 66,470 candidates in less time than the scan takes.",
            table(["what is scored", "CPU", "part of the scan's"], rows, texts=1),
        ]
    )
