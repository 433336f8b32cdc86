"""Randomness, and exact draws from it."""
