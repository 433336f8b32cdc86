"""Randomizers: the algorithms that run on a person's device, each in a separate file."""

from lapwing.registry import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__)
