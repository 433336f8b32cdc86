"""Categories: sparse ones, clicks, heavy hitters in domains too large to list."""
