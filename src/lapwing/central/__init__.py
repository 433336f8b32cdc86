"""Mechanisms: what a curator who holds the values runs. One file each."""
