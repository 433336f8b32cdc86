"""Likelihood-based estimates of the distribution."""
