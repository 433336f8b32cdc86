"""Randomizers of numbers with their decoders, on made-up and on real columns."""
