"""Decoders: from a tally or a release to a result, given the channel."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
