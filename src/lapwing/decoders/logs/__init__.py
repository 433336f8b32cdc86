"""Heavy hitters of domains too large to list, found in the log of all reports."""
