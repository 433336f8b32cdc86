"""Data frames of Spark: reports counted and made, values counted, where the data live."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
