"""The five papers, a folder each: their methods, also those that no default uses."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
