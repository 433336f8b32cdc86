from . import arrow as arrow
from . import spark as spark
