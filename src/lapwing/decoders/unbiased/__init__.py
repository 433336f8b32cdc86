"""Unbiased shares, and simple corrections of them."""
