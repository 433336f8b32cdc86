"""The agreed document: what is asked, and how every answer is randomised.

Devices, collector and analyst hold the same document, so none of them types a parameter again.
Reading it recomputes every threshold and compares: a document that promises more privacy than
its thresholds give cannot be loaded.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, overload

from numpy.typing import ArrayLike

from lapwing.decoder_choice import recommended_decoder
from lapwing.decoders.candidates import Candidates
from lapwing.decoders.compressive_estimate import CompressiveEstimate
from lapwing.decoders.consistency import TreeConsistency
from lapwing.decoders.decoder import Decoder, LogDecoder
from lapwing.decoders.exhaustive_scan import ExhaustiveScan
from lapwing.decoders.expectation_maximization import ExpectationMaximization
from lapwing.decoders.heavy_hitter_selection import HeavyHitterSelection
from lapwing.decoders.least_squares import LeastSquares
from lapwing.decoders.mixture_prior import MixturePrior
from lapwing.decoders.normalization import Normalization
from lapwing.decoders.penalized_likelihood import PenalizedLikelihood
from lapwing.decoders.prefix_extension import PrefixExtension
from lapwing.decoders.smoothing import BinomialSmoothing, GaussianSmoothing
from lapwing.decoders.sparse_recovery import SparseRecovery
from lapwing.decoders.spectral_prior import SpectralPrior
from lapwing.decoders.threshold import Threshold
from lapwing.decoders.wavelet_clip import WaveletClip
from lapwing.decoders.wiener import Wiener
from lapwing.distribution import Distribution
from lapwing.documents import build, fingerprint, parse, require, require_format
from lapwing.errors import ArgumentError, FormatError, LapwingError, MismatchError
from lapwing.guarantee import Guarantee
from lapwing.hashed_channel import LISTED
from lapwing.heavy_hitters import HeavyHitters
from lapwing.local.compressive_privatization import CompressivePrivatization
from lapwing.local.general_wave import GeneralWave
from lapwing.local.haar_hadamard import HaarHadamard
from lapwing.local.hadamard_response import HadamardResponse
from lapwing.local.hierarchical import Hierarchical
from lapwing.local.linear_hashing import LinearHashing
from lapwing.local.local_hashing import LocalHashing
from lapwing.local.mean_reports import Piecewise
from lapwing.local.multiscale_wave import MultiscaleWave
from lapwing.local.prefix_hashing import PrefixHashing
from lapwing.local.randomized_response import GeneralizedRandomizedResponse
from lapwing.local.rappor import Rappor
from lapwing.local.square_wave import SquareWave
from lapwing.local.subset_selection import SubsetSelection
from lapwing.local.unary_encoding import OptimizedUnaryEncoding, UnaryEncoding
from lapwing.local.wavelet import Wavelet
from lapwing.randomizer import Randomizer
from lapwing.randomness import RandomSource
from lapwing.reports import Reports
from lapwing.signed_estimate import SignedEstimate
from lapwing.tally import Counts, ReportLog, Tally

FORMAT = "lapwing-survey"
VERSION = 1

SCANNED = 2**34
"""Most values that are scanned without being asked to: about a minute and a half."""

RANDOMIZERS: Mapping[str, type[Any]] = {
    randomizer.name: randomizer
    for randomizer in (
        GeneralizedRandomizedResponse,
        SquareWave,
        UnaryEncoding,
        OptimizedUnaryEncoding,
        SubsetSelection,
        HadamardResponse,
        CompressivePrivatization,
        Rappor,
        LocalHashing,
        LinearHashing,
        PrefixHashing,
        MultiscaleWave,
        GeneralWave,
        Piecewise,
        Hierarchical,
        HaarHadamard,
        Wavelet,
    )
}
"""Every randomizer that a document may name. Adding one is adding a row.

StochasticRounding is not among them: its two outputs say the mean and nothing else, and a survey
is decoded to a distribution.
"""

DECODERS: Mapping[str, type[Any]] = {
    decoder.name: decoder
    for decoder in (
        ExpectationMaximization,
        LeastSquares,
        MixturePrior,
        Normalization,
        Threshold,
        PenalizedLikelihood,
        SparseRecovery,
        CompressiveEstimate,
        SpectralPrior,
        TreeConsistency,
        WaveletClip,
        Wiener,
        GaussianSmoothing,
        BinomialSmoothing,
        HeavyHitterSelection,
        ExhaustiveScan,
        Candidates,
        PrefixExtension,
    )
}
"""Every decoder that a document or a command may name."""


@dataclass(frozen=True)
class Survey:
    """A name and a randomizer, frozen and fingerprinted.

    Parameters
    ----------
    name : str
        1 to 200 printable characters; part of the fingerprint, so two surveys with one
        randomizer are told apart.
    randomizer : Randomizer

    Examples
    --------
    >>> from lapwing.domain import Interval
    >>> from lapwing.randomness import seeded
    >>> survey = Survey("income", SquareWave(Interval(0, 100, bins=16), epsilon=4))
    >>> reports = survey.randomize([20.0] * 5000, rng=seeded(1))
    >>> round(float(survey.decode(survey.tally(reports)).quantile(0.5)), 1)
    21.9
    """

    name: str
    randomizer: Randomizer

    def __post_init__(self) -> None:
        """Check the name."""
        if not isinstance(self.name, str) or not 1 <= len(self.name) <= 200:
            raise ArgumentError("the name of a survey must be a text of 1 to 200 characters")
        if not self.name.isprintable():
            raise ArgumentError("the name of a survey must hold printable characters only")
        if type(self.randomizer) not in RANDOMIZERS.values():
            raise ArgumentError(
                f"a survey needs a randomizer, got a {type(self.randomizer).__name__}; "
                "pass for example SquareWave(Interval(0, 1, bins=256), epsilon=1)"
            )

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the canonical JSON of everything that was agreed."""
        return fingerprint(self._agreed())

    @property
    def guarantee(self) -> Guarantee:
        """What one report promises its sender."""
        return self.randomizer.guarantee

    def randomize(self, values: ArrayLike, *, rng: RandomSource | None = None) -> Reports:
        """Return one report per value; runs on the device. See the randomizer."""
        return self.randomizer.randomize(values, rng=rng)

    def tally(self, reports: Reports) -> Tally:
        """Return the exact tally of a batch, marked as this survey's. See the randomizer."""
        made: Tally = self.randomizer.tally(reports)
        return replace(made, survey=self.fingerprint)

    def check(self, tally: Tally) -> None:
        """Raise MismatchError unless the tally belongs to this survey."""
        if tally.survey not in (None, self.fingerprint):
            raise MismatchError(
                f"the tally was collected by survey {tally.survey[:12]}, this one is "
                f"{self.fingerprint[:12]}; use the survey file that collected it"
            )

    @overload
    def decode(
        self, tally: Counts, *, decoder: Decoder | None = None, bins: int | None = None
    ) -> Distribution | SignedEstimate: ...

    @overload
    def decode(
        self, tally: ReportLog, *, decoder: Decoder | LogDecoder | None = None
    ) -> Distribution | SignedEstimate | HeavyHitters: ...

    def decode(
        self,
        tally: Tally,
        *,
        decoder: Any = None,
        bins: int | None = None,
    ) -> Distribution | SignedEstimate | HeavyHitters:
        """Return the estimated distribution, or the heavy hitters of a domain too large to list.

        Parameters
        ----------
        tally : Counts or ReportLog
            Of this survey.
        decoder : Decoder, optional
            Default: the recommended one, which returns a Distribution.
        bins : int, optional
            Decode at another number of bins, which must divide the grid of a square wave.

        Returns
        -------
        Distribution, SignedEstimate or HeavyHitters
            What the decoder returns.
        """
        self.check(tally)
        if isinstance(tally, ReportLog):
            if bins is not None:
                raise ArgumentError("a log of reports has no other bins to be decoded at")
            return self._decode_log(tally, decoder)
        chosen = recommended_decoder(self.randomizer, size=bins) if decoder is None else decoder
        if bins is None:
            return chosen.decode(self.randomizer.channel, tally)
        if not isinstance(self.randomizer, SquareWave):
            raise ArgumentError(
                f"only a square wave can be decoded at other bins, not {self.randomizer.name}"
            )
        return chosen.decode(self.randomizer.channel_at(bins), tally)

    def _decode_log(
        self, log: ReportLog, decoder: Any
    ) -> Distribution | SignedEstimate | HeavyHitters:
        """Return what a log says: the heavy hitters, or a distribution by way of its counts."""
        randomizer: Any = self.randomizer
        if isinstance(randomizer, PrefixHashing):
            prefixes: LogDecoder = PrefixExtension() if decoder is None else decoder
            if getattr(prefixes, "reads_log", False):
                return prefixes.decode(randomizer.prefix_channel, log)
            return decoder.decode(randomizer.channel, randomizer.counts(log))  # type: ignore[no-any-return]
        if not isinstance(randomizer, LinearHashing):
            raise MismatchError(f"the tally is a log of reports, and {randomizer.name} counts them")
        if decoder is None and randomizer.domain.size > LISTED:
            if randomizer.domain.size > SCANNED:
                raise ArgumentError(
                    f"a scan of {randomizer.domain.size} values takes long; name the values of "
                    "interest (Candidates), or ask for it (ExhaustiveScan)"
                )
            decoder = ExhaustiveScan()
        if getattr(decoder, "reads_log", False):
            found: HeavyHitters = decoder.decode(randomizer.linear_channel, log)
            return found
        chosen: Decoder = recommended_decoder(self.randomizer) if decoder is None else decoder
        return chosen.decode(randomizer.channel, randomizer.counts(log))

    def _agreed(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "version": VERSION,
            "name": self.name,
            "randomizer": self.randomizer.to_document(),  # type: ignore[attr-defined]
            "derived": self.randomizer.derived,
        }

    def to_document(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {**self._agreed(), "fingerprint": self.fingerprint}

    def to_json(self) -> str:
        """Return the JSON text, indented for people."""
        return json.dumps(self.to_document(), indent=2, allow_nan=False) + "\n"

    @classmethod
    def from_document(cls, document: dict[str, Any]) -> Survey:
        """Return the survey that :meth:`to_document` wrote.

        Raises
        ------
        FormatError
            On an unknown key, version or class; when a threshold or the fingerprint is not what
            this software computes for the stated epsilon.
        """
        require_format(document, name=FORMAT, version=VERSION)
        keys = {"format", "version", "name", "randomizer", "derived", "fingerprint"}
        require(document, keys, name="a survey")
        try:
            randomizer = build(document["randomizer"], RANDOMIZERS, name="the randomizer")
            survey = cls(document["name"], randomizer)
        except FormatError:
            raise
        except (LapwingError, TypeError) as error:
            raise FormatError(f"the survey cannot be used: {error}") from None
        derived = document["derived"]
        if derived != randomizer.derived:
            wrong = _first_difference(derived, randomizer.derived)
            raise FormatError(
                f"the survey's {wrong} does not match its epsilon and domain; the document was "
                "changed or made by other software, and its promise cannot be trusted"
            )
        if document["fingerprint"] != survey.fingerprint:
            raise FormatError(
                "the survey's fingerprint does not match its content; the document was changed"
            )
        return survey

    @classmethod
    def from_json(cls, text: str | bytes) -> Survey:
        """Return the survey in a JSON text; FormatError when it is none."""
        return cls.from_document(parse(text, name="a survey"))

    @classmethod
    def read(cls, path: Path | str) -> Survey:
        """Return the survey in a file; FormatError names the file."""
        path = Path(path)
        return cls.from_document(parse(path.read_bytes(), name=path.name))


def _first_difference(found: Any, computed: dict[str, Any]) -> str:
    if not isinstance(found, dict):
        return "derived part"
    for key in sorted({*found, *computed}):
        if found.get(key) != computed.get(key):
            return "thresholds" if key == "thresholds" else repr(key)
    return "derived part"
