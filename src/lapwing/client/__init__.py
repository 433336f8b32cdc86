"""A device and its outbox: answers are randomized once, paid for, and sent until they arrive.

It is imported by name, ``import lapwing.client``. Only code that talks to a collector needs the
extra "client".
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
