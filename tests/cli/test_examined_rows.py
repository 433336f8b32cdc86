"""Whether a release is made never depends on a screen that is not there."""

from __future__ import annotations

import errno
import io
import sys
from pathlib import Path

import pytest

from tests.cli.running import Program


class FullDisk(io.StringIO):
    """A stream on a disk without room."""

    def write(self, text: str) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("missing", ["stdin", "full stderr"])
def test_a_doubtful_column_is_released_like_any_other(
    missing: str, done: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done("new", "--domain-only", "--low", "0", "--high", "10", "--bins", "8", "-o", "d.json")
    (tmp_path / "bad.csv").write_text("v\n" + "5\n" * 100 + "abc\n" * 300)
    if missing == "stdin":
        monkeypatch.setattr(sys, "stdin", None)
    else:
        monkeypatch.setattr(sys, "stderr", FullDisk())
    words = ["release", "bad.csv", "--domain", "d.json", "--epsilon", "1", "-o", "out.json"]
    done(*words, "--neighbors", "replace-one", "--json")
    assert (tmp_path / "out.json").exists()
