"""Storage of the collector: surveys, epochs, tallies, and the batches already counted."""
