"""The law of what is observed, given the distribution."""
