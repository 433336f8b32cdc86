"""Wavelet expansion of a distribution (Zhao, 2026)."""

from lapwing.papers.wavelet.wavelet import Wavelet
from lapwing.papers.wavelet.wavelet_clip import WaveletClip

__all__ = ["Wavelet", "WaveletClip"]
