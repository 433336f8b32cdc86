"""The sine prior: closed forms against plain sums, and what it keeps of smooth and jumpy curves."""

import numpy as np
import pytest

from lapwing.decoders.releases.step_pursuit import Waves, pursue, sine_transform

SIZE = 48
RNG = np.random.default_rng(4)


def matrix(size):
    k = np.arange(1, size)
    return np.sqrt(2 / size) * np.sin(np.pi / size * np.outer(k, k))


def jump(size, place):
    k = np.arange(1, size)
    return (k >= place) - k / size


class TestTransforms:
    def test_the_transform_is_orthonormal_and_its_own_inverse(self):
        curve = RNG.normal(size=SIZE - 1)
        assert np.allclose(sine_transform(curve), matrix(SIZE) @ curve)
        assert np.allclose(sine_transform(sine_transform(curve)), curve)

    @pytest.mark.parametrize("size", [3, SIZE, 49])
    def test_waves_of_jumps(self, size):
        places = np.arange(1, size + 1)
        expected = np.column_stack([matrix(size) @ jump(size, place) for place in places])
        assert np.allclose(Waves(size, np.ones(size - 1)).jump_waves(places), expected)

    @pytest.mark.parametrize("size", [3, SIZE, 49])
    def test_scores_of_all_jumps(self, size):
        residual = RNG.normal(size=size - 1)
        weights = RNG.uniform(0.5, 2, size=size - 1)
        waves = Waves(size, np.ones(size - 1))
        columns = waves.jump_waves(np.arange(1, size + 1))
        expected = columns.T @ (weights * residual) / np.sqrt(weights @ columns**2)
        assert np.allclose(waves.jump_scores(residual, weights), expected)


class TestFit:
    def test_the_level_of_smooth_curves_is_found(self):
        size, level = 1024, 0.5
        k = np.arange(1, size)
        prior = level * size * k**-2.0
        noise = np.full(size - 1, 1e-9)
        wave = np.random.default_rng(1).normal(size=size - 1) * np.sqrt(prior)
        found = Waves(size, noise).fitted(wave)
        assert np.exp(np.mean(np.log(found / prior))) == pytest.approx(1, rel=0.35)

    def test_noise_alone_is_shrunk_away(self):
        size = 256
        noise = np.full(size - 1, 1e-4)
        wave = np.random.default_rng(2).normal(size=size - 1) * 1e-2
        found = pursue(wave, noise=noise, sampling=np.zeros(size - 1))
        assert found.places.size == 0
        assert np.sum(found.waves**2) < 0.05 * np.sum(wave**2)


class TestPursuit:
    @pytest.mark.parametrize("places", [[100], [30, 31], [1, 128, 200, 256]])
    def test_clear_jumps_are_found_where_they_are(self, places):
        size = 256
        curve = sum(jump(size, place) for place in places) / len(places)
        noise = np.full(size - 1, 1e-7)
        wave = sine_transform(curve) + np.random.default_rng(3).normal(size=size - 1) * 3e-4
        found = pursue(wave, noise=noise, sampling=np.zeros(size - 1))
        kept = found.places[found.heights > 0.5 / len(places)]
        assert sorted(kept.tolist()) == places
        assert np.abs(sine_transform(found.waves) - curve).max() < 0.01

    def test_heights_are_never_negative(self):
        size = 128
        wave = sine_transform(-0.5 * jump(size, 60))
        found = pursue(wave, noise=np.full(size - 1, 1e-6), sampling=np.zeros(size - 1))
        assert (found.heights >= 0).all()
