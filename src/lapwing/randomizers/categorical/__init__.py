"""Randomizers of labels, which have no order."""
