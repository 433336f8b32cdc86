"""What the collector keeps: surveys, epochs, tallies, and which batches it has counted."""
