"""The compressive-privatization paper: what is claimed, what is seen."""
