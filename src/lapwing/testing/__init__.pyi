from .decoder_contract import check_decoder as check_decoder
from .operator_contract import check_operator as check_operator
from .randomizer_contract import check_randomizer as check_randomizer
from .randomizer_contract import exact_law as exact_law
from .repeated_draws import reproducible as reproducible
