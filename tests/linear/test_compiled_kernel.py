"""Compiled loops: kept where there is a folder for them, compiled anew where there is none."""

import subprocess
import sys

READ_ONLY = """
import warnings
from numba.core import caching

class Nowhere:
    @classmethod
    def from_function(cls, function, file):
        return None

# What numba finds in a read-only installation of a user without a home: no place at all.
for name in dir(caching):
    made = getattr(caching, name)
    if isinstance(made, type) and issubclass(made, caching.CacheImpl):
        made._locator_classes = [Nowhere]

import numpy as np
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    import lapwing as lw
    from lapwing.linear.operators import hash_kernels
    wave = lw.SquareWave(lw.Interval(0, 1, bins=8), 1)
    out = wave.channel.blocks[0].operator.matvec(np.ones(8) / 8)
    assert abs(out.sum() - 1) < 1e-9
texts = [str(one.message) for one in said]
assert len(texts) == 1 and "NUMBA_CACHE_DIR" in texts[0], texts
print("compiled")
"""


def test_without_a_folder_for_a_cache_everything_runs_and_it_is_said_once() -> None:
    done = subprocess.run(
        [sys.executable, "-c", READ_ONLY], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.stdout == "compiled\n", done.stderr
