"""Which errors are planted: a seeded choice that gives every area, file and kind its turn."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from itertools import cycle, islice

from tests.mutation.planting import KINDS, PlantedError, errors_of

AREAS = {
    "randomizers": r"^randomizers/",
    "mechanisms": r"^mechanisms/",
    "ledgers": r"ledger|privacy_statement",
    "noise": r"(^|/)(noise_|integer_noise|additive_noise|randomness)|^privacy/sampling/",
    "guarantees": r"(^|/)(guarantee|promise|gaussian_dp|privacy_loss|loss_distributions|shuffle)"
    r"|^privacy/",
    "protocol": r"^protocol/",
    "linear": r"^linear/",
    "decoders": r"^decoders/",
    "results": r"^results/",
    "planning": r"^planning/",
    "survey": r"^survey/",
    "engines": r"^engines/",
    "service": r"^service/",
    "client": r"^client/",
    "cli": r"^cli/",
    "others": r"",
}
"""The areas by a pattern of the file's path below the package; the first that fits counts."""

ELSEWHERE = r"^__|\.pyi$"


def area_of(file: str) -> str | None:
    """Return the area of a file ("privacy/ledger.py"), or None when none is planted in it."""
    if re.search(ELSEWHERE, file) or file.endswith("__init__.py"):
        return None
    return next((area for area, pattern in AREAS.items() if re.search(pattern, file)), None)


def in_turn(texts: Mapping[str, str], seed: int) -> Iterator[PlantedError]:
    """Yield every error of these files once: areas take turns, then files, then kinds.

    Parameters
    ----------
    texts : mapping of str to str
        The text of each file by its path below the package.
    seed : int
    """
    rng = random.Random(seed)
    areas: dict[str, list[Iterator[PlantedError]]] = {area: [] for area in AREAS}
    for file in sorted(texts):
        area = area_of(file)
        if area is not None:
            errors = errors_of(file, texts[file])
            rng.shuffle(errors)
            # Each file begins with another kind, or a small choice would see operators only.
            first = rng.randrange(len(KINDS))
            kinds = [*KINDS[first:], *KINDS[:first]]
            areas[area].append(_by_turns([iter([e for e in errors if e.kind == k]) for k in kinds]))
    for files in areas.values():
        rng.shuffle(files)
    return _by_turns([_by_turns(files) for files in areas.values()])


def chosen(texts: Mapping[str, str], *, errors: int, seed: int) -> list[PlantedError]:
    """Return at most so many errors: always the same for the same texts and seed."""
    return list(islice(in_turn(texts, seed), errors))


def _by_turns(sources: list[Iterator[PlantedError]]) -> Iterator[PlantedError]:
    left = list(sources)
    turns = cycle(range(len(left))) if left else iter(())
    ended: set[int] = set()
    for turn in turns:
        if len(ended) == len(left):
            return
        if turn not in ended:
            try:
                yield next(left[turn])
            except StopIteration:
                ended.add(turn)
