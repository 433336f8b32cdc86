"""What a decoder knows of people who report prefixes of their values, each of one length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lapwing.errors import TallyError
from lapwing.privacy.guarantee import Guarantee
from lapwing.protocol.channels.hashed_channel import LinearChannel, check_log
from lapwing.protocol.domains.domain import Domain
from lapwing.protocol.messages.tally import CountTally, TallyLog


@dataclass(frozen=True)
class PrefixChannel:
    """Groups of linear hashing, each on one length of prefix.

    Parameters
    ----------
    domain : Domain
        Of 2^L values.
    parts : sequence of LinearChannel
        One for each group, the shortest prefixes first; the last has all L bits.
    fingerprint : str
        Of the randomizer.
    guarantee : Guarantee
    """

    domain: Domain
    parts: Sequence[LinearChannel]
    fingerprint: str
    guarantee: Guarantee

    def split(self, log: TallyLog) -> list[TallyLog]:
        """Return the log of each group.

        A report is the number of its group in the lowest byte, then the group's own report.

        Raises
        ------
        UnsupportedChannelError
            When it is no log.
        MismatchError
            When another randomizer made it.
        TallyError
            When a group has no reports, or one does not exist.
        """
        check_log(log, self.fingerprint)
        group = log.codes & np.uint64(0xFF)
        if int(group.max(initial=0)) >= len(self.parts):
            raise TallyError("the log holds a report of a group that does not exist; it is damaged")
        logs = []
        for number, part in enumerate(self.parts):
            own = log.codes[group == np.uint64(number)] >> np.uint64(8)
            bits = part.hash.seed_bits + part.hash.hash_bits
            logs.append(TallyLog([own], (bits + 7) // 8, part.fingerprint, log.survey))
        return logs

    def counts(self, log: TallyLog) -> CountTally:
        """Return how many reports of each group support each prefix; errors as of a whole log."""
        counted = [part.counts(own) for part, own in zip(self.parts, self.split(log), strict=True)]
        return CountTally(
            [part.blocks[0] for part in counted],
            [part.total for part in counted],
            self.fingerprint,
            log.survey,
        )
