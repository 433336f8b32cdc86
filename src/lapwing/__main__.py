"""`python -m lapwing`, and what `lapwing` starts: the command line."""

import os
import sys


def run() -> int:
    """Load the program, run it and return its exit code.

    Loading takes a part of a second in which somebody may press Ctrl-C; the program itself, which
    knows how to end, is not there yet.
    """
    try:
        from lapwing.cli import main
    except KeyboardInterrupt:
        sys.stderr.write("lapwing: stopped by Ctrl-C; no file was written or changed\n")
        return 130
    code = main()
    if code > 128 and "apache_beam" in sys.modules:
        # Stopped by a signal: Beam's threads are in the middle of their work, and the interpreter's
        # own end would wait for them, perhaps for ever. All that is to be deleted is.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


if __name__ == "__main__":
    sys.exit(run())
