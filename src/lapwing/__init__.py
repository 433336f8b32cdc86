"""Learn the distribution, never the data: local and central differential privacy.

The README has a five-minute introduction. `docs/privacy/life-of-a-value.md` follows one value
through every file. The public names are listed in `__init__.pyi`. The module of each is imported
when the name is first used, so a program that tallies reports does not wait for the curator's
mechanisms.
"""

import lazy_loader

from lapwing.public_names import with_directions

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = with_directions(*lazy_loader.attach_stub(__name__, __file__))
