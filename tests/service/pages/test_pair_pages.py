"""The pages of surveys of two attributes: what is drawn is what the document says."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest

import lapwing as lw
from lapwing.service.pages.result_views import pair_asks
from tests.service.one_collector import Site
from tests.service.pages.test_pages_html import look
from tests.service.test_pair_results import DEVICES, of_devices
from tests.service.test_pair_surveys import PAIRS, fill, starts

BOTH_LABELS = lw.Product(a=lw.Categories(["yes", "no"]), b=lw.Categories(["<b>", "y"]))


def of_class(text: str, name: str) -> list[dict[str, float]]:
    """The numbers of the rectangles of a class, in hundredths of their drawing."""
    found = re.findall(rf'<rect class="{name}[^"]*"([^>]*)>', text)
    return [
        {key: float(value) for key, value in re.findall(r'([a-z-]+)="([\d.]+)%?"', attributes)}
        for attributes in found
    ]


async def test_a_map_has_its_marginals_quartiles_and_a_comparison(here: Site) -> None:
    path = await here.publish(PAIRS, epochs=("e", "f"), minimum=500)
    await fill(here, PAIRS, starts(20_000))
    slower = [(2 * ms, hour) for ms, hour in starts(20_000, seed=2)]
    await fill(here, PAIRS, slower, epoch="f")
    asked = "condition=hour&low=06:00&high=10:00"
    text = await look(here, f"/surveys/{PAIRS.fingerprint}?epoch=f&wait=1&{asked}")
    document = (await here.done("GET", f"{path}/pairs/f")).json()
    shares = np.array(document["map"]["shares"])
    blocks = of_class(text, "more")
    assert len(blocks) >= 20 and max(each["fill-opacity"] for each in blocks) == 1
    # Blocks are of equal area, so the darkest is that of the largest share.
    i, j = np.unravel_index(shares.argmax(), shares.shape)
    dark = max(blocks, key=lambda each: each["fill-opacity"])
    assert dark["x"] == pytest.approx(17 + 69 * i / shares.shape[0], abs=0.02)
    assert dark["y"] == pytest.approx(88 - 72 * (j + 1) / shares.shape[1], abs=0.02)
    bars = of_class(text, "fill")
    assert len(bars) == sum(shares.shape)
    heights = np.array([each["height"] for each in bars[: shares.shape[0]]])
    np.testing.assert_allclose(
        heights / heights.max(), shares.sum(axis=1) / shares.sum(axis=1).max(), atol=2e-3
    )
    median = next(row for row in document["quantiles"]["ms"] if row["probability"] == 0.5)
    lines = re.findall(r'<line class="median" x1="([\d.]+)%" x2="([\d.]+)%" y1="([\d.]+)%', text)
    assert float(lines[0][2]) == pytest.approx(88 - 72 * median["value"] / 5000, abs=0.02)
    assert "Quantile 0.5 of ms given hour at-least 06:00 below 10:00:" in text
    assert f"/v1/surveys/{PAIRS.fingerprint}/pairs/f.png" in text
    assert text.count("differences between conditions are underestimated") == 2
    assert "style=" not in text  # which the policy of the pages forbids
    both = await look(here, f"/surveys/{PAIRS.fingerprint}?epoch=f&against=epoch:e&wait=1")
    assert of_class(both, "less") and "f compared with e" in both
    assert "How much higher ms is in f" in both
    _, gap = both.split("data-difference>")
    shown = (await here.done("GET", f"{path}/pairs/f?against=e")).json()["map"]
    sure = (np.array(shown["low"]) > 0) | (np.array(shown["high"]) < 0)
    assert len(re.findall('class="(?:more|less) sure"', gap)) == sure.sum() > 0
    chart = re.compile(r'data-chart="difference".*?data-columns>(.*?)</script>', re.S)
    for name, found in zip(("ms", "hour"), chart.findall(gap), strict=True):
        columns = json.loads(found)["columns"]
        assert {"difference", "low", "simultaneous_high"} <= set(columns)
        assert f"{name} alone: CDF of f minus CDF of e" in gap
    odd = "condition=hour&low=six&high=10:00"
    text = await look(here, f"/surveys/{PAIRS.fingerprint}?epoch=f&wait=1&{odd}")
    assert 'role="alert"' in text and of_class(text, "more")
    assert "Axis hour: each end must be a time-of-day such as 09:30." in text
    assert "or equals the label" not in text
    asked = "condition=ms&low=4900&high=5000"
    text = await look(here, f"/surveys/{PAIRS.fingerprint}?epoch=f&wait=1&{asked}")
    assert "Mean of hour given ms above 4900 at-most 5000: no point. " in text
    assert "(interval -)" not in text


async def test_labels_are_small_multiples_and_two_of_them_a_table(here: Site) -> None:
    both = lw.Survey("both", lw.recommend(BOTH_LABELS, epsilon=2, users=3000).randomizer)
    await here.publish(DEVICES, minimum=500)
    await fill(here, DEVICES, of_devices(20_000))
    text = await look(here, f"/surveys/{DEVICES.fingerprint}?wait=1")
    assert "or equals the label" in text
    assert text.count('<path class="line"') == 2  # that of few people has none
    assert "Not shown: fewer than 2% of the people" in text
    await here.publish(both, minimum=500)
    await fill(here, both, [("yes", "<b>")] * 2000 + [("no", "y")] * 1000)
    text = await look(here, f"/surveys/{both.fingerprint}?wait=1")
    assert len(of_class(text, "more")) >= 2 and "<b>" not in text and "&lt;b&gt;" in text


def test_a_form_asks_in_the_words_of_the_bins() -> None:
    axes: dict[str, Any] = {
        "ms": lw.Interval(0, 10, bins=5, closed="right"),
        "kind": lw.Categories(["a", "b"]),
    }
    domain = lw.Product(**axes)
    assert pair_asks(domain, "ms", "2", "") == (
        "share ms above 2", "share label a of kind given ms above 2",
        "share label b of kind given ms above 2",
    )  # fmt: skip
    assert pair_asks(domain, "kind", "a", "")[1] == (
        "quantile 0.25 0.5 0.75 of ms given kind label a"
    )
    assert pair_asks(domain, "", "2", "3") == pair_asks(domain, "ms", "", "") == ()
