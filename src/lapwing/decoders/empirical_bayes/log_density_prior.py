"""The most probable smooth log-density of pairs, with smoothness learned from the reports.

A smooth density makes a dependence look weaker than it is, so :func:`direct_measures` estimates it
without smoothing. Mean counts of outputs are linear in the cells, so some sums of counts estimate a
sum of cells without bias, whatever the density is. Here is the one with the least variance. A
measure of the dependence is no sum of cells, but near a fitted table it is close to one: its slopes
are the weights.

Many systems with one symmetric matrix are solved together by conjugate gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from lapwing.declared import Declared, Whole
from lapwing.decoders.decoder import Decoder, decoder_document, guarantee_of
from lapwing.decoders.empirical_bayes.octave_variances import AxisFunctions, OctaveVariances
from lapwing.decoders.empirical_bayes.separable_model import LogDensity, separable_parts
from lapwing.docstrings import inherits
from lapwing.linear.arrays import Matrix, Vector, one_thread
from lapwing.protocol.channels.channel import Channel, check_given
from lapwing.protocol.domains.domain import Domain, bin_range
from lapwing.protocol.domains.product import Product
from lapwing.protocol.messages.tally import CountTally, Kind
from lapwing.results.association import measure_of, slopes_of
from lapwing.results.joint_distribution import JointDistribution
from lapwing.results.joint_uncertainty import JointUncertainty

System = Callable[[Matrix], Matrix]
"""A symmetric matrix, as what it makes of a stack of amplitudes."""

_DRIFT = 2.0
"""A solution is rounded too much if its residual is so many times what it should be."""


class TooRoundedError(Exception):
    """Single precision does not suffice for a system."""


@dataclass(frozen=True, eq=False)
class KnownBlock:
    """Rows and columns of a matrix that are known, to start from the inverse of this block.

    entries: Their numbers in a flattened table.
    inverse: Inverse of the Cholesky factor of the block.
    """

    entries: NDArray[np.int64]
    inverse: Matrix


def _columns(stack: Matrix) -> Matrix:
    """Return each table of a stack as a column."""
    return stack.reshape(len(stack), -1).T


def solved(
    system: System,
    right: Matrix,
    diagonal: Matrix,
    *,
    tolerance: float,
    most: int,
    block: KnownBlock | None = None,
) -> Matrix:
    """Return the solutions of a stack of right-hand sides, by at most so many rounds.

    diagonal: About that of the matrix. It decides how fast the iteration is, as `block` does.

    Raises TooRoundedError when solutions in single precision are not what the iteration takes them
    to be.

    Block conjugate gradients with orthonormal residuals [1]_: all right-hand sides share their
    search directions, so they need fewer rounds. The iteration starts from zero, because a first
    guess by the diagonal can be so far off that its rounding stays.

    .. [1] A. A. Dubrulle, "Retooling the method of block conjugate gradients", Electronic
       Transactions on Numerical Analysis 12, 2001.
    """
    root = np.sqrt(diagonal)

    def divided(stack: Matrix, *, transposed: bool = False) -> Matrix:
        """Return a stack over the root of the matrix, about."""
        quotient = stack / root
        if block is not None:
            flat, inner = quotient.reshape(len(stack), -1), stack.reshape(len(stack), -1)
            inverse = block.inverse if transposed else block.inverse.T
            flat[:, block.entries] = inner[:, block.entries] @ inverse
        return quotient

    def scaled(vectors: Matrix) -> Matrix:
        return divided(system(divided(vectors.T.reshape(-1, *root.shape), transposed=True)))

    basis, rest = np.linalg.qr(_columns(divided(right)))
    goal = tolerance * np.linalg.norm(rest, axis=0)
    steps, found = basis, np.zeros((basis.shape[0], len(right)), dtype=right.dtype)
    for _ in range(most):
        if (np.linalg.norm(rest, axis=0) <= goal).all():
            break
        image = _columns(scaled(steps))
        try:
            curvature = np.linalg.inv(steps.T @ image)
        except np.linalg.LinAlgError:
            break  # no direction is left: what is found is checked below
        found += steps @ (curvature @ rest)
        basis, turned = np.linalg.qr(basis - image @ curvature)
        steps, rest = basis + steps @ turned.T, turned @ rest
    solution = divided(found.T.reshape(right.shape), transposed=True)
    product = (rest**2).sum(axis=0)
    if right.dtype == np.float32:
        residual = right - system(solution)
        drifted = (divided(residual) ** 2).sum(axis=(1, 2))
        if not (drifted <= _DRIFT**2 * np.maximum(product, goal**2)).all():
            raise TooRoundedError
    return solution


_MOST_ROUNDS = 60
"""Rounds of conjugate gradients, at most."""
# The deviation is that of the sum of counts that is found, wherever the rounds end.

_RIDGES = (1e-6, 1.0, 10.0, 100.0)
"""Information about each cell that is added, for each report."""
# With more of it an estimate has less noise, and leaves more of the measure to the fitted table.
# The one with the least deviation counts.

_HIDDEN = 2.0
"""Factor of the deviation of what is left to the table."""
# The truth is further off than draws of a smooth density. Chosen on a normal pair and on five of
# the benchmark's, with people of their own.


_UNKNOWN = 1e6
"""Deviation of a measure about which the reports say nothing."""


def direct_measures(
    density: LogDensity, cells: Matrix, domain: Product, amplitudes: Matrix, changes: Matrix
) -> dict[str, tuple[float, float]]:
    """Return each measure of the dependence as the reports show it, with its standard deviation.

    cells: The fitted table.
    amplitudes: Posterior draws of the distance from the fitted amplitudes: [draws, functions,
        functions].
    changes: Posterior draws of the distance from the fitted cells, for what no counts show: [draws,
        cells, cells].
    returns: As :attr:`JointUncertainty.direct`.
    """
    slopes = slopes_of(domain, cells)
    added, deviations = _direct(density, cells, np.array(list(slopes.values())), changes)
    found = {}
    for name, more, deviation in zip(slopes, added, deviations, strict=True):
        value = measure_of(domain, name)(cells) + float(more)
        if name == "mutual_information":
            value -= _optimism(density, cells, amplitudes)
        known = np.isfinite(value) and np.isfinite(deviation)
        found[name] = (value, float(deviation)) if known else (0.0, _UNKNOWN)
    return found


def _direct(
    density: LogDensity, cells: Matrix, slopes: Matrix, changes: Matrix
) -> tuple[Vector, Vector]:
    """Return what the reports add to numbers of the fitted cells, and deviations of the sums."""
    weights = density.weights(cells)
    surprise = density.surprise(cells, weights)
    reports = sum(part.reports for part in density.parts)
    added, deviations = np.zeros(len(slopes)), np.full(len(slopes), np.inf)
    for ridge in reports * np.array(_RIDGES):
        linear = solved(
            _with_ridge(density, weights, ridge),
            slopes,
            density.cell_information(weights) + ridge,
            tolerance=0.01,
            most=_MOST_ROUNDS,
        )
        shown = density.informed(weights, linear)
        hidden = np.einsum("kij,dij->kd", slopes - shown, changes)
        variance = (linear * shown).sum(axis=(1, 2)) + _HIDDEN**2 * (hidden**2).mean(axis=1)
        better = np.sqrt(variance) < deviations
        added[better] = (linear * surprise).sum(axis=(1, 2))[better]
        deviations[better] = np.sqrt(variance)[better]
    return added, deviations


def _with_ridge(density: LogDensity, weights: list[Matrix], ridge: float) -> System:
    """Return the information about the cells, with more of it about each."""
    return lambda of_cells: density.informed(weights, of_cells) + ridge * of_cells


def _optimism(density: LogDensity, cells: Matrix, amplitudes: Matrix) -> float:
    """Return by how much the reports overrate a log-ratio that was fitted to themselves.

    The log-ratio of the cells and independence follows the noise of the reports, so their mean of
    it is too large: by the posterior variance of the log-ratio of a person's cell.
    """
    moved = np.matmul(np.matmul(density.first, amplitudes), density.second.T)
    rows = np.maximum(cells.sum(axis=1, keepdims=True), _LEAST)
    columns = np.maximum(cells.sum(axis=0), _LEAST)
    held = moved * cells
    ratio = moved - held.sum(axis=2, keepdims=True) / rows
    ratio += held.sum(axis=(1, 2), keepdims=True) - held.sum(axis=1, keepdims=True) / columns
    return float((cells * ratio**2).sum(axis=(1, 2)).mean())


ROUNDS = 7
"""Number of times the variances are learned."""

DRAWS = 8
"""Draws from the posterior in each round."""

MOST_WAVES = 64
"""Most waves of an axis."""

LEARNED_ON = 64
"""Least number of groups of bins, on each axis, from which variances are learned."""

_KNOWN = 160
"""Amplitudes whose curvature is computed, with all that they have in common."""
# The reports determine 60 to 300 of them, which depend on each other. By the diagonal alone some
# steps took 200 rounds.

_MANY = 15
"""The known curvature is computed again after a step that took more rounds."""

STEPS = 60
"""Most Newton steps of a fit. Thin ridges need them. Other fits end long before."""

WIDER = 2.0
"""Factor of the learned variances in the answer. Thin shapes need more variance than is learned."""

BAND_DRAWS = 48
"""Draws from the posterior that a result keeps."""

WIDENED = 4.0
"""Factor of the learned variances used for intervals."""
# They are not below those before learning: what few people or coarse reports did not show may be
# there.

LOCAL = 4.0
"""Least factor of the unlearned variances of the dependence, used for intervals."""
# Where attributes depend on each other in a small region only, the whole table teaches too little
# variance for this region. Labels were not measured: their factor is 1.

ON_RIDGES = 4.0
"""Further factor used for intervals where the posterior does not explain the reports."""
# That is so on thin ridges.

_FITS, _MISSES = 1.3, 1.7
"""Ratio of the unexplained misfit to the expected one."""
# Up to the first nothing is widened further, from the second on by all of `ON_RIDGES`. Smooth pairs
# and heaps are below the first.

_NEAR = 1 / 16
"""Part of an axis over which neighboring cells are taken together to see what is unexplained."""

_GAIN = 1.0
"""The fit of a round ends when a step promises a smaller gain, in nats."""

_LAST_GAIN = 1e-3
"""The fit of the answer ends when a step promises a smaller gain, in nats."""

UNSEEN = 0.2
"""People that a seemingly empty cell may have in intervals, as a share of the mean of all
cells."""
# The standard deviation before the reports. Else a region that seems empty would be known to be
# empty.

_STUDENT = 1.026
"""By this a standard deviation of so many draws is too small for a normal critical value."""

_MOST_INNER = 60
"""Rounds of conjugate gradients for a Newton step, at most."""

_MOST_OF_DRAWS = 100
"""Rounds of conjugate gradients for draws, at most."""

_HALVINGS = 12
"""Times a Newton step is halved, at most."""

_LEAST = 1e-300
"""Keeps a quotient of nothing finite."""

_CELLS_A_SECOND = 13_000
"""Cells that are decoded in a second up to epsilon 1, at least, on one core."""
# Measured with 64 x 64 to 256 x 256 cells on a thin ridge, which takes longest.

_MOST_SECONDS = 20
_MOST_CELLS = 260**2
"""What is decoded in time: so many seconds on that core, and 256 x 256 bins with those outside."""

Found = TypeVar("Found")

METHOD = "posterior draws under a widened prior"


@dataclass(eq=False)
class Curvature:
    """The expected curvature of a posterior, in units of the prior.

    density: In the precision of the arrays.
    cells: Shares of the cells about which it is taken.
    weights: Information about the outputs of each part.
    deviation: Standard deviations of the prior.
    diagonal: Diagonal of this matrix, as if both axes were independent.
        block: The known curvature of the amplitudes that the reports determine.
    """

    density: LogDensity
    cells: Matrix
    weights: list[Matrix]
    deviation: Matrix
    diagonal: Matrix
    block: KnownBlock | None
    rounds: int = 0

    def __call__(self, w: Matrix) -> Matrix:
        """Multiply a stack of amplitudes by it."""
        self.rounds += 1
        moved = self.density.curved(self.cells, self.weights, self.deviation * w)
        found: Matrix = w + self.deviation * moved
        return found


class Fit:
    """The most probable amplitudes under variances that are learned meanwhile.

    seed: Seed of the draws by which variances are learned. The answer hardly depends on it.
    """

    def __init__(self, channel: Channel, tally: CountTally, *, seed: int) -> None:
        parts = separable_parts(channel, tally)  # which refuses what is no pair
        domain: Any = channel.domain
        first, second = (AxisFunctions.of(axis, most=MOST_WAVES) for axis in domain.domains)
        self.whole = LogDensity(first.columns, second.columns, parts)
        self.coarse = self.whole.grouped([_groups(axis) for axis in domain.domains])
        self.density, self.light = self.coarse, self.coarse.single()
        self.prior = OctaveVariances(first, second)
        self.rng = np.random.default_rng(seed)
        self.start = self.variances = self.prior.variances()
        self.amplitudes = np.zeros(self.prior.shape)
        self._known: tuple[NDArray[np.int64], Matrix] | None = None
        self._slow = False

    def use_all_cells(self) -> None:
        """Take the cells of the domain from here on, not groups of them."""
        if self.coarse is not self.whole:
            self.density, self.light = self.whole, self.whole.single()

    @property
    def cells(self) -> Matrix:
        """Shares of the cells at the amplitudes."""
        return self.density.cells(self.amplitudes)

    def climb(self, gain: float) -> None:
        """Move the amplitudes to the most probable ones, by Newton steps.

        gain: It ends when a step promises a smaller gain of the posterior, in nats.

        The expected curvature takes the place of the Hessian. A step is solved for to a tenth. It
        is halved until it gains what its slope promises.
        """
        deviation = np.sqrt(self.variances)
        place = np.divide(
            self.amplitudes, deviation, out=np.zeros_like(deviation), where=deviation > 0
        )
        value, slope = self._posterior(deviation, place)
        for _ in range(STEPS):
            step = self._precisely(self._step, deviation, place, slope)
            promised = float((slope * step).sum())
            if promised < 2 * gain:
                break
            for _ in range(_HALVINGS):
                found, following = self._posterior(deviation, place + step)
                if found > value + 1e-4 * promised:
                    value, slope, place = found, following, place + step
                    break
                step, promised = step / 2, promised / 2
            else:
                break
        self.amplitudes = deviation * place

    def _step(self, deviation: Matrix, place: Matrix, slope: Matrix) -> Matrix:
        """Return the Newton step, about."""
        curvature = self._curvature(deviation * place)
        (step,) = solved(
            curvature,
            self._light(slope[None]),
            curvature.diagonal,
            tolerance=0.1,
            most=_MOST_INNER,
            block=curvature.block,
        )
        self._slow = curvature.rounds > _MANY
        direction: Matrix = step.astype(np.float64)
        return direction

    def _precisely(self, compute: Callable[..., Found], *given: Any) -> Found:
        """Return what is computed, in double precision from here on if single does not suffice."""
        try:
            return compute(*given)
        except TooRoundedError:
            self.light = self.density
            return compute(*given)

    def _light(self, array: Matrix) -> Matrix:
        """Return the same in the precision that suffices for a direction or a draw."""
        light: Matrix = array.astype(self.light.first.dtype)
        return light

    def _posterior(self, deviation: Matrix, place: Matrix) -> tuple[float, Matrix]:
        """Return the logarithm of the posterior and its slope, in units of the prior."""
        value, slope = self.density.value_and_slope(deviation * place)
        return value - 0.5 * float((place**2).sum()), deviation * slope - place

    def _curvature(self, amplitudes: Matrix) -> Curvature:
        cells = self.density.cells(amplitudes)
        diagonal = 1 + self.variances * self.density.diagonal(cells)
        weights = self.density.weights(cells)
        if self._slow:
            chosen = np.sort(np.argsort(-diagonal, axis=None)[:_KNOWN])
            self._known = chosen, self.coarse.information(amplitudes, chosen)
            self._slow = False
        return Curvature(
            self.light,
            self._light(cells),
            [self._light(weight) for weight in weights],
            self._light(np.sqrt(self.variances)),
            self._light(diagonal),
            self._block(),
        )

    def _block(self) -> KnownBlock | None:
        """Return what is known of the curvature, in units of the prior as it is now."""
        if self._known is None:
            return None
        chosen, information = self._known
        deviation = np.sqrt(self.variances).ravel()[chosen]
        curvature = np.eye(chosen.size) + deviation[:, None] * information * deviation
        return KnownBlock(chosen, self._light(np.linalg.inv(np.linalg.cholesky(curvature))))

    def draws(self, number: int, tolerance: float = 0.01) -> tuple[Matrix, Matrix, Matrix, Matrix]:
        """Return draws from the posterior about the amplitudes, in units of the prior.

        tolerance: Of the residual, relative to the right-hand side.
        returns: The draws w, the draws e of the prior, the scores W^(1/2) e' of the cells, and the
            diagonal of the curvature. Draws are float64 [draws, functions, functions], scores
            float64 [draws, cells, cells].

        w solves ``(I + K) w = e + J' W^(1/2) e'``, so its covariance is the posterior's, and that
        of e and w as well.
        """
        return self._precisely(self._draws, number, tolerance)

    def _draws(self, number: int, tolerance: float) -> tuple[Matrix, Matrix, Matrix, Matrix]:
        curvature = self._curvature(self.amplitudes)
        deviation, diagonal = curvature.deviation, curvature.diagonal
        prior = self._light(self.rng.standard_normal((number, *deviation.shape)))
        scores = self.light.scores(curvature.weights, number, self.rng)
        right = prior + deviation * self.light.pulled_back(curvature.cells, scores)
        found = solved(
            curvature,
            right,
            diagonal,
            tolerance=tolerance,
            most=_MOST_OF_DRAWS,
            block=curvature.block,
        )
        return found, prior, scores, diagonal

    def unexplained(self, draws: Matrix, scores: Matrix) -> float:
        """Return what the fit leaves of the reports, over what its posterior expects to be left.

        draws, scores: As :meth:`draws` returns them.
        returns: About 1 or less where the waves can take the shape that the reports show.

        Both are sums of squares of scores. Scores are taken together over neighboring cells, and
        weighted by the people there. Their means over rows and columns are left out: heaps of one
        axis do not count.
        """
        cells = self.cells
        weights = self.density.weights(cells)
        seen = self.density.surprise(cells, weights)
        moved = self.density.moved(cells, np.sqrt(self.variances) * draws)
        expected = self.density.informed(weights, moved) - scores
        return float(_size(cells, seen) / _size(cells, expected).mean())

    def unseen(self, number: int, factor: float) -> Matrix:
        """Return draws of what seemingly empty cells may hold, as far as the reports allow.

        A log-density hardly moves the mass of a cell where nearly nobody seems to be, however wide
        its prior is. So cells below the mean may hold more, each for itself.

        factor: Of the variance.
        returns: Changes of the cells with sum 0: float32 [draws, cells, cells].
        """
        return self._precisely(self._unseen, number, factor)

    def _unseen(self, number: int, factor: float) -> Matrix:
        cells = self.cells
        weights = [self._light(weight) for weight in self.density.weights(cells)]
        deviation = self._light(UNSEEN * np.sqrt(factor) * np.maximum(1 / cells.size - cells, 0.0))

        def system(q: Matrix) -> Matrix:
            return q + deviation * self.light.informed(weights, deviation * q)

        right = self._light(self.rng.standard_normal((number, *cells.shape)))
        right += deviation * self.light.scores(weights, number, self.rng)
        diagonal = 1 + deviation**2 * self.light.cell_information(weights)
        held = deviation * solved(system, right, diagonal, tolerance=0.1, most=20)
        change: Matrix = held - self._light(cells) * held.sum(axis=(1, 2), keepdims=True)
        return change

    def determined(self, number: int) -> Matrix:
        """Return estimates of how much the reports determine of each amplitude.

        number: Draws from the posterior.
        returns: float64 [functions, functions]. The truth lies between 0 and 1. The estimates are
            unbiased.

        ``e (e - w)`` has the mean wanted. The subtracted term has the mean 0, and about the same
        noise.
        """
        draws, prior, _, diagonal = self.draws(number, tolerance=0.03)
        control = (1 - 1 / diagonal) * ((prior**2).mean(axis=0) - 1)
        share: Matrix = (prior * (prior - draws)).mean(axis=0) - control
        return share

    def learn(self) -> None:
        """Learn the variances from what the reports determine."""
        determined = np.clip(self.determined(DRAWS), 0.0, 1.0)
        squares = np.divide(
            self.amplitudes**2,
            self.variances,
            out=np.zeros_like(self.variances),
            where=self.variances > 0,
        )
        self.prior.learn(squares, determined)
        self.variances = self.prior.variances()


def decode_seconds(cells: int, epsilon: float) -> float:
    """Return about how long a decode takes at most, in seconds of one core.

    epsilon: Privacy parameter of one report. More of it determines more amplitudes.
    """
    effort: float = min(max(epsilon, 1.0), 5.0) ** 1.4
    return cells / _CELLS_A_SECOND * effort


def cells_in_time(epsilon: float) -> int:
    """Return how many cells are decoded in time, so that a collector takes their survey."""
    return min(_MOST_CELLS, int(_MOST_SECONDS / decode_seconds(1, epsilon)))


@dataclass(frozen=True)
class LogDensityPrior(Declared):
    """Empirical-Bayes joint distribution of pairs: a most probable smooth log-density.

    The log-density is a sum of products of waves of both axes. Their amplitudes have Gaussian
    priors. Their variances are learned from the reports, one for each pair of octaves of the two
    frequencies. The variances of the marginals are separate from those of the dependence. So the
    estimate of independent attributes shows independence. The fast waves of one axis fit a heavy
    row or column. This is the default decoder for pairs.

    Parameters
    ----------
    band : bool
        Whether to draw from the posterior to get credible intervals. Default: True.
    seed : int
        Seed of the draws, at least 0. The same tally then gives the same answer. Default: 0.

    See Also
    --------
    lapwing.randomizers.MultiscaleBoxes : The recommended randomizer for pairs.

    Notes
    -----
    It decodes any channel over a Product whose reports depend on each axis separately: boxes,
    strips, blocks and single cells. Labels, and axes of fewer than 8 bins, have contrasts in place
    of waves. Values outside the range and missing values have an indicator each. An axis has at
    most 64 waves.

    **Privacy.** A decoder is post-processing of private reports, so it costs no privacy.

    **Accuracy.** See the benchmark page on pairs. Intervals are wider where the reports differ
    from the fit by more than its posterior allows, as on a thin ridge.

    **Cost.** On one core, 64 x 64 cells took 0.6 seconds at epsilon 1, and 2 to 3 seconds at
    epsilon 4 and 8. At epsilon 1, 256 x 256 cells took 5 seconds. It needs memory for a few tables
    the size of the widest component. Intervals need 48 tables the size of the grid.

    The decoder is this library's own. It is empirical Bayes by marginal likelihood, as in [1]_.

    References
    ----------
    .. [1] D. J. C. MacKay, "Bayesian interpolation", Neural Computation 4(3), 1992.
       doi:10.1162/neco.1992.4.3.415

    Examples
    --------
    >>> import lapwing as lw
    >>> pairs = lw.Product(x=lw.Integers(0, 15), y=lw.Integers(0, 15))
    >>> survey = lw.Survey("pairs", lw.randomizers.MultiscaleBoxes(pairs, epsilon=4))
    >>> values = [(3, 4)] * 4000 + [(12, 10)] * 6000
    >>> joint = survey.decode(survey.tally(survey.randomize(values, rng=lw.seeded(1))))
    >>> round(joint.probability(x=(8, 15), y=(8, 15)), 1)
    0.6
    """

    _: KW_ONLY
    band: bool = True
    seed: Whole = 0

    name: ClassVar[str] = "log-density-prior"
    reads: ClassVar[Kind] = "counts"

    @one_thread
    @inherits(Decoder.decode)
    def decode(self, channel: Channel, tally: CountTally) -> JointDistribution:
        """Return the estimated joint distribution.

        Returns
        -------
        JointDistribution
            Estimate, with posterior draws for intervals if `band`.

        Raises
        ------
        UnsupportedChannelError
            When the channel is not over a Product, or its reports do not depend on each axis
            separately.
        """
        check_given(channel, tally)
        fit = Fit(channel, tally, seed=self.seed)
        for _ in range(ROUNDS):
            fit.climb(_GAIN)
            fit.learn()
        fit.use_all_cells()
        learned = fit.variances
        domain: Any = channel.domain
        # A dependence on labels has no thin shapes.
        fit.variances = learned * (WIDER if all(one.ordered for one in domain.domains) else 1.0)
        fit.climb(_LAST_GAIN)
        cells = fit.cells
        return JointDistribution(
            domain,
            cells.ravel(),
            reports=tally.total,
            guarantee=guarantee_of(channel.guarantee, tally),
            uncertainty=_widened(fit, domain, learned) if self.band else None,
            provenance=decoder_document(self),
        )


def _groups(axis: Domain) -> NDArray[np.int64]:
    """Return the first symbol of each group of an axis. Labels are not grouped."""
    bins = bin_range(axis)
    step = max(len(bins) // LEARNED_ON, 1) if axis.ordered else 1
    apart = np.arange(bins.start), np.arange(bins.stop, axis.size)
    return np.concatenate([apart[0], np.arange(bins.start, bins.stop, step), apart[1]])


def _size(cells: Matrix, scores: Matrix) -> Matrix:
    """Return the sum of squares of scores of the cells, as :meth:`Fit.unexplained` takes them."""
    rows = (scores * cells).sum(axis=-1) / np.maximum(cells.sum(axis=1), _LEAST)
    scores = scores - rows[..., :, None]
    columns = (scores * cells).sum(axis=-2) / np.maximum(cells.sum(axis=0), _LEAST)
    scores = scores - columns[..., None, :]
    first, second = (_near(size) for size in cells.shape)
    size: Matrix = (cells * np.matmul(np.matmul(first, scores), second) ** 2).sum(axis=(-2, -1))
    return size


def _near(size: int) -> Matrix:
    """Return weights of neighboring symbols: [size, size]."""
    apart = np.subtract.outer(np.arange(size), np.arange(size)) / (_NEAR * size)
    weights: Matrix = np.exp(-(apart**2) / 2)
    return weights


def _widened(fit: Fit, domain: Product, learned: Matrix) -> JointUncertainty:
    """Return draws from the posterior whose prior is wider than learned, about its own fit."""
    least = fit.start.copy()
    if all(one.ordered for one in domain.domains):
        least[1:, 1:] *= LOCAL
    fit.variances = np.maximum(WIDENED * learned, least)
    fit.climb(_LAST_GAIN)
    draws, _, scores, _ = fit.draws(BAND_DRAWS)
    more = _more(fit.unexplained(draws, scores), domain)
    if more > 1:
        # About the same fit: it takes a third of the time of another one, and covers as much.
        fit.variances = np.maximum(more * WIDENED * learned, least)
        draws, _, _, _ = fit.draws(BAND_DRAWS)
    cells = fit.cells
    amplitudes = np.sqrt(fit.variances) * draws
    moved = fit.density.moved(cells, amplitudes) + fit.unseen(BAND_DRAWS, more)
    found = (_STUDENT * moved).reshape(BAND_DRAWS, -1).astype(np.float32)
    direct = direct_measures(fit.density, cells, domain, amplitudes, moved)
    return JointUncertainty(cells.ravel(), found, METHOD, direct)


def _more(unexplained: float, domain: Product) -> float:
    """Return the further factor of the variances behind intervals."""
    if not all(one.ordered for one in domain.domains):
        return 1.0
    excess = np.clip((unexplained - _FITS) / (_MISSES - _FITS), 0.0, 1.0)
    return float(ON_RIDGES**excess)
