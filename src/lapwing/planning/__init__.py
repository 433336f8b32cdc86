"""Planning of a survey or release: recommendations, predicted errors, simulation."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
