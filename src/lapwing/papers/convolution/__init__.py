"""Convolution framework for frequency estimation (Fang et al., 2023)."""

from lapwing.papers.convolution.wiener import BinomialSmoothing, GaussianSmoothing, Wiener

__all__ = ["BinomialSmoothing", "GaussianSmoothing", "Wiener"]
