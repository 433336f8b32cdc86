"""Randomizers of pairs: two attributes in one report."""
