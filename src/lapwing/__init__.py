"""Learn the distribution, never the data: local and central differential privacy.

The five-minute use stands in the README; `docs/data-flow.md` follows one value through every file.
The public names stand in `__init__.pyi`. The file of each is read when the name is first used: who
tallies reports does not wait for the curator's mechanisms to be read.
"""

import lazy_loader

__version__ = "0.1.0"

_found, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> object:
    """Return a public name, whose file is read now; of a wrong one, say which is near."""
    try:
        return _found(name)
    except AttributeError:
        if name in __all__:  # its own file lacks it
            raise
    from lapwing.documents import nearest

    raise AttributeError(f"lapwing has no attribute {name}{nearest(name, __all__)}")
