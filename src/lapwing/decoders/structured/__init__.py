"""Estimates with consistency or sparsity constraints."""
