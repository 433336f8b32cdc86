"""Results that are kept: the right ones, few of them, and the same from many threads."""

import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from threading import Barrier

import pytest

from lapwing.linear.memoized import Memoized, cached_property, memoized


@dataclass(frozen=True)
class Sized:
    """Keys of which two share a hash, compared by Python code."""

    size: int

    def __hash__(self) -> int:
        return self.size // 2


@pytest.fixture
def often_interrupted() -> Iterator[None]:
    usual = sys.getswitchinterval()
    sys.setswitchinterval(usual / 1000)
    yield
    sys.setswitchinterval(usual)


def test_a_result_is_computed_once_until_it_is_the_oldest() -> None:
    asked: list[int] = []

    @memoized(most=2)
    def twice(number: int) -> int:
        asked.append(number)
        return 2 * number

    assert [twice(n) for n in (1, 2, 1, 3, 1, 2)] == [2, 4, 2, 6, 2, 4]
    assert asked == [1, 2, 3, 2]  # 1 was asked for again, so 2 went first
    twice.forget()
    assert twice(1) == 2
    assert asked == [1, 2, 3, 2, 1]


def test_it_stays_the_function_that_it_keeps() -> None:
    @memoized(most=1)
    def half(number: int) -> Fraction:
        """Return a half."""
        return Fraction(number, 2)

    assert (half.__name__, half.__doc__) == ("half", "Return a half.")
    assert [half(2), half(number=3), half(number=4)] == [1, Fraction(3, 2), 2]


def test_arguments_of_other_names_are_other_arguments() -> None:
    @memoized(most=4)
    def difference(first: int = 0, second: int = 0) -> int:
        return first - second

    assert [difference(first=2), difference(second=2), difference(2)] == [2, -2, 2]


def test_a_failure_is_not_kept() -> None:
    tried: list[int] = []

    @memoized(most=1)
    def refuses(number: int) -> int:
        tried.append(number)
        raise ValueError(number)

    for _ in range(2):
        with pytest.raises(ValueError, match="7"):
            refuses(7)
    assert tried == [7, 7]


def test_it_may_call_itself() -> None:
    @memoized(most=3)
    def factorial(number: int) -> int:
        return number * factorial(number - 1) if number else 1

    assert factorial(20) == 2432902008176640000


@pytest.mark.usefixtures("often_interrupted")
def test_threads_get_the_result_of_their_own_key() -> None:
    """``functools.lru_cache`` in its place crashes the interpreter here, each time."""

    @memoized(most=4)
    def size(key: Sized) -> int:
        return key.size

    def ask(seed: int) -> bool:
        draw = random.Random(seed)
        sizes = [draw.randrange(8) for _ in range(20_000)]
        return all(size(Sized(n)) == n for n in sizes)

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(ask, range(8)))


@pytest.mark.usefixtures("often_interrupted")
def test_all_threads_hold_one_object() -> None:
    """What decoders keep beside an operator is found by the operator itself."""

    @memoized(most=1)
    def made(number: int) -> list[int]:
        return [number] * 1000

    for number in range(200):
        with ThreadPoolExecutor(4) as threads:
            found = list(threads.map(made, [number] * 4))
        assert all(one is found[0] for one in found)


def test_of_two_results_that_threads_compute_at_once_both_get_one() -> None:
    both = Barrier(2, timeout=20)

    @memoized(most=1)
    def made() -> list[int]:
        both.wait()
        return [1]

    with ThreadPoolExecutor(2) as threads:
        one, other = threads.map(lambda _: made(), range(2))
    assert one is other is made()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_child_forked_in_the_middle_of_a_look_goes_on() -> None:
    program = """
import os, sys
from lapwing.linear.memoized import memoized

@memoized(most=2)
def twice(number):
    return 2 * number

twice(1)
twice._lock.acquire()  # another thread's, at the moment of the fork
child = os.fork()
if child == 0:
    os._exit(twice(1) + twice(3))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = subprocess.run([sys.executable, "-c", program], timeout=60, check=False)
    assert done.returncode == 8


def test_nothing_is_kept_beyond_the_limit() -> None:
    kept: Memoized[[int], int] = memoized(most=3)(abs)
    for number in range(10):
        kept(number)
    assert len(kept._kept) == 3


class Slow:
    """Something whose value takes as long as its maker."""

    def __init__(self, made: Callable[[], list[int]]) -> None:
        self.made = made

    @cached_property
    def value(self) -> list[int]:
        """What the maker makes."""
        return self.made()


def test_a_property_is_computed_once_for_each_instance() -> None:
    first, second = Slow(lambda: [1]), Slow(lambda: [2])
    assert first.value is first.value
    assert (first.value, second.value) == ([1], [2])


def test_threads_get_one_value_of_a_property_that_both_compute() -> None:
    both = Barrier(2, timeout=20)

    def made() -> list[int]:
        both.wait()  # breaks where the second thread waits for the first
        return [1]

    slow = Slow(made)
    with ThreadPoolExecutor(2) as threads:
        one, other = threads.map(lambda _: slow.value, range(2))
    assert one is other is slow.value


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_child_forked_while_a_thread_computes_a_property_goes_on() -> None:
    program = """
import os, signal, sys, threading
import lapwing as lw

begun, done = threading.Event(), threading.Event()

class Waits(lw.RandomizedResponse):
    def _operator(self, inside, outside):
        if not done.is_set() and threading.current_thread() is not threading.main_thread():
            begun.set()
            done.wait()
        return super()._operator(inside, outside)

labels = lw.Categories(3)
other = threading.Thread(target=lambda: Waits(labels, 1).channel)
other.start()
begun.wait()
child = os.fork()
if child == 0:
    signal.alarm(30)
    os._exit(len(lw.RandomizedResponse(labels, 2).channel.blocks))
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
done.set()
other.join()
sys.exit(code)
"""
    done = subprocess.run([sys.executable, "-c", program], timeout=60, check=False)
    assert done.returncode == 1
