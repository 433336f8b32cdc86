"""Runs benchmarks one after the other, each in its own process, and keeps their results."""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from benchmarks import machine, results
from benchmarks.isolated import ENVIRONMENT, place

BENCHMARKS = {
    "accuracy/ems_reference": "EMS against a textbook implementation on the same reports",
    "accuracy/decoders": "decoders and randomizers on Beta(5, 2)",
    "accuracy/real_columns": "decoders and randomizers on real columns (needs the data folder)",
    "accuracy/coverage": "coverage and width of the exact linear band (needs the data folder)",
    "accuracy/mixture": "the multiscale wave with the spectral prior (needs the data folder)",
    "accuracy/best_of_papers": "the same against all the papers' methods (needs the data folder)",
    "accuracy/best_of_own": "the same against all pairs of our own (needs the data folder)",
    "accuracy/fresh_columns": "the same on other columns and densities (needs the data folder)",
    "accuracy/many_bins": "the same at 256, 1024 and 4096 bins (needs the data folder)",
    "accuracy/smooth_columns": "smooth columns, adaptive surveys (needs the data folder)",
    "accuracy/questions": "designs for one question against the default (needs the data folder)",
    "accuracy/large_epsilon": "the default above epsilon 4 (needs the data folder)",
    "accuracy/risk_table": "the errors behind `lapwing recommend`, on made-up columns",
    "accuracy/square_wave_figures": "the square-wave paper's figures 2-4 (needs the data folder)",
    "accuracy/square_wave_shapes": "the square-wave paper's figure 5 (needs the data folder)",
    "accuracy/square_wave_widths": "the square-wave paper's figure 6 (needs the data folder)",
    "accuracy/square_wave_bins": "the square-wave paper's figure 7 (needs the data folder)",
    "accuracy/square_wave_choices": "branching, budgets, orders (needs the data folder)",
    "accuracy/wavelet_figures": "the wavelet paper's figures 2, 3, 6, 7 (needs the data folder)",
    "accuracy/wavelet_levels": "the wavelet paper's figures 1 and 4 (needs the data folder)",
    "accuracy/wavelet_blocks": "the wavelet paper's figure 5",
    "accuracy/signed_sets": "the wavelet paper's signed sets beside plain ones",
    "accuracy/wavelet_times": "its samplers, and EM beside the wavelet: ratios of times",
    "accuracy/convolution_figures": "the convolution paper's figures 2-5 (needs the data folder)",
    "accuracy/convolution_errors": "its figures 6, 7 and 10 (needs the data folder)",
    "accuracy/convolution_largest": "its figures 8 and 9 (needs the data folder)",
    "accuracy/categorical_league": "decoders of sparse and heavy-tailed categories",
    "accuracy/click_counts": "the default of sparse categories on Kosarak (needs the data folder)",
    "accuracy/head_of_labels": "the 50 largest of sparse labels (needs the data folder)",
    "accuracy/few_labels": "four to 100 labels, shrunk or not",
    "accuracy/asked_labels": "the share of one label, asked for or not",
    "accuracy/heavy_hitters": "scan and prefix extension on Kosarak (needs the data folder)",
    "accuracy/compressive_figures": "the compressive paper's figures 2 and 3",
    "accuracy/compressive_theorem": "its theorem 1.1 and table 1, our rule for m, recommend",
    "accuracy/compressive_times": "decoding by number of symbols: ratios of times",
    "accuracy/league": "pairs of attributes, with HDG, AHEAD and others (needs the data folder)",
    "accuracy/finer_blocks": "blocks of pairs by the number of people (needs the data folder)",
    "accuracy/label_league": "an attribute within labels of another one (needs the data folder)",
    "accuracy/dependence_coverage": "intervals of correlations of pairs (needs the data folder)",
    "accuracy/kinds_coverage": "intervals of pairs by kind of answer (needs the data folder)",
    "accuracy/short_effects": "effects of pairs in a few hours: what is seen of them",
    "accuracy/ridges": "intervals of pairs on thin ridges, beside smooth pairs",
    "accuracy/marginal_cost": "marginals of pairs beside surveys of one (needs the data folder)",
    "accuracy/series_errors": "weeks decoded together (needs the data folder)",
    "accuracy/series_changes": "jumps of a series, found and false, and its bands",
    "accuracy/label_weeks": "intervals of weeks of labels, still and beside a change",
    "accuracy/watch_alarms": "changes that a watch reports where there are none",
    "accuracy/shuffle_table": "what shuffled reports promise",
    "accuracy/predicted_labels": "what `recommend` predicts for labels, beside simulation",
    "accuracy/predicted_error": "what recommend predicts, and what is seen (needs the data folder)",
    "accuracy/posterior_coverage": "bands of the spectral prior (needs the data folder)",
    "accuracy/wave_coverage": "the same on one square wave (needs the data folder)",
    "accuracy/own_edges": "bins of one's own beside 256 equal ones (needs the data folder)",
    "accuracy/compared_halves": "how often equal and different groups are said to differ",
    "accuracy/round_edges": "intervals at round edges of real incomes (needs the data folder)",
    "accuracy/cut_bands": "pointwise bands, cut to the simultaneous one",
    "accuracy/density_steps": "peaks that pictures of densities show, true and false",
    "accuracy/smooth_densities": "density intervals of smooth columns and of rough ones",
    "accuracy/values_outside": "error and coverage of overflow, compared with clipping",
    "accuracy/circle_coverage": "intervals of mean directions and quantiles on a circle",
    "accuracy/central_figures": "the central model: the default beside the paper's four methods",
    "accuracy/central_default": "its default beside the best of our own and of the paper's",
    "accuracy/release_choice": "the default mechanism against cells, trees and prefix sums",
    "accuracy/release_questions": "released answers against textbook mechanisms",
    "accuracy/released_beside_curve": "released answers beside the whole curve",
    "accuracy/central_labels": "releases of labels beside OpenDP's (needs opendp)",
    "accuracy/read_counts": "noisy counts of another library beside clipped ones",
    "accuracy/central_coverage": "coverage of the central model's bands",
    "accuracy/curators_bands": "the same of the curator's default",
    "accuracy/release_coverage": "the same from 64 to 4096 bins, with missing values",
    "accuracy/default_release_bands": "the same of all its intervals, in sixty settings",
    "accuracy/wide_ranges": "means and deviations on ranges up to 1,000 times too wide",
    "accuracy/found_atoms": "shares and intervals of found atoms (needs the data folder)",
    "accuracy/reported_atoms": "found and declared atoms of reports (needs the data folder)",
    "accuracy/whole_curves": "whole-curve bands of reports, seven kinds of columns, all edges",
    "accuracy/label_tables": "tables of the largest of many labels (needs the data folder)",
    "accuracy/central_projection": "the functional-approximation paper's figures 2 and 10-12",
    "accuracy/central_pursuit": "the functional-approximation paper's figures 3 and 13-15",
    "accuracy/central_dictionaries": "its figures 9, 26, 27 (needs the data folder)",
    "accuracy/central_sites": "its figures 6, 7, 20-23: sites, rounds (needs the data folder)",
    "accuracy/central_real": "its figure 19: Airbnb and a yaw angle (needs the data folder)",
    "accuracy/fewer_repeats": "claims of all five papers judged again with fewer repeats",
    "accuracy/fresh_seeds": "claims of all five papers judged again with another seed",
    "speed/randomizers": "randomize and tally a million people",
    "speed/categorical": "hashing, Hadamard response, subsets; a scan of 2^32 values",
    "speed/candidates": "candidates in a log of 2^32 values, beside a scan of all",
    "speed/decoding": "an iteration of EM, and EMS to convergence, compared with a dense matrix",
    "speed/numeric": "the spectral prior with its band, a large tree, the wavelet, grouped EM",
    "speed/series": "36 weeks at 256 bins, 500 at 64 decoded together",
    "speed/pairs": "decoding pairs, and reports of pairs beside those of one attribute",
    "speed/pair_reports": "uploads and Arrow reports of pairs beside those of one attribute",
    "speed/central": "exact noise, a release with its decode, counting a large table",
    "speed/starting": "import, and the command line from cold",
    "speed/under_load": "a decode and the demo, with another process on each core",
    "speed/streaming": "memory of tallying 100 million reports",
    "speed/merging": "merging logs of reports, by number of batches",
    "speed/engines": "the Arrow engine: reports a CPU second from memory and from Parquet",
    "speed/spark": "the Spark engine beside reading alone: CPU of all processes (needs Java)",
    "speed/frames": "columns of labels of polars, pandas and Arrow, beside a loop",
    "speed/large_summary": "memory of summarizing a billion rows of Parquet",
    "service/uploads": "uploads over HTTP: CPU, rates, groups",
    "service/delays": "delays of uploads while results are decoded",
    "service/hostile": "delays and memory beside hostile clients",
    "service/memory": "memory of a collector that counts 100 million reports",
    "service/javascript_reports": "reports of the JavaScript client (needs Node)",
    "service/first_picture": "the analyst's page: first picture (needs Chromium)",
}
"""Every benchmark, in the order in which they run. Adding one is adding a row and its script."""

BUSY = 0.5
"""Load above which other work on the machine is sure to disturb times."""


class UnknownBenchmarkError(ValueError):
    """No benchmark has this name."""


def chosen(names: Iterable[str]) -> list[str]:
    """Return the benchmarks that names of folders or benchmarks mean; without any, all."""
    wanted = list(names)
    for name in wanted:
        if not any(_meant(name, known) for known in BENCHMARKS):
            raise UnknownBenchmarkError(
                f"{name!r} is no benchmark; `python -m benchmarks --list` shows them all"
            )
    return [known for known in BENCHMARKS if not wanted or any(_meant(n, known) for n in wanted)]


def _meant(name: str, known: str) -> bool:
    wanted = name.rstrip("/")
    return known == wanted or f"{place(known)}/".startswith(f"{wanted}/")


def run(
    name: str, *, quick: bool = False, changed: Mapping[str, Any] | None = None
) -> dict[str, Any] | None:
    """Run one benchmark and return its result, which is not kept yet; None if it was skipped.

    Parameters
    ----------
    changed : mapping, optional
        Settings to use instead of those of the script.

    Raises
    ------
    subprocess.CalledProcessError
        When the benchmark fails; its own message stands above.
    """
    before = machine.load()
    if not name.startswith("accuracy/") and before > BUSY:
        _say(f"{name}: the load is {before}, so other work disturbs these times; repeat when idle")
    date = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%MZ")
    origin = machine.commit()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "measured.json"
        subprocess.run(
            [
                *(sys.executable, "-m", "benchmarks.isolated"),
                *(name, str(file), "quick" if quick else "full"),
                *([json.dumps(dict(changed))] if changed else []),
            ],
            cwd=machine.ROOT,
            env={**os.environ, **ENVIRONMENT},
            check=True,
        )
        measured = json.loads(file.read_text(encoding="utf-8"))
    if "skipped" in measured:
        _say(f"SKIPPED {name}: {measured['skipped']}")
        return None
    document = {
        "format": results.FORMAT,
        "version": results.VERSION,
        "name": name,
        "date": date,
        **origin,
        "machine": machine.machine(),
        "versions": machine.versions(),
        "load": {"before": before, "after": machine.load()},
        **measured,
    }
    results.check(document)
    return document


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
