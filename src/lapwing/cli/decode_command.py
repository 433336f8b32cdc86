"""`lapwing decode`: from a tally to the distribution behind it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, cast

import typer

from lapwing.cli.answer import answer_document, answer_tables
from lapwing.cli.console import Output
from lapwing.cli.heavy_answer import LOG_DECODERS, listed, show_found, show_heavy_hitters
from lapwing.cli.knobs import make_with_knobs, pick
from lapwing.cli.options import AsJson, Level, Quiet, Settings, SurveyFile
from lapwing.cli.outputs import check_output, write_text
from lapwing.cli.stored import read_survey, read_tally
from lapwing.decoders.decoder import Decoder
from lapwing.distribution import Distribution
from lapwing.errors import ArgumentError
from lapwing.heavy_hitters import HeavyHitters
from lapwing.signed_estimate import SignedEstimate
from lapwing.survey import DECODERS
from lapwing.tally import ReportLog


def decode(
    survey_file: SurveyFile,
    tally_file: Annotated[
        Path, typer.Argument(metavar="TALLY", help="The tally (lapwing tally, lapwing merge).")
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where to write the distribution, for plot and distances; without it, it is "
            "only shown.",
        ),
    ] = None,
    decoder: Annotated[
        str | None,
        typer.Option(
            "--decoder",
            metavar="NAME",
            help=f"One of: {', '.join(DECODERS)}. Default: the one that suits the randomizer.",
        ),
    ] = None,
    smoothed: Annotated[
        bool | None,
        typer.Option(
            "--smoothed/--no-smoothed", help="expectation-maximization: smooth at each step."
        ),
    ] = None,
    simplex: Annotated[
        bool | None,
        typer.Option(
            "--simplex/--no-simplex",
            help="least-squares: the best distribution (default), or the unbiased estimate, "
            "which needs --projection.",
        ),
    ] = None,
    weighted: Annotated[
        bool | None,
        typer.Option(
            "--weighted/--no-weighted", help="least-squares: weights by variance (default) or none."
        ),
    ] = None,
    roughness: Annotated[
        float | None,
        typer.Option(
            "--roughness",
            metavar="NUMBER",
            help="penalized-likelihood: the price of a rough density.",
        ),
    ] = None,
    tolerance: Annotated[
        float | None, typer.Option("--tolerance", metavar="NUMBER", help="When an iteration stops.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", metavar="N", help="Most iterations.")
    ] = None,
    band: Annotated[
        bool | None,
        typer.Option(
            "--band/--no-band", help="expectation-maximization: whether to compute the band."
        ),
    ] = None,
    candidates: Annotated[
        Path | None,
        typer.Option(
            "--candidates",
            metavar="FILE",
            help="candidates: the values to score, one on each line, of linear hashing.",
        ),
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option(
            "--state",
            metavar="FILE",
            help="exhaustive-scan: where it keeps what is done, and goes on after a stop.",
        ),
    ] = None,
    settings: Settings = None,
    projection: Annotated[
        str | None,
        typer.Option(
            "--projection",
            metavar="NAME",
            help="What makes an unbiased estimate (with --no-simplex, or of tree-consistency) a "
            "distribution: simplex (the nearest one) or clip-and-normalise.",
        ),
    ] = None,
    level: Level = 0.95,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Estimate the distribution behind a tally.

    Shows quantiles or shares with intervals. The intervals cover the distribution of the
    people who reported. They belong to the tally, not to the decoder: a decoder that smooths
    may leave them, and the share of the curve inside says so.
    """
    out = Output(as_json, quiet)
    check_level(level)
    if output is not None:
        check_output(output, inputs=[survey_file, tally_file])
    survey = read_survey(survey_file)
    tally = read_tally(tally_file)
    typed = {
        "smoothed": smoothed,
        "simplex": simplex,
        "weighted": weighted,
        "roughness": roughness,
        "tolerance": tolerance,
        "limit": limit,
        "band": band,
    }
    if isinstance(tally, ReportLog) and listed(survey, decoder, candidates):
        given = [*(key for key, value in typed.items() if value is not None)]
        given += ["projection"] if projection is not None else []
        if given:
            raise ArgumentError(f"--{given[0]} is for decoders that return a distribution")
        show_heavy_hitters(
            survey,
            tally,
            out,
            decoder=decoder,
            settings=settings or [],
            candidates=candidates,
            state=state,
            output=output,
            level=level,
            inputs=[survey_file, tally_file],
        )
        return
    if candidates is not None or state is not None or decoder in LOG_DECODERS:
        raise ArgumentError(
            "--candidates, --state and their decoders are for the log of linear hashing"
        )
    chosen = _decoder(decoder, typed, settings or [])
    if projection is None and simplex is False:
        raise ArgumentError(_SIGNED)
    with out.listening():
        estimate = survey.decode(tally, decoder=chosen)
    if isinstance(estimate, HeavyHitters):
        if projection is not None:
            raise ArgumentError("--projection is for decoders that return a distribution")
        show_found(survey, estimate, out, output=output, level=level)
        return
    result = _distribution(estimate, projection)
    if output is not None:
        write_text(output, result.to_json() + "\n")
    document = {
        "command": "decode",
        "survey": survey.name,
        "fingerprint": survey.fingerprint,
        "output": None if output is None else str(output),
        **answer_document(result, level=level),
    }
    written = {} if output is None else {"written": str(output)}
    out.show(document, *answer_tables(survey.name, result, level=level, rest=written))


_SIGNED = (
    "the unbiased estimate may have negative masses and is no distribution; name what makes it "
    "one: --projection simplex or --projection clip-and-normalise"
)


def check_level(level: float) -> None:
    """Raise ArgumentError unless the level of an interval is between 0 and 1."""
    if not 0 < level < 1:
        raise ArgumentError(f"--level must be between 0 and 1, got {level}; for example 0.95")


def _decoder(name: str | None, typed: dict[str, Any], settings: list[str]) -> Decoder | None:
    if name is None:
        given = [f"--{knob}" for knob, value in typed.items() if value is not None]
        if given or settings:
            given += ["--set"]
            raise ArgumentError(f"{given[0]} belongs to a decoder; name it with --decoder")
        return None
    made = pick(DECODERS, name, what="the decoder")
    return cast(Decoder, make_with_knobs(made, typed=typed, settings=settings))


def _distribution(estimate: Distribution | SignedEstimate, projection: str | None) -> Distribution:
    if isinstance(estimate, SignedEstimate):
        if projection is None:
            raise ArgumentError(_SIGNED)
        # SignedEstimate checks the name.
        return estimate.project(cast(Any, projection))
    if projection is not None:
        raise ArgumentError(
            "--projection is for estimates that may be negative: those of --no-simplex only, and "
            "of tree-consistency without --set method=admm"
        )
    return estimate
