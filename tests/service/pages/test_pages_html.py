"""The pages as HTML: what they say and escape, and what they keep from whoever may not look."""

from __future__ import annotations

import re
import threading
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import numpy as np
import pytest

import lapwing as lw
from lapwing.protocol.messages.batch import Batch
from lapwing.results.rounding import interval_text, number_text, number_writer, percent
from lapwing.service.pages.page_answers import rendered
from lapwing.service.pages.plain_words import learned_at_most
from lapwing.service.security import COOKIE
from lapwing.service.settings import Settings
from tests.service.one_collector import ADMIN, ANALYST, Site, batch_of, labels_survey, site

NASTY = "<script>alert(1)</script>\"' & co"
NUMBERS = lw.Survey(NASTY, lw.SquareWave(lw.Interval(0, 80, bins=32, atoms=[0]), epsilon=3))
LABELS = lw.Survey(
    "birds",
    lw.RandomizedResponse(lw.Categories([NASTY, "snipe", "curlew"]), 3),
    segments=[f"north {NASTY}", "south"],
    segment_minimum=50,
)
TEXTS = lw.Survey("words", lw.LinearHashing(lw.Categories(2**20), 3))
VALUES = np.random.default_rng(5).normal(38, 8, 3000).clip(0, 80)


class Elements(HTMLParser):
    """All elements of a page, with their attributes and what is open around them."""

    VOID = frozenset({"meta", "link", "img", "input", "br", "hr", "rect", "line", "path"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)
        assert self.open == [], "every element ends"

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        # The ends of these may be left out.
        while self.open and self.open[-1] in {"option", "p"} and self.open[-1] != tag:
            self.open.pop()
        assert self.open and self.open.pop() == tag, tag

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]


ARIA = {
    "aria-atomic", "aria-busy", "aria-current", "aria-describedby", "aria-expanded", "aria-hidden",
    "aria-invalid", "aria-label", "aria-labelledby", "aria-live", "aria-pressed",
}  # fmt: skip
"""Attributes of WAI-ARIA 1.2 that pages use; a browser ignores one that it does not know."""


def check_page(answer: httpx.Response) -> Elements:
    """What holds of every page."""
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'self';") and "unsafe" not in policy
    assert answer.headers["cache-control"] == "no-store"
    assert "<script>alert" not in answer.text
    elements = Elements(answer.text)
    for tag, attributes in elements.found:
        assert not any(name.startswith("on") or name == "style" for name in attributes), tag
        if tag == "script":  # nothing inline may run
            assert "src" in attributes or attributes["type"] == "application/json"
        if tag == "img":
            assert "alt" in attributes
        for name in ("src", "href", "action"):
            assert (attributes.get(name) or "/")[0] in "/#", "nothing comes from elsewhere"
    assert elements.all("html")[0]["lang"] == "en"
    labeled = {label["for"] for label in elements.all("label")}
    for tag in ("input", "select"):
        for field in elements.all(tag):
            if field.get("type") != "hidden" and "hidden" not in field:
                assert field["id"] in labeled
    heights = [int(tag[1]) for tag, _ in elements.found if re.fullmatch("h[1-6]", tag)]
    assert heights[0] == 1 and heights.count(1) == 1
    assert all(below - above <= 1 for above, below in pairwise(heights))
    ids = [attributes["id"] for _, attributes in elements.found if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in elements.found:
        assert {name for name in attributes if name.startswith("aria-")} <= ARIA
        for name in ("aria-labelledby", "aria-describedby"):
            assert name not in attributes or attributes[name] in ids
    return elements


async def look(here: Site, path: str, *, token: str | None = ANALYST, status: int = 200) -> str:
    """The text of a page, seen by who has a cookie."""
    headers = {} if token is None else {"cookie": f"{COOKIE}={token}"}
    answer = await here.ask("GET", path, token=None, headers=headers)
    assert answer.status_code == status, answer.text
    check_page(answer)
    return answer.text


async def fill(
    here: Site, survey: lw.Survey, values: Any, *, epoch: str = "e", **more: Any
) -> None:
    batch = Batch.of(survey.randomize(values), survey=survey.fingerprint, **more)
    assert (await here.send(batch, epoch=epoch)).status_code == 201


def page_of(survey: lw.Survey, **query: str) -> str:
    return f"/surveys/{survey.fingerprint}?{urlencode({'wait': '1', **query})}"


async def test_only_analysts_see_pages_and_they_come_back_to_where_they_were(here: Site) -> None:
    await here.publish(NUMBERS)
    inner = f"/surveys/{NUMBERS.fingerprint}"
    for path in ("/", inner, f"{inner}?level=0.9", f"{inner}/alarm?epoch=e"):
        answer = await here.ask("GET", path, token=None)
        assert answer.status_code == 303 and NASTY not in answer.text
        where = answer.headers["location"]
        form = await look(here, where, token=None)
        (to,) = (field["value"] for field in Elements(form).all("input") if field["name"] == "to")
        assert to == path
    part = await here.ask("GET", f"{inner}/result", token=None)
    assert part.status_code == 401
    check_page(part)


@pytest.mark.parametrize("secure", [False, True])
async def test_a_token_becomes_a_cookie_that_no_script_reads(tmp_path: Path, secure: bool) -> None:
    async with site(tmp_path, settings=Settings(secure_cookies=secure)) as here:
        sent = await here.ask(
            "POST", "/sign-in", token=None, data={"token": f" {ANALYST}\n", "to": "/surveys/x"}
        )
        assert (sent.status_code, sent.headers["location"]) == (303, "/surveys/x")
        cookie = sent.headers["set-cookie"]
        assert cookie.startswith(f"{COOKIE}={ANALYST};")
        assert "HttpOnly" in cookie and "SameSite=strict" in cookie
        assert ("Secure" in cookie) == secure
        here.client.cookies.clear()
        await look(here, "/")
        left = await here.ask("POST", "/sign-out", token=None)
        assert left.status_code == 303 and "Max-Age=0" in left.headers["set-cookie"]


async def test_a_wrong_token_is_a_sentence_and_no_cookie(here: Site) -> None:
    for token in ("", "x", "lwa_" + "C" * 43, ADMIN + "A", "\x00é", "x" * 3000):
        sent = await here.ask("POST", "/sign-in", token=None, data={"token": token})
        assert sent.status_code == 401 and "set-cookie" not in sent.headers
        check_page(sent)
        assert "does not know that token" in sent.text
        assert len(token) < 2 or token not in sent.text
    long = await here.ask("POST", "/sign-in", token=None, data={"token": "x" * 5000})
    assert long.status_code == 413


@pytest.mark.parametrize(
    "to",
    ["//elsewhere.example", "https://elsewhere.example", "/\\elsewhere", "/\nx", "", "/sign-in"],
)
async def test_signing_in_leads_to_no_other_site(here: Site, to: str) -> None:
    sent = await here.ask("POST", "/sign-in", token=None, data={"token": ADMIN, "to": to})
    assert (sent.status_code, sent.headers["location"]) == (303, "/")
    other = await here.ask(
        "POST",
        "/sign-in",
        token=None,
        data={"token": ADMIN},
        headers={"sec-fetch-site": "cross-site"},
    )
    assert other.status_code == 403 and "set-cookie" not in other.headers


async def test_the_overview_says_what_is_asked_and_promised(here: Site) -> None:
    assert "no surveys yet" in await look(here, "/")
    for survey in (NUMBERS, LABELS, TEXTS):
        await here.publish(survey)
    text = await look(here, "/")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    for words in (
        "a number from 0 to 80, in 32 bins and single values for 0",
        "one of 3 choices",
        "one of 1,048,576 choices",
        "epsilon = 3",
        "at most 20.1 times as likely",
    ):
        assert words in text
    for survey in (NUMBERS, LABELS, TEXTS):
        assert f'href="/surveys/{survey.fingerprint}"' in text


async def test_a_page_of_numbers_has_all_that_the_result_says(here: Site) -> None:
    path = await here.publish(NUMBERS, epochs=("e", "f"), minimum=1000)
    await fill(here, NUMBERS, VALUES)
    await fill(here, NUMBERS, (VALUES + 5).clip(0, 80), epoch="f")
    wanted = {"epoch": "e", "against": "epoch:f", "low": "30", "high": "40"}
    text = await look(here, page_of(NUMBERS, **wanted, error="0.001", level="0.9"))
    said = await here.done("GET", f"{path}/results/e?level=0.9&low=30&high=40")
    document = said.json()
    write = number_writer(document["unit"])
    for each in document["quantiles"]:
        value, interval = number_text(each, write), interval_text(each, write)
        assert f"{value}</td><td>{interval}" in text
    (part,) = document["questions"]
    assert f"above 30, at most 40: {number_text(part, percent, name='share')}" in text
    assert "pointwise 90% credible intervals, about the people in the data" in text
    for words in (
        "They differ",
        "3,000 people reported",
        "Single values",
        "detected" if any(not each["declared"] for each in document["atoms"]) else "declared",
        "An error of 0.001 needs",
    ):
        assert words in text
    assert text.count('type="application/json"') == 2
    links = [str(link["href"]) for link in Elements(text).all("a")]
    files = [link for link in links if link.startswith("/v1/")]
    assert len(files) == 8
    for file in files:
        assert (await here.done("GET", file)).content


async def test_a_page_of_labels_escapes_them_and_compares_segments(here: Site) -> None:
    await here.publish(LABELS)
    for number in (0, 1, 2):
        await fill(here, LABELS, [NASTY, "snipe", "snipe"] * 100, segment=number)
    first = LABELS.segments[0]
    text = await look(here, page_of(LABELS, segment=first, against="segment:south"))
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "compared with south" in text and "from different people" in text
    assert text.count('class="whisker"') >= 6
    odd = await look(here, page_of(LABELS, segment="nowhere"))
    assert "no such segment" in odd
    ranged = await look(here, page_of(LABELS, low="3"))
    assert "Shares of the choices" in ranged


async def test_fewer_than_the_minimum_show_nothing(here: Site) -> None:
    await here.publish(NUMBERS, minimum=1000)
    await fill(here, NUMBERS, VALUES[:873])
    text = await look(here, page_of(NUMBERS))
    assert "Results need at least 1,000 reports" in text
    assert "fewer than 1,000" in text and not re.search(r"\b873\b", text)
    assert "application/json" not in text and "Quantiles" not in text
    await look(here, f"/surveys/{NUMBERS.fingerprint}/alarm?epoch=e", status=403)


async def test_what_is_unknown_or_unreadable_is_a_page_that_says_so(here: Site) -> None:
    await here.publish(NUMBERS)
    await fill(here, NUMBERS, VALUES)
    inner = f"/surveys/{NUMBERS.fingerprint}"
    for path, status in (
        ("/surveys/nothing", 404),
        (f"/take-part/{'0' * 64}", 404),
        (f"{inner}?unknown=1", 400),
        (f"{inner}?level=7", 400),
        (f"{inner}?level=nan", 400),
        (f"{inner}?low={'9' * 101}", 400),
        (f"{inner}/alarm?epoch=none", 404),
    ):
        text = await look(here, path, status=status)
        assert "All surveys" in text
    for query, words in (
        ({"epoch": "none"}, "no epoch with this name"),
        ({"epoch": "<b>"}, "no epoch with this name"),
        ({"low": "a"}, "must be a number"),
        ({"low": "50", "high": "40"}, "alert"),
        ({"low": "nan"}, "alert"),
        ({"error": "many"}, "must be a number between 0 and 1"),
        ({"error": "1e-12"}, "alert"),
        ({"against": "epoch:none"}, "No comparison"),
        ({"against": "epoch:e"}, "No comparison"),
        ({"against": "segment:south"}, "No comparison"),
    ):
        assert words in await look(here, page_of(NUMBERS, **query)), query


async def test_a_survey_without_epochs_or_published_yet_has_a_page(here: Site) -> None:
    body = {"survey": NUMBERS.to_document()}
    await here.done("PUT", f"/v1/surveys/{NUMBERS.fingerprint}", json=body)
    assert "no epoch yet" in await look(here, page_of(NUMBERS))
    await look(here, f"/take-part/{NUMBERS.fingerprint}", token=None, status=404)
    result = await look(here, f"/surveys/{NUMBERS.fingerprint}/result", status=400)
    assert "no epoch yet" in result


async def test_a_log_has_frequent_values_and_says_why_forgery_is_not_looked_for(here: Site) -> None:
    await here.publish(TEXTS)
    await fill(here, TEXTS, [7] * 2000)
    text = await look(here, page_of(TEXTS))
    assert '<th scope="row">7</th>' in text
    alarm = await look(here, f"/surveys/{TEXTS.fingerprint}/alarm?epoch=e")
    assert "Not checked" in alarm and "hashed values" in alarm


async def test_the_alarm_sounds_at_copies_and_not_at_honest_reports(here: Site) -> None:
    survey = labels_survey()
    await here.publish(NUMBERS)
    await fill(here, NUMBERS, VALUES)
    honest = f"/surveys/{NUMBERS.fingerprint}/alarm?epoch=e"
    # 3000 honest people reach the alarm's 1e-4 by a bound, far below it by far.
    assert "Honest devices explain these counts" in await look(here, honest)
    one = Batch.of(NUMBERS.randomize([40.0]), survey=NUMBERS.fingerprint).records
    copied = Batch(NUMBERS.fingerprint, 0, one * 2000, 2000)
    assert (await here.send(copied)).status_code == 201
    assert "Reports were fabricated" in await look(here, honest)
    await here.publish(survey)
    assert (await here.send(batch_of(survey, *[1] * 50))).status_code == 201
    part = f"/surveys/{survey.fingerprint}/alarm?epoch=e&part=1"
    answer = await here.ask("GET", part, token=ANALYST)
    assert answer.status_code == 200 and "<html" not in answer.text


async def test_a_slow_decode_shows_a_page_that_waits(here: Site, monkeypatch: Any) -> None:
    """The decoder is held up; the page comes all the same, with a link that needs no script."""
    await here.publish(NUMBERS)
    await fill(here, NUMBERS, VALUES)
    held = threading.Event()
    process = here.collector.results._processes[0]
    asked = process.ask

    def slowly(*arguments: Any) -> Any:
        assert held.wait(60)
        return asked(*arguments)

    monkeypatch.setattr(process, "ask", slowly)
    text = await look(here, f"/surveys/{NUMBERS.fingerprint}?epoch=e")
    assert "are being decoded" in text and "application/json" not in text
    (place,) = (place["data-load"] for place in Elements(text).all("div") if "data-load" in place)
    (wait,) = (
        str(link["href"]) for link in Elements(text).all("a") if "wait=1" in str(link["href"])
    )
    held.set()
    assert "Quantiles" in await look(here, wait)
    part = await here.ask("GET", str(place), token=ANALYST)
    assert part.status_code == 200 and "Quantiles" in part.text and "<html" not in part.text


async def test_a_decoder_that_fails_leaves_the_rest_of_the_page(
    here: Site, monkeypatch: Any
) -> None:
    await here.publish(NUMBERS)
    await fill(here, NUMBERS, VALUES)

    def broken(*arguments: Any) -> Any:
        raise ZeroDivisionError("a secret of the decoder")

    monkeypatch.setattr(here.collector.results._processes[0], "ask", broken)
    text = await look(here, page_of(NUMBERS))
    assert "No result is available now" in text and "Privacy guarantee" in text
    assert "secret" not in text and "ZeroDivision" not in text
    assert "secret" not in here.log.getvalue() and "ZeroDivision" in here.log.getvalue()


APP_ONLY = {
    "rappor": lw.randomizers.Rappor(lw.Categories(["yes", "no"]), 1, lifetime=2),
    "piecewise": lw.randomizers.Piecewise(lw.Interval(0, 1, bins=8), 1),
    "local-hashing": lw.papers.baselines.LocalHashing(lw.Categories(8), 1),
    "compressive-privatization": lw.randomizers.CompressivePrivatization(
        lw.Categories(8), 1, sparsity=2
    ),
    "general-wave": lw.papers.square_wave.GeneralWave(lw.Interval(0, 1, bins=8), 1, ratio=0.5),
    "at most 1,048,576 bins or labels": lw.SquareWave(lw.Interval(0, 1, bins=2**20 + 1), 1),
}


@pytest.mark.parametrize("reason", APP_ONLY)
async def test_no_page_offers_a_form_that_javascript_cannot_send(here: Site, reason: str) -> None:
    survey = lw.Survey("habit", APP_ONLY[reason])
    await here.publish(survey)
    await here.publish(LABELS)
    address = f"/take-part/{survey.fingerprint}"
    text = await look(here, address, token=None)
    assert "answered in an app or on another page" in text and reason in text
    assert "<form" not in text and "take_part.mjs" not in text
    assert "Your browser" not in text
    for path in ("/", f"/surveys/{survey.fingerprint}"):
        text = await look(here, path)
        assert "Answered in an app or on another page" in text and address not in text
    text = await look(here, f"/take-part/{LABELS.fingerprint}", token=None)
    assert "<form" in text and "another page" not in text


async def test_take_part_has_an_input_that_fits(here: Site) -> None:
    wave = lw.SquareWave
    kinds = {
        "number": lw.Survey("a", wave(lw.Interval(0, 80, bins=32), 1)),
        "date": lw.Survey(
            "b", wave(lw.Interval("2026-01-01", "2026-12-31", bins=13, unit="date"), 1)
        ),
        "time": lw.Survey("c", wave(lw.Interval(0, 86400, bins=24, unit="time-of-day"), 1)),
        "datetime-local": lw.Survey("d", wave(lw.Interval(0, 86400, bins=24, unit="datetime"), 1)),
        "radio": LABELS,
    }
    for kind, survey in kinds.items():
        await here.publish(survey)
        text = await look(here, f"/take-part/{survey.fingerprint}", token=None)
        fields = [each for each in Elements(text).all("input") if each["name"] == "value"]
        assert {field["type"] for field in fields} == {kind}
        assert len(fields) == (3 if kind == "radio" else 1)
    await here.publish(TEXTS, upload="tokens")
    invited = await look(here, f"/take-part/{TEXTS.fingerprint}", token=None)
    assert 'id="token"' in invited
    await here.done("POST", f"/v1/surveys/{TEXTS.fingerprint}/retire")
    ended = await look(here, f"/take-part/{TEXTS.fingerprint}", token=None)
    assert "has ended" in ended and "<form" not in ended


async def test_take_part_asks_both_attributes_of_a_pair(here: Site) -> None:
    axes: dict[str, Any] = {
        "wait": lw.Interval(0, 80, bins=8, missing="bin"),
        "hour": lw.Interval("00:00", "24:00", bins=12, unit="time-of-day", circular=True),
        "day": lw.Interval("2026-01-01", "2026-12-31", bins=13, unit="date"),
        "<i>kind</i>": lw.Categories(["<b>", "laptop"]),
        "town": lw.Categories(40),
    }
    kinds = {"wait": "number", "hour": "time", "day": "date", "<i>kind</i>": "radio", "town": None}
    for one, other in (("wait", "hour"), ("day", "<i>kind</i>"), ("town", "wait")):
        domain = lw.Product(**{one: axes[one], other: axes[other]})
        survey = lw.Survey(
            f"{one} by {other}",
            lw.randomizers.MultiscaleBoxes(domain, 2),
            purpose="To see when it is slow.",
        )
        await here.publish(survey)
        text = await look(here, f"/take-part/{survey.fingerprint}", token=None)
        found = Elements(text)
        fields = (each for each in found.all("div") if "data-field" in each)
        assert [field["data-name"] for field in fields] == [one, other]
        for name, place in ((one, "value"), (other, "value-2")):
            inputs = [each for each in found.all("input") if each.get("name") == place]
            assert {each["type"] for each in inputs} == ({kinds[name]} - {None})
        assert ("I have no answer for wait" in text) == ("wait" in (one, other))
        assert "To see when it is slow." in text and "<i>" not in text and "<b>" not in text


async def test_the_public_page_is_made_once_for_each_text_and_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anybody may ask for it, and that of 60,000 labels takes 50 ms to make."""
    made = []

    def counted(template: str, **values: Any) -> str:
        made.append(template)
        return rendered(template, **values)

    monkeypatch.setattr("lapwing.service.pages.take_part.rendered", counted)
    first, second = (
        lw.Survey("labels", LABELS.randomizer, question=f"{word}?") for word in ("One", "Two")
    )
    path = f"/v1/surveys/{first.fingerprint}"
    async with site(tmp_path) as here:

        async def asked() -> str:
            return await look(here, f"/take-part/{first.fingerprint}", token=None)

        await here.publish(first)
        shown = await asked()
        assert "One?" in shown
        await here.close("e", path)  # which has the surveys read again
        here.collector.catalog.load()
        assert [await asked() for _ in range(9)] == [shown] * 9
        assert len(made) == 1
        body = {"survey": second.to_document(), "minimum": 1}
        await here.done("PUT", path, json=body)
        changed = await asked()
        assert "Two?" in changed and "One?" in changed and "This text is version 2" in changed
        assert await asked() == changed and len(made) == 2
        await here.done("POST", f"{path}/retire")
        assert "has ended" in await asked()


def test_what_an_observer_learns_is_the_bound_of_the_odds() -> None:
    half = learned_at_most(
        lw.Survey("a", lw.SquareWave(lw.Interval(0, 1, bins=4), 1)).guarantee.epsilon
    )
    assert half[-1] == {"before": "50%", "most": "73.11%", "least": "26.89%"}


async def test_a_result_is_not_compared_with_itself(here: Site) -> None:
    await here.publish(LABELS, epochs=("e", "f"))
    shown = Elements(await look(here, page_of(LABELS, epoch="e", segment="south")))
    offered = [each["value"] for each in shown.all("option")]
    assert "epoch:f" in offered and "segment:other" in offered
    assert "epoch:e" not in offered and "segment:south" not in offered


async def test_an_alarm_that_sees_nothing_says_that_it_is_blind(here: Site) -> None:
    survey = labels_survey()
    await here.publish(survey)
    assert (await here.send(batch_of(survey, *range(8)))).status_code == 201
    text = await look(here, f"/surveys/{survey.fingerprint}/alarm?epoch=e")
    alarm = await here.done("GET", f"/v1/surveys/{survey.fingerprint}/alarms/e")
    assert alarm.json()["visible"] is None and not alarm.json()["sounds"]
    assert "Nothing can be detected here" in text and "(p = " not in text
