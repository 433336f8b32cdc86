"""One file per command: it reads its arguments, calls the library and shows the result."""
