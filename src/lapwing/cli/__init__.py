"""The command line `lapwing`: each command parses, calls the library and prints."""

from lapwing.cli.program import main

__all__ = ["main"]
