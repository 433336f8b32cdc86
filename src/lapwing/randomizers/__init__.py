"""Randomizers: the algorithms that run on a person's device. Each has a file of its own."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
