from .band import Band as Band
from .cumulative import Cumulative as Cumulative
from .difference import Difference as Difference
from .distribution import Distribution as Distribution
from .heavy_hitters import HeavyHitters as HeavyHitters
from .series import Series as Series
from .signed_estimate import SignedEstimate as SignedEstimate
