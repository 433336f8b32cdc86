"""Decoders: from a tally to a distribution. They see a channel and counts, and nothing else."""
