"""`python -m lapwing`, and what `lapwing` starts: the command line."""

import sys


def run() -> int:
    """Load the program, run it and return its exit code.

    Loading takes a part of a second in which somebody may press Ctrl-C. The program itself, which
    knows how to end, is not there yet.
    """
    try:
        from lapwing.cli import main
    except KeyboardInterrupt:
        sys.stderr.write("lapwing: stopped by Ctrl-C. No file was written or changed\n")
        return 130
    return main()


if __name__ == "__main__":
    sys.exit(run())
