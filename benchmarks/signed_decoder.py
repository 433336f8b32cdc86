"""Signed estimates for figures about estimates that are no distributions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from lapwing.results.signed_estimate import SignedEstimate


@dataclass(frozen=True)
class SignedDecoder:
    """Decode to the signed estimate alone, as the papers do.

    Parameters
    ----------
    decoder : Decoder
        With an option `signed`.
    """

    decoder: Any

    def decode(self, channel: Any, tally: Any) -> SignedEstimate:
        """Return the estimate before it became a distribution."""
        estimate = replace(self.decoder, signed=True).decode(channel, tally).signed
        assert estimate is not None
        return estimate
