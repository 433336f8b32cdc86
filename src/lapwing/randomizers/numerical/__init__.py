"""Randomizers of numbers: symbols have neighbors."""
