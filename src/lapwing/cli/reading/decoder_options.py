"""What `decode` is told of its decoder: the options, and the decoder that they mean together."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lapwing.cli.console import Output
from lapwing.cli.option_groups import option
from lapwing.cli.reading.knobs import make_with_knobs, pick
from lapwing.cli.reading.options import Settings
from lapwing.cli.reading.watched_scan import WatchedScan
from lapwing.decoders.decoder import Decoder, SearchDecoder
from lapwing.decoders.logs.exhaustive_scan import Candidates, ExhaustiveScan, PrefixExtension
from lapwing.errors import ArgumentError, FormatError
from lapwing.planning.defaults import default_decoder, scanned_long
from lapwing.planning.registry import DECODERS
from lapwing.protocol.messages.tally import Tally
from lapwing.survey.survey import Survey

_SIGNED = (
    "least-squares",
    "tree-consistency",
    "wavelet-clip",
    "wiener",
    "gaussian-smoothing",
    "binomial-smoothing",
    "mixture-prior",
    "normalization",
    "threshold",
)
"""Decoders that make a signed estimate: those with an option `signed`."""


@dataclass(frozen=True, kw_only=True)
class DecoderOptions:
    """The options of a decoder."""

    decoder: str | None = option(
        f"One of: {', '.join(DECODERS)}. Default: the one that suits the randomizer.", "NAME"
    )
    candidates: Path | None = option(
        "candidates: the values to score, one on each line, of linear hashing.", "FILE"
    )
    resume: bool = option(
        "exhaustive-scan: keep what is done in OUTPUT.progress, and go on from there after a stop.",
        default=False,
    )
    settings: Settings = None
    signed: bool = option(
        f"Keep the unbiased estimate, too, whose masses may be negative: of {', '.join(_SIGNED)}.",
        default=False,
    )

    def made(
        self, survey: Survey, tally: Tally, out: Output, *, output: Path | None
    ) -> Decoder | SearchDecoder | None:
        """Return the decoder that the options mean; None for that which suits the randomizer.

        Parameters
        ----------
        survey : Survey
        tally : CountTally or TallyLog
        out : Output
            Where a scan shows its progress.
        output : Path or None
            Of the command, beside which a scan keeps what is done.
        """
        survey.check(tally)
        default = default_decoder(survey.randomizer, tally.kind)
        if self.decoder is not None:
            of_log = self.decoder in DECODERS and DECODERS[self.decoder].reads == "log"
        else:
            of_log = self.candidates is not None or default.reads == "log"
        if of_log and tally.kind == "log":
            return self._of_log(survey, default.name, out, output)
        if of_log or self.candidates is not None or self.resume:
            raise ArgumentError(
                "--candidates, --resume and their decoders are for the log of linear hashing"
            )
        return self._of_counts()

    def _of_counts(self) -> Decoder | SearchDecoder | None:
        if self.decoder is None:
            if self.settings or self.signed:
                flag = "--set" if self.settings else "--signed"
                raise ArgumentError(f"{flag} belongs to a decoder; name it with --decoder")
            return None
        made = pick(DECODERS, self.decoder, what="--decoder")
        if self.signed and not hasattr(made, "signed"):
            raise ArgumentError(
                f"{self.decoder} makes no signed estimate; use --decoder {' or '.join(_SIGNED[:2])}"
            )
        settings = [*(self.settings or ()), *(["signed=true"] if self.signed else [])]
        found: Decoder | SearchDecoder = make_with_knobs(made, settings=settings)
        return found

    def _of_log(
        self, survey: Survey, default: str, out: Output, output: Path | None
    ) -> Decoder | SearchDecoder:
        if self.signed:
            raise ArgumentError("--signed is for decoders that return a distribution")
        name = self.decoder or (default if self.candidates is None else Candidates.name)
        if (self.candidates is not None) != (name == Candidates.name):
            raise ArgumentError("--candidates names the file of --decoder candidates; give both")
        if self.resume and (name != ExhaustiveScan.name or output is None):
            raise ArgumentError("--resume is for --decoder exhaustive-scan with --output")
        state = None if output is None else self._progress(output)
        domain = survey.randomizer.domain
        values = [] if self.candidates is None else [read_candidates(self.candidates, domain)]
        if not values and self.decoder is None and scanned_long(survey.randomizer, "log"):
            raise ArgumentError(
                f"a scan of {domain.size} values takes long; score a list (--candidates), or ask "
                "for it (--decoder exhaustive-scan)"
            )
        found: Any = make_with_knobs(DECODERS[name], *values, settings=self.settings or ())
        if name != ExhaustiveScan.name:
            chosen: Decoder | SearchDecoder = found
            return chosen
        if default == PrefixExtension.name:
            raise ArgumentError(f"a log of prefixes is not scanned; use --decoder {default}")
        return WatchedScan(found, out, state)

    def _progress(self, output: Path) -> Path | None:
        return output.with_name(f"{output.name}.progress") if self.resume else None

    def finish(self, output: Path) -> None:
        """Delete what a scan kept, now that its result is written."""
        if progress := self._progress(output):
            progress.unlink(missing_ok=True)


def read_candidates(path: Path, domain: Any) -> list[Any]:
    """Return the values in a file, one on each line; whole numbers unless texts are hashed."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise FormatError(f"{path.name} must be UTF-8 text, one value on each line") from None
    values = [line.strip() for line in lines if line.strip()]
    if domain.name == "hashed-strings" or not isinstance(domain.labels, int):
        return values
    wrong = next((i for i, text in enumerate(values, 1) if not text.isdecimal()), None)
    if wrong is not None:
        raise FormatError(f"{path.name} must hold whole numbers, value {wrong} is none")
    return [int(text) for text in values]
