"""Surveys and releases: the agreed document, publication, and the statement for participants."""

from lapwing.registry import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__)
