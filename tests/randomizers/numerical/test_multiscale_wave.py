"""The ladder of waves: its table, what it does between the rows, and how it fits a domain."""

import math

import numpy as np
import pytest

from lapwing import Interval
from lapwing.linear.operators.operator import dense
from lapwing.randomizers.mixture import COIN
from lapwing.randomizers.numerical.multiscale_wave import (
    DEFAULT_MIXTURES,
    SUBSETS,
    WHOLE,
    MultiscaleWave,
    default_mixture,
)
from lapwing.randomizers.numerical.square_wave import mutual_information_width

LINE = Interval(0, 1, bins=64, outside="clip")


def test_every_row_of_the_table_is_a_mixture() -> None:
    for row in DEFAULT_MIXTURES.values():
        assert len(row.multiples) == len(row.waves) == 4
        assert len(row.subsets) == len(SUBSETS)
        assert math.fsum([*row.waves, *row.subsets]) == pytest.approx(1, abs=1e-12)
        assert min(row.multiples) > 0 <= min([*row.waves, *row.subsets])


@pytest.mark.parametrize("epsilon", sorted(DEFAULT_MIXTURES))
def test_at_a_row_the_parts_are_the_row(epsilon: float) -> None:
    row, parts = DEFAULT_MIXTURES[epsilon], default_mixture(epsilon)
    for width in set(row.multiples):
        share = sum(s for m, s in zip(row.multiples, row.waves, strict=True) if m == width)
        assert ("wave", width, pytest.approx(share, abs=1e-8)) in parts
    for cells, share in zip(SUBSETS, row.subsets, strict=True):
        found = [s for kind, size, s in parts if (kind, size) == ("subset", cells)]
        assert found == ([pytest.approx(share, abs=1e-8)] if share else [])


def test_outside_the_table_its_ends_are_used() -> None:
    assert default_mixture(0.01) == default_mixture(0.5)
    assert default_mixture(24) == default_mixture(8)


def test_from_4_to_6_nothing_changes_and_then_waves_become_wider() -> None:
    assert default_mixture(4) == default_mixture(5) == default_mixture(6) != default_mixture(7)
    domain = Interval(0, 1, bins=256, outside="clip")
    near = [group.randomizer for group in MultiscaleWave(domain, 8).groups]
    assert [wave._derived["near"] for wave in near[:2]] == [3, 5]
    assert near[2].domain.size == 256


def test_between_rows_parts_change_little_by_little() -> None:
    middle = {size: share for kind, size, share in default_mixture(2**0.5) if kind == "subset"}
    assert middle == pytest.approx({16: 0.04, 64: 0.04, WHOLE: 0.17}, abs=1e-9)
    waves = {size: share for kind, size, share in default_mixture(2**0.5) if kind == "wave"}
    assert waves == pytest.approx({0.35: 0.16, 0.65: 0.22, 0.85: 0.21, 1.05: 0.16}, abs=1e-9)
    for epsilon in np.geomspace(0.3, 10, 200):
        parts = default_mixture(float(epsilon))
        assert math.fsum(share for _, _, share in parts) == pytest.approx(1, abs=1e-8)
        nearby = default_mixture(float(epsilon) * 1.001)
        assert abs(_share(parts, WHOLE) - _share(nearby, WHOLE)) < 0.003


def test_parts_between_rows_are_rounded_as_said() -> None:
    """Surveys spell the parts out: other digits would be other surveys."""
    for epsilon in np.geomspace(0.5, 8, 60):
        for kind, size, _ in default_mixture(float(epsilon)):
            assert kind == "subset" or round(size * 1000) / 1000 == size


def _share(parts: tuple[tuple[str, float, float], ...], cells: int) -> float:
    return sum(share for kind, size, share in parts if (kind, size) == ("subset", cells))


def test_logarithms_that_differ_in_the_last_digit_give_the_same_parts() -> None:
    for epsilon in (0.7, 1.5, 2.5, 3.3):
        for neighbor in (math.nextafter(epsilon, 0), math.nextafter(epsilon, 9)):
            assert default_mixture(neighbor) == default_mixture(epsilon)


@pytest.mark.parametrize("epsilon", [0.5, 0.8, 2, 4])
def test_waves_have_the_widths_that_the_parts_say(epsilon: float) -> None:
    # The window of a wave of c times the width b covers about 2 c b of the domain.
    groups = MultiscaleWave(Interval(0, 1, bins=256, outside="clip"), epsilon).groups
    for part, (kind, size, share) in zip(groups, default_mixture(epsilon), strict=True):
        assert part.share / COIN == pytest.approx(share, abs=1e-8)
        if kind == "wave":
            width = 2 * size * mutual_information_width(epsilon)
            assert part.randomizer._derived["near"] / 256 == pytest.approx(width, abs=1 / 256)
        else:
            assert part.randomizer.domain.size == size


@pytest.mark.parametrize("epsilon", [0.5, 1, 2, 4])
def test_no_frequency_is_lost_which_one_wave_alone_would_hide(epsilon: float) -> None:
    def weakest(parts: list[tuple[str, float, float]] | None) -> float:
        channel = MultiscaleWave(LINE, epsilon, components=parts).channel
        information = np.zeros((64, 64))
        for block in channel.blocks:
            counts = np.zeros(block.outputs, dtype=np.int64)
            uniform = np.full(64, 1 / 64)
            information += (
                dense(block.score_and_information(uniform, counts, 1000)[1]) * block.share
            )
        centered = np.eye(64) - 1 / 64
        return float(np.linalg.eigvalsh(centered @ information @ centered)[1])

    assert weakest(None) > 2 * weakest([("wave", 1.0, 1.0)])


@pytest.mark.parametrize(
    ("bins", "expected"),
    [
        (256, {256: 0.16}),
        (300, {256: 0.12, 300: 0.04}),
        (1024, {256: 0.12, 1024: 0.04}),
        (4096, {256: 0.12, 4096: 0.04}),
        (10**6, {256: 0.12, 2**16: 0.04}),
    ],
)
def test_on_more_bins_a_quarter_of_the_finest_share_goes_to_single_bins(
    bins: int, expected: dict[int, float]
) -> None:
    parts = MultiscaleWave(Interval(0, 1, bins=bins, outside="clip"), 2).groups
    cells = {part.randomizer.domain.size: part.share / COIN for part in parts[5:]}
    assert cells == pytest.approx(expected, abs=1e-8)
    assert max(part.randomizer.report_width for part in parts) <= 4


@pytest.mark.parametrize(("bins", "expected"), [(256, {258: 0.16}), (257, {256: 0.12, 259: 0.04})])
def test_symbols_outside_do_not_make_the_bins_many(bins: int, expected: dict[int, float]) -> None:
    parts = MultiscaleWave(Interval(0, 1, bins=bins, outside="overflow"), 2).groups
    cells = {part.randomizer.domain.size: part.share / COIN for part in parts[5:]}
    assert cells == pytest.approx(expected, abs=1e-8)


def test_sets_are_sent_by_name_unless_their_bits_are_as_short() -> None:
    kinds = {(kind, size) for kind, size, _ in MultiscaleWave(LINE, 0.5).components or ()}
    assert kinds >= {("subset", 8), ("subset", 16), ("affine", 64)}
    wave = MultiscaleWave(Interval(0, 1, bins=4096, outside="clip"), 0.5)
    assert wave.report_width == 4


def test_on_few_bins_subsets_of_more_cells_than_bins_become_one() -> None:
    parts = MultiscaleWave(Interval(0, 1, bins=16), 0.5).groups
    cells = [part.randomizer.domain.size for part in parts]
    assert max(cells) == 16
    assert sum(part.share for part in parts) == COIN


def test_the_document_spells_the_parts_out_and_they_make_the_same_randomizer() -> None:
    wave = MultiscaleWave(Interval(0, 1, bins=1024, outside="clip"), "1.5")
    document = wave.to_document()
    assert [tuple(part) for part in document["components"]] == list(wave.components or ())
    again = MultiscaleWave(wave.domain, "1.5", components=document["components"])
    assert again.fingerprint == wave.fingerprint
    assert again.groups == wave.groups
