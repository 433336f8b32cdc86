"""What `decode` does with the log of a domain too large to list: its heavy hitters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lapwing.cli.console import Output, facts, grid
from lapwing.cli.knobs import make_with_knobs
from lapwing.cli.outputs import check_output, write_text
from lapwing.cli.wording import count_text, percent
from lapwing.decoders.candidates import Candidates
from lapwing.decoders.exhaustive_scan import ExhaustiveScan, tiles_of
from lapwing.decoders.prefix_extension import PrefixExtension
from lapwing.errors import ArgumentError, FormatError
from lapwing.hashed_channel import LISTED
from lapwing.hashed_texts import HashedTexts
from lapwing.heavy_hitters import HeavyHitters
from lapwing.local.prefix_hashing import PrefixHashing
from lapwing.survey import SCANNED, Survey
from lapwing.tally import ReportLog

LOG_DECODERS = {decoder.name: decoder for decoder in (Candidates, ExhaustiveScan, PrefixExtension)}
MOST_SHOWN = 50


def listed(survey: Survey, decoder: str | None, candidates: Path | None) -> bool:
    """Return whether a log is to be decoded to heavy hitters, not to a distribution."""
    if decoder is not None:
        return decoder in LOG_DECODERS
    prefixes = isinstance(survey.randomizer, PrefixHashing)
    return prefixes or candidates is not None or survey.randomizer.domain.size > LISTED


def show_heavy_hitters(
    survey: Survey,
    log: ReportLog,
    out: Output,
    *,
    decoder: str | None,
    settings: list[str],
    candidates: Path | None,
    state: Path | None,
    output: Path | None,
    level: float,
    inputs: list[Path],
) -> None:
    """Decode a log, write the result and show it.

    Parameters
    ----------
    survey : Survey
    log : ReportLog
    out : Output
    decoder : str or None
        A name of :data:`LOG_DECODERS`; by default that which the other options mean.
    settings : list of str
        Knobs.
    candidates, state, output : Path or None
    level : float
        Of the intervals.
    inputs : list of Path
        Files that no output may be.
    """
    prefixes = isinstance(survey.randomizer, PrefixHashing)
    scan_name = PrefixExtension.name if prefixes else ExhaustiveScan.name
    name = decoder or (Candidates.name if candidates is not None else scan_name)
    if (candidates is not None) != (name == Candidates.name):
        raise ArgumentError("--candidates names the file of --decoder candidates; give both")
    if state is not None:
        if name != ExhaustiveScan.name:
            raise ArgumentError("--state is for --decoder exhaustive-scan")
        check_output(state, inputs=[*inputs, *([output] if output else [])])
    survey.check(log)
    randomizer: Any = survey.randomizer
    channel = randomizer.prefix_channel if prefixes else randomizer.linear_channel
    if name == PrefixExtension.name:
        extension = make_with_knobs(PrefixExtension, typed={}, settings=settings)
        with out.listening():
            found = extension.decode(channel, log)
    elif name == Candidates.name:
        assert candidates is not None
        values = read_candidates(candidates, channel.domain)
        scorer = make_with_knobs(Candidates, values, typed={}, settings=settings)
        with out.listening():
            found = scorer.decode(channel, log)
    else:
        if decoder is None and channel.domain.size > SCANNED:
            raise ArgumentError(
                f"a scan of {channel.domain.size} values takes long; score a list (--candidates), "
                "or ask for it (--decoder exhaustive-scan)"
            )
        scan = make_with_knobs(ExhaustiveScan, typed={}, settings=settings)
        if prefixes:
            raise ArgumentError("a log of prefixes is not scanned; use --decoder prefix-extension")
        with out.listening(), out.progress("scan", tiles_of(channel)) as advance:
            shown = 0

            def step(done: int, tiles: int) -> None:
                nonlocal shown
                advance(done - shown)
                shown = done

            found = scan.decode(channel, log, progress=step, state=state)
    show_found(survey, found, out, output=output, level=level)


def show_found(
    survey: Survey, found: HeavyHitters, out: Output, *, output: Path | None, level: float
) -> None:
    """Write heavy hitters to a file, if there is one, and show them."""
    if output is not None:
        write_text(output, found.to_json() + "\n")
    document = {
        "command": "decode",
        "survey": survey.name,
        "fingerprint": survey.fingerprint,
        "output": None if output is None else str(output),
        **heavy_document(found, level=level),
    }
    rows = _facts(found) | ({} if output is None else {"written": str(output)})
    out.show(document, _table(survey.name, document, level), facts(rows))


def read_candidates(path: Path, domain: Any) -> list[Any]:
    """Return the values in a file, one on each line; whole numbers unless texts are hashed."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise FormatError(f"{path.name} must be UTF-8 text, one value on each line") from None
    values = [line.strip() for line in lines if line.strip()]
    if isinstance(domain, HashedTexts) or not isinstance(domain.labels, int):
        return values
    wrong = next((i for i, text in enumerate(values, 1) if not text.isdecimal()), None)
    if wrong is not None:
        raise FormatError(f"{path.name} must hold whole numbers, value {wrong} is none")
    return [int(text) for text in values]


def heavy_document(found: HeavyHitters, *, level: float) -> dict[str, Any]:
    """Return what heavy hitters say, as JSON values."""
    band = found.confidence_band(level)
    rows = zip(found.values, found.shares, band.low, band.high, strict=True)
    return {
        "reports": found.reports,
        "guarantee": found.guarantee.to_document() if found.guarantee else None,
        "made": found.made,
        "level": level,
        "band": {"kind": band.kind, "method": band.method},
        "threshold": found.threshold,
        "searched": found.searched,
        "expected_false": found.expected_false,
        "remainder": found.remainder,
        "heavy_hitters": [
            {"value": value, "share": float(share), "low": float(low), "high": float(high)}
            for value, share, low, high in rows
        ],
    }


def _facts(found: HeavyHitters) -> dict[str, str]:
    rows = {"reports": count_text(found.reports)}
    if found.guarantee:
        rows["promise of each"] = str(found.guarantee)
    rows["decoder"] = str(found.made.get("class", "unknown"))
    rows["values searched"] = count_text(found.searched)
    rows["listed from"] = percent(found.threshold)
    if found.expected_false is not None:
        rows["listed by chance"] = f"{found.expected_false:g} of them, expected"
    rows["everybody else"] = percent(found.remainder)
    rows["intervals"] = found.confidence_band().method
    return rows


def _table(name: str, document: dict[str, Any], level: float) -> Any:
    shown = document["heavy_hitters"][:MOST_SHOWN]
    body = [
        [
            "(missing)" if row["value"] is None else str(row["value"]),
            percent(row["share"]),
            f"{percent(row['low'])} to {percent(row['high'])}",
        ]
        for row in shown
    ]
    title = f"{name}: heavy hitters"
    if len(shown) < len(document["heavy_hitters"]):
        title += f", the {len(shown)} largest of {len(document['heavy_hitters'])}"
    return grid(title, ["value", "share", f"{100 * level:g} % interval"], body)
