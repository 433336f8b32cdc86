"""`lapwing tally --by`: a tally for each group, each in a file of its own."""

from __future__ import annotations

import re
from pathlib import Path

from lapwing.cli.console import Output, facts, grid
from lapwing.cli.outputs import check_output, tally_text, write_text
from lapwing.engines.arrow.report_count import ReportCount
from lapwing.engines.arrow.standard_input import shown
from lapwing.errors import ArgumentError, TallyError
from lapwing.protocol.messages.group_tallies import rest_name, split_groups
from lapwing.results.answer_text import count_text
from lapwing.survey.survey import Survey


def write_groups(
    survey: Survey,
    counted: ReportCount,
    output: Path,
    out: Output,
    *,
    by: str,
    minimum: int,
    inputs: list[Path],
    force: bool,
) -> None:
    """Write a tally for each group and show what was counted.

    Parameters
    ----------
    survey : Survey
    counted : ReportCount
        The reports of each group.
    output : Path
        ``tally.json`` stands for ``tally-LABEL.json``.
    out : Output
    by : str
        The column of labels.
    minimum : int
        Groups of fewer reports are counted together.
    inputs : list of Path
        Files that no output may be.
    force : bool
        Whether files that are there may be replaced.
    """
    kept, rest = split_groups(counted.groups, minimum=minimum)
    other = rest_name(kept)
    tallies = kept if rest is None else {**kept, other: rest}
    paths = _paths(output, list(tallies))
    for path in paths.values():
        check_output(path, inputs=inputs, force=force)
    for name, tally in tallies.items():
        write_text(paths[name], tally_text(tally))
    if rest is not None and rest.total < minimum:
        out.warn(f"segment {other!r} has {count_text(rest.total)} reports, fewer than {minimum}")
    document = {
        "command": "tally",
        "survey": survey.name,
        "fingerprint": survey.fingerprint,
        "by": by,
        "minimum": minimum,
        "labels": len(counted.groups),
        "reports": counted.total,
        "refused": counted.refused,
        "groups": [
            {"group": name, "reports": tally.total, "output": str(paths[name])}
            for name, tally in tallies.items()
        ],
    }
    body = [[name, count_text(tally.total), str(paths[name])] for name, tally in tallies.items()]
    number = f"{count_text(counted.total)} reports"
    below = {"labels": count_text(len(counted.groups)), "counted": number}
    table = grid(f"{survey.name}, by {by}", ["segment", "reports", "written"], body)
    out.show(document, table, facts(below))


def _paths(output: Path, names: list[str]) -> dict[str, Path]:
    """Return a file for each group; letters, digits, dots and dashes of the label stay."""
    paths = {}
    seen: dict[str, str] = {}
    for name in names:
        safe = re.sub(r"[^\w.-]+", "_", name)[:100]
        # Some file systems know no difference between upper and lower case.
        other = seen.setdefault(safe.casefold(), name)
        if other != name:
            raise ArgumentError(
                f"the segments {other!r} and {name!r} would be written to one file; rename one"
            )
        paths[name] = output.with_name(f"{output.stem}-{safe}{output.suffix}")
    return paths


def no_reports(paths: list[str]) -> TallyError:
    """Return the error that says that files hold no reports."""
    names = ", ".join(shown(Path(path)) for path in paths)
    return TallyError(f"there must be at least one report to count, there is none in {names}")
