"""Where PySpark is not here, its worker's file is not looked through for doctests."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("pyspark") else ["workers"]
