"""Objects that both sides agree on and exchange: domains, reports, tallies, releases, channels."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
