"""The series that judge: 36 months of taxi trips, and four made-up ones.

No constant was chosen on them: those were chosen on a random walk of a beta density's logarithm, a
normal that widens, gamma densities that stay or jump, two normals with one odd week, a density
that flickers, and an income with three heavy values.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, lognorm, norm

import lapwing as lw
from benchmarks import datasets

WEEKS, BINS, PEOPLE = 36, 64, 10_000

JUMP_WEEK = 17
"""Position of the first week after the jump."""

JUMP = 0.1
"""Its largest gap of the curves."""

_PLACE = (np.arange(BINS) + 0.5) / BINS

Mass = NDArray[np.float64]


def still() -> list[Mass]:
    """Return 36 times the same: two normals."""
    return [_normed(0.6 * norm(0.35, 0.1).pdf(_PLACE) + 0.4 * norm(0.7, 0.07).pdf(_PLACE))] * WEEKS


def drift() -> list[Mass]:
    """Return a lognormal whose median grows by 1.2% a week."""
    return [_normed(lognorm(0.5, scale=0.22 * 1.012**week).pdf(_PLACE)) for week in range(WEEKS)]


def season() -> list[Mass]:
    """Return a beta density whose mean goes up and down with a period of 12 weeks."""
    means = 0.45 + 0.05 * np.sin(2 * np.pi * np.arange(WEEKS) / 12)
    return [_normed(beta(8 * mean, 8 * (1 - mean)).pdf(_PLACE)) for mean in means]


def jump() -> list[Mass]:
    """Return two normals, of which the right one has more from one week on: KS .1."""
    left, right = (_normed(norm(*each).pdf(_PLACE)) for each in ((0.35, 0.1), (0.7, 0.07)))
    before, turned = 0.7 * left + 0.3 * right, right - left
    apart = np.abs(np.cumsum(turned)).max()
    after = before + JUMP / apart * turned
    return [before] * JUMP_WEEK + [after] * (WEEKS - JUMP_WEEK)


MADE_UP: dict[str, Callable[[], list[Mass]]] = {
    "still": still,
    "drift": drift,
    "season": season,
    "jump": jump,
}


def survey(*, circular: bool = False, bins: int = BINS, epsilon: float = 1) -> lw.Survey:
    """Return the survey that all weeks answer."""
    domain = lw.Interval(0, 1, bins=bins, circular=circular, outside="clip")
    return lw.Survey("series", lw.MultiscaleWave(domain, epsilon=epsilon))


def taxi_months(folder: str | None = None) -> tuple[list[str], NDArray[np.int64]]:
    """Return the names of the 36 months, and how many of 10,000 trips began in each bin.

    Parameters
    ----------
    folder : str, optional
        The data folder; by default as the benchmarks find it.
    """
    from pyarrow import parquet

    path = datasets.data_folder(folder) / "taxi_pickup_seconds.parquet"
    if not path.is_file():
        raise datasets.DataFolderError(f"{path} is not there; see benchmarks/README.md")
    table = parquet.read_table(path)
    seconds, month = (table[name].to_numpy() for name in ("pickup_second", "year_month"))
    months = np.unique(month)
    counts = [
        np.bincount(seconds[month == one].astype(np.int64) * BINS // 86_400, minlength=BINS)
        for one in months
    ]
    return [f"{one // 100}-{one % 100:02d}" for one in months.tolist()], np.array(counts)


def drawn(masses: list[Mass], *, seed: list[int], people: int = PEOPLE) -> NDArray[np.int64]:
    """Return how many people hold each bin in each week: int64 [weeks, bins]."""
    rng = np.random.default_rng(seed)
    return np.array([rng.multinomial(people, mass) for mass in masses])


def tallies(survey: lw.Survey, counts: NDArray[np.int64], *, seed: int) -> list[lw.Tally]:
    """Return the tally of every week."""
    return [
        lw.simulate(survey.randomizer, week, rng=100_000 * seed + number)
        for number, week in enumerate(counts)
    ]


def errors(mass: Mass, counts: NDArray[np.int64]) -> tuple[float, float]:
    """Return W1 and KS to the week's own people, over the bin edges."""
    gaps = np.abs(np.cumsum(mass - counts / counts.sum()))
    return float(gaps.mean()), float(gaps.max())


def _normed(density: Mass) -> Mass:
    mass: Mass = density / density.sum()
    return mass
