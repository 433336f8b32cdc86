"""What is sent to this machine itself goes through no proxy of the environment."""

from __future__ import annotations

import socket

import pytest

import lapwing as lw
from lapwing.client import CollectorAddress
from lapwing.errors import CollectorError


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"])
def test_a_token_goes_to_no_proxy(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    survey = lw.Survey("age", lw.SquareWave(lw.Interval(0, 100, bins=16), epsilon=1))
    with socket.create_server(("127.0.0.1", 0)) as proxy, socket.socket() as nobody:
        proxy.settimeout(0.2)
        monkeypatch.setenv(variable, f"http://127.0.0.1:{proxy.getsockname()[1]}")
        for name in ("NO_PROXY", "no_proxy"):
            monkeypatch.delenv(name, raising=False)
        nobody.bind(("127.0.0.1", 0))
        address = CollectorAddress(f"http://127.0.0.1:{nobody.getsockname()[1]}", seconds=1)
        with pytest.raises(CollectorError):
            address.add_survey(survey, epoch="e", token="lwa_" + "A" * 43)
        with pytest.raises(TimeoutError):
            proxy.accept()
