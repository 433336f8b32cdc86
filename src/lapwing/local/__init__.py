"""Randomizers: what runs on a person's device. One file each."""
