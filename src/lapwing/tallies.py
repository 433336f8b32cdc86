"""Sums of reports: counted, or stored as they came."""

from lapwing.protocol.messages.tally import CountTally, Tally, TallyLog

__all__ = ["CountTally", "Tally", "TallyLog"]
