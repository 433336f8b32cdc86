"""The shuffle model by a short name. :mod:`lapwing.privacy.shuffle_amplification` explains it."""

from lapwing.privacy.shuffle_amplification import (
    amplified,
    amplified_epsilon,
    clones_delta,
    flagged_delta,
)

__all__ = ["amplified", "amplified_epsilon", "clones_delta", "flagged_delta"]
