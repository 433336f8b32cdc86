from .beam_files import randomize as randomize
from .beam_files import summarize as summarize
from .beam_files import tally as tally
from .combine_functions import CountReports as CountReports
from .combine_functions import CountValues as CountValues
from .combine_functions import RandomizeValues as RandomizeValues
