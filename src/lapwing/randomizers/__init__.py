"""Randomizers: what runs on a person's device. One file each, beside what they share."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
