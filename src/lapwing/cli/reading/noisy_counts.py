"""Noisy counts of another library in a CSV, for `lapwing release --counts`."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from lapwing.cli.option_groups import Rule, option
from lapwing.errors import ArgumentError, LapwingError
from lapwing.privacy.promise import Promise

if TYPE_CHECKING:
    from lapwing.survey.noisy_counts import StatedNoise
    from lapwing.survey.publication import Publication

GUARANTEE = ("neighbors", "epsilon", "delta", "mu", "rho")

RULES = (
    Rule(
        "counts",
        "takes only --noise, --noise-scale, --output and the privacy guarantee that its maker "
        "states",
        only=("noise", "noise_scale", *GUARANTEE),
    ),
    Rule("counts", "needs the noise of the counts", needs=("noise",)),
    Rule("counts", "needs the noise of the counts", needs=("noise_scale",)),
    Rule("noise", "applies only to --counts", needs=("counts",)),
    Rule("noise_scale", "applies only to --counts", needs=("counts",)),
)

_FLAGS = {
    "noise": "--noise",
    "scale": "--noise-scale",
    "counts": "--counts",
    "edges_or_labels": "--counts",
    "guarantee": "--epsilon with --neighbors",
}

_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?", re.ASCII)

_FORM = "must be a CSV with a header line and the columns label, count or low, high, count"


@dataclass(frozen=True, kw_only=True)
class CountsOptions:
    """The options of noisy counts that another library made."""

    counts: Path | None = option(
        "Instead of DATA: noisy counts from another library, as a CSV with the columns label, "
        "count or low, high, count. A row without a label or ends counts missing values.",
        "FILE",
    )
    noise: str | None = option(
        "With --counts: laplace, gaussian, discrete-laplace or discrete-gaussian.", "NAME"
    )
    noise_scale: str | None = option(
        "With --counts: the scale b of Laplace noise, or the standard deviation of Gaussian "
        "noise, in people.",
        "NUMBER",
    )

    def read(self, promise: Promise | None) -> Publication:
        """Return what a file holds, under the privacy guarantee that is stated for it."""
        from lapwing.survey.noisy_counts import read_counts  # reads decoders

        assert self.counts is not None
        named, counts = _table(self.counts)
        noise = cast("StatedNoise", self.noise)
        try:
            return read_counts(
                named, counts, noise=noise, scale=self.noise_scale, guarantee=promise
            )
        except LapwingError as error:
            said = error.worded(lambda argument: _FLAGS.get(argument, argument))
            raise ArgumentError(said) from None


def _table(path: Path) -> tuple[Any, list[float]]:
    """Return labels or a domain, and the counts. ArgumentError names the line that is wrong."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            rows = [row for row in csv.reader(stream) if row]
    except (csv.Error, UnicodeDecodeError):
        raise ArgumentError("--counts", f"{_FORM}, in UTF-8") from None
    even = len(rows) > 2 and len({len(row) for row in rows}) == 1
    if not even or len(rows[0]) not in (2, 3) or _NUMBER.fullmatch(rows[0][-1].strip()):
        raise ArgumentError("--counts", _FORM)
    rows = rows[1:]
    if not all(_NUMBER.fullmatch(row[-1].strip()) for row in rows):
        raise ArgumentError("--counts", "must have numbers in its last column")
    counts = [float(row[-1]) for row in rows]
    if len(rows[0]) == 2:
        return [row[0] or None for row in rows], counts
    ends = [row[:2] for row in rows if row[0] or row[1]]
    if not ends or any(one[1] != two[0] for one, two in pairwise(ends)):
        raise ArgumentError(
            "--counts", "must have adjacent bins: each low must equal the high before it"
        )
    missing = [count for row, count in zip(rows, counts, strict=True) if not (row[0] or row[1])]
    there = [count for row, count in zip(rows, counts, strict=True) if row[0] or row[1]]
    return _interval([ends[0][0], *(end[1] for end in ends)], bool(missing)), there + missing


def _interval(edges: list[str], missing: bool) -> Any:
    """Return the domain of bins with these edges: numbers, else dates."""
    from lapwing.protocol.domains.interval import Interval

    kept: Any = {"missing": "bin" if missing else "refuse"}
    try:
        return Interval(edges=[float(edge) for edge in edges], **kept)
    except ValueError as error:
        if isinstance(error, LapwingError):
            raise
    return Interval(edges=edges, unit="date", **kept)
