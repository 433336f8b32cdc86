"""The wavelet paper's figures as pictures."""

from __future__ import annotations

from benchmarks.accuracy.papers.drawing import Picture

PICTURES: dict[str, Picture] = {}
