"""The pages in a real browser: drawn, by keyboard, in both schemes, narrow, without script."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import httpx
import numpy as np
import pytest

import lapwing as lw
from lapwing.protocol.messages.batch import MEDIA_TYPE, Batch
from lapwing.results.rounding import number_text, percent
from lapwing.service.security import COOKIE
from tests.clients_js.programs import SECONDS, chromium
from tests.service.one_collector import ADMIN, as_role, new_id, open_survey, served

pytestmark = pytest.mark.service

sync_api = pytest.importorskip(
    "playwright.sync_api", reason="Playwright is not here: pip install '.[test]'"
)

from tests.clients_js.chromium_browser import Running, running_chromium  # noqa: E402

INCOME = lw.Survey(
    "Income of <b>birds</b>",
    lw.SquareWave(lw.Interval(0, 100, bins=64, atoms=[0]), 3),
    segments=["north", "south"],
    segment_minimum=100,
)
BIRDS = lw.Survey("Birds", lw.RandomizedResponse(lw.Categories(["lapwing", "snipe", "curlew"]), 2))
DAYS = lw.Survey(
    "Days", lw.SquareWave(lw.Interval("2026-01-01", "2026-12-31", bins=52, unit="date"), 2)
)
CHILDREN = lw.Survey("Children", lw.RandomizedResponse(lw.Integers(0, 8), 2))
SURVEYS = (INCOME, BIRDS, DAYS, CHILDREN)
PAIRS = lw.Survey(
    "Start-up",
    lw.randomizers.MultiscaleBoxes(
        lw.Product(
            ms=lw.Interval(0, 5000, bins=16, outside="overflow"),
            hour=lw.Interval("00:00", "24:00", bins=12, unit="time-of-day", circular=True),
        ),
        2,
    ),
    question="How long did it take, and when?",
)


@cache
def kinds() -> lw.Survey:
    asked = lw.Product(
        kind=lw.Categories(["phone", "laptop"]), happy=lw.Categories(["yes", "no", "so so"])
    )
    return lw.Survey("Kinds", lw.recommend(asked, epsilon=2, users=3000))


@cache
def asking() -> lw.Survey:
    asked = ["share above 50000", "histogram edges 0 20000 50000 500000", "mean"]
    best = lw.recommend(lw.Interval(0, 500_000, bins=50), epsilon=2, users=20_000, questions=asked)
    return lw.Survey("Earnings", best)


class Place(NamedTuple):
    """A collector with reports, and a browser."""

    address: str
    running: Running

    def of(self, survey: lw.Survey, query: str = "") -> str:
        return f"{self.address}/surveys/{survey.fingerprint}{query}"


def _send(
    address: str, survey: lw.Survey, values: Any, *, epoch: str = "e", segment: int = 0
) -> None:
    batch = Batch.of(survey.randomize(values), survey=survey.fingerprint, segment=segment)
    path = f"{address}/v1/surveys/{survey.fingerprint}/epochs/{epoch}/batches/{new_id()}"
    answer = httpx.put(
        path, content=batch.to_bytes(), headers={"content-type": MEDIA_TYPE}, timeout=SECONDS
    )
    assert answer.status_code == 201, answer.text


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    chromium()  # before a collector is started for nothing
    rng = np.random.default_rng(3)
    with (
        served(tmp_path_factory.mktemp("collector")) as here,
        sync_api.sync_playwright() as started,
    ):
        for survey in (*SURVEYS, asking(), PAIRS, kinds()):
            open_survey(here.address, survey)
        path = f"{here.address}/v1/surveys/{INCOME.fingerprint}/epochs/f"
        with httpx.Client(headers=as_role(ADMIN), timeout=SECONDS) as client:
            assert client.put(path, json={}).status_code < 300
            assert client.post(f"{path}/open").status_code < 300
        for epoch, middle in (("e", 35), ("f", 45)):
            for segment in (0, 1, 2):
                values = rng.normal(middle + 5 * segment, 12, 2000).clip(0, 100)
                _send(here.address, INCOME, values, epoch=epoch, segment=segment)
        _send(here.address, BIRDS, ["lapwing"] * 900 + ["snipe"] * 600)
        _send(here.address, DAYS, rng.uniform(20500, 20700, 2000))
        _send(here.address, CHILDREN, rng.poisson(1.7, 2000).clip(0, 8))
        _send(here.address, asking(), rng.lognormal(10.4, 0.8, 5000).clip(0, 499_000))
        with running_chromium(started, tmp_path_factory.mktemp("profile")) as running:
            yield Place(here.address, running)


@contextmanager
def opened(place: Place, *, analyst: bool = True, **options: Any) -> Iterator[Any]:
    """A page in a context of its own; an error on it, or on what it loads, fails the test."""
    context = place.running.browser.new_context(**options)
    if analyst:
        cookie = {"name": COOKIE, "value": ADMIN, "url": place.address}
        context.add_cookies([{**cookie, "httpOnly": True, "sameSite": "Strict"}])
    page = context.new_page()
    page.set_default_timeout(1000 * SECONDS)
    wrong: list[str] = []
    page.on(
        "console",
        lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None,
    )
    page.on("pageerror", lambda error: wrong.append(str(error)))
    # The next page ends what the one before still loads: that is no fault of either.
    page.on(
        "requestfailed",
        lambda failed: wrong.append(failed.url) if failed.failure != "net::ERR_ABORTED" else None,
    )
    try:
        yield page
        assert wrong == []
    finally:
        context.close()


def settled(page: Any) -> None:
    """Wait until all that is fetched is in the page."""
    page.wait_for_selector("#result [aria-labelledby]", state="attached")
    page.wait_for_selector("[data-load], [aria-busy]", state="detached")


def test_an_analyst_signs_in_and_reads_by_keyboard_alone(place: Place) -> None:
    with opened(place, analyst=False, viewport={"width": 1100, "height": 800}) as page:
        page.goto(place.of(INCOME))
        # A page is loaded before the field that asks for the focus has it: what is typed in
        # between goes nowhere, and half a token opens nothing.
        page.wait_for_selector("input:focus")
        page.keyboard.type(ADMIN)
        assert page.input_value("#token") == ADMIN
        page.keyboard.press("Enter")
        page.wait_for_selector("h1:has-text('Income of <b>birds</b>')")
        settled(page)
        page.focus("#segment")
        page.keyboard.press("s")  # south
        page.focus("form.ask button")
        page.keyboard.press("Enter")
        page.wait_for_selector("h2:has-text('(south)')")
        settled(page)
        cookies = {cookie["name"]: cookie for cookie in page.context.cookies()}
        assert cookies[COOKIE]["httpOnly"] and cookies[COOKIE]["sameSite"] == "Strict"
        assert page.evaluate("document.cookie") == ""
        # The first stop leads past the header.
        page.reload()
        settled(page)
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "main"


STOPS = """() => [...document.querySelectorAll(
  'a[href], button, input:not([type=hidden]), select, summary, [tabindex="0"]')]
  .filter((each) => each.checkVisibility() && !each.disabled)
  .map((each) => each.outerHTML.slice(0, 200))"""

STOP = """() => {
  const each = document.activeElement;
  const style = getComputedStyle(each);
  const outlined = style.outlineStyle !== 'none' && style.outlineWidth !== '0px';
  return [each.outerHTML.slice(0, 200), outlined];
}"""


def test_the_tab_key_visits_everything_in_order_and_shows_where_it_is(place: Place) -> None:
    query = "?epoch=f&against=epoch:e&low=20&high=40"
    with opened(place, viewport={"width": 1100, "height": 800}) as page:
        page.goto(place.of(INCOME, query))
        settled(page)
        for summary in page.query_selector_all("summary"):
            summary.press("Enter")
        assert page.eval_on_selector_all("details", "all => all.every((each) => each.open)")
        page.evaluate("document.activeElement.blur(); getSelection().removeAllRanges()")
        page.evaluate("document.body.tabIndex = -1; document.body.focus()")
        stops = page.evaluate(STOPS)
        assert len(stops) > 20
        for stop in stops:
            page.keyboard.press("Tab")
            found, outlined = page.evaluate(STOP)
            assert found == stop and outlined, stop


def test_bars_are_as_long_as_the_shares(place: Place) -> None:
    with opened(place) as page:
        page.goto(place.of(BIRDS, "?epoch=e"))
        settled(page)
        document = results_of(place, BIRDS)
        rows = page.eval_on_selector_all(
            ".bars tbody tr", "all => all.map((row) => row.innerText.split('\\t').slice(0, 2))"
        )
        expected = [
            [row["label"], number_text(row, percent, name="share")] for row in document["shares"]
        ]
        assert [[cell.strip() for cell in row] for row in rows] == expected
        widths = page.eval_on_selector_all(
            ".bars rect", "all => all.map((each) => each.getBoundingClientRect().width)"
        )
        assert widths == sorted(widths, reverse=True) and widths[0] > 20


def results_of(place: Place, survey: lw.Survey) -> Any:
    path = f"{place.address}/v1/surveys/{survey.fingerprint}/results/e"
    return httpx.get(path, headers=as_role(ADMIN), timeout=SECONDS).json()


def check_drawn(page: Any, curve: Any) -> None:
    """What is drawn, and what its table says, is what the reports say."""
    columns = curve["columns"]
    drawn = page.eval_on_selector_all("[data-drawn]", "all => all.map((each) => each.dataset)")
    assert [each["chart"] for each in drawn] == ["density", "cdf"]
    assert int(drawn[1]["drawn"]) >= len(columns["right"])
    widths = page.eval_on_selector_all("[data-drawn] canvas", "all => all.map((e) => e.width)")
    assert len(widths) == 2 and min(widths) > 300
    rows = page.eval_on_selector_all(
        "details tbody tr",
        "all => all.map((row) => [...row.cells].map((cell) => cell.textContent))",
    )
    ends = zip(columns["low"], columns["high"], strict=True)
    assert [row[3] for row in rows] == [
        percent(share, both) for share, both in zip(columns["cdf"], ends, strict=True)
    ]


def test_answers_to_the_questions_of_a_survey_come_first(place: Place) -> None:
    with opened(place, viewport={"width": 390, "height": 800}) as page:
        page.goto(place.of(asking()))
        settled(page)
        document = results_of(place, asking())
        first = page.locator("#result table").first
        rows = first.locator("tbody tr").all_inner_texts()
        lines = [line for answer in document["answers"] for line in answer["lines"]]
        assert [row.split("\t") for row in rows] == [list(line.values()) for line in lines]
        assert len(rows) == 5 and document["answers"][0]["about"] in page.inner_text("#result")
        assert page.locator("[data-chart]").count() == 0  # nobody asked for the curve


CONTRAST = """() => {
  const numbers = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => {
    const one = (v) => ((v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * one(r) + 0.7152 * one(g) + 0.0722 * one(b);
  };
  const paper = (each) => {
    for (let at = each; at; at = at.parentElement) {
      const found = numbers(getComputedStyle(at).backgroundColor);
      if (found.length === 3 || found[3] === 1) return found;
    }
    return [255, 255, 255];
  };
  const weak = [];
  for (const each of document.querySelectorAll('body *')) {
    const own = [...each.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    const silent = ['OPTION', 'SCRIPT', 'NOSCRIPT'].includes(each.tagName);
    if (!own || silent || each.disabled || !each.checkVisibility()) continue;
    const [a, b] = [light(numbers(getComputedStyle(each).color)), light(paper(each))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) weak.push([each.outerHTML.slice(0, 120), ratio]);
  }
  return weak;
}"""

NAMELESS = """() => [...document.querySelectorAll(
  'button, input:not([type=hidden]), select, a[href], summary')]
  .filter((each) => !each.hidden && !each.labels?.length && !each.textContent.trim())
  .map((each) => each.outerHTML)"""


def test_text_stands_out_and_nothing_is_wider_than_a_telephone(place: Place) -> None:
    paths = [
        "/",
        f"/surveys/{INCOME.fingerprint}?epoch=f&against=segment:south&segment=north&low=3&error=x",
        f"/surveys/{BIRDS.fingerprint}",
        f"/surveys/{asking().fingerprint}?low=20000",
        f"/take-part/{INCOME.fingerprint}",
    ]
    with opened(place, viewport={"width": 390, "height": 800}) as page:
        for path in paths:
            page.goto(place.address + path)
            if "/surveys/" in path:
                settled(page)
            if "/take-part/" in path:
                page.wait_for_selector("[data-ready]")
            for scheme in ("dark", "light"):
                page.emulate_media(color_scheme=scheme)
                assert page.evaluate(CONTRAST) == []
            assert page.evaluate(NAMELESS) == []
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            if "error=x" in path:
                check_table_of_reports(page)
        page.evaluate("document.querySelector('h1').style.color = '#999'")
        ((element, ratio),) = page.evaluate(CONTRAST)
        assert element.startswith("<h1") and 2 < ratio < 4.5  # the check finds pale text


def check_table_of_reports(page: Any) -> None:
    """It needs no scrolling on a telephone."""
    region = page.locator("[aria-label='Reports by epoch']")
    assert region.evaluate("each => each.scrollWidth <= each.clientWidth")
    row = region.locator("tbody tr").first
    assert "2,000" in row.inner_text()
    names = row.locator("td").evaluate_all("all => all.map((each) => each.dataset.name)")
    assert names == ["State", "Reports", *INCOME.segments, "other", "So far", "Refused"]


def test_charts_are_drawn_anew_when_the_scheme_changes(place: Place) -> None:
    with opened(place, color_scheme="light") as page:
        page.goto(place.of(INCOME, "?epoch=e"))
        settled(page)
        canvases = "[data-drawn] canvas"
        page.eval_on_selector_all(canvases, "all => all.forEach((each) => { each.id = 'old'; })")
        page.emulate_media(color_scheme="dark")
        # The page hears of it at its next frame, which a busy machine may draw late: whoever looks
        # at once finds the old canvas.
        page.wait_for_selector("#old", state="detached")
        page.wait_for_selector("[data-drawn] canvas")
        page.set_viewport_size({"width": 500, "height": 800})
        page.locator("[data-drawn] canvas").first.scroll_into_view_if_needed()
        page.wait_for_selector("[data-drawn='66']", state="attached")


PLOTS = """() => [...document.querySelectorAll('#result [data-drawn]')]
  .filter((each) => each.dataset.chart !== 'difference')
  .map((each) => {
    const { left, width } = each.querySelector('.u-over').getBoundingClientRect();
    return [each.dataset.range, left, width];
  })"""


@pytest.mark.parametrize(
    ("survey", "width"),
    [(INCOME, 390), (DAYS, 1000), (CHILDREN, 390)],
    ids=["atoms", "dates", "whole"],
)
def test_density_and_cdf_share_an_axis_and_a_legend_is_words(
    place: Place, survey: lw.Survey, width: int
) -> None:
    with opened(place, viewport={"width": width, "height": 900}) as page:
        page.goto(place.of(survey, "?epoch=e"))
        settled(page)
        density, cdf = page.evaluate(PLOTS)
        assert density == cdf
        legends = page.eval_on_selector_all(".legend", "all => all.map((each) => each.innerText)")
        assert len(legends) == 2
        for legend in legends:
            assert "estimate" in legend and ":" not in legend and "--" not in legend
        assert "simultaneous band" in legends[0] and "pointwise band" in legends[1]
        over = page.locator("[data-chart=density] .u-over")
        over.scroll_into_view_if_needed()
        over.hover(position={"x": density[2] / 2 + 1, "y": 50})
        # One place is pointed at in both.
        page.wait_for_function(
            "[...document.querySelectorAll('.readout')].every((e) => /%.*%.*%/.test(e.textContent))"
        )
        curve = results_of(place, survey)["curve"]
        check_drawn(page, curve)
        steps = curve["steps"]
        middle = (steps["left"][0] + steps["right"][-1]) / 2 + 1e-6
        row = next(row for row, end in enumerate(steps["right"]) if end > middle)
        # Per 10 of the numbers from 0 to 100, per day, per value.
        per = (steps["right"][row] - steps["left"][row]) / (10 if survey is INCOME else 1)
        said = page.locator(".readout").first.inner_text()
        numbers = re.findall(r"([0-9.]+)%", said)
        ways = {"share": round, "low": math.floor, "high": math.ceil}
        assert numbers == [
            f"{way(1e4 * steps[key][row] / per) / 100:.2f}" for key, way in ways.items()
        ]


def test_without_script_the_same_is_in_tables_and_pictures(place: Place) -> None:
    with opened(place, java_script_enabled=False) as page:
        seen: list[tuple[str, int]] = []
        page.on("response", lambda answer: seen.append((answer.url, answer.status)))
        page.goto(place.of(INCOME, "?epoch=f&against=epoch:e&wait=1"))
        page.wait_for_load_state("load")
        assert page.locator("h2", has_text="Quantiles and ranges").count() == 1
        assert page.locator("noscript img").count() == 2
        pictures = [status for url, status in seen if ".svg" in url and "/results/" in url]
        assert pictures == [200, 200]
        page.get_by_role("link", name="Compare the counts").click()
        page.wait_for_selector("text=Honest devices explain these counts")


def test_a_visitor_sees_the_bytes_before_they_are_sent_and_answers_once(place: Place) -> None:
    address = f"{place.address}/take-part/{BIRDS.fingerprint}"
    with opened(place, analyst=False) as page:
        uploads: list[tuple[str, bytes]] = []
        page.on(
            "request",
            lambda request: (
                uploads.append((request.url, request.post_data_buffer))
                if "/batches/" in request.url
                else None
            ),
        )
        page.goto(address)
        page.wait_for_selector("[data-ready]")
        page.click("#randomize")
        page.wait_for_selector("#wrong:not([hidden])")
        assert page.inner_text("#wrong") == "Give an answer first."
        page.get_by_label("curlew").check()
        page.click("#randomize")
        page.wait_for_selector("#report:not([hidden])")
        assert page.evaluate("document.activeElement.id") == "h-report"
        # Words come first; the bytes are behind a click.
        assert not page.is_visible("#bytes")
        words = page.inner_text("#report")
        assert "an epsilon of 2" in words and "The survey: Birds." in words
        assert "Your randomized answer, 1 byte." in words and "no name and no cookie" in words
        page.click("#size")
        shown = bytes.fromhex(page.inner_text("#bytes"))
        batch = Batch.from_bytes(shown)
        assert batch.survey == BIRDS.fingerprint and batch.reports == 1
        # Asked again after a reload, it is the same report, and still nothing was sent.
        page.reload()
        page.wait_for_selector("#report:not([hidden])")
        page.click("#size")
        assert bytes.fromhex(page.inner_text("#bytes")) == shown and uploads == []
        page.click("#send")
        page.wait_for_selector("#status:has-text('Sent and stored')")
        assert [sent for _, sent in uploads] == [shown]
        page.reload()
        page.wait_for_selector("#status:has-text('Sent and stored')")
        assert page.is_disabled("#randomize") and not page.is_visible("#send")
        assert page.inner_text("#spent") == "1 answer has cost an epsilon of 2 so far."


def uploads_of(page: Any) -> list[str]:
    """Return a list that gets the address of every upload from now on."""
    uploads: list[str] = []
    page.on("request", lambda asked: uploads.append(asked.url) if "batches" in asked.url else None)
    return uploads


def test_a_report_that_is_not_to_be_sent_never_is(place: Place) -> None:
    with opened(place, analyst=False) as page:
        uploads = uploads_of(page)
        page.goto(f"{place.address}/take-part/{DAYS.fingerprint}")
        page.wait_for_selector("[data-ready]")
        page.fill("#value", "2026-05-06")
        page.keyboard.press("Enter")
        page.wait_for_selector("#report:not([hidden])")
        page.click("#withdraw")
        page.wait_for_selector("#status:has-text('Not sent')")
        assert uploads == [] and not page.is_visible("#send")


def _answer(page: Any, address: str, *, label: str = "", text: str = "") -> bytes:
    """Draw a report on a page and return the bytes that it shows."""
    page.goto(address)
    page.wait_for_selector("[data-ready]")
    if label:
        page.get_by_label(label).check()
    else:
        page.fill("#value", text)
    page.click("#randomize")
    page.wait_for_selector("#report:not([hidden])")
    return bytes.fromhex(page.text_content("#bytes"))


def test_what_is_shown_is_sent_and_nothing_else(place: Place) -> None:
    with opened(place, analyst=False) as page:
        uploads: list[bytes] = []
        page.on(
            "request",
            lambda asked: (
                uploads.append(asked.post_data_buffer) if "batches" in asked.url else None
            ),
        )
        pages = {each: f"{place.address}/take-part/{each.fingerprint}" for each in SURVEYS}
        dates = _answer(page, pages[DAYS], text="2026-05-06")
        incomes = _answer(page, pages[INCOME], text="20")
        birds = _answer(page, pages[BIRDS], label="snipe")
        cards = page.locator("#waiting li")
        assert cards.count() == 2 and "sent only when you press its button" in page.inner_text(
            "#others"
        )
        page.click("#send")
        page.wait_for_selector("#status:has-text('Sent and stored')")
        assert uploads == [birds]
        # The others wait still, each with its bytes and a button of its own.
        card = cards.filter(has_text="Days, epoch e")
        card.locator("summary").click()
        assert bytes.fromhex(card.locator("code").inner_text()) == dates
        card.get_by_role("button", name="Send it", exact=True).click()
        page.wait_for_selector("#status:has-text('Days, epoch e: sent and stored')")
        assert uploads == [birds, dates]
        cards.get_by_role("button", name="Do not send it").click()
        page.wait_for_selector("#others", state="hidden")
        page.goto(pages[INCOME])
        page.wait_for_selector("#status:has-text('Not sent')")
        assert uploads == [birds, dates] and incomes not in uploads
        assert page.inner_text("#spent") == "3 answers together have cost an epsilon of 7 so far."


def test_a_visitor_answers_two_attributes_in_one_report(place: Place) -> None:
    with opened(place, analyst=False, viewport={"width": 390, "height": 844}) as page:
        page.goto(f"{place.address}/take-part/{PAIRS.fingerprint}")
        page.wait_for_selector("[data-ready]")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        page.get_by_label("ms, from 0 to 5000").fill("800")
        page.click("#randomize")
        page.wait_for_selector("#wrong:has-text('Give both answers first.')")
        page.fill("#value", "6000")
        page.get_by_label("hour, from 00:00").fill("09:30")
        page.click("#randomize")
        page.wait_for_selector("#wrong:has-text('counted as above 5000')")
        assert "Your answer for ms is outside" in page.inner_text("#wrong")
        assert "for hour" not in page.inner_text("#wrong")
        drawn = []
        page.on("request", lambda asked: drawn.append(asked) if "batches" in asked.url else None)
        page.fill("#value", "800")
        page.click("#randomize")
        page.wait_for_selector("#report:not([hidden])")
        batch = Batch.from_bytes(bytes.fromhex(page.text_content("#bytes")))
        assert batch.survey == PAIRS.fingerprint and batch.reports == 1
        page.click("#send")
        page.wait_for_selector("#status:has-text('Sent and stored')")
        (sent,) = drawn
        PAIRS.tally(
            Batch.from_bytes(sent.post_data_buffer).to_reports(PAIRS.randomizer.fingerprint)
        )
        page.goto(f"{place.address}/take-part/{kinds().fingerprint}")
        page.wait_for_selector("[data-ready]")
        page.get_by_label("laptop").check()
        page.get_by_label("so so").check()
        page.click("#randomize")
        page.wait_for_selector("#report:not([hidden])")
        assert page.inner_text("#spent") == "2 answers together have cost an epsilon of 4 so far."


def test_the_cost_is_said_before_anything_is_drawn(place: Place) -> None:
    with opened(place, analyst=False) as page:
        page.goto(f"{place.address}/take-part/{DAYS.fingerprint}")
        page.wait_for_selector("[data-ready]")
        assert page.inner_text("#cost") == (
            "Epsilon measures how much a report can tell about you. This answer costs an epsilon "
            "of 2. Your answers to this collector have cost nothing so far."
        )
        said = page.inner_text("#limits")
        assert "50% sure of your answer can be at most 88.08% sure" in said
        assert "only this one answer. With it, all answers cost an epsilon of 2." in said
        assert not page.is_visible("#budget") and page.input_value("#most") == "2"
        _answer(page, page.url, text="2026-05-06")
        assert not page.is_visible("#limits")
        # On another survey the next answer is added to what was spent.
        page.goto(f"{place.address}/take-part/{INCOME.fingerprint}")
        page.wait_for_selector("[data-ready]")
        assert "an epsilon of 3. Your" in page.inner_text("#cost")
        assert "have cost an epsilon of 2 so far" in page.inner_text("#cost")
        assert page.input_value("#most") == "3" and page.input_value("#budget") == "5"
        # What the visitor types holds.
        page.click("#limits summary")
        page.fill("#budget", "4.50")
        page.wait_for_selector("#allowed:has-text('3 for one answer and 4.50 in all.')")
        page.fill("#value", "20")
        page.click("#randomize")
        page.wait_for_selector("#wrong:has-text('4.5 in total')")
        assert "change the limits above" in page.inner_text("#wrong")
        page.fill("#budget", "")
        page.click("#randomize")
        page.wait_for_selector("#wrong:has-text('all answers to this collector must be')")
        assert not page.is_visible("#report")


HOSTILE = "<img src=x onerror=alert(1)> {{ 7*7 }} <script>alert(2)</script> javascript:alert(3)"


def test_a_text_that_changes_while_the_page_loads_is_not_answered(place: Place) -> None:
    with opened(place, analyst=False) as page:
        other = replace(BIRDS, question="Which bird do you hate?")
        page.route(
            f"**/v1/surveys/{BIRDS.fingerprint}", lambda route: route.fulfill(body=other.to_json())
        )
        page.goto(f"{place.address}/take-part/{BIRDS.fingerprint}")
        page.wait_for_selector("#status:has-text('Reload the page to read it')")
        assert not page.is_visible("#answer")


def test_the_text_of_a_survey_is_shown_as_plain_text_and_kept(place: Place) -> None:
    texts = {"purpose": HOSTILE, "owner": "x" * 1000, "contact": "Füße & Söhne"}
    survey = lw.Survey(
        "Legs",
        lw.RandomizedResponse(lw.Categories(["two", "more"]), 2),
        question="How many legs <b>do</b> you see?",
        **texts,  # type: ignore[arg-type]
    )
    path = open_survey(place.address, survey)
    viewport = {"width": 390, "height": 900}
    with opened(place, analyst=False, viewport=viewport) as page:
        address = f"{place.address}/take-part/{survey.fingerprint}"
        _answer(page, address, label="two")
        assert page.inner_text("h1") == survey.question
        assert page.locator("#notice dd").all_inner_texts() == [*texts.values()]
        assert page.locator("main img, main b, main script").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.locator("#version").count() == 0
        changed = replace(survey, question="How many wings?", purpose="Another")
        body = {"survey": changed.to_document(), "minimum": 1}
        as_admin: Any = {"headers": as_role(ADMIN)}
        answer = httpx.put(path, json=body, **as_admin, timeout=SECONDS)
        assert answer.status_code == 409 and "cannot change" in answer.json()["detail"]
        assert httpx.post(f"{path}/epochs/e/close", **as_admin, timeout=SECONDS).is_success
        body["epoch"] = {"name": "f"}
        answer = httpx.put(path, json=body, **as_admin, timeout=SECONDS)
        assert answer.status_code == 200, answer.text
        page.reload()
        page.wait_for_selector("[data-ready]")
        assert page.inner_text("h1") == "How many wings?"
        assert "version 2. It was changed on 20" in page.inner_text("#version")
        page.click("#notice summary")
        assert survey.question in page.inner_text("#notice details")
        assert page.evaluate("document.getElementById('take-part').dataset.text") == (
            changed.text_fingerprint
        )
        # This browser keeps what it showed when it answered, and says that it is another text now.
        assert page.inner_text("#answered li").endswith(f"You were asked: {survey.question}")
        assert "has changed since you last answered" in page.inner_text("#status")
        page.get_by_label("two").check()
        page.click("#randomize")
        page.wait_for_selector("#report:not([hidden])")
        asked = page.locator("#answered li").all_inner_texts()
        assert [each.rpartition("You were asked: ")[2] for each in asked] == [
            survey.question,
            changed.question,
        ]
        assert page.locator("main img, main b, main script").count() == 0


def test_a_visitor_who_allows_less_is_asked_for_nothing(place: Place) -> None:
    with opened(place, analyst=False) as page:
        page.goto(f"{place.address}/take-part/{BIRDS.fingerprint}")
        page.wait_for_selector("[data-ready]")
        page.click("#limits summary")
        page.fill("#most", "1")
        page.get_by_label("snipe").check()
        page.click("#randomize")
        page.wait_for_selector("#wrong:not([hidden])")
        assert "epsilon" in page.inner_text("#wrong") and not page.is_visible("#report")
        page.fill("#most", "much")
        page.click("#randomize")
        page.wait_for_selector(
            "#wrong:has-text('Largest epsilon for one answer must be a number above 0')"
        )
        page.fill("#most", "4")
        page.click("#randomize")
        page.wait_for_selector("#report:not([hidden])")


def test_an_answer_from_outside_costs_nothing_until_it_is_meant(place: Place) -> None:
    cases = (
        ("1999-05-06", "counted as below 2026-01-01"),
        ("2026-12-31", "counted as above 2026-12-31"),
    )
    for answer, said in cases:
        with opened(place, analyst=False) as page:
            page.goto(f"{place.address}/take-part/{DAYS.fingerprint}")
            page.wait_for_selector("[data-ready]")
            page.fill("#value", answer)
            page.click("#randomize")
            page.wait_for_selector("#wrong:not([hidden])")
            assert said in page.inner_text("#wrong")
            assert not page.is_visible("#report") and not page.is_visible("#ledger")
            page.click("#randomize")
            page.wait_for_selector("#report:not([hidden])")
            assert page.inner_text("#spent") == "1 answer has cost an epsilon of 2 so far."


def test_nothing_is_spent_on_an_epoch_that_has_ended(place: Place) -> None:
    with opened(place, analyst=False) as page:
        path = f"{place.address}/v1/surveys/{BIRDS.fingerprint}/epochs/short"
        with httpx.Client(headers=as_role(ADMIN), timeout=SECONDS) as desk:
            desk.put(path, json={}).raise_for_status()
            desk.post(f"{path}/open").raise_for_status()
            page.goto(f"{place.address}/take-part/{BIRDS.fingerprint}")
            page.wait_for_selector("[data-ready]")
            page.select_option("#epoch", "short")
            desk.post(f"{path}/close").raise_for_status()
        page.get_by_label("snipe").check()
        page.click("#randomize")
        page.wait_for_selector("#wrong:not([hidden])")
        assert "takes no reports now" in page.inner_text("#wrong")
        assert not page.is_visible("#report") and not page.is_visible("#ledger")


OTHER_BATCH = """async () => {
    const [{ name }] = await indexedDB.databases();
    const ask = (asked) => new Promise((done) => { asked.onsuccess = () => done(asked.result); });
    const database = await ask(indexedDB.open(name));
    const records = database.transaction("records", "readwrite").objectStore("records");
    for (const key of await ask(records.getAllKeys())) {
        const record = await ask(records.get(key));
        if (!record.batch) continue;
        const other = { ...record, batch: "0".repeat(32) };
        await ask(records.put(other));
    }
    database.close();
}"""
"""Puts another report in the place of each that waits, as another tab may."""


def test_only_the_report_that_is_shown_is_sent(place: Place) -> None:
    with opened(place, analyst=False) as page:
        uploads = uploads_of(page)
        page.goto(f"{place.address}/take-part/{DAYS.fingerprint}")
        page.wait_for_selector("[data-ready]")
        page.fill("#value", "2026-05-07")
        page.keyboard.press("Enter")
        page.wait_for_selector("#report:not([hidden])")
        page.evaluate(OTHER_BATCH)
        page.click("#send")
        page.wait_for_selector("#status:has-text('This report is no longer kept')")
        assert uploads == []
