"""What an analyst gets: distributions, bands, differences, distances, pictures."""
