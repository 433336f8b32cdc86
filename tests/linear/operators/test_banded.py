"""The sliding window and the sliding box against their definitions."""

import numpy as np
import pytest
from scipy.integrate import quad

from lapwing.linear.operators.banded import SlidingWindow
from lapwing.linear.operators.operator import dense
from lapwing.papers.square_wave.sliding_box import SlidingBox


@pytest.mark.parametrize(("size", "width"), [(6, 1), (6, 3), (6, 5), (3, 9), (1, 4), (7, 4)])
def test_window_is_its_definition(size: int, width: int) -> None:
    matrix = dense(SlidingWindow(size, width=width, inside=0.4, outside=0.01))
    assert matrix.shape == (size + width - 1, size)
    for j in range(size + width - 1):
        for i in range(size):
            assert matrix[j, i] == pytest.approx(0.4 if i <= j <= i + width - 1 else 0.01)


def overlap_by_quadrature(box: SlidingBox, output: int, source: int) -> float:
    """Return the entry as the paper defines it: an integral over the input bin of overlaps."""
    b, inputs, outputs = box.half_width, box.inputs, box.outputs
    low = -b + output * (1 + 2 * b) / outputs
    high = -b + (output + 1) * (1 + 2 * b) / outputs

    def probability(value: float) -> float:
        inside = max(0.0, min(high, value + b) - max(low, value - b))
        return box.inside * inside + box.outside * (high - low - inside)

    start, stop = source / inputs, (source + 1) / inputs
    corners = [low - b, low + b, high - b, high + b]
    breaks = [corner for corner in corners if start < corner < stop]
    integral, _ = quad(probability, start, stop, points=breaks or None, epsabs=1e-13)
    return integral * inputs


BOXES = [
    (6, 10, 0.23, 2.0),
    (11, 4, 0.3, 1.0),
    (5, 5, 0.01, 4.0),
    (5, 7, 1.7, 0.5),
    (8, 8, 0.125, 1.0),  # edges of inputs and outputs coincide
    (1, 3, 0.4, 1.0),
    (4, 1, 0.4, 1.0),
]


def square_wave_box(inputs: int, outputs: int, half_width: float, epsilon: float) -> SlidingBox:
    """Return the box of a square wave of the paper: densities p and q of its equation 3."""
    q = 1 / (2 * half_width * np.exp(epsilon) + 1)
    return SlidingBox(
        inputs=inputs,
        outputs=outputs,
        half_width=half_width,
        inside=np.exp(epsilon) * q,
        outside=q,
    )


@pytest.mark.parametrize(("inputs", "outputs", "half_width", "epsilon"), BOXES)
def test_box_entries_against_quadrature(
    inputs: int, outputs: int, half_width: float, epsilon: float
) -> None:
    box = square_wave_box(inputs, outputs, half_width, epsilon)
    matrix = dense_by_columns(box)
    for j in range(outputs):
        for i in range(inputs):
            assert matrix[j, i] == pytest.approx(overlap_by_quadrature(box, j, i), abs=1e-11)


def dense_by_columns(box: SlidingBox) -> np.ndarray:
    return np.column_stack([box.matvec(unit) for unit in np.eye(box.shape[1])])


@pytest.mark.parametrize(
    ("inputs", "outputs", "half_width", "epsilon"),
    [*BOXES, (256, 300, 0.2561, 1.0), (300, 256, 0.0304, 4.0), (1024, 1000, 0.1293, 2.0)],
)
def test_box_columns_sum_to_one_for_unequal_bins(
    inputs: int, outputs: int, half_width: float, epsilon: float
) -> None:
    box = square_wave_box(inputs, outputs, half_width, epsilon)
    np.testing.assert_allclose(box.rmatvec(np.ones(outputs)), 1, atol=1e-12)
    mass = np.random.default_rng(1).dirichlet(np.ones(inputs))
    assert box.matvec(mass).sum() == pytest.approx(1, abs=1e-12)
    assert box.matvec(mass).min() > 0


def test_the_other_orientation_is_another_matrix() -> None:
    """M of the square-wave paper, as printed, has its indices swapped: its columns miss one."""
    box = square_wave_box(32, 32, 0.2561, 1.0)
    matrix = dense_by_columns(box)
    assert np.abs(matrix.sum(axis=0) - 1).max() < 1e-12
    assert np.abs(matrix.sum(axis=1) - 1).max() > 0.05


def test_midpoints_would_be_biased() -> None:
    """Why the box integrates: an input bin is not its midpoint when the wave is steep."""
    box = square_wave_box(4, 8, 0.05, 4.0)
    exact = dense_by_columns(box)
    edges = np.linspace(-0.05, 1.05, 9)
    middles = (np.arange(4) + 0.5) / 4
    inside = np.clip(
        np.minimum(edges[1:, None], middles + 0.05) - np.maximum(edges[:-1, None], middles - 0.05),
        0,
        None,
    )
    midpoint = box.inside * inside + box.outside * (np.diff(edges)[:, None] - inside)
    assert np.abs(midpoint.sum(axis=0) - 1).max() < 1e-12
    assert np.abs(midpoint - exact).max() > 0.1
