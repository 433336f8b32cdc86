from . import baselines as baselines
from . import compressive as compressive
from . import convolution as convolution
from . import functional_approximation as functional_approximation
from . import square_wave as square_wave
from . import wavelet as wavelet
