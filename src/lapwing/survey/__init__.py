"""Where the parts are joined: the agreed document, publication, what a person is told."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
