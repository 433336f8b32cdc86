"""The kinds of band and their targets, to go through in tests."""

from lapwing.results.uncertainty import Kind, Target

KINDS: tuple[Kind, ...] = ("pointwise", "simultaneous")
TARGETS: tuple[Target, ...] = ("empirical", "population")
