"""A prior learnt from the reports themselves, and the band behind it."""
