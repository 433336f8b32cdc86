"""Weeks decoded together, and watched."""
