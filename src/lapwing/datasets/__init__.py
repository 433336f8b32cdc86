"""Count tables of real columns, to try the library with: sources and terms are named.

A table is read when its function is called. Each value or pair of values has the number of people
or trips that have it, so no row of anybody is here.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
