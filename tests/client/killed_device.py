"""A device that is killed at every line of the client, and started again.

``python -m tests.client.killed_device FOLDER SURVEY URL FIRST STEP``. For each k a child opens a
device of its own, answers epoch ``k<k>`` and sends; it ends, without any tidying up, when it comes
to the k-th line of the client. A second child does the same in one go, with another value. One line
of JSON for each k says what the ledger holds then. The last k is one that nothing killed.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import lapwing.client
from lapwing import Survey
from lapwing.client import Device, Patience

CLIENT = str(Path(lapwing.client.__file__).parent)
KILLED = 9


def job(folder: Path, survey: Survey, url: str, *, epoch: str, value: int) -> Device:
    device = Device.open(folder, epsilon_cap=4, budget=4)
    device.answer(survey, value, epoch=epoch)
    device.send(url, patience=Patience(3, first=0.01))
    return device


def killed_at(line: int) -> Any:
    """Return a tracer that ends the process at that line of the client."""
    left = line

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal left
        if not frame.f_code.co_filename.startswith(CLIENT):
            return None
        if event == "line":
            left -= 1
            if left == 0:
                os._exit(KILLED)
        return trace

    return trace


def main() -> None:
    folder, survey, url = Path(sys.argv[1]), Survey.load(sys.argv[2]), sys.argv[3]
    first, step = int(sys.argv[4]), int(sys.argv[5])
    # What is read when it is first used is read now, so that it is not read in every child.
    warm = folder / "warm"
    warm.mkdir()
    job(warm, survey, url, epoch="warm", value=0)
    number, code = first, KILLED
    while code == KILLED:
        home = folder / str(number)
        home.mkdir()
        child = os.fork()
        if child == 0:
            sys.settrace(killed_at(number))
            job(home, survey, url, epoch=f"k{number}", value=1)
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        child = os.fork()
        if child == 0:
            device = job(home, survey, url, epoch=f"k{number}", value=2)
            entries = [(e.release, str(e.guarantee.epsilon)) for e in device.ledger.entries]
            states = [(batch.id, batch.state) for batch in device.batches()]
            sys.stdout.write(json.dumps([number, code, entries, states]) + "\n")
            sys.stdout.flush()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        number += step


if __name__ == "__main__":
    main()
