"""Sums of reports: counted, stored as received, or by segment."""

from lapwing.protocol.messages.group_tallies import GroupTallies
from lapwing.protocol.messages.tally import CountTally, Tally, TallyLog

__all__ = ["CountTally", "GroupTallies", "Tally", "TallyLog"]
