"""Fast matrices: each an operator with its products, none of them stored."""
