"""A scan that takes long says so beforehand, and how long."""

from __future__ import annotations

import numpy as np
import pytest

import lapwing as lw
from lapwing.cli.commands.decode_command import WatchedScan
from lapwing.cli.console import Output
from lapwing.decoders.logs.exhaustive_scan import ExhaustiveScan
from lapwing.protocol.channels.channel import channel_for


class AskedError(Exception):
    """The scan was begun."""


@pytest.mark.parametrize(
    ("bits", "people", "says"),
    [(22, 1000, None), (32, 1000, "12 seconds"), (32, 200_000, "14 seconds")],
)
@pytest.mark.parametrize("hashed", [False, True])
def test_a_long_scan_is_told_of_before_it_begins(
    bits: int,
    people: int,
    says: str | None,
    hashed: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    domain = lw.HashedStrings(bits) if hashed else lw.Categories(2**bits)
    randomizer = lw.LinearHashing(domain, epsilon=2)
    values = ["word"] * people if hashed else np.zeros(people, dtype=np.int64)
    tally = randomizer.tally(randomizer.randomize(values, rng=lw.seeded(1)))
    channel = channel_for(randomizer, tally)
    said: list[str] = []

    def begun(*arguments: object, **options: object) -> None:
        said.append(capsys.readouterr().err)
        raise AskedError

    monkeypatch.setattr(ExhaustiveScan, "decode", begun)
    for quiet in (False, True):
        with pytest.raises(AskedError):
            WatchedScan(ExhaustiveScan(), Output(quiet=quiet), None).decode(channel, tally)
    loud, silent = said
    assert silent == ""
    if says is None:
        assert loud == ""
    else:
        assert (
            f"a scan of {2**bits:,} {'hashes' if hashed else 'values'} takes about" in loud
            and says in loud
        )
        assert "--resume" in loud and len(loud.splitlines()) == 1
        assert ("--candidates FILE" in loud) is hashed
