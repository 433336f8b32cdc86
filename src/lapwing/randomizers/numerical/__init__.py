"""Randomizers of numbers, whose bins are ordered."""
