"""No words twice: after a fork, by a copy, and when a draw is interrupted half way."""

import copy
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Any

import numpy as np
import pytest

from lapwing.errors import PrivacyError
from lapwing.privacy.sampling import randomness
from lapwing.privacy.sampling.randomness import BUFFER_BYTES, secure, seeded

WORDS_IN_BUFFER = BUFFER_BYTES // 8

# Forks, each in a process of its own: a test worker has threads of its own.

START = """
import ctypes, os, signal, sys, threading
from lapwing.privacy.sampling import randomness
from lapwing.privacy.sampling.randomness import Keystream, secure, seeded
from typing import Any

COUNT = 64

def of_child(draw, fork=os.fork):
    # What a forked child draws; one that hangs is ended by its own alarm and sends nothing.
    read, write = os.pipe()
    if fork() == 0:
        signal.alarm(20)
        os.write(write, draw().tobytes())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        sent = stream.read()
    os.wait()
    assert len(sent) == 8 * COUNT, "the child hung or failed"
    return sent

def words(sent):
    return [sent[place : place + 8] for place in range(0, len(sent), 8)]

def all_different(*sent):
    drawn = [word for part in sent for word in words(part)]
    assert len(set(drawn)) == len(drawn), "words came twice"
    print("different")
"""

PARENT_AND_CHILDREN = """
def draw():
    return secure().words(COUNT)

before = draw().tobytes()
children = [of_child(draw) for _ in range(20)]
all_different(before, draw().tobytes(), *children)
"""

GRANDCHILD = """
def draw():
    return secure().words(COUNT)

def draw_in_grandchild():
    import numpy
    return numpy.frombuffer(of_child(draw), dtype="<u8")

all_different(draw().tobytes(), of_child(draw), of_child(draw_in_grandchild), draw().tobytes())
"""

# An id is free again once its process is gone, and then a child may get it.
EQUAL_IDS = "os.getpid = lambda: 4711\n" + PARENT_AND_CHILDREN

# C code forks without the hooks of Python; the process id still tells.
WITHOUT_HOOKS = """
def draw():
    return secure().words(COUNT)

before = draw().tobytes()
fork = ctypes.PyDLL(None).fork
all_different(before, of_child(draw, fork), of_child(draw, fork), draw().tobytes())
"""

# Two threads draw without a pause, so that nearly every fork meets a lock that is held; and a third
# makes keys, so that many meet the locks of OpenSSL.
WHILE_THREADS_DRAW = """
shared, stop = seeded(1), False

def drain():
    while not stop:
        secure().words(300_000)
        shared.words(300_000)

def make_keys():
    while not stop:
        seeded(2).words(1)

threads = [threading.Thread(target=work) for work in (drain, drain, make_keys)]
for thread in threads:
    thread.start()
try:
    children = []
    for _ in range(60):
        children.append(of_child(lambda: secure().words(COUNT)))
        of_child(lambda: shared.words(COUNT))
finally:
    stop = True
    for thread in threads:
        thread.join()
all_different(secure().words(COUNT).tobytes(), *children)
"""

# A draw during which its own thread forks, as a signal handler may: the child's draw starts over.
DURING_A_DRAW = """
read, write = os.pipe()
forked = []

def draw_key():
    secret = os.urandom(48)
    if not forked:
        forked.append(os.fork())
    return secret

signal.alarm(20)
source = Keystream(draw_key)
drawn = source.words(COUNT).tobytes() + source.words(COUNT).tobytes()
if forked == [0]:
    os.write(write, drawn)
    os._exit(0)
os.wait()
all_different(os.read(read, 16 * COUNT), drawn)
"""


@pytest.mark.parametrize(
    "script",
    [PARENT_AND_CHILDREN, GRANDCHILD, EQUAL_IDS, WITHOUT_HOOKS, WHILE_THREADS_DRAW, DURING_A_DRAW],
    ids=["children", "grandchild", "equal ids", "no hooks", "threads", "during a draw"],
)
def test_a_forked_child_draws_words_of_its_own(script: str) -> None:
    # Later Pythons warn of every fork beside threads, which is what is tried here.
    warnings = ["-W", "error", "-W", "ignore::DeprecationWarning"]
    done = subprocess.run(
        [sys.executable, *warnings, "-c", START + script],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "different\n"


# Copies

COPIES: dict[str, Callable[[object], object]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    **{f"pickle {n}": lambda source, n=n: pickle.dumps(source, n) for n in range(6)},
}


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("source", [secure(), seeded(1)], ids=["secure", "seeded"])
def test_a_source_is_not_copied(source: Any, way: str) -> None:
    source.words(3)
    with pytest.raises(PrivacyError, match=r"same words.*lapwing\.privacy\.secure\(\)"):
        COPIES[way](source)


# Interrupted draws


def _interrupt_at(step: int, draw: Callable[[], object]) -> bool:
    """Run a draw, interrupted before its step-th line under the lock; say whether it was.

    Not on a line that takes and frees a lock: an exception that a tracer raises there leaves it
    held, which a signal cannot.
    """
    seen = 0

    def trace(frame: FrameType, event: str, _: object) -> object:
        nonlocal seen
        if frame.f_code.co_filename != randomness.__file__:
            return None
        if frame.f_code.co_name not in ("_fill", "fill_start"):
            return trace
        if event == "line":
            seen += 1
            if seen == step:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        draw()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


@pytest.mark.parametrize("drawn_before", [0, 5, WORDS_IN_BUFFER - 40, WORDS_IN_BUFFER])
def test_after_an_interruption_no_word_comes_twice_and_none_is_zero(drawn_before: int) -> None:
    """Wherever an interruption falls, what was handed out so far is not handed out again."""
    steps = 0
    while True:
        # What an interruption loses, a key too, is lost.
        source = seeded(9)
        first = source.words(drawn_before)
        half_drawn = np.zeros(100, dtype="<u8")
        target = memoryview(half_drawn.data).cast("B")
        steps += 1
        if not _interrupt_at(steps, partial(source.fill, target)):
            break
        later = source.words(2 * WORDS_IN_BUFFER)
        handed_out = np.concatenate([first, half_drawn[half_drawn != 0], later])
        assert np.unique(handed_out).size == handed_out.size, f"words came twice, line {steps}"
        assert handed_out.all(), f"a word that was wiped, line {steps}"
    assert steps > 8, "nothing was interrupted"


def test_an_interrupted_draw_leaves_the_lock_free() -> None:
    source = seeded(2)
    interrupted = [_interrupt_at(step, partial(source.words, 9000)) for step in range(1, 30)]
    assert interrupted[0] and not interrupted[-1]
    thread = threading.Thread(target=lambda: source.words(10), daemon=True)
    thread.start()
    thread.join(timeout=20)
    assert not thread.is_alive()
