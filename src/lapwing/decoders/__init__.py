"""Decoders: from a tally or a release to a result, given the channel."""

from lapwing.registry import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__)
