from .spark_tally import tally as tally
from .spark_values import randomize as randomize
from .spark_values import summarize as summarize
