"""Digests of what Lapwing stores, randomizes, decodes and releases: a line for each case.

A change that is meant to change nothing prints the same lines before and after::

    python -m benchmarks.digests > before.txt
    git switch other-branch
    python -m benchmarks.digests | diff before.txt -

Floating-point results are compared to the last bit, so both runs need the same machine.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

import lapwing as lw
from lapwing.errors import LapwingError
from lapwing.registry import DECODERS, MECHANISMS, RANDOMIZERS

EPSILONS = (0.5, 1, 3)
PEOPLE = 3000

DOMAINS: dict[str, Any] = {
    "interval-16": lambda: lw.Interval(0, 100, bins=16),
    "interval-64": lambda: lw.Interval(0, 100, bins=64),
    "clipped-64": lambda: lw.Interval(0, 100, bins=64, outside="clip"),
    "atoms-32": lambda: lw.Interval(0, 100, bins=32, atoms=[0, 50]),
    "interval-600": lambda: lw.Interval(0, 100, bins=600),
    "integers-20": lambda: lw.Integers(0, 19),
    "labels-5": lambda: lw.Categories(list("abcde")),
    "labels-40": lambda: lw.Categories([f"label {number}" for number in range(40)]),
    "texts-12": lambda: lw.HashedStrings(bits=12),
    "pairs": lambda: lw.Product(x=lw.Interval(0, 1, bins=8), y=lw.Interval(0, 1, bins=8)),
}
"""Domains of each kind. The digests are of values drawn with a seed from each."""


def main() -> None:
    """Print the digests of all cases, a line each."""
    for name, domain in DOMAINS.items():
        for line in (*_randomized(name, domain()), *_released(name, domain())):
            print(line, flush=True)


def _randomized(name: str, domain: Any) -> Iterator[str]:
    """Yield the digests of surveys, reports and decoded results of all randomizers."""
    values = _values(domain)
    for method in RANDOMIZERS:
        for epsilon in EPSILONS:
            case = f"{name} {method} {epsilon}"
            try:
                survey = lw.Survey("digest", RANDOMIZERS[method](domain, epsilon=epsilon))
                reports = survey.randomize(values, rng=lw.seeded(1))
                tally = survey.tally(reports)
            except (LapwingError, TypeError) as error:
                yield f"{case}: {type(error).__name__}"
                continue
            yield f"{case} survey {_digest(survey.to_document())} {survey.fingerprint[:12]}"
            yield f"{case} reports {sha256(reports.data.tobytes()).hexdigest()[:12]}"
            yield f"{case} tally {_digest(tally.to_document())}"
            yield f"{case} decoded {_result(lambda s=survey, t=tally: s.decode(t))}"
            for decoder in DECODERS if epsilon == 1 else ():
                result = _result(lambda s=survey, t=tally, d=decoder: s.decode(t, decoder=d))
                yield f"{case} {decoder} {result}"


def _released(name: str, domain: Any) -> Iterator[str]:
    """Yield the digests of releases of all mechanisms."""
    values = _values(domain)
    for method in (None, *MECHANISMS):
        for epsilon, delta in ((0.5, 0), (1, 1e-6), (3, 0), (3, 1e-6)):
            case = f"{name} {method or 'default'} {epsilon} {delta}"

            def release(method: Any = method, epsilon: Any = epsilon, delta: Any = delta) -> Any:
                chosen = None if method is None else MECHANISMS.resolve(method)
                return lw.release(
                    values, domain, epsilon=epsilon, delta=delta, neighbors="replace-one",
                    mechanism=chosen, rng=lw.seeded(2),
                )  # fmt: skip

            try:
                published = release()
            except (LapwingError, TypeError) as error:
                yield f"{case}: {type(error).__name__}"
                continue
            yield f"{case} release {_digest(published.release.to_document())}"
            yield f"{case} decoded {_result(lambda p=published: p.distribution)}"


def _values(domain: Any) -> Any:
    """Return values of a domain, drawn with a seed."""
    rng = np.random.default_rng(5)
    if domain.name == "product":
        pairs = rng.beta(2, 5, size=(PEOPLE, 2))
        return [tuple(pair) for pair in pairs.tolist()]
    if domain.name == "hashed-strings":
        return [f"text {number}" for number in rng.geometric(0.2, PEOPLE)]
    if not domain.ordered:
        labels = list(domain.labels)
        return [labels[k] for k in np.minimum(rng.geometric(0.2, PEOPLE), len(labels)) - 1]
    if domain.name == "integers":
        return np.minimum(rng.poisson(6, PEOPLE), 19)
    return 100 * rng.beta(2, 5, PEOPLE)


def _result(decode: Any) -> str:
    """Return the digest of a result, or the name of what refused it."""
    try:
        return _digest(decode().to_document())
    except (LapwingError, TypeError) as error:
        return type(error).__name__


def _digest(document: Any) -> str:
    """Return the digest of a document without what is drawn at random for each file."""
    if isinstance(document, dict):
        document = {key: value for key, value in document.items() if key != "ids"}
    return sha256(json.dumps(document, sort_keys=True, default=repr).encode()).hexdigest()[:12]


if __name__ == "__main__":
    sys.exit(main())
