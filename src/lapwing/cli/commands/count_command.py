"""`lapwing count`: a site's raw values, counted for a release later."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from lapwing.cli.console import Output, check_distinct, check_output, facts
from lapwing.cli.option_groups import argument
from lapwing.cli.reading.column_options import is_summary, summary_of
from lapwing.cli.reading.domain_options import CuratorDomainOptions
from lapwing.cli.reading.options import AllowEqual, ColumnName, Force, LongJobOptions, OutputFile
from lapwing.engines.arrow.dataset_tables import every_file
from lapwing.engines.arrow.report_folder import finished
from lapwing.errors import ArgumentError
from lapwing.planning.chosen_bins import BINS_FOR_ATOMS
from lapwing.planning.release_defaults import BINS_OF_A_SEGMENT
from lapwing.protocol.domains.domain_text import domain_text
from lapwing.protocol.messages.exact_counts import ExactCounts


def count(
    data: Annotated[
        list[Path],
        argument(
            "Tables (.parquet, .arrow or .csv) or folders of them, or exact counts to add. "
            "- is standard input (CSV).",
            "DATA",
        ),
    ],
    output: OutputFile,
    force: Force = False,
    allow_equal: AllowEqual = None,
    column: ColumnName = None,
    *,
    asked: CuratorDomainOptions,
    work: LongJobOptions,
    out: Output,
) -> None:
    """Exact counts of raw values, in a secret file.

    The file is as secret as the data. Only its owner may read it, and it holds one count for each
    bin, however many rows there are. Counts of one domain can be added.
    """
    unit = asked.whose()
    files = every_file(data)
    check_output(output, inputs=files, force=force)
    check_distinct(files, what="people", allow_equal=allow_equal)
    threads, progress = work.workers(), work.progress(output)
    stored = [is_summary(path) for path in files]
    if all(stored):
        parts = [ExactCounts.load(path) for path in files]
        if unit is not None:
            raise ArgumentError("exact counts already have a unit. Leave out --unit and --most")
        total = sum(parts[1:], start=parts[0])
        note = ""
    elif any(stored):
        raise ArgumentError("give tables or exact counts, not both. Count the tables first")
    else:
        # Epsilon is not known here. More bins cost little, and keep values apart that many hold.
        # By segment they cost much with pure epsilon.
        bins = BINS_FOR_ATOMS if asked.by is None else BINS_OF_A_SEGMENT
        domain, note = asked.curated(bins=bins)
        total = summary_of(
            data, column, domain, out, asked=asked, threads=threads, progress=progress
        )
    total.save(output)
    if progress is not None:
        finished(progress)
    document: dict[str, Any] = {"command": "count", "files": len(files), "output": str(output)}
    rows = {"domain": domain_text(total.domain), "files": str(len(files)), "written": str(output)}
    if total.unit is not None:
        document["unit"] = total.unit.to_document()
        rows["unit"] = str(total.unit)
    if note:
        document["note"] = rows["bins"] = note
    out.show(document, facts(rows | {"secret": "as secret as the data"}))
