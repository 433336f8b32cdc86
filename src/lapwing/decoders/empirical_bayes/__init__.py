"""A prior learned from the reports themselves, and the band behind it."""
