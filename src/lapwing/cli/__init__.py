"""The command line `lapwing`: one file per command; each parses, calls the library and prints."""

from lapwing.cli.program import main

__all__ = ["main"]
