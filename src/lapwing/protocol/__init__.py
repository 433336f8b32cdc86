"""What both sides agree on and exchange: a randomizer's offer, a release."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
