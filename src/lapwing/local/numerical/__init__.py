"""Randomizers of numbers: symbols have neighbours."""
