from . import arrow as arrow
from . import beam as beam
from . import spark as spark
