"""Filters: a channel undone frequency by frequency."""
