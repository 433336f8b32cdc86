"""Measurements of accuracy and speed: scripts, the data they read and the results they write."""
