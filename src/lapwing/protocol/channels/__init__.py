"""The distribution of observations for a given distribution of values."""
