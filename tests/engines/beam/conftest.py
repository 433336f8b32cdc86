"""Files that run in Beam's environment are not for one without it; `test_beam.py` runs them."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("apache_beam") else ["in_beam_*.py"]
