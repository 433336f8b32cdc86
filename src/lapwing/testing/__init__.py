"""Contracts that every randomizer, decoder and operator must meet, even those of other packages.

Each check raises an AssertionError that says what does not hold. It needs no test runner.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
