"""A prior learned from the reports themselves, with its band."""
