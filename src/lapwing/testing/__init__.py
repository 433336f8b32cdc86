"""Contracts that every randomizer, decoder and operator must meet, even those from other packages.

Each check raises an AssertionError that states what does not hold. It needs no test runner.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
