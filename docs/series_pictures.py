"""Write the pictures of the taxi months anew: ``python docs/series_pictures.py``.

Needs the folder of real columns, see benchmarks/README.md. The draws are fixed, so that a picture
changes only with the decoder.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import lapwing as lw  # noqa: E402
from benchmarks.accuracy.series import made_up  # noqa: E402

IMAGES = ROOT / "docs" / "images"
SEED = 1


def taxi() -> lw.Series:
    """Return the months, 10,000 trips each, asked by 64 bins of the day at an epsilon of 1."""
    day = lw.Interval("00:00", "24:00", bins=made_up.BINS, unit="time-of-day", circular=True)
    survey = lw.Survey("pick-up time", lw.MultiscaleWave(day, epsilon=1))
    names, counts = made_up.taxi_months()
    tallies = made_up.tallies(survey, counts, seed=SEED)
    return lw.decode_series([(survey, tally) for tally in tallies], names=names)


def main() -> None:
    """Draw both."""
    series = taxi()
    print(series.summary())
    for kind, name in (("timeline", "taxi-series"), ("weeks", "taxi-weeks")):
        figure = series.plot(kind=kind, label="pick-up time")
        figure.savefig(IMAGES / f"{name}.png", metadata={"Software": None})


if __name__ == "__main__":
    main()
