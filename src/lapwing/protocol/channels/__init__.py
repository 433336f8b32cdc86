"""The distribution of what is observed, given the distribution."""
