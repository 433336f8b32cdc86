"""Count tables of real columns, to try the library with, and their sources and terms.

A table is read when its function is called. A table gives the number of people or trips for each
value or pair of values, so it contains nobody's row.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
