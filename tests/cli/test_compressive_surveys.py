"""Compressive privatization and RAPPOR from the command line, up to the decoded shares."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from tests.cli.running import Program

PAGES = ("--name", "page", "--categories", "300", "--epsilon", "1", "--output", "s.json")
COMPRESSED = ("new", "--randomizer", "compressive-privatization", *PAGES, "--set", "outputs=90")


def write_pages(folder: Path) -> None:
    """Write what 20,000 people hold: half of them 7, the others 100 and 299."""
    pages = np.array([7] * 10_000 + [100] * 6000 + [299] * 4000)
    lines = ["page", *map(str, np.random.default_rng(1).permutation(pages).tolist())]
    (folder / "pages.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.mark.parametrize("decoder", [(), ("--decoder", "sparse-recovery", "--set", "sparsity=3")])
def test_from_a_table_to_the_shares(
    done: Program, tmp_path: Path, decoder: tuple[str, ...]
) -> None:
    write_pages(tmp_path)
    done(*COMPRESSED)
    done("randomize", "s.json", "pages.csv", "-c", "page", "--output", "r.lwr")
    done("tally", "s.json", "r.lwr", "--output", "t.json")
    document = done("decode", "s.json", "t.json", *decoder, "--json").document
    text = str(document)
    assert "sparse-recovery" in text
    shares = {row["label"]: row["share"] for row in document["shares"]}
    for label, share in ((7, 0.5), (100, 0.3), (299, 0.2)):
        assert shares[label] == pytest.approx(share, abs=0.1)


def test_the_published_matrix_states_what_it_promises(lapwing: Program, done: Program) -> None:
    published = (*COMPRESSED, "--set", "matrix=rademacher")
    refused = lapwing(*published)
    assert refused.code != 0 and "a true epsilon of 1." in refused.complaint
    true = refused.complaint.rpartition('accept_epsilon="')[2].rstrip('"')
    done(*published, "--set", f"accept_epsilon={true}")
    document = done("verify", "s.json", "--json").document
    assert Fraction(document["guarantee"]["epsilon"]) == Fraction(true) > Fraction("1.1")
    # What is shown is the promise that was accepted, and not the nominal epsilon of the matrix.
    assert document["repeats"][0]["epsilon"] == pytest.approx(float(true), abs=1e-9)
    assert f"(e^{true})" in done("verify", "s.json").out


def test_rappor_asks_once_from_a_table(done: Program, tmp_path: Path) -> None:
    write_pages(tmp_path)
    done("new", "--randomizer", "rappor", *PAGES, "--set", "lifetime=3")
    done("randomize", "s.json", "pages.csv", "-c", "page", "--output", "r.lwr")
    done("tally", "s.json", "r.lwr", "--output", "t.json")
    assert done("decode", "s.json", "t.json", "--json").document
    assert done("verify", "s.json", "--json").document["repeats"][0]["epsilon"] == 1
