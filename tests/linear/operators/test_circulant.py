"""Circular convolution, and that every pure protocol is one (convolution paper, theorem 1)."""

import numpy as np
import pytest

from lapwing import Categories, RandomizedResponse
from lapwing.linear.operators.banded import Circulant, circular_window
from lapwing.linear.operators.operator import CompoundSymmetric, dense
from lapwing.randomizers import OptimizedUnaryEncoding, UnaryEncoding


def test_entries_are_the_shifted_kernel() -> None:
    kernel = np.array([0.5, 0.1, 0.2, 0.15, 0.05])
    matrix = dense(Circulant(kernel))
    for j in range(5):
        for i in range(5):
            assert matrix[j, i] == pytest.approx(kernel[(j - i) % 5])


@pytest.mark.parametrize(("size", "width"), [(10, 3), (10, 1), (9, 9), (8, 7), (2, 1)])
def test_circular_window_is_centered(size: int, width: int) -> None:
    matrix = dense(circular_window(size, width=width, inside=0.3, outside=0.02))
    for j in range(size):
        for i in range(size):
            distance = min((j - i) % size, (i - j) % size)
            assert matrix[j, i] == pytest.approx(0.3 if distance <= width // 2 else 0.02)


@pytest.mark.parametrize("protocol", [RandomizedResponse, UnaryEncoding, OptimizedUnaryEncoding])
@pytest.mark.parametrize("size", [5, 50])
def test_reports_of_a_pure_protocol_are_a_circular_convolution(
    protocol: type[RandomizedResponse], size: int
) -> None:
    operator = protocol(Categories(size), 1).channel.blocks[0].operator
    assert isinstance(operator, CompoundSymmetric)
    kernel = operator.kernel
    # h = [p, q, ..., q] with p first; stored around the middle it would shift the estimate.
    assert kernel[0] == operator.diagonal and (kernel[1:] == operator.off_diagonal).all()
    shares = np.random.default_rng(1).dirichlet(np.ones(size))
    by_fourier = np.fft.ifft(np.fft.fft(kernel) * np.fft.fft(shares)).real
    by_matrix = dense(operator) @ shares
    np.testing.assert_allclose(by_fourier, by_matrix, atol=1e-15)
    np.testing.assert_allclose(Circulant(kernel).matvec(shares), by_matrix, atol=1e-15)
    spectrum = np.fft.fft(kernel)
    assert spectrum[0] == pytest.approx(kernel.sum())
    np.testing.assert_allclose(spectrum[1:], operator.diagonal - operator.off_diagonal, atol=1e-14)
    shifted = np.roll(kernel, size // 2)
    moved = np.fft.ifft(np.fft.fft(shifted) * np.fft.fft(shares)).real
    np.testing.assert_allclose(moved, np.roll(by_matrix, size // 2), atol=1e-15)


def test_the_kernel_is_frozen_and_a_copy() -> None:
    kernel = np.array([0.5, 0.3, 0.2])
    circulant = Circulant(kernel)
    kernel[0] = 9.0
    assert circulant.kernel[0] == 0.5
    with pytest.raises(ValueError, match="read-only"):
        circulant.kernel[0] = 1.0
