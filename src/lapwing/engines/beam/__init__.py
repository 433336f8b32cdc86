"""Reports counted, values randomized and counted in pipelines of Apache Beam."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
