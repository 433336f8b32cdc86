"""Tallies of several surveys of one distribution, decoded to one answer.

The surveys may ask about the same attribute in different ways. So the blocks of their channels are
placed side by side in one channel, each with the people who answered it. For weeks whose
distributions may differ, see `series_decoding.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from lapwing.decoders.decoder import Decoder, check_reads, require_answer
from lapwing.decoders.empirical_bayes.mixture_prior import MixturePrior
from lapwing.decoders.empirical_bayes.spectral_prior import SYMBOL_LIMIT, SpectralPrior
from lapwing.decoders.likelihood.expectation_maximization import ExpectationMaximization
from lapwing.decoders.unbiased.least_squares import LeastSquares
from lapwing.decoders.unbiased.linear_estimate import unbiased_shares
from lapwing.documents import fingerprint
from lapwing.errors import ArgumentError, MismatchError, TallyError, UnsupportedChannelError
from lapwing.planning.defaults import FEW, recommended_decoder
from lapwing.privacy.guarantee import weakest_standing
from lapwing.protocol.channels.channel import Block, Channel, check_given
from lapwing.protocol.channels.equal_counts import equal_by_chance
from lapwing.protocol.messages.tally import CountTally, Tally, check_observation
from lapwing.registry import DECODERS
from lapwing.results.distribution import Distribution
from lapwing.survey.series_decoding import channel_and_counts, identity_of
from lapwing.survey.survey import Survey, unit_entry


def decode_together(
    collected: Sequence[tuple[Survey, Tally]],
    *,
    decoder: Decoder | str | None = None,
    allow_equal: Sequence[int] = (),
) -> Distribution:
    """Return one distribution from the tallies of several surveys on one domain.

    An example is the epochs of a survey, the later ones designed by
    :meth:`lapwing.Survey.next_epoch`. All reports are used fully, each through its own channel.
    Randomizers and epsilons may differ.

    Parameters
    ----------
    collected : sequence of (Survey, Tally)
        Surveys with their tallies, from different people drawn from the same distribution. Empty
        tallies are left out.
    decoder : Decoder or str, optional
        Decoder that reads counts. Default: if all people answered through one randomizer, the
        decoder recommended for it. Otherwise, for numbers :class:`lapwing.SpectralPrior`, or EMS
        above 65,536 symbols. For labels :class:`lapwing.MixturePrior` from 24 labels on if each
        survey estimates every share separately, or else least squares on the simplex.
    allow_equal : sequence of int, optional
        Numbers, from 1, of tallies whose counts may equal those of an earlier tally. Default:
        none. Equal counts are refused if different people would give them with a probability below
        1e-6.

    Returns
    -------
    Distribution
        Distribution of all who reported. Its guarantee is the weakest of the surveys' guarantees.

    Raises
    ------
    ArgumentError
        When there are no surveys, or one is not a pair of a survey and its tally. Also when
        reports are memoized, because they have the same randomness in every epoch, which must not
        be counted twice.
    MismatchError
        When a survey is on another domain, or a tally is not its survey's or is given twice.
    TallyError
        When nobody reported at all.

    Notes
    -----
    **Privacy.** This is post-processing. The guarantee is that of one report, so it holds for a
    person who answers only one of the surveys. The losses of a person who answers several add up.

    Examples
    --------
    >>> import lapwing as lw
    >>> line = lw.Interval(0, 60, bins=16)
    >>> surveys = [lw.Survey("wait", lw.SquareWave(line, epsilon)) for epsilon in (1, 2)]
    >>> pairs = [(one, lw.simulate(one.randomizer, [500] * 16, rng=1)) for one in surveys]
    >>> both = lw.decode_together(pairs)
    >>> both.reports, str(both.guarantee.epsilon)
    (16000, '2')
    """
    if not isinstance(collected, Iterable):
        raise ArgumentError(
            "give a list of pairs: decode_together([(first, its_tally), (second, its_tally)])"
        )
    given = list(collected)
    read = [_read(one, number) for number, one in enumerate(given, start=1)]
    if not read:
        raise ArgumentError("there is nothing to decode: give at least one survey with its tally")
    _check_domains(read)
    there = [one for one in read if one[2].total > 0]
    if not there:
        raise TallyError("there is nothing to decode: the tallies have no reports")
    _check_different(there, allow_equal)
    merged = _merged([(channel, counts) for _, channel, counts in there])
    channel, counts = merged[0] if len(merged) == 1 else joined(merged)
    chosen: Any
    if decoder is not None:
        chosen = DECODERS.resolve(decoder)
    elif len(merged) == 1:
        chosen = recommended_decoder(there[0][0].randomizer)
    else:
        chosen = _default(channel, counts)
    check_reads(chosen)
    found = chosen.decode(channel, counts)
    require_answer(found, channel.domain, type(chosen).__name__)
    surveys = [{"survey": one.fingerprint, "reports": held.total} for one, _, held in there]
    units = [unit_entry(one) for one, _, _ in there]
    unit = units[0] if all(each == units[0] for each in units) else {}
    provenance = {**found.provenance, "together": surveys, **unit}
    made: Distribution = replace(found, provenance=provenance)
    return made


def joined(observed: Sequence[tuple[Channel, CountTally]]) -> tuple[Channel, CountTally]:
    """Return one channel and its counts, of several about one distribution.

    observed: On one domain, each with at least one report.
    returns: Blocks in the order given. The share of each is the part of all people who were asked
        through its channel, times its share there. Its counts and reports stay as they are.
    """
    people = sum(counts.total for _, counts in observed)
    blocks = [
        Block(block.operator, block.law, block.share * counts.total / people)
        for channel, counts in observed
        for block in channel.blocks
    ]
    name = fingerprint({"together": [channel.fingerprint for channel, _ in observed]})
    weakest = None
    promises = [channel.guarantee for channel, _ in observed]
    known = [promise for promise in promises if promise is not None]
    if len(known) == len(promises):
        weakest = max(known, key=lambda promise: promise.epsilon)
    return (
        Channel(observed[0][0].domain, blocks, name, weakest),
        CountTally(
            [numbers for _, counts in observed for numbers in counts.blocks],
            [number for _, counts in observed for number in counts.reports],
            name,
            standing=weakest_standing(*(counts.standing for _, counts in observed)),
        ),
    )


def _read(one: Any, number: int) -> tuple[Survey, Channel, CountTally]:
    """Return a survey with what its decoder is given."""
    if not (isinstance(one, tuple) and len(one) == 2 and isinstance(one[0], Survey)):
        raise ArgumentError(f"number {number} must be a pair of a survey and its tally")
    survey, tally = one
    check_observation(tally)
    survey.check(tally)
    if survey.answers != "fresh":
        raise ArgumentError(
            f"survey {number} has memoized reports. A person who answers again sends the same "
            "randomness, which must not be counted twice. Decode it on its own"
        )
    channel, counts = channel_and_counts(survey, tally)
    if counts.total:
        check_given(channel, counts)
    return survey, channel, counts


def _check_domains(read: Sequence[tuple[Survey, Channel, CountTally]]) -> None:
    first = read[0][1].domain.to_document()
    for number, (_, channel, _) in enumerate(read[1:], start=2):
        if channel.domain.to_document() != first:
            raise MismatchError(
                f"survey {number} and survey 1 have different domains. Decode them separately"
            )


def _check_different(
    read: Sequence[tuple[Survey, Channel, CountTally]], allow_equal: Sequence[int]
) -> None:
    seen: dict[Any, dict[str | None, int]] = {}
    for place, (_, channel, counts) in enumerate(read, start=1):
        marks = seen.setdefault(identity_of(counts), {})
        # Marked by two surveys they are two: where few reported, alike by chance.
        alike = marks and (counts.survey in marks or None in {*marks, counts.survey})
        if alike and place not in allow_equal:
            earlier = [read[known - 1][2] for known in marks.values()]
            same = any(counts is one or counts.ids & one.ids for one in earlier)
            if same or not equal_by_chance(counts, len(read), channel):
                raise MismatchError(
                    "the same tally is given twice, so its people would count twice. Give it "
                    f"once. If its reports do differ, pass allow_equal=[{place}]"
                )
        marks.setdefault(counts.survey, place)


def _merged(observed: Sequence[tuple[Channel, CountTally]]) -> list[tuple[Channel, CountTally]]:
    """Return the sums of what came through one randomizer: exact, and fewer blocks."""
    sums: dict[str, tuple[Channel, CountTally]] = {}
    for channel, counts in observed:
        plain = replace(counts, survey=None)
        if counts.fingerprint in sums:
            plain = sums[counts.fingerprint][1] + plain
        sums[counts.fingerprint] = (channel, plain)
    return list(sums.values())


def _default(channel: Channel, counts: CountTally) -> Decoder:
    if channel.domain.ordered:
        few = channel.domain.inside_size <= SYMBOL_LIMIT
        return SpectralPrior() if few else ExpectationMaximization(smoothed=True)
    if channel.domain.size < FEW:
        return LeastSquares()
    try:
        unbiased_shares(channel, counts)
    except UnsupportedChannelError:
        return LeastSquares()
    return MixturePrior()
