from .categorical.affine_subset_selection import AffineSubsetSelection as AffineSubsetSelection
from .categorical.asked_labels import AskedLabels as AskedLabels
from .categorical.compressive_privatization import (
    CompressivePrivatization as CompressivePrivatization,
)
from .categorical.hadamard_response import HadamardResponse as HadamardResponse
from .categorical.linear_hashing import LinearHashing as LinearHashing
from .categorical.randomized_response import RandomizedResponse as RandomizedResponse
from .categorical.rappor import Rappor as Rappor
from .categorical.subset_selection import SubsetSelection as SubsetSelection
from .categorical.unary_encoding import OptimizedUnaryEncoding as OptimizedUnaryEncoding
from .categorical.unary_encoding import UnaryEncoding as UnaryEncoding
from .joint.box_wave import BoxWave as BoxWave
from .joint.multiscale_boxes import MultiscaleBoxes as MultiscaleBoxes
from .numerical.multiscale_wave import MultiscaleWave as MultiscaleWave
from .numerical.piecewise import Piecewise as Piecewise
from .numerical.square_wave import SquareWave as SquareWave
