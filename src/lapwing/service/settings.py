"""Settings of a collector: a TOML file, then the environment, then the command line.

Unknown keys are refused with the nearest known one. Tokens and passwords come from the environment
or a file of their own. They are never in this file or on the command line, where other users of the
machine could read them.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta, Struct

from lapwing.documents import nearest, quoted
from lapwing.errors import ArgumentError, FormatError

PREFIX = "LAPWING_"

OTHERS = frozenset({"LAPWING_DATA", "LAPWING_MUTATION", "LAPWING_REQUIRE_ALL"})
"""Variables of this prefix that are not the collector's: the repository's own tests read them."""

SECRETS = ("admin_token", "analyst_token", "monitor_token")
"""What only the environment may hold. ``admin_token_file`` and its like name a file with it."""

DATABASE = "~/.local/share/lapwing/collector.sqlite"
"""The usual database: one for all folders, so that no collector starts again with an empty one."""

LARGEST_BODY = 2**24 + 2**12
"""Bytes of the largest packed batch, with its header."""

Seconds = Annotated[float, Meta(gt=0, le=86_400)]


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All settings of a collector, with their defaults.

    Parameters
    ----------
    database : str
        Path of an SQLite file, or ``postgresql://...``. The folder of the default is created.
    host : str
        The address to listen on.
    port : int
        The port to listen on. With 0, any free port is used and printed.
    admin_token_file, analyst_token_file, monitor_token_file : str, optional
        A file that contains only the token of the role.
    largest_body : int
        Size of the largest request body, in bytes. It must be the same for all collectors of a
        database.
    body_seconds : float
        How long a request body may take to arrive, from its first byte to its last.
    receiving_bytes : int
        Total size of the request bodies that may be received at once, in bytes. Further requests
        are told to retry later.
    waiting_uploads : int
        How many uploads may wait for the disk. Further ones are told to retry later.
    connections : int
        How many connections are served at once. Near this limit, the connections that have waited
        longest for a request are closed.
    retry_seconds : int
        How long a busy collector asks a device to wait.
    decoders : int
        Number of processes that decode, in addition to the one that receives.
    decode_seconds : float
        How long a decode may take before its process is ended. The survey is then not decoded
        again for the same time.
    kept_results : int
        Number of decoded results that are kept.
    stop_seconds : float
        When the collector stops, how long it waits for requests that it has begun to read.
    secure_cookies : bool
        Whether the pages' cookie is for HTTPS only. Set it to true behind a proxy that terminates
        TLS.
    open_counters : bool
        Whether everybody who reaches the port may read without a token what ``/metrics`` shows an
        analyst.
    """

    database: str = DATABASE
    host: str = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65_535)] = 8080
    admin_token_file: str | None = None
    analyst_token_file: str | None = None
    monitor_token_file: str | None = None
    largest_body: Annotated[int, Meta(ge=2**10, le=2**30)] = LARGEST_BODY
    body_seconds: Seconds = 30.0
    receiving_bytes: Annotated[int, Meta(ge=2**10)] = 2**26
    waiting_uploads: Annotated[int, Meta(ge=1, le=10**6)] = 4096
    connections: Annotated[int, Meta(ge=1, le=10**6)] = 2048
    retry_seconds: Annotated[int, Meta(ge=1, le=3600)] = 5
    decoders: Annotated[int, Meta(ge=1, le=64)] = 1
    decode_seconds: Seconds = 300.0
    kept_results: Annotated[int, Meta(ge=1, le=10**5)] = 64
    stop_seconds: Seconds = 20.0
    secure_cookies: bool = False
    open_counters: bool = False


class Secrets(Struct, frozen=True, kw_only=True):
    """The tokens that were given from outside.

    Parameters
    ----------
    admin_token, analyst_token, monitor_token : str, optional
        None where none was given.
    """

    admin_token: str | None = None
    analyst_token: str | None = None
    monitor_token: str | None = None


def read_settings(
    *,
    path: Path | None = None,
    environment: Mapping[str, str] | None = None,
    given: Mapping[str, Any] | None = None,
) -> tuple[Settings, Secrets]:
    """Return the settings of a collector and the tokens it was given.

    path: A TOML file.
    environment: Default: the process's own. ``LAPWING_PORT`` is the key ``port``.
    given: Of the command line, which goes before all others. None in it says nothing.

    Raises FormatError when the file is no TOML, has an unknown key or a secret.
    Raises ArgumentError when a value is not legal, or a variable of the environment is unknown.
    Raises OSError when a file cannot be read.
    """
    environment = os.environ if environment is None else environment
    chosen: dict[str, Any] = {} if path is None else _from_file(path)
    by_variable, secrets = _from_environment(environment)
    typed = {key: value for key, value in (given or {}).items() if value is not None}
    for source in (chosen, typed):
        _refuse_password(source.get("database"))
    merged = {**chosen, **by_variable, **typed}
    try:
        settings = msgspec.convert(merged, Settings, strict=False)
    except msgspec.ValidationError as error:
        key, reason = _said(str(error))
        origin = f"{path.name}: {key}" if path is not None and key in chosen else key
        if key in typed:
            origin = f"--{key}"
        elif key in by_variable:
            origin = f"{PREFIX}{key.upper()}"
        raise ArgumentError(f"{origin} is not a valid setting: {reason}") from None
    if "://" not in settings.database:
        path = Path(settings.database).expanduser().absolute()
        settings = msgspec.structs.replace(settings, database=str(path))
    return settings, _read_secrets(settings, secrets)


def _from_file(path: Path) -> dict[str, Any]:
    try:
        found = tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        # Only the place: its content may be a secret in the wrong file.
        place = re.search(r"line \d+, column \d+", str(error))
        raise FormatError(
            f"{path.name} must be a TOML file of settings. It is not"
            + (f" ({place[0]})" if place else "")
        ) from None
    known = Settings.__struct_fields__
    for key in found:
        if key in SECRETS:
            raise FormatError(
                f"{path.name} must contain no secret, but it has {key}. Set "
                f"{PREFIX}{key.upper()}, or put the token into a separate file and name that "
                f"file as {key}_file"
            )
        if key not in known:
            raise FormatError(
                f"{path.name} has the unknown key {quoted(key)}{nearest(key, known)}. Known: "
                f"{', '.join(known)}"
            )
    return found


def _from_environment(environment: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
    known = (*Settings.__struct_fields__, *SECRETS)
    found: dict[str, Any] = {}
    secrets: dict[str, str] = {}
    for name, value in environment.items():
        if not name.startswith(PREFIX) or name in OTHERS:
            continue
        key = name.removeprefix(PREFIX).lower()
        if key not in known or name != name.upper():
            names = [PREFIX + each.upper() for each in known]
            raise ArgumentError(
                f"the environment has the unknown variable "
                f"{quoted(name)}{nearest(name, names)}. Remove it, or correct its name"
            )
        (secrets if key in SECRETS else found)[key] = value
    return found, secrets


def _read_secrets(settings: Settings, secrets: Mapping[str, str]) -> Secrets:
    found: dict[str, str | None] = {}
    for key in SECRETS:
        name = getattr(settings, f"{key}_file")
        if name is not None and key in secrets:
            raise ArgumentError(f"give {key} in the environment or in a file, not in both")
        # A file made by an editor, or by `echo`, ends in a newline.
        found[key] = secrets.get(key) if name is None else Path(name).read_text("utf-8").strip()
    return Secrets(**found)


def _refuse_password(database: Any) -> None:
    if not isinstance(database, str) or "://" not in database:
        return
    try:
        password = urlsplit(database).password
    except ValueError:
        return  # whoever opens it says what is wrong
    if password:
        raise ArgumentError(
            "the address of a database must contain no password, because others could read it. "
            f"Set {PREFIX}DATABASE, PGPASSWORD, or use a password file (PGPASSFILE)"
        )


def _said(message: str) -> tuple[str, str]:
    """Return the key that msgspec's sentence is about, and the sentence without its capital."""
    text, _, place = message.partition(" - at ")
    return place.strip("`").removeprefix("$."), f"{text[:1].lower()}{text[1:]}"
