"""Shares as the reports say them, and what simple rules make of them."""
