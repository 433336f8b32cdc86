"""Randomizers of labels: every symbol is as far from any other."""
