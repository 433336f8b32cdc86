"""`lapwing serve`: the collector."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from lapwing.cli.console import Output, write_json, write_stdout
from lapwing.cli.option_groups import named
from lapwing.cli.reading.collector_store import StoreOptions, needing_serve

if TYPE_CHECKING:
    from lapwing.service.serving import Ready


def serve(
    *,
    where: StoreOptions,
    config: Annotated[Path | None, named("--config", "A TOML file of settings.", "FILE")] = None,
    host: Annotated[
        str | None, named("--host", "The address to listen on. [default: 127.0.0.1]", "HOST")
    ] = None,
    port: Annotated[
        int | None,
        named("--port", "The port to listen on. 0 takes any free one. [default: 8080]", "N"),
    ] = None,
    out: Output,
) -> None:
    """The collector: reports over HTTP, and result pages.

    Ctrl-C or SIGTERM ends it, after it has stored everything that it accepted. Settings come from
    the file, then from variables such as LAPWING_PORT, then from the options. Later settings
    override earlier ones. Without an admin's token, the first start makes one and prints it once.
    The log is JSON lines on stderr.
    """
    settings, secrets = where.settings(config, host=host, port=port)
    with needing_serve():
        from lapwing.service.serving import serve as run

    def ready(said: Ready) -> None:
        if out.as_json:
            write_json({"command": "serve", **asdict(said)})
            return
        write_stdout(f"{said.address}\n")
        held = "new, no surveys" if said.new else f"{said.surveys} surveys"
        write_stdout(f"database: {said.database} ({held})\n")
        if said.admin_token is not None:
            write_stdout(f"admin token, shown this once: {said.admin_token}\n")

    run(settings, secrets, ready=ready)
