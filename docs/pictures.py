"""Draw the pictures of the documentation: ``make pictures``. Needs Chromium.

    python docs/pictures.py [FOLDER]

Draws of the taxi months and on pages are fixed. Examples draw as a user does, so their curves
differ a little each time. Text is in DejaVu Sans of matplotlib, on pages too. Tests draw the
pictures again and compare them with the committed ones.
"""

from __future__ import annotations

import csv
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from PIL import Image
from playwright.sync_api import Browser, Page, Route, sync_playwright

import lapwing as lw
from lapwing.protocol.messages.batch import MEDIA_TYPE, Batch

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
EXAMPLES = ROOT / "examples"
sys.path[:0] = [str(ROOT)]  # for the benchmarks, whose scheme and collector are drawn

WIDTH = 720
"""Pixels of a page's picture before it is drawn at twice the size."""

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]

PATIENCE = 300

SEED = 1

PERSON = lw.Interval(0, 100_000, bins=256, atoms=[0])

FONTS = {"DejaVuSans.ttf": 400, "DejaVuSans-Bold.ttf": 700}
"""Files of matplotlib, each with its weight."""


def draw_examples(folder: Path) -> None:
    """Draw what the examples draw."""
    for name in ("spiky_column", "multimodal_column", "two_periods"):
        _run(EXAMPLES / f"{name}.py", str(folder / f"{name}.png"), within=ROOT)


def _run(*words: Any, within: Path) -> None:
    command = [sys.executable, *map(str, words)]
    subprocess.run(command, cwd=within, check=True, stdout=subprocess.DEVNULL)


def draw_series(folder: Path) -> None:
    """Draw 36 months of taxi trips, 10,000 each, and 12 of them small, at an epsilon of 1."""
    with (EXAMPLES / "data" / "nyc_taxi_months.csv").open(newline="") as stream:
        _, *rows = csv.reader(stream)
    names = [name for name, *_ in rows]
    day = lw.Interval("00:00", "24:00", bins=64, unit="time-of-day", circular=True)
    survey = lw.Survey("pick-up time", lw.MultiscaleWave(day, epsilon=1))
    months = [
        (survey, lw.simulate(survey.randomizer, np.array(counts, dtype=np.int64), rng=seed))
        for seed, (_, *counts) in enumerate(rows, start=100_000 * SEED)
    ]
    year = slice(names.index("2019-07"), names.index("2020-07"))
    for kind, shown in (("timeline", slice(None)), ("weeks", year)):
        series = lw.decode_series(months[shown], names=names[shown])
        title = "Taxi trips moved from the evening to the day in April 2020"
        figure = series.plot(kind=kind, title=title, label="pick-up time")
        if kind == "timeline":
            figure.axes[0].set_ylabel("share of trips")
        name = "taxi-series" if kind == "timeline" else "taxi-weeks"
        figure.savefig(folder / f"{name}.png", dpi=180, metadata={"Software": None})


def draw_incomes(folder: Path) -> None:
    """Draw a result as `plot` does: incomes at an epsilon of 2, without the largest."""
    survey = lw.Survey("income", lw.recommend(lw.Interval(0, 500_000), epsilon=2, users=30_000))
    with lw.testing.reproducible(SEED):
        reports = survey.randomize(lw.datasets.load_income().values())
    title = "Half of the people earn at most about 30,000 dollars"
    axes = survey.decode(survey.tally(reports)).plot(title=title, label="income, dollars")
    for each in axes.figure.axes:
        each.set_xlim(0, 200_000)
    axes.figure.savefig(folder / "income.png", dpi=180, metadata={"Software": None})


def draw_hours(folder: Path) -> None:
    """Draw what devices send, and the hourly shares that follow, at an epsilon of 2."""
    taxi = lw.datasets.load_taxi()
    day = lw.Interval("00:00", "24:00", bins=144, unit="time-of-day", circular=True)
    survey = lw.Survey("pick-up time", lw.MultiscaleWave(day, epsilon=2))
    with lw.testing.reproducible(SEED):
        reports = survey.randomize(taxi.values())
    result, truth = (
        survey.decode(survey.tally(reports)),
        lw.Distribution.of_values(taxi.values(), day),
    )
    hours = np.arange(25)
    edges = [(3600 * hour, 3600 * (hour + 1)) for hour in hours[:-1]]
    low, high = 100 * np.transpose([result.probability_interval(*each) for each in edges])
    with plt.style.context("lapwing.results.look"):
        figure, (left, right) = plt.subplots(1, 2, width_ratios=(1, 3.2))
        left.axis("off")
        left.set_title("Reports of 7 devices")
        rows = np.linspace(0, len(reports) - 1, 7).astype(int)
        sent = [bytes(reports.data[row]).hex(" ") for row in rows]
        for height, line in zip(np.linspace(0.92, 0.16, 7), sent, strict=True):
            left.text(0.5, height, line, family="monospace", fontsize=13, ha="center")
        left.text(0.5, 0.02, f"... of {len(reports):,}", ha="center", color="0.3")
        right.stairs(
            high, hours, baseline=low, fill=True, color="0.8", label="95% interval, pointwise"
        )
        for one, dashes, color, name in (
            (result, "-", "C0", "estimate"),
            (truth, "--", "C1", "truth, never collected"),
        ):
            shares = [100 * one.probability(*each) for each in edges]
            right.stairs(shares, hours, baseline=None, ls=dashes, color=color, lw=2, label=name)
        right.set(xlabel="hour of the day", xticks=range(0, 25, 3), xlim=(0, 24), ylim=(0, None))
        right.set(
            ylabel="share of trips, %", title="What they say together: the share of each hour"
        )
        right.legend(loc="lower right")
        figure.suptitle(
            f"{len(reports):,} reports show when New York takes a taxi (ε = 2, local model)"
        )
        figure.savefig(folder / "taxi-hours.png", dpi=200, metadata={"Software": None})
    plt.close(figure)


@contextmanager
def asking(folder: str) -> Iterator[httpx.Client]:
    """Run a collector, and return a client that asks it as its admin."""
    from benchmarks.service.running_servers import collector

    with collector(folder) as site:
        headers = {"authorization": f"Bearer {site.token}"}
        with httpx.Client(base_url=site.url, headers=headers, timeout=PATIENCE) as client:
            yield client


def publish(client: httpx.Client, survey: lw.Survey, *epochs: str) -> None:
    """Publish a survey with open epochs."""
    for epoch in epochs:
        body = {"survey": survey.to_document(), "epoch": {"name": epoch}}
        client.put(f"/v1/surveys/{survey.fingerprint}", json=body).raise_for_status()


def report(
    client: httpx.Client,
    survey: lw.Survey,
    epoch: str,
    values: Any,
    *,
    segment: int = 0,
    seed: int = SEED,
) -> None:
    """Send a report of each value."""
    with lw.testing.reproducible(seed):
        reports = survey.randomize(values)
    batch = Batch.of(reports, survey=survey.fingerprint, segment=segment)
    path = f"/v1/surveys/{survey.fingerprint}/epochs/{epoch}/batches/{secrets.token_hex(16)}"
    answer = client.put(path, content=batch.to_bytes(), headers={"content-type": MEDIA_TYPE})
    answer.raise_for_status()


def incomes(rng: np.random.Generator, people: int, *, middle: float) -> np.ndarray:
    """Return made-up incomes, some of them zero."""
    earned = rng.lognormal(np.log(middle), 0.4, people).clip(0, 100_000)
    return np.where(rng.random(people) < 0.08, 0, earned)


def filled(client: httpx.Client) -> tuple[lw.Survey, lw.Survey]:
    """Publish two surveys, of numbers and of labels, and report to them."""
    rng = np.random.default_rng(7)
    money = lw.recommend(PERSON, epsilon=1, users=120_000).randomizer
    income = lw.Survey("Income in dollars", money, segments=["north", "south"])
    publish(client, income, "2026-w47", "2026-w48")
    for week, (epoch, middle) in enumerate((("2026-w47", 25_000), ("2026-w48", 30_000))):
        for segment in (0, 1, 2):
            values = incomes(rng, 40_000, middle=middle * (1 + 0.1 * segment))
            report(client, income, epoch, values, segment=segment, seed=10 * week + segment)
    names = ["lapwing", "curlew", "snipe", "godwit", "dunlin", "knot"]
    labels = lw.recommend(lw.Categories(names), epsilon=1, users=30_000).randomizer
    birds = lw.Survey(
        "Favorite wader",
        labels,
        question="Which of these waders do you like best?",
        purpose="To choose the bird for the cover of next year's calendar.",
        owner="Example Bird Club",
        contact="privacy@birds.example",
    )
    publish(client, birds, "spring")
    seen = rng.choice(names, p=[0.34, 0.25, 0.18, 0.12, 0.08, 0.03], size=30_000)
    report(client, birds, "spring", list(seen))
    return income, birds


def _in_our_font(route: Route) -> None:
    """Answer with the style sheet, and our font instead of the machine's."""
    faces = "".join(
        f'@font-face {{ font-family: "Drawn"; font-weight: {weight}; '
        f'src: url("/static/fonts/{name}"); }}\n'
        for name, weight in FONTS.items()
    )
    own = f'{faces}body {{ font-family: "Drawn"; }}\n'
    answer = route.fetch()
    route.fulfill(response=answer, body=answer.text() + own)


def _font(route: Route) -> None:
    folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    route.fulfill(path=folder / route.request.url.rpartition("/")[2])


def new_page(browser: Browser, scheme: Any) -> Page:
    """Return a page of twice the pixels whose text is in our font."""
    page = browser.new_page(
        color_scheme=scheme,
        device_scale_factor=2,
        viewport={"width": WIDTH, "height": WIDTH},
        reduced_motion="reduce",
    )
    page.set_default_timeout(1000 * PATIENCE)
    page.route("**/static/pages.css", _in_our_font)
    page.route("**/static/fonts/*", _font)
    return page


def shoot(page: Page, path: Path, *, height: int) -> None:
    """Write what is seen of a page, in at most 256 colors."""
    page.set_viewport_size({"width": WIDTH, "height": height})
    page.evaluate("document.fonts.ready")
    page.screenshot(path=path, animations="disabled")
    with Image.open(path) as picture:
        drawn = picture.convert("RGB").quantize(256, dither=Image.Dither.NONE)
    drawn.save(path, optimize=True)


def settled(page: Page) -> None:
    """Wait until nothing more is fetched, and the charts are drawn in our font."""
    page.wait_for_selector("#result [aria-labelledby]", state="attached")
    page.wait_for_selector("[data-load], [aria-busy]", state="detached")
    page.evaluate("document.fonts.ready")
    page.set_viewport_size({"width": WIDTH - 20, "height": WIDTH})
    page.wait_for_timeout(200)
    page.set_viewport_size({"width": WIDTH, "height": WIDTH})
    page.wait_for_timeout(200)


def draw_pages(folder: Path) -> None:
    """Write the pictures of the collector's pages, with made-up people."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        raise SystemExit(
            "Chromium is not here: install it (Debian, Ubuntu: apt-get install chromium)"
        )
    with (
        tempfile.TemporaryDirectory() as temporary,
        asking(temporary) as client,
        sync_playwright() as playwright,
    ):
        income, birds = filled(client)
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        for scheme in ("light", "dark"):
            page = new_page(browser, scheme)
            address = str(client.base_url).rstrip("/")
            page.goto(address)
            page.fill("#token", client.headers["authorization"].removeprefix("Bearer "))
            page.click("main button")
            page.wait_for_selector("h1:has-text('Surveys')")
            if scheme == "light":
                shoot(page, folder / "collector-surveys.png", height=900)
            page.goto(f"{address}/surveys/{income.fingerprint}?epoch=2026-w48")
            settled(page)
            name = "collector-numbers" if scheme == "light" else "collector-dark"
            shoot(page, folder / f"{name}.png", height=1240)
            if scheme == "dark":
                continue
            query = "?epoch=2026-w48&against=epoch:2026-w47"
            page.goto(f"{address}/surveys/{income.fingerprint}{query}")
            settled(page)
            page.set_viewport_size({"width": WIDTH, "height": 1100})
            page.locator("#h-difference").evaluate("each => each.scrollIntoView()")
            shoot(page, folder / "collector-difference.png", height=1100)
            page.goto(f"{address}/surveys/{birds.fingerprint}")
            settled(page)
            shoot(page, folder / "collector-labels.png", height=760)
            page.goto(f"{address}/add-survey")
            shoot(page, folder / "collector-add-survey.png", height=760)
            page.goto(f"{address}/take-part/{birds.fingerprint}")
            page.wait_for_selector("[data-ready]")
            page.get_by_label("curlew").check()
            page.click("#randomize")
            page.wait_for_selector("#report:not([hidden])")
            page.evaluate("scrollTo(0, 0)")
            shoot(page, folder / "collector-take-part.png", height=1240)
        browser.close()


def draw_scheme(folder: Path) -> None:
    """Draw the scheme of compressive privatization."""
    from benchmarks.accuracy.papers.compressive.compressive_pictures import structure

    structure({}).savefig(folder / "compressive-privatization.png", dpi=2 * WIDTH / 11)


def main(arguments: list[str]) -> None:
    """Draw all pictures."""
    folder = Path(arguments[0]) if arguments else IMAGES
    folder.mkdir(exist_ok=True)
    for draw in (draw_examples, draw_incomes, draw_hours, draw_series, draw_scheme, draw_pages):
        draw(folder)


if __name__ == "__main__":
    main(sys.argv[1:])
