"""`lapwing collector`: surveys and tokens of a collector, and its database as files."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import asdict
from getpass import getpass
from pathlib import Path
from typing import Annotated

import typer

from lapwing.cli.console import Output, check_output, facts, grid, is_terminal, writing
from lapwing.cli.option_groups import argument, named
from lapwing.cli.reading.collector_store import StoreOptions
from lapwing.cli.reading.options import Force, OutputFile
from lapwing.cli.reading.stored import read_survey
from lapwing.client.collector_address import CollectorAddress
from lapwing.errors import ArgumentError, CollectorError, DomainError
from lapwing.results.rounding import count_text
from lapwing.survey.browser import why_not_in_browser
from lapwing.survey.survey import NOTICE, Survey

_CHUNK = 2**20

_TOKEN = "LAPWING_ADMIN_TOKEN"

Address = Annotated[
    str, argument("The collector's address, such as https://reports.example", "ADDRESS")
]

_HERE = "http://127.0.0.1:8080"


def add_survey(
    survey: Annotated[Path, argument("A survey file from `lapwing new`.", "SURVEY")],
    address: Address = _HERE,
    *,
    epoch: Annotated[
        str,
        typer.Option(
            "--epoch",
            metavar="NAME",
            help="The epoch to open, such as 2026-w48.",
            show_default=False,
        ),
    ],
    closes: Annotated[
        str | None,
        named(
            "--closes",
            "When the epoch closes, such as 2026-12-06T00:00:00Z. [default: manually]",
            "TIME",
        ),
    ] = None,
    minimum: Annotated[
        int | None,
        typer.Option(
            "--minimum",
            metavar="N",
            min=1,
            help="The number of reports that a result needs. [default: 1000]",
        ),
    ] = None,
    out: Output,
) -> None:
    """A survey at a running collector, with an open epoch.

    Publishes the survey and opens the epoch: both, or neither. If the survey already exists at the
    collector, it gets the new epoch. If its text for people would change, the old and the new text
    are shown, and the change needs a yes. The token of an admin comes from LAPWING_ADMIN_TOKEN,
    from the file that LAPWING_ADMIN_TOKEN_FILE names, or from a question on the terminal.
    """
    collector, document, token = _collector(address), read_survey(survey), _admin_token()
    _agree_to_text(collector, document, out)
    collector.add_survey(document, epoch=epoch, token=token, closes=closes, minimum=minimum)
    fingerprint, reason = document.fingerprint, why_not_in_browser(document)
    shown = {
        "survey": fingerprint,
        "epoch": epoch,
        "results": f"{collector.url}/surveys/{fingerprint}",
        "take_part": None if reason else f"{collector.url}/take-part/{fingerprint}",
    }
    rows = {key.replace("_", " "): value or "" for key, value in shown.items()}
    if reason:
        rows["take part"] = f"with your own app or page: {reason}"
    out.show({"command": "collector add-survey", **shown}, facts(rows))


def _agree_to_text(collector: CollectorAddress, survey: Survey, out: Output) -> None:
    """Show the text for people that the collector has and the new one, and ask."""
    try:
        former = collector.survey(survey.fingerprint).notice
    except (CollectorError, DomainError):
        return  # it shows nobody a text, or adding the survey says why it cannot be asked
    if survey.notice in ({}, former):
        return
    names = [name for name in NOTICE if former.get(name) != survey.notice.get(name)]
    rows = [[name, former.get(name, ""), survey.notice.get(name, "")] for name in names]
    table = grid("the text shown to people changes", ["text", "until now", "from now on"], rows)
    for column in table.columns:
        column.justify = "left"
    out.agree(table, "Replace the text?", "the text shown to people would change")


def tokens(address: Address = _HERE, *, out: Output) -> None:
    """The tokens of analysts and admins, with their last use.

    Shows the id, role, label and day of last use (UTC) of each, never the token itself. Revoke one
    with `lapwing collector revoke ID`. The token of an admin comes from LAPWING_ADMIN_TOKEN, from
    the file that LAPWING_ADMIN_TOKEN_FILE names, or from a question on the terminal.
    """
    rows = _collector(address).role_tokens(token=_admin_token())
    body = []
    for row in rows:
        origin = "the database" if row.revocable else "the settings"
        body.append([row.id, row.role, row.label, row.last_use or "never", origin])
    out.show(
        {"command": "collector tokens", "tokens": [asdict(row) for row in rows]},
        grid("tokens", ["id", "role", "label", "last use", "from"], body),
    )


def revoke(
    id: Annotated[
        str, argument("The token's id, 12 hex digits from `lapwing collector tokens`.", "ID")
    ],
    address: Address = _HERE,
    *,
    out: Output,
) -> None:
    """Revoke an analyst or admin token immediately.

    The last token of an admin is not revoked: make another one first, on the page of tokens or with
    `POST /v1/tokens`. If all admin tokens are lost, stop the collector, set LAPWING_ADMIN_TOKEN
    and start it again.
    """
    collector = _collector(address)
    collector.revoke(id, token=_admin_token())
    out.show({"command": "collector revoke", "revoked": id}, facts({"revoked": id}))


def _collector(address: str) -> CollectorAddress:
    """Return the address, with the authorities that the standard variable names."""
    return CollectorAddress(address, ca_file=os.environ.get("SSL_CERT_FILE") or None)


def _admin_token() -> str:
    """Return the token of an admin, which is never typed on a command line."""
    token, path = os.environ.get(_TOKEN), os.environ.get(f"{_TOKEN}_FILE")
    if token is None and path is not None:
        token = Path(path).read_text("utf-8")
    if token is None and is_terminal(sys.stdin):
        token = getpass("Admin token: ")
    if not token:
        raise ArgumentError(
            f"an admin's token is needed. Set {_TOKEN}, or {_TOKEN}_FILE to a file that holds it"
        )
    return token.strip()


def export(
    survey: Annotated[
        str,
        argument("The survey's fingerprint: all 64 hex digits, or the first few.", "FINGERPRINT"),
    ],
    output: OutputFile,
    force: Force = False,
    *,
    where: StoreOptions,
    out: Output,
) -> None:
    """Export a survey and all its reports to a file.

    The collector may keep running: the file is a snapshot. It holds reports and the ids of batches,
    and no token. `lapwing collector import` reads it.
    """
    check_output(output, inputs=[], force=force)
    with where.store(reading=True) as store:
        known = [each.fingerprint for each in store.surveys()]
        named = [each for each in known if each.startswith(survey)] if survey else []
        if len(named) != 1:
            raise ArgumentError(
                f"exactly one fingerprint must begin with {survey!r}, but {len(named)} do. Give "
                "more digits, or check them"
            )
        size = 0
        with writing(output, mode=0o600) as stream:  # as the database it comes from
            for chunk in store.export(named[0]):
                size += len(chunk)
                stream.write(chunk)
    document = {
        "command": "collector export",
        "survey": named[0],
        "bytes": size,
        "output": str(output),
    }
    out.show(document, facts({"survey": named[0], "written": str(output)}))


def import_(
    file: Annotated[Path, argument("A file that `lapwing collector export` wrote.", "FILE")],
    *,
    where: StoreOptions,
    out: Output,
) -> None:
    """Import a survey that another collector exported.

    Stop the collector first if its database is an SQLite file. A survey that already exists in the
    database is refused.
    """
    with file.open("rb") as stream:

        def chunks() -> Iterator[bytes]:
            while chunk := stream.read(_CHUNK):
                yield chunk

        with where.store(reading=False) as store:
            fingerprint = store.import_(chunks())
            epochs = len(store.epochs(fingerprint))
            reports = sum(total.reports for total in store.totals(fingerprint))
    document = {
        "command": "collector import",
        "survey": fingerprint,
        "epochs": epochs,
        "reports": reports,
    }
    out.show(
        document,
        facts(
            {"survey": fingerprint, "epochs": count_text(epochs), "reports": count_text(reports)}
        ),
    )


def backup(output: OutputFile, force: Force = False, *, where: StoreOptions, out: Output) -> None:
    """A copy of a collector's database, made while it runs.

    `lapwing serve` starts from the copy of an SQLite file. For PostgreSQL, use its own pg_dump.
    """
    settings, _ = where.settings()
    own = [] if "://" in settings.database else [Path(settings.database)]
    check_output(output, inputs=own, force=force)
    fresh = output.with_name(f".{output.name}.new")
    try:
        with where.store(reading=True) as store:
            store.backup(fresh)
        os.replace(fresh, output)
    finally:
        fresh.unlink(missing_ok=True)
    size = output.stat().st_size
    document = {"command": "collector backup", "bytes": size, "output": str(output)}
    out.show(document, facts({"bytes": count_text(size), "written": str(output)}))
