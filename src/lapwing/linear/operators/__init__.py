"""Matrix-free linear operators."""
