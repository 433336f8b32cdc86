"""`lapwing serve`: the collector."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lapwing.cli.console import Output, write_json, write_stdout
from lapwing.errors import MissingExtraError

if TYPE_CHECKING:
    from lapwing.service.serving import Ready


def serve(
    *,
    config: Annotated[
        Path | None,
        typer.Option("--config", metavar="FILE", help="A TOML file of settings."),
    ] = None,
    database: Annotated[
        str | None,
        typer.Option(
            "--database",
            metavar="WHERE",
            help="The path of an SQLite file, made when it is not there, or postgresql://... "
            "without a password. [default: lapwing.sqlite]",
        ),
    ] = None,
    host: Annotated[
        str | None,
        typer.Option("--host", metavar="HOST", help="Where to listen. [default: 127.0.0.1]"),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option("--port", metavar="N", help="0 takes any free port. [default: 8080]"),
    ] = None,
    out: Output,
) -> None:
    """Collect reports over HTTP, and show what they say.

    Ends by Ctrl-C or SIGTERM, after all that was accepted is stored. Settings come from the file,
    from variables such as LAPWING_PORT, and from the options, each before the one before it.
    Without a token of an admin, the first start makes one and prints it once.
    """
    try:
        from lapwing.service.serving import serve as run
        from lapwing.service.settings import read_settings
    except ModuleNotFoundError as error:
        raise MissingExtraError((error.name or "").partition(".")[0], extra="serve") from None

    given = {"database": database, "host": host, "port": port}
    settings, secrets = read_settings(path=config, given=given)

    def ready(said: Ready) -> None:
        if out.as_json:
            document = {"command": "serve", "address": said.address}
            write_json({**document, "admin_token": said.admin_token})
            return
        write_stdout(f"{said.address}\n")
        if said.admin_token is not None:
            write_stdout(
                f"admin token, shown this once: {said.admin_token}\n"
            )

    run(settings, secrets, ready=ready)
