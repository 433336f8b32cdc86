"""`lapwing merge`: add tallies."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lapwing.cli.console import Output, facts
from lapwing.cli.group_tallies import tally_text
from lapwing.cli.merged_releases import is_release, merge_releases
from lapwing.cli.options import AsJson, OutputFile, Quiet
from lapwing.cli.outputs import check_output, write_text
from lapwing.cli.stored import read_tally
from lapwing.cli.tally_command import check_distinct
from lapwing.cli.wording import count_text
from lapwing.errors import MismatchError


def merge(
    tallies: Annotated[
        list[Path], typer.Argument(metavar="TALLIES", help="Tallies of one survey, or releases.")
    ],
    output: OutputFile,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Add tallies of one survey into one, or releases of different people.

    Exact, in any order. Tallies of different surveys are refused, also when their randomizers
    agree. Releases (lapwing release) of sites or rounds add when their mechanism and domain are
    the same; nobody may be behind two of them.
    """
    out = Output(as_json, quiet)
    check_output(output, inputs=tallies)
    check_distinct(tallies)
    if all(is_release(path) for path in tallies):
        merge_releases(tallies, output, out)
        return
    counted = []
    total = None
    for path in tallies:
        part = read_tally(path)
        counted.append({"file": str(path), "reports": part.total})
        try:
            total = part if total is None else total + part
        except MismatchError as error:
            raise MismatchError(
                f"{path.name} does not go with {tallies[0].name}: {error}"
            ) from None
    assert total is not None  # the parser wants at least one file
    write_text(output, tally_text(total))
    document = {
        "command": "merge",
        "reports": total.total,
        "files": counted,
        "output": str(output),
    }
    rows = {
        str(entry["file"]): f"{count_text(int(str(entry['reports'])))} reports" for entry in counted
    }
    rows |= {"merged": f"{count_text(total.total)} reports", "written": str(output)}
    out.show(document, facts(rows))
