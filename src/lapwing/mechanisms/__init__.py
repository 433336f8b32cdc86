"""Mechanisms: the algorithms of a curator who holds the values. One file each."""

from lapwing.registry import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__)
