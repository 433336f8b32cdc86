"""Output of the commands: answers as tables and as JSON."""
