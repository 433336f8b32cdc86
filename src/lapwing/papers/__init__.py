"""The five papers, a folder each: their methods, also those that no default uses."""

from lapwing.registry import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__)
