"""A device and its outbox: answers randomized once, paid for, and sent until they have arrived.

Imported by name, ``import lapwing.client``. Only what talks to a collector needs the extra
"client".
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
