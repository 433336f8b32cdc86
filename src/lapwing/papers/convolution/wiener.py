"""Wiener deconvolution: shrink every frequency of the unbiased estimate by its share of noise.

Gaussian and binomial smoothing average the unbiased estimate over neighbors, as baselines.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from lapwing.declared import AtLeastOne, Declared, From, Positive, Whole
from lapwing.decoders.decoder import Decoder, Neighbors, decoder_document, distribution_of
from lapwing.decoders.unbiased.linear_estimate import DENSE, linear_estimate
from lapwing.docstrings import inherits
from lapwing.errors import ArgumentError, UnsupportedChannelError, WeakAnswerWarning
from lapwing.linear.arrays import Vector, one_thread
from lapwing.linear.projections import simplex
from lapwing.protocol.channels.channel import Block, Channel, check_given
from lapwing.protocol.messages.tally import CountTally, Kind
from lapwing.results.distribution import Distribution
from lapwing.results.signed_estimate import SignedEstimate
from lapwing.results.uncertainty import Uncertainty

Spectrum = NDArray[np.complex128]

Method = Literal["direct", "iterative", "iterative-from-reports", "permuted"]

Power = Annotated[float, From(0)]
"""Power of a wave."""


@dataclass(frozen=True)
class Wiener(Declared):
    """Wiener filter for a circulant channel: DW, IIW, AMRP (Fang et al., 2023).

    The mean counts are a circular convolution of the shares with the first column h of the channel.
    So in the Fourier transform each frequency is separate: ``G = H F + N``. The filter
    ``conj(H) / (|H|^2 + Pn / Pf)`` weighs the power of the noise N against that of the signal F.
    The methods differ in how they estimate the signal's power spectrum Pf. The mean of the shares
    (frequency 0) is known and is never filtered.

    Parameters
    ----------
    method : {"direct", "iterative", "iterative-from-reports", "permuted"}
        Estimate of the signal spectrum. "direct" (DW) takes that of the unbiased shares.
        "iterative" (IIW) repeats DW with its own result, corrected for what the filter removes.
        "iterative-from-reports" (IIW-G) starts IIW at the spectrum of the reports. It warns when
        ``size * sqrt(Var) >= 1``, where it stays near its start. "permuted" (AMRP) averages DW
        over random orders of the bins, and needs a channel that is the same in every order.
        Default: "iterative".
    iterations : int, optional
        Iterations of the two iterative methods. The number is the regularizer: with more
        iterations, IIW tends to ``max(|G|^2 - Pn, 0) / |H|^2``. Default, as in the paper: 30, and
        10 from the reports.
    permutations : int
        Number of random orders for the method "permuted". Default: 100.
    seed : int
        Seed of these orders, so that the same tally gives the same answer. It does not affect
        privacy. Default: 0.
    noise : "analytic", float or sequence of float
        Noise spectrum ``Pn = E|N|^2``, with N the transform of the noise of ``counts / reports``.
        "analytic" takes it from the covariance of the channel. A number applies to all
        frequencies, and a sequence [size] has one number for each. Default: "analytic".
    signal : sequence of float, optional
        Signal spectrum ``Pf = |F|^2``, [size], if it is known, for the method "direct". Default:
        estimated.
    keep_largest : int
        Number of the largest unbiased shares that are not filtered. Default: 0.
    signed : bool
        Whether to keep the estimate before Norm-Sub projects it onto the simplex, as
        :attr:`Distribution.signed`. Default: False.
    band : bool
        Whether to compute the exact linear confidence band, where the channel can be inverted. That
        is a matrix of up to 2048 bins, O(size^3). Generalized randomized response, unary encoding
        and subset selection need none. The band depends on the channel and the tally, not on the
        filter. Default: True.

    See Also
    --------
    lapwing.SpectralPrior : The recommended decoder for numerical values.

    Notes
    -----
    **Privacy.** A decoder is post-processing of private reports, so it costs no privacy.

    **Accuracy.** It is made for the squared error per bin of smooth columns. As an estimate of the
    CDF it is far worse than a decoder of a square wave. See the tables of `benchmarks/accuracy`.
    The filter treats the last bin as the first one's neighbor, and features of non-smooth columns
    as noise. With "permuted" it is a linear shrinkage toward 1 / size. A wave on a circle nearly
    hides some frequencies, and there the estimate of "direct" and "iterative" is mostly noise.
    Start from the reports instead: in the tests this has a tenth of the squared error or less.

    **Cost.** One Fourier transform, and O(size) for each iteration. "permuted" takes as many
    transforms as permutations.

    The noise spectrum is exact. Given the respondents' values, the counts of a circulant channel
    have a covariance. Its power at every frequency is the same, whatever the values are. So it is
    computed at the uniform distribution. It is flat for unary encoding. For generalized randomized
    response it is ``(1 - |H|^2) / n`` at all frequencies but 0.

    Where H is zero the reports contain no information, and the estimate is zero at that frequency.

    The method is that of [1]_, sections IV and V, algorithm 1 and appendix C. It differs in three
    ways. The line ``F(i) <- |F(i-1)|^2 + correction`` of algorithm 1 assigns Pf(i), as equation 22
    needs. F_0 is 1 for every randomizer. Equation 20 treats generalized randomized response as
    independent counts, which makes its noise ``1 - 1 / size`` of the true one.

    References
    ----------
    .. [1] H. Fang, L. Chen, Y. Liu, Y. Gao, "Locally differentially private frequency estimation
       based on convolution framework", IEEE Symposium on Security and Privacy, 2023.

    Examples
    --------
    >>> import lapwing as lw
    >>> hours = lw.Interval(0, 24, bins=24, circular=True)
    >>> bits = lw.randomizers.OptimizedUnaryEncoding(hours, epsilon=4)
    >>> people = [1000] * 12 + [3000] * 12  # three of four between noon and midnight
    >>> tally = lw.simulate(bits, people, rng=1)
    >>> result = lw.papers.convolution.Wiener().decode(bits.channel, tally)
    >>> round(float(result.probability(12, 24)), 2)
    0.75
    """

    _: KW_ONLY
    method: Method = "iterative"
    iterations: Whole | None = None
    permutations: AtLeastOne = 100
    seed: Whole = 0
    noise: Literal["analytic"] | Power | Sequence[Power] = "analytic"
    signal: Sequence[Power] | None = None
    keep_largest: Whole = 0
    signed: bool = False
    band: bool = True

    name: ClassVar[str] = "wiener"
    reads: ClassVar[Kind] = "counts"

    def __post_init__(self) -> None:
        """Check the fields, and that they go together."""
        super().__post_init__()
        if () in (self.noise, self.signal):
            raise ArgumentError("noise and signal must have at least one number each")
        if self.signal is not None and self.method != "direct":
            raise ArgumentError(
                "a known signal spectrum needs no iterations and no permutations. Use "
                "method='direct' with it"
            )

    @one_thread
    @inherits(Decoder.decode)
    def decode(self, channel: Channel, tally: CountTally) -> Distribution:
        """Return the filtered estimate, projected onto the simplex.

        Raises
        ------
        UnsupportedChannelError
            When the channel is not one circulant block. For the method "permuted" also when it is
            not the same in every order of the bins.
        """
        check_given(channel, tally)
        kernel = circulant(channel)
        compound = channel.blocks[0].operator.compound
        reports, size = tally.total, channel.domain.size
        noise = self._noise(channel.blocks[0], reports)
        observed = tally.blocks[0] / reports
        transfer = np.fft.rfft(kernel)
        raw = _inverse(np.fft.rfft(observed), transfer)
        if self.method == "permuted":
            if compound is None:
                raise UnsupportedChannelError(
                    "the method 'permuted' needs a channel that does not depend on the order "
                    "of the symbols, such as generalized response or unary encoding. Use "
                    "'direct' or 'iterative'"
                )
            mass = self._permuted(transfer, observed, noise)
        else:
            mass = np.fft.irfft(self._filtered(np.fft.rfft(observed), transfer, noise), size)
        if self.method == "iterative-from-reports":
            _warn_when_stuck(size, compound, reports)
        if self.keep_largest:
            unbiased = np.fft.irfft(raw, size)
            kept = np.argsort(unbiased, kind="stable")[::-1][: self.keep_largest]
            mass[kept] = unbiased[kept]
        band = _uncertainty(channel, tally) if self.band else None
        return norm_sub_of(
            channel,
            tally,
            mass,
            signed=self.signed,
            uncertainty=band,
            provenance=self._provenance(),
        )

    def _filtered(self, observed: Spectrum, transfer: Spectrum, noise: Vector) -> Spectrum:
        """Return the transform of the estimate."""
        gain = np.abs(transfer) ** 2
        raw = _inverse(observed, transfer)
        if self.signal is not None:
            return wiener_filter(raw, gain, noise, _one_sided(self.signal, raw.size, "signal"))
        rounds = 0
        power = np.abs(raw) ** 2
        if self.method == "iterative":
            rounds = 30 if self.iterations is None else self.iterations
        elif self.method == "iterative-from-reports":
            rounds = 10 if self.iterations is None else self.iterations
            power = np.abs(observed) ** 2
        estimate = wiener_filter(raw, gain, noise, power)
        for _ in range(rounds):
            power = np.abs(estimate) ** 2 + _correction(gain, noise, power)
            estimate = wiener_filter(raw, gain, noise, power)
        return estimate

    def _permuted(self, transfer: Spectrum, observed: Vector, noise: Vector) -> Vector:
        rng = np.random.default_rng(self.seed)
        total = np.zeros(observed.size)
        for _ in range(self.permutations):
            order = rng.permutation(observed.size)
            estimate = self._filtered(np.fft.rfft(observed[order]), transfer, noise)
            total[order] += np.fft.irfft(estimate, observed.size)
        return total / self.permutations

    def _noise(self, block: Block, reports: int) -> Vector:
        """Return Pn of the one-sided frequencies."""
        size = block.outputs
        if isinstance(self.noise, float):
            return np.full(size // 2 + 1, self.noise)
        if isinstance(self.noise, str):
            return noise_spectrum(block, reports)[: size // 2 + 1]
        return _one_sided(self.noise, size // 2 + 1, "noise")

    def _provenance(self) -> dict[str, Any]:
        provenance: dict[str, Any] = {
            "class": self.name,
            "method": self.method,
            "signed": self.signed,
        }
        if self.method.startswith("iterative"):
            default = 30 if self.method == "iterative" else 10
            provenance["iterations"] = default if self.iterations is None else self.iterations
        if self.method == "permuted":
            provenance |= {"permutations": self.permutations, "seed": self.seed}
        provenance["noise"] = self.noise if isinstance(self.noise, str | float) else "given"
        provenance["signal"] = "estimated" if self.signal is None else "given"
        return provenance | {"keep_largest": self.keep_largest}


def circulant(channel: Channel) -> Vector:
    """Return the kernel of a channel of one circulant block: float64 [size].

    channel: Distribution of a report for each value.
    returns: First column of the channel.

    Raises UnsupportedChannelError when there are several blocks, or the operator is not circulant.
    """
    kernel = channel.blocks[0].operator.kernel
    if len(channel.blocks) != 1 or kernel is None:
        raise UnsupportedChannelError(
            "a Wiener filter needs a channel of one circulant block. Channels of generalized "
            "response, unary encoding and subset selection have one, and waves on a circle. "
            "Use ExpectationMaximization or SpectralPrior here"
        )
    return kernel


def noise_spectrum(block: Block, reports: int) -> Vector:
    """Return the exact noise spectrum E|N|^2 of ``counts / reports``: float64 [size].

    It is about the respondents: their values are given, and only their randomizers are random.

    block: Block with a circulant operator.
    reports: Number of reports, at least 1.

    At the uniform distribution one report's covariance C is ``diag(d) + U diag(s) U'``. Its power
    is ``sum(d) + sum_r s_r |fft(U_r)|^2``. Off frequency 0 the value of the sender contributes
    ``|H|^2`` to it, which is subtracted. It takes O(size log size) where the covariance has few
    columns. A circulant block of independent bits needs O(size^2 log size).
    """
    size = block.outputs
    covariance = block.covariance(np.full(size, 1 / size))
    columns = np.abs(np.fft.fft(covariance.factor, axis=0)) ** 2
    power = covariance.diagonal.sum() + columns @ covariance.signs
    kernel = block.operator.kernel
    assert kernel is not None
    power[1:] -= np.abs(np.fft.fft(kernel)[1:]) ** 2
    spectrum: Vector = np.maximum(power, 0.0) / reports
    return spectrum


def wiener_filter(raw: Spectrum, gain: Vector, noise: Vector, power: Vector) -> Spectrum:
    """Return the filtered transform: the unbiased one times a number in [0, 1] for each frequency.

    raw: Unbiased transform G / H, complex128 [frequencies].
    gain, noise, power: float64 [frequencies]: |H|^2, Pn and Pf.

    Here ``conj(H) / (|H|^2 + Pn / Pf) G`` is computed as ``|H|^2 Pf / (|H|^2 Pf + Pn) G / H``. In
    this form nothing is divided by a vanishing Pf. Frequency 0 is the known total, 1.
    """
    signal = gain * power
    total = signal + noise
    weight = np.divide(signal, total, out=np.zeros_like(signal), where=total > 0)
    estimate: Spectrum = weight * raw
    estimate[0] = 1.0
    return estimate


def _correction(gain: Vector, noise: Vector, power: Vector) -> Vector:
    """Return ``Pn / (|H|^2 + Pn / Pf)``: the power that the last filter took from the signal."""
    total = gain * power + noise
    return np.divide(noise * power, total, out=np.zeros_like(power), where=total > 0)


def _inverse(observed: Spectrum, transfer: Spectrum) -> Spectrum:
    # Below this the transfer is rounding error; the reports hold nothing of that frequency.
    seen = np.abs(transfer) > 1e-14
    raw: Spectrum = np.divide(observed, transfer, out=np.zeros_like(observed), where=seen)
    raw[0] = 1.0
    return raw


def _warn_when_stuck(size: int, compound: tuple[float, float] | None, reports: int) -> None:
    """Warn when the noise of an unbiased share is larger than the mean share.

    The start ``|G|^2`` is too low by ``|H|^2``, which for these channels is small and the same at
    all frequencies; that of a wave on a circle is near 1 where the signal is.
    """
    if compound is None:
        return
    # The paper's Var*: of the share of a symbol that nobody holds.
    other, gap = compound[1], compound[0] - compound[1]
    ratio = size * math.sqrt(other * (1 - other) / reports) / gap
    if ratio >= 1:
        warnings.warn(
            "the method 'iterative-from-reports' needs size * sqrt(Var) below 1, got "
            f"{ratio:.3g}: with this much noise it stays near the uniform distribution where it "
            "starts. Use method='iterative'",
            WeakAnswerWarning,
            stacklevel=3,
        )


def norm_sub_of(
    channel: Channel,
    tally: CountTally,
    mass: Vector,
    *,
    signed: bool,
    uncertainty: Uncertainty | None,
    provenance: dict[str, Any],
) -> Distribution:
    """Return the projection of signed masses on the simplex, also the masses if `signed`."""
    estimate = None
    if signed:
        estimate = SignedEstimate(channel.domain, mass, tally.total, uncertainty=uncertainty)
    law: dict[str, Any] = {"provenance": provenance, "uncertainty": uncertainty}
    return distribution_of(channel, tally, simplex(mass), **law, signed=estimate)


def _uncertainty(channel: Channel, tally: CountTally) -> Uncertainty | None:
    structured = channel.blocks[0].operator.compound is not None
    if channel.domain.inside_size > DENSE and not (structured and len(channel.blocks) == 1):
        return None
    try:
        return linear_estimate(channel, tally)
    except UnsupportedChannelError:
        return None  # some distributions give the same reports: there is no unbiased estimate


def _one_sided(spectrum: Sequence[float], frequencies: int, name: str) -> Vector:
    """Return the first half of a given spectrum of all frequencies."""
    given = np.asarray(spectrum, dtype=np.float64)
    if given.size // 2 + 1 != frequencies:
        raise ArgumentError(
            f"the {name} spectrum must have one number for each symbol of the domain, got "
            f"{given.size}"
        )
    return given[:frequencies]


@dataclass(frozen=True)
class GaussianSmoothing(Declared):
    """Gaussian smoothing of the unbiased estimate: GF, GF-DW (Fang et al., 2023).

    Each share is averaged over its neighbors with Gaussian weights. The result is the estimate, or
    gives the signal spectrum of a Wiener filter.

    Parameters
    ----------
    sigma : float
        Standard deviation of the weights, in bins, greater than 0. GF1 and GF3 of the paper are 1
        and 3. The unit is bins, so the same sigma smooths more on fewer bins. Default: 3.
    wiener : bool
        True: the smoothed estimate's spectrum is the signal spectrum of a direct Wiener filter
        (GF1-DW, GF3-DW), which needs a circulant channel. False: the smoothed estimate is the
        answer (GF1, GF3). Default: False.
    signed : bool
        Whether to keep the estimate before Norm-Sub projects it onto the simplex, as
        :attr:`Distribution.signed`. Default: False.

    Notes
    -----
    **Privacy.** A decoder is post-processing of private reports, so it costs no privacy.

    **Accuracy.** On smooth columns GF3-DW has the least error per bin of the convolution paper's
    methods. It oversmooths narrow features, because sigma is not adapted to the noise.

    **Cost.** The cost of the unbiased estimate, plus O(sigma size) to smooth. The unbiased
    estimate takes O(size) for generalized randomized response, unary encoding and subset
    selection. Otherwise it takes O(size^3), up to 2048 bins.

    Weights end at 4 sigma. Beyond an end the estimate is reflected about the outer edge of the last
    bin (``d c b a | a b c d | d c b a``), which keeps the total. On a circular domain it continues
    at the other end.

    The method is that of [1]_, appendix C. The paper leaves the ends open. This is the default of
    `scipy.ndimage.gaussian_filter1d`, and keeps mass.

    References
    ----------
    .. [1] H. Fang, L. Chen, Y. Liu, Y. Gao, "Locally differentially private frequency estimation
       based on convolution framework", IEEE Symposium on Security and Privacy, 2023.

    Examples
    --------
    >>> import lapwing as lw
    >>> response = lw.RandomizedResponse(lw.Interval(0, 8, bins=8), epsilon=4)
    >>> tally = lw.simulate(response, [0, 0, 0, 100_000, 0, 0, 0, 0], rng=1)
    >>> smoothing = lw.papers.convolution.GaussianSmoothing(sigma=1)
    >>> smoothing.decode(response.channel, tally).mass.round(2).tolist()
    [0.0, 0.05, 0.24, 0.4, 0.24, 0.05, 0.0, 0.0]
    """

    _: KW_ONLY
    sigma: Positive = 3.0
    wiener: bool = False
    signed: bool = False

    name: ClassVar[str] = "gaussian-smoothing"
    reads: ClassVar[Kind] = "counts"

    @one_thread
    @inherits(Decoder.decode)
    def decode(self, channel: Channel, tally: CountTally) -> Distribution:
        """Return the smoothed estimate, projected onto the simplex.

        Raises
        ------
        UnsupportedChannelError
            When the channel cannot be inverted, or the bins do not lie evenly in a row. With
            ``wiener=True`` also when the channel is not circulant.
        """
        from scipy.ndimage import gaussian_filter1d

        check_given(channel, tally)
        if not Neighbors.of(channel.domain).even:
            raise UnsupportedChannelError(
                "Gaussian smoothing needs symbols of one width in a row: no atoms and no missing "
                "bin. Use BinomialSmoothing, or ExpectationMaximization(smoothed=True)"
            )
        if self.wiener:
            circulant(channel)
        estimate = linear_estimate(channel, tally)
        mode = "wrap" if channel.domain.circular else "reflect"
        smooth: Vector = gaussian_filter1d(estimate.center, self.sigma, mode=mode)
        if self.wiener:
            power = np.abs(np.fft.fft(smooth)) ** 2
            guided = Wiener(
                method="direct", signal=tuple(power.tolist()), signed=True, band=False
            ).decode(channel, tally)
            assert guided.signed is not None
            smooth = np.array(guided.signed.mass)
        provenance = decoder_document(self)
        return norm_sub_of(
            channel, tally, smooth, signed=self.signed, uncertainty=estimate, provenance=provenance
        )


@dataclass(frozen=True)
class BinomialSmoothing(Declared):
    """Binomial smoothing of the unbiased estimate (Fang et al., 2023).

    Each share is averaged with its two neighbors, with weights (1, 2, 1) / 4.

    Parameters
    ----------
    rounds : int
        Number of averages, at least 1. Default: 1.
    signed : bool
        Whether to keep the estimate before Norm-Sub projects it onto the simplex, as
        :attr:`Distribution.signed`. Default: False.

    Notes
    -----
    **Privacy.** A decoder is post-processing of private reports, so it costs no privacy.

    **Accuracy.** It is a baseline. See the tables of `benchmarks/accuracy`.

    **Cost.** The cost of the unbiased estimate, as for :class:`GaussianSmoothing`, plus O(size)
    for each round.

    The total is kept. At an end 3/4 of the mass stays, because the estimate is reflected. On a
    circular domain it goes to the other end. Between bins of unequal width mass flows by density.
    Atoms and the missing bin have no neighbors.

    The method is equation 25 of [1]_, after [2]_. Unlike there, the ends are defined.

    References
    ----------
    .. [1] H. Fang, L. Chen, Y. Liu, Y. Gao, "Locally differentially private frequency estimation
       based on convolution framework", IEEE Symposium on Security and Privacy, 2023.
    .. [2] D. Nychka, "Some properties of adding a smoothing step to the EM algorithm", Statistics &
       Probability Letters 9(2), 1990.

    Examples
    --------
    >>> import lapwing as lw
    >>> response = lw.RandomizedResponse(lw.Interval(0, 8, bins=8), epsilon=4)
    >>> tally = lw.simulate(response, [0, 0, 0, 100_000, 0, 0, 0, 0], rng=1)
    >>> smoothing = lw.papers.convolution.BinomialSmoothing()
    >>> smoothing.decode(response.channel, tally).mass.round(2).tolist()
    [0.0, 0.0, 0.25, 0.5, 0.25, 0.0, 0.0, 0.0]
    """

    _: KW_ONLY
    rounds: AtLeastOne = 1
    signed: bool = False

    name: ClassVar[str] = "binomial-smoothing"
    reads: ClassVar[Kind] = "counts"

    @one_thread
    @inherits(Decoder.decode)
    def decode(self, channel: Channel, tally: CountTally) -> Distribution:
        """Return the smoothed estimate, projected onto the simplex.

        Raises
        ------
        UnsupportedChannelError
            When the channel cannot be inverted, or the domain has no order.
        """
        check_given(channel, tally)
        neighbors = Neighbors.of(channel.domain)
        estimate = linear_estimate(channel, tally)
        smooth = estimate.center
        for _ in range(self.rounds):
            smooth = neighbors.smooth(smooth)
        provenance = decoder_document(self)
        return norm_sub_of(
            channel, tally, smooth, signed=self.signed, uncertainty=estimate, provenance=provenance
        )
