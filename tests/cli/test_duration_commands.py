"""Commands take durations as hours, minutes and seconds, and answer in them."""

from __future__ import annotations

from pathlib import Path

from tests.cli.running import Program


def test_commands_read_and_write_durations(done: Program, tmp_path: Path) -> None:
    rows = [f"{hour}:{minute:02d}:00" for hour in range(8) for minute in range(0, 60, 2)]
    (tmp_path / "t.csv").write_text("t\n" + "\n".join(rows) + "\n")
    ends = ("--low", "0:00:00", "--high", "8:00:00", "--unit", "duration")
    done("new", "--domain-only", *ends, "-o", "d.json")
    words = ("--domain", "d.json", "--epsilon", "20", "--neighbors", "replace-one")
    made = done("release", "t.csv", *words, "-o", "r.json")
    assert "The interval is cut into 960 bins of 30 seconds." in made.out
    assert "above 8:00:00" in made.out and "below 0:00:00" in made.out
    assert "unreadable" not in made.err
    told = done("answer", "r.json", "--above", "2:00:00", "--at-most", "4:00:00", "--json")
    (share,) = told.document["questions"]
    assert abs(share["share"] - 0.25) < 0.02
    done("new", "--domain-only", *ends[:2], "--high", "0:00:10", *ends[4:], "-o", "s.json")
    done("plot", "r.json", "-o", "p.svg")
    assert "2:00:00" in (tmp_path / "p.svg").read_text()
    (tmp_path / "u.csv").write_text("t\n" + "90 minutes\n" * 200)
    told = done("count", "u.csv", "--domain", "d.json", "-c", "t", "-o", "c.lws")
    assert "Write durations as 1:30:00" in told.err


def test_commands_say_how_a_duration_is_written(
    done: Program, lapwing: Program, tmp_path: Path
) -> None:
    wrong = ("--low", "0", "--high", "8:00:00", "--unit", "duration")
    refused = lapwing("new", "--domain-only", *wrong, "-o", "d.json")
    assert refused.complaint == (
        "--low must be a duration such as 1:30:00 (hours, minutes, seconds)"
    )
    refused = lapwing("new", "--domain-only", *wrong[:-1], "minutes", "-o", "d.json")
    assert refused.complaint == (
        "--unit must be one of number, whole, date, datetime, time-of-day, duration, got 'minutes'"
    )
    done("new", "--domain-only", "--low", "0:00:00", *wrong[2:], "-o", "d.json")
    for rows in ("300\n", "5:00\n"):  # seconds, or minutes and seconds
        (tmp_path / "t.csv").write_text("t\n" + rows * 200)
        told = done("count", "t.csv", "--domain", "d.json", "-o", "c.lws", "--force").err
        assert "1:30 could be hours or minutes" in told and "--texts seconds" in told
    told = done("count", "t.csv", "--help").out.split("--texts")[1].split("--", 1)[0]
    assert "durations" in told
