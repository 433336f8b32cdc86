"""`lapwing decode`: from a tally to the distribution behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar

from lapwing.cli.console import Output, check_output, facts, write_text
from lapwing.cli.option_groups import argument, option
from lapwing.cli.reading.options import (
    Force,
    Level,
    ResultOptions,
    SegmentName,
    Settings,
    check_level,
    make_with_settings,
    pick,
)
from lapwing.cli.reading.stored import format_of
from lapwing.cli.reading.stored_answers import RELEASE, read_weeks
from lapwing.cli.showing.answer import TableOptions, shown_answer
from lapwing.decoders.decoder import Decoder, SearchDecoder
from lapwing.decoders.logs.exhaustive_scan import (
    Candidates,
    ExhaustiveScan,
    PrefixExtension,
    tiles_of,
)
from lapwing.errors import ArgumentError, FormatError
from lapwing.planning.defaults import default_decoder, scanned_long
from lapwing.protocol.channels.hashed_channel import LinearChannel
from lapwing.protocol.messages.group_tallies import GroupTallies, fingerprint_of
from lapwing.protocol.messages.tally import Kind, Tally, TallyLog
from lapwing.registry import DECODERS
from lapwing.results.answer_documents import AnswerRequest
from lapwing.results.heavy_hitters import HeavyHitters
from lapwing.results.rounding import count_text, percent
from lapwing.survey.joint_decoding import decode_together
from lapwing.survey.survey import Survey


@dataclass(frozen=True)
class WatchedScan:
    """A decoder of logs: the scan of its name, watched.

    out: Where the progress is shown.
    state: Where the scan keeps what is done.
    """

    scan: ExhaustiveScan
    out: Output
    state: Path | None

    name: ClassVar[str] = ExhaustiveScan.name
    reads: ClassVar[Kind] = "log"

    def decode(self, channel: LinearChannel, tally: TallyLog) -> HeavyHitters:
        """Return the heavy hitters. Where it takes long, say beforehand how long."""
        if announcement := self.scan.announcement(channel, tally):
            hashed = channel.domain.name == "hashed-strings"
            quick = ". --candidates FILE scores your own texts in a second" if hashed else ""
            later = "" if self.state else ". With --resume you can stop and continue it"
            self.out.tell(announcement + quick + later)
        with self.out.progress("scan", tiles_of(channel)) as advance:
            shown = 0

            def step(done: int, tiles: int) -> None:
                nonlocal shown
                advance(done - shown)
                shown = done

            return self.scan.decode(channel, tally, progress=step, state=self.state)


@dataclass(frozen=True, kw_only=True)
class DecoderOptions:
    """The options of a decoder."""

    decoder: str | None = option(
        f"One of: {', '.join(DECODERS)}. Default: the one recommended for the randomizer.", "NAME"
    )
    candidates: Path | None = option(
        "With --decoder candidates: a file of the values to score, one per line.", "FILE"
    )
    resume: bool = option(
        "With --decoder exhaustive-scan: save progress in OUTPUT.progress, and resume from it.",
        default=False,
    )
    settings: Settings = None

    def build_decoder(
        self, survey: Survey, tally: Tally, out: Output, *, output: Path | None
    ) -> Decoder | SearchDecoder | None:
        """Return the decoder that the options mean. None for that which suits the randomizer.

        out: Where a scan shows its progress.
        output: Of the command, alongside which a scan keeps what is done.
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
                "--candidates, --resume and their decoders are for stored linear-hashing reports"
            )
        return self._of_counts()

    def _of_counts(self) -> Decoder | SearchDecoder | None:
        if self.decoder is None:
            if self.settings:
                raise ArgumentError("set", "belongs to a decoder", advice="Add --decoder")
            return None
        made = pick(DECODERS, self.decoder, what="--decoder")
        found: Decoder | SearchDecoder = make_with_settings(made, settings=self.settings or ())
        return found

    def _of_log(
        self, survey: Survey, default: str, out: Output, output: Path | None
    ) -> Decoder | SearchDecoder:
        name = self.decoder or (default if self.candidates is None else Candidates.name)
        if (self.candidates is not None) != (name == Candidates.name):
            raise ArgumentError("--candidates and --decoder candidates must be given together")
        if self.resume and (name != ExhaustiveScan.name or output is None):
            raise ArgumentError("resume", "is for --decoder exhaustive-scan with --output")
        state = None if output is None else self._progress(output)
        domain = survey.randomizer.domain
        values = [] if self.candidates is None else [read_candidates(self.candidates, domain)]
        if not values and self.decoder is None and scanned_long(survey.randomizer, "log"):
            raise ArgumentError(
                f"scanning all {count_text(domain.size)} values takes hours. Score your own "
                "list with --candidates FILE, or request the scan with --decoder "
                "exhaustive-scan"
            )
        found: Any = make_with_settings(DECODERS[name], *values, settings=self.settings or ())
        if name != ExhaustiveScan.name:
            chosen: Decoder | SearchDecoder = found
            return chosen
        if default == PrefixExtension.name:
            raise ArgumentError(f"stored prefix reports cannot be scanned. Use --decoder {default}")
        return WatchedScan(found, out, state)

    def _progress(self, output: Path) -> Path | None:
        return output.with_name(f"{output.name}.progress") if self.resume else None

    def finish(self, output: Path) -> None:
        """Delete what a scan kept, now that its result is written."""
        if progress := self._progress(output):
            progress.unlink(missing_ok=True)


def read_candidates(path: Path, domain: Any) -> list[Any]:
    """Return the values in a file, one on each line. Whole numbers unless strings are hashed."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise FormatError(f"{path.name} must be UTF-8 text, with one value per line") from None
    values = [line.strip() for line in lines if line.strip()]
    if domain.name == "hashed-strings" or not isinstance(domain.labels, int):
        return values
    wrong = next((i for i, text in enumerate(values, 1) if not text.isdecimal()), None)
    if wrong is not None:
        raise FormatError(f"{path.name} must contain whole numbers, but value {wrong} is not one")
    return [int(text) for text in values]


Words = Annotated[
    list[Path],
    argument(
        "The survey (lapwing new), then its tally (lapwing tally, lapwing merge). Several "
        "surveys of one distribution (such as epochs from lapwing new --after), each "
        "followed by its tallies, give one answer.",
        "SURVEY TALLY",
    ),
]


def decode(
    files: Words,
    *,
    stored: ResultOptions,
    force: Force = False,
    decoding: DecoderOptions,
    table: TableOptions,
    segment: SegmentName = None,
    level: Level = 0.95,
    out: Output,
) -> None:
    """The distribution estimated from a survey's reports.

    Shows quantiles or shares with intervals, about the distribution of the people who reported. The
    intervals are computed from the tally, not from the decoder. Where a smooth estimate lies
    outside its interval, the interval is extended to it. --csv writes a row for each bin, label or
    listed value. lapwing show RESULT --detail says more.
    """
    check_level(level)
    output = stored.output
    table.check(inputs=files, force=force, output=output)
    if output is not None:
        check_output(output, inputs=files, force=force)
    pairs = _pairs(files, segment)
    survey, tally = pairs[0]
    if len(pairs) == 1:
        decoder = decoding.build_decoder(survey, tally, out, output=output)
        result: Any = survey.decode(tally, decoder=decoder)
        if segment is not None:  # a comparison must know that nobody is in two segments
            of = fingerprint_of(GroupTallies.load(files[-1]))
            provenance = {**result.provenance, "segment": segment, "segments_of": of}
            result = replace(result, provenance=provenance)
        head = {"survey": survey.name, "fingerprint": survey.fingerprint}
    else:
        if decoding != DecoderOptions():
            raise ArgumentError(
                "several tallies are decoded together by a special decoder. Leave out the "
                "decoder options"
            )
        result = decode_together(pairs)
        head = {"together": result.provenance["together"]}
    if output is not None:
        write_text(output, result.to_json())
        decoding.finish(output)
    name = " and ".join(dict.fromkeys(survey.name for survey, _ in pairs))
    rest = {} if output is None else {"written": str(output)}
    request = AnswerRequest(level=level, curve=out.as_json)
    answer = shown_answer(result, name, request, rest=rest)
    table.write(answer.rows)
    document = {"command": "decode", **head, "output": None if output is None else str(output)}
    signed = getattr(result, "signed", None)
    if signed is None:
        out.show(document | answer.document, *answer.tables)
        return
    negative = int((signed.mass < 0).sum()), signed.mass.size, percent(float(signed.mass.min()))
    masses = {"negative masses": "{} of {}, down to {}".format(*negative)}
    document |= {**answer.document, "signed": signed.mass.tolist()}
    out.show(document, *answer.tables, facts(masses))


def _pairs(files: Sequence[Path], segment: str | None) -> list[tuple[Survey, Tally]]:
    """Return each tally with the survey that stands before it."""
    if len(files) == 1 and format_of(files[0]) == RELEASE:
        raise ArgumentError(
            f"{files[0].name} is a release, which needs no decoding. Run lapwing show "
            f"{files[0].name}"
        )
    weeks = read_weeks([str(path) for path in files], dated=False, segment=segment)
    pairs = [pair for pair in weeks.weeks if isinstance(pair, tuple)]
    if weeks.bare:
        raise ArgumentError(
            f"no tally follows survey {weeks.bare[0].name}. Name each survey before its tallies"
        )
    if len(pairs) < len(weeks.weeks):
        raise ArgumentError("decode takes surveys and their tallies, not releases or gaps")
    if len(pairs) > 1 and len({survey.fingerprint for survey, _ in pairs}) == 1:
        raise ArgumentError(
            "there are several tallies of one survey. Add them with lapwing merge, or decode "
            "weeks with lapwing series"
        )
    return pairs
