"""Many weeks decoded together: a random walk of distributions, and what changed in it."""
