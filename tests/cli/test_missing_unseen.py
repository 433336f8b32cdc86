"""Mechanisms that count missing values at the upper end do not say how many are missing."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import lapwing as lw
from lapwing.errors import ArgumentError
from lapwing.survey.publication import decode_release
from tests.cli.running import Program

SAID = "not known: counted at the upper end"

BLIND = {
    "matching-pursuit": ("--set", "dictionary=splines", "--set", "terms=8"),
    "polynomial-projection": (),
    "adaptive-quantiles": (),
}


@pytest.fixture(autouse=True)
def table(tmp_path: Path) -> None:
    days = np.round(np.random.default_rng(1).gamma(4, 8, 3000), 2).astype(str)
    days[:63] = ""
    (tmp_path / "h.csv").write_text("days,x\n" + "".join(f"{day},1\n" for day in days))
    domain = lw.Interval(0, 90, bins=45, outside="clip", missing="bin").to_document()
    document = {"format": "lapwing-domain", "version": 1, "domain": domain}
    (tmp_path / "clip.json").write_text(json.dumps(document))


@pytest.mark.parametrize("mechanism", [*BLIND, "prefix-sums"])
def test_the_missing_share_is_not_known_anywhere(
    mechanism: str, done: Program, tmp_path: Path
) -> None:
    promise = ("--epsilon", "1", "--delta", "1e-6", "--neighbors", "replace-one")
    given = ("release", "h.csv", "-c", "days", "--domain", "clip.json", "-o", "mp.json")
    more = BLIND.get(mechanism, ())
    screens = [done(*given, *promise, "--mechanism", mechanism, *more).out]
    screens += [done("answer", "mp.json", "--at-least", 50).out, done("show", "mp.json").out]
    document = done("answer", "mp.json", "--at-least", 50, "--json").document
    done("show", "mp.json", "--csv", "all.csv")
    cells = (tmp_path / "all.csv").read_text()
    result = decode_release(lw.Release.load(tmp_path / "mp.json"))
    loaded = lw.Distribution.from_document(json.loads(json.dumps(result.to_document())))
    if mechanism not in BLIND:
        assert 0.01 < result.share(None) < 0.03 and document["missing"]["share"] is not None
        assert SAID not in "".join(screens) + cells
        return
    for screen in screens:
        assert SAID in " ".join(screen.split())
        assert "of all people" not in screen and "of those present" not in screen
    assert document["missing"] == {"share": None, "low": None, "high": None, "reason": SAID}
    assert cells.splitlines()[-1].count(SAID) == 1
    for each in (result, loaded):
        for asked in (each.share, each.share_interval):
            with pytest.raises(ArgumentError, match=SAID):
                asked(None)
        assert SAID in str(each.summary())
        assert SAID in each._repr_html_()
        assert each.to_dict()["share"][-1] is None
        with pytest.raises(ArgumentError, match=SAID):
            each.difference(each, people="different").share(None)
