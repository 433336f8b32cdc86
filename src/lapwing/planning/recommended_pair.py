"""What is recommended: a randomizer with its decoder, and what to expect of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lapwing.decoders.decoder import Decoder, decoder_document
from lapwing.planning.expected_error import ExpectedError
from lapwing.protocol.randomizer import Randomizer
from lapwing.results.answer_text import html_of, lines_of


@dataclass(frozen=True, repr=False)
class Recommendation:
    """What to use, and what to expect of it.

    Parameters
    ----------
    randomizer : Randomizer
    decoder : Decoder
        The one that :meth:`lapwing.Survey.decode` takes by itself.
    expected_error : ExpectedError
        By distance, to the people who report. The sampling of these people from a larger
        population adds to it.
    reason : str
        Why, in a sentence or two.
    """

    randomizer: Randomizer
    decoder: Decoder
    expected_error: ExpectedError
    reason: str

    @property
    def users(self) -> int:
        """The people that were given, or the fewest whose predicted error meets the target."""
        return self.expected_error.people

    @property
    def predicted_by(self) -> str:
        """Where the errors come from: "table", "simulation" or "formula"."""
        return self.expected_error.predicted_by

    @property
    def report_bytes(self) -> int:
        """Bytes of one report."""
        return self.randomizer.report_width

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "randomizer": self.randomizer.to_document(),
            "decoder": decoder_document(self.decoder),
            "users": self.users,
            "expected_error": {
                distance: error.to_document() for distance, error in self.expected_error.items()
            },
            "report_bytes": self.report_bytes,
            "predicted_by": self.predicted_by,
            "reason": self.reason,
        }

    def __str__(self) -> str:
        """Return what to use and what to expect, a line each, and why."""
        return f"{lines_of(self._facts)}\n{self.reason}"

    def __repr__(self) -> str:
        """Return one line: the pair, and for how many people."""
        pair = f"{self.randomizer.name} with {self.decoder.name}"
        return f"<Recommendation of {pair} for {self.users:,} people>"

    def _repr_html_(self) -> str:
        """Return the same as a notebook shows it."""
        return html_of({**self._facts, "why": self.reason})

    @property
    def _facts(self) -> dict[str, str]:
        facts = {
            "randomizer": f"{self.randomizer.name}, epsilon = {float(self.randomizer.epsilon):g}",
            "decoder": self.decoder.name,
            "people": f"{self.users:,}",
            "report": f"{self.report_bytes} byte{'s' if self.report_bytes != 1 else ''}",
        }
        for distance, error in self.expected_error.items():
            text = f"{error.typical:.3g}"
            if error.low < error.high:
                text += f"; {error.low:.3g} to {error.high:.3g} from easy columns to hard ones"
            facts[f"error, {distance.replace('_', ' ')}"] = text
        return facts
