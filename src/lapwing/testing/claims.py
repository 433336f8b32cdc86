"""Claims that fail with a sentence. Unlike `assert` they also work where Python optimizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike


def claim(holds: bool, message: str) -> None:
    """Raise AssertionError with this message unless it holds."""
    if not holds:
        raise AssertionError(message)


def claim_close(
    found: ArrayLike, expected: ArrayLike, message: str, *, relative: float, absolute: float
) -> None:
    """Raise AssertionError unless two arrays agree, and say by how much they do not."""
    ours, theirs = np.asarray(found), np.asarray(expected)
    claim(ours.shape == theirs.shape, f"{message}: shape {ours.shape}, must be {theirs.shape}")
    if not np.allclose(ours, theirs, rtol=relative, atol=absolute):
        gap = float(np.max(np.abs(ours - theirs)))
        raise AssertionError(f"{message}: off by up to {gap:.3g}")


def claim_refused(
    kind: type[Exception], call: Callable[..., Any], *arguments: Any, message: str
) -> None:
    """Raise AssertionError unless a call is refused by an error of this kind."""
    try:
        call(*arguments)
    except kind:
        return
    raise AssertionError(f"{message} must be refused by a {kind.__name__}")
