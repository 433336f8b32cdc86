"""What a collector is told, in which order, and what it does not believe."""

from __future__ import annotations

from pathlib import Path

import pytest

from lapwing.errors import ArgumentError, FormatError
from lapwing.service.settings import PREFIX, SECRETS, Settings, read_settings

TOKEN = "lwa_" + "x" * 43


def written(folder: Path, text: str) -> Path:
    path = folder / "collector.toml"
    path.write_text(text)
    return path


def test_without_anything_the_defaults_hold() -> None:
    settings, secrets = read_settings(environment={"HOME": "/", "LAPWING_REQUIRE_ALL": "1"})
    path = Path(Settings().database).expanduser()
    assert path.is_absolute() and settings == Settings(database=str(path))
    assert secrets.admin_token is None and secrets.analyst_token is None


def test_options_go_before_the_environment_and_that_before_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, 'port = 1\nhost = "a"\nretry_seconds = 9\n')
    environment = {"LAPWING_PORT": "2", "LAPWING_HOST": "b"}
    given = {"port": 3, "host": None}
    settings, _ = read_settings(path=path, environment=environment, given=given)
    assert (settings.port, settings.host, settings.retry_seconds) == (3, "b", 9)


def test_an_unknown_key_is_refused_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"'databse' \(did you mean database\?\)"):
        read_settings(path=written(tmp_path, 'databse = "x"'), environment={})
    with pytest.raises(ArgumentError, match=r"LAPWING_POTR.*did you mean LAPWING_PORT"):
        read_settings(environment={"LAPWING_POTR": "1"})
    with pytest.raises(FormatError, match=r"^collector.toml must be .* \(line 2, column 5\)$"):
        read_settings(path=written(tmp_path, "# mine\nport: 1"), environment={})
    with pytest.raises(ArgumentError, match=r"toml: port is not a valid setting: expected `int`"):
        read_settings(path=written(tmp_path, 'port = "x"'), environment={})
    with pytest.raises(ArgumentError, match="--port is not a valid setting: expected"):
        read_settings(environment={"LAPWING_PORT": "1"}, given={"port": -1})


@pytest.mark.parametrize("key", SECRETS)
def test_a_secret_comes_from_the_environment_or_a_file_of_its_own(tmp_path: Path, key: str) -> None:
    with pytest.raises(FormatError, match="must contain no secret") as caught:
        read_settings(path=written(tmp_path, f'{key} = "{TOKEN}"'), environment={})
    assert TOKEN not in str(caught.value)
    own = tmp_path / "token"
    own.write_text(TOKEN + "\n")
    _, by_file = read_settings(environment={f"{PREFIX}{key.upper()}_FILE": str(own)})
    _, by_name = read_settings(environment={PREFIX + key.upper(): TOKEN})
    assert getattr(by_file, key) == getattr(by_name, key) == TOKEN
    both = {PREFIX + key.upper(): TOKEN, f"{PREFIX}{key.upper()}_FILE": str(own)}
    with pytest.raises(ArgumentError, match="not in both"):
        read_settings(environment=both)


def test_a_password_is_not_taken_where_others_read_it(tmp_path: Path) -> None:
    address = "postgresql://me:hush@there/db"
    for how in (
        {"given": {"database": address}},
        {"path": written(tmp_path, f'database = "{address}"')},
    ):
        with pytest.raises(ArgumentError, match="no password") as caught:
            read_settings(environment={}, **how)  # type: ignore[arg-type]
        assert "hush" not in str(caught.value)
    settings, _ = read_settings(environment={"LAPWING_DATABASE": address})
    assert settings.database == address


@pytest.mark.parametrize(
    ("key", "value"),
    [("port", "65536"), ("port", "x"), ("body_seconds", "0"), ("decoders", "0")],
)
def test_a_value_out_of_its_range_names_its_key(key: str, value: str) -> None:
    with pytest.raises(ArgumentError, match=rf"{PREFIX}{key.upper()} is not a valid setting: "):
        read_settings(environment={PREFIX + key.upper(): value})
