"""Reports of which a mean is made, as the contract suites run over them."""

from lapwing.randomizers import Piecewise
from tests.contracts.randomizer_rows import CODES, RandomizerRow

ROWS = {
    "piecewise": RandomizerRow(Piecewise, ("linear", "integers"), *CODES),
}
