"""The matrices of the square-wave paper's figures, beside the library's own and by adding up."""

import numpy as np
import pytest

import lapwing as lw
from benchmarks.accuracy.papers.figure_columns import interval
from benchmarks.accuracy.papers.square_wave.randomize_first import (
    CompiledBox,
    InBuckets,
    bucket_counts,
    bucket_matrix,
)
from benchmarks.accuracy.papers.square_wave.trapezoid_channel import ByCorners, SlidingPolygon
from lapwing.papers.square_wave.sliding_box import SlidingBox


class TestMatrices:
    @pytest.mark.parametrize(("inputs", "outputs", "b"), [(30, 30, 0.26), (50, 70, 0.13)])
    def test_the_compiled_box_is_the_box(self, inputs, outputs, b):
        sizes = {"inputs": inputs, "outputs": outputs, "half_width": b}
        fast, slow = (one(**sizes, inside=2.0, outside=0.3) for one in (CompiledBox, SlidingBox))
        rng = np.random.default_rng(1)
        x, r = rng.random(inputs), rng.random(outputs)
        np.testing.assert_allclose(fast.matvec(x), slow.matvec(x), rtol=1e-11)
        np.testing.assert_allclose(fast.rmatvec(r), slow.rmatvec(r), rtol=1e-11)

    @pytest.mark.parametrize("ratio", [0.8, 0.4, 0.0])
    def test_a_polygon_is_its_table(self, ratio):
        wave = lw.papers.square_wave.GeneralWave(interval(60), 1, ratio=ratio, width=0.21)
        table = wave.channel.blocks[0].operator
        polygon = SlidingPolygon(table)
        rng = np.random.default_rng(2)
        x, r = rng.random(60), rng.random(table.shape[0])
        np.testing.assert_allclose(polygon.matvec(x), table.matvec(x), rtol=1e-10)
        np.testing.assert_allclose(polygon.rmatvec(r), table.rmatvec(r), rtol=1e-10)
        assert polygon.places.size <= 8

    def test_the_matrix_of_buckets_is_the_wave_added_up(self):
        fine, bins = 512, 8
        wave = lw.SquareWave(interval(fine), 1).channel.blocks[0].operator
        dense = wave.matmat(np.repeat(np.eye(bins), fine // bins, axis=0) * bins / fine)
        scale = 10**9
        by_hand = [bucket_counts(scale * column, wave, bins) / scale for column in dense.T]
        found = bucket_matrix(wave, bins).matmat(np.eye(bins))
        np.testing.assert_allclose(found.sum(axis=0), 1, rtol=1e-12)
        # Half a cell at both ends is all that sets them apart.
        np.testing.assert_allclose(np.array(by_hand).T, found, atol=1 / fine)
        other = lw.SquareWave(interval(fine), 1, width=0.3).channel.blocks[0].operator
        assert np.abs(
            np.array(by_hand).T - bucket_matrix(other, bins).matmat(np.eye(bins))
        ).max() > (4 / fine)

    def test_people_are_found_from_buckets(self):
        wave = lw.SquareWave(interval(64), 8)
        counts = np.repeat([0, 3000, 1000, 0], 16) * 10
        tally = lw.simulate(wave, counts, rng=1)
        answer = InBuckets(4, lw.LeastSquares()).decode(wave.channel, tally)
        np.testing.assert_allclose(answer.mass, [0, 0.75, 0.25, 0], atol=0.01)

    def test_a_decoder_gives_the_same_by_corners(self):
        wave = lw.papers.square_wave.GeneralWave(interval(32), 2, ratio=0.6, width=0.2)
        tally = lw.simulate(wave, np.arange(32) * 100, rng=1)
        decoder = lw.ExpectationMaximization(smoothed=True, band=False)
        slow, fast = decoder, ByCorners(decoder)
        np.testing.assert_allclose(
            fast.decode(wave.channel, tally).mass, slow.decode(wave.channel, tally).mass, rtol=1e-9
        )
