"""Methods of the five papers, in one folder each, including those that no default uses."""

from lapwing.registry import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__)
