"""BLAS has one thread while somebody decodes, and what it had before when nobody does."""

import inspect
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import pytest
import scipy.linalg  # noqa: F401
from threadpoolctl import OpenBLASController, threadpool_info, threadpool_limits

from lapwing.linear.arrays import OneThread, one_thread
from lapwing.registry import DECODERS


def threads() -> set[int]:
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def three() -> Iterator[None]:
    """A process that was told to use three."""
    with threadpool_limits(limits=3, user_api="blas"):
        OpenBLASController.clear_controlling_thread()  # other threads may change it too
        yield


def test_inside_there_is_one_and_afterwards_what_there_was() -> None:
    assert threads() == {3}
    with one_thread:
        assert threads() == {1}
        with one_thread:
            assert threads() == {1}
        assert threads() == {1}
    assert threads() == {3}


def test_also_after_an_error_and_as_a_decorator() -> None:
    @one_thread
    def fails() -> None:
        assert threads() == {1}
        raise ValueError("as planned")

    for _ in range(2):
        with pytest.raises(ValueError, match="as planned"):
            fails()
        assert threads() == {3}


def test_calls_that_overlap_do_not_leave_it_at_one() -> None:
    """The first leaves while the second is inside; the second then leaves last."""
    first_left, both = Event(), Barrier(2)

    def first() -> None:
        with one_thread:
            both.wait(timeout=60)
        first_left.set()

    def second() -> set[int]:
        with one_thread:
            both.wait(timeout=60)
            first_left.wait(timeout=60)
            return threads()

    with ThreadPoolExecutor(2) as pool:
        leaving, staying = pool.submit(first), pool.submit(second)
        leaving.result()
        assert staying.result() == {1}
    assert threads() == {3}


def test_a_limit_that_somebody_else_holds_stays() -> None:
    def decode() -> set[int]:
        with one_thread:
            return threads()

    with threadpool_limits(limits=2, user_api="blas"), ThreadPoolExecutor(1) as pool:
        assert pool.submit(decode).result() == {2}
        assert threads() == {2}
    assert threads() == {3}


def test_a_decode_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    import lapwing as lw

    entered: list[bool] = []
    enter = OneThread.__enter__
    monkeypatch.setattr(OneThread, "__enter__", lambda self: (entered.append(True), enter(self))[1])
    wave = lw.SquareWave(lw.Interval(0, 1, bins=16, circular=True), 1)
    tally = wave.tally(wave.randomize([0.5] * 100, rng=lw.seeded(1)))
    for decoder in (lw.SpectralPrior(), lw.LeastSquares(), lw.papers.convolution.Wiener()):
        entered.clear()
        decoder.decode(wave.channel, tally)
        assert entered


@pytest.mark.parametrize("name", [name for name, one in DECODERS.items() if one.reads != "log"])
def test_every_decoder_that_multiplies_matrices_has_one(name: str) -> None:
    """Logs are scanned by compiled loops of our own."""
    assert inspect.unwrap(DECODERS[name].decode) is not DECODERS[name].decode
