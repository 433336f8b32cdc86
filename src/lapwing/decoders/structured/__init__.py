"""Answers that must agree with each other, or that few symbols explain."""
