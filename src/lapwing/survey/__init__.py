"""Where the parts are joined: the agreed document, publication, what a person is told."""

from lapwing.registry import attached

__getattr__, __dir__, __all__ = attached(__name__, __file__)
