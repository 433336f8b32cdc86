from .spark_values import randomize as randomize
from .spark_values import summarize as summarize
from .spark_values import tally as tally
