"""The contract of a decoder: the truth of a noiseless tally, a legal answer, or a refusal."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lapwing.decoders.decoder import Decoder
from lapwing.errors import MismatchError, TallyError
from lapwing.linear.arrays import Vector
from lapwing.papers.wavelet.signed_subset_selection import SignedSubset
from lapwing.protocol.channels.channel import Channel, FixedSizeSubset, Multinomial
from lapwing.protocol.messages.tally import CountTally
from lapwing.results.distribution import Distribution
from lapwing.testing.claims import claim, claim_close, claim_refused

PEOPLE = 2**40
"""Behind a noiseless tally: expected counts rounded to whole numbers are right to 1e-10."""


def truth(size: int) -> Vector:
    """Return an uneven distribution, nowhere zero: float64 [size]."""
    mass: Vector = np.asarray(1.0 + np.arange(size) * 5 % (size + 1), dtype=np.float64)
    mass[size // 3] *= 3
    mass /= mass.sum()
    return mass


def noiseless(channel: Channel, mass: Vector, *, people: int = PEOPLE) -> CountTally:
    """Return the expected counts, rounded to whole numbers that reports can have."""
    blocks, numbers = [], []
    for block in channel.blocks:
        reports = round(people * block.share)
        counts = np.rint(reports * block.mean(mass)).astype(np.int64)
        if isinstance(block.law, Multinomial):
            counts[np.argmax(counts)] += reports - counts.sum()
        if isinstance(block.law, FixedSizeSubset) and block.law.symbols == counts.size:
            counts[np.argmin(counts)] += reports * block.law.members - counts.sum()
        if isinstance(block.law, SignedSubset):
            _make_signed(counts, block.law, reports)
        blocks.append(counts)
        numbers.append(reports)
    return CountTally(blocks, numbers, channel.fingerprint)


def _make_signed(counts: NDArray[np.int64], law: SignedSubset, reports: int) -> None:
    if law.members == law.coordinates:
        counts[1::2] = reports - counts[::2]
    else:
        counts[np.argmin(counts)] += reports * law.members - counts.sum()


def sampled(channel: Channel, mass: Vector, *, people: int, seed: int) -> CountTally:
    """Return what a population of so many people sends."""
    rng = np.random.default_rng(seed)
    symbols = rng.multinomial(people, mass)
    groups = rng.multinomial(symbols, [block.share for block in channel.blocks]).T
    blocks = [block.sample(group, rng) for block, group in zip(channel.blocks, groups, strict=True)]
    return CountTally(blocks, [int(group.sum()) for group in groups], channel.fingerprint)


OFF = 2e-6
"""How far off the truth of a noiseless tally an answer may be."""


def check_decoder(
    decoder: Decoder, channel: Channel, *, exact: Decoder | None = None, mass: Vector | None = None
) -> None:
    """Raise AssertionError unless a decoder meets its contract on a channel.

    * A tally without noise gives the truth that it came from, to 2e-6.
    * The result of a drawn tally is legal and the same every time. So is its band, if it has one. A
      Distribution is written and read again.
    * An empty tally is refused. So is one from another channel, of other sizes or with impossible
      counts.

    Nothing here is decided by chance. The seed of the drawn tally is fixed, and any tally must be
    answered legally.

    Parameters
    ----------
    decoder : Decoder
        Decoder to check.
    channel : Channel
        Channel that it decodes, on a small domain.
    exact : Decoder, optional
        The same decoder run to convergence, if `decoder` stops early. Default: `decoder`.
    mass : numpy.ndarray, optional
        True distribution, float64 [symbols]. Default: an uneven one. A decoder that smooths returns
        only distributions that smoothing does not change.

    Raises
    ------
    AssertionError
        When the decoder breaks the contract. The message names the rule.

    Examples
    --------
    >>> import lapwing as lw
    >>> randomizer = lw.RandomizedResponse(lw.Categories(["yes", "no"]), epsilon=1)
    >>> lw.testing.check_decoder(lw.decoders.LeastSquares(), randomizer.channel)
    """
    size = channel.domain.size
    check_truth(decoder if exact is None else exact, channel, truth(size) if mass is None else mass)
    check_answer(decoder, channel, sampled(channel, truth(size), people=20_000, seed=1))
    check_refusals(decoder, channel)


def check_truth(decoder: Decoder, channel: Channel, mass: Vector) -> None:
    """Raise AssertionError unless a tally without noise gives the truth."""
    result = decoder.decode(channel, noiseless(channel, mass))
    known = getattr(result, "_kind", None) == "distribution"
    claim(known, f"a Distribution must be returned, not {type(result)}")
    message = "the answer to a tally without noise is not the truth"
    claim_close(result.mass, mass, message, relative=1e-7, absolute=OFF)


def check_answer(decoder: Decoder, channel: Channel, tally: CountTally) -> None:
    """Raise AssertionError unless an answer is legal, reproducible and can be stored."""
    result = decoder.decode(channel, tally)
    check_result(result, channel, tally)
    again = decoder.decode(channel, tally)
    claim(bool(np.array_equal(result.mass, again.mass)), "the same tally must give the same answer")
    claim(
        result.provenance.get("class") == decoder.name, "the answer must say which decoder made it"
    )
    json.dumps(result.provenance, allow_nan=False)
    stored = Distribution.from_json(result.to_json())
    claim(
        bool(np.array_equal(stored.mass, result.mass))
        and (stored.provenance, stored.guarantee) == (result.provenance, result.guarantee)
        and stored.signed == result.signed,
        "an answer that is read back must be the one that was stored",
    )


def check_result(result: Distribution, channel: Channel, tally: CountTally) -> None:
    """Raise AssertionError unless a result is a legal answer to a tally."""
    claim(result.domain == channel.domain, "the result has another domain")
    claim(result.reports == tally.total, "the result must say how many reports are behind it")
    claim(result.guarantee == channel.guarantee, "the result must carry the guarantee")
    claim(result.mass.shape == (channel.domain.size,), "there must be a share per symbol")
    claim(bool(np.isfinite(result.mass).all()), "every share must be a number")
    claim(abs(float(result.mass.sum()) - 1) <= 1e-9, "the shares must sum to 1")
    claim(float(result.mass.min()) >= 0, "a Distribution has no share below 0")
    signed = result.signed
    if signed is not None:
        claim(bool(np.isfinite(signed.mass).all()), "every signed share must be a number")
    bands = [result.confidence_band(0.9), signed.confidence_band(0.9) if signed else None]
    for band in filter(None, bands):
        ends = np.array([band.low, band.high])
        legal = np.isfinite(ends).all() and (ends >= 0).all() and (ends <= 1).all()
        claim(bool(legal and (band.low <= band.high).all()), "a band must lie in [0, 1], in order")


def check_refusals(decoder: Decoder, channel: Channel) -> None:
    """Raise AssertionError unless tallies that are none of this channel are refused."""
    tally = sampled(channel, truth(channel.domain.size), people=1000, seed=4)
    wrong: dict[str, tuple[type[Exception], dict[str, Any]]] = {
        "a tally of no reports": (
            TallyError,
            {"blocks": [0 * c for c in tally.blocks], "reports": [0] * len(tally.reports)},
        ),
        "a tally of another channel": (MismatchError, {"fingerprint": "another"}),
        "a tally of other sizes": (
            MismatchError,
            {"blocks": [np.append(counts, 0) for counts in tally.blocks]},
        ),
        "counts that no reports can give": (
            TallyError,
            {"blocks": [counts + max(tally.reports) for counts in tally.blocks]},
        ),
    }
    for message, (kind, changes) in wrong.items():
        claim_refused(kind, decoder.decode, channel, replace(tally, **changes), message=message)
