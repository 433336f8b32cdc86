"""A method that overrides or forwards inherits the sections that its docstring leaves out."""

from __future__ import annotations

import inspect
from typing import Any

import lapwing as lw
from lapwing.docstrings import Documented, inherits


class Source(Documented):
    def share(self, low: float, high: float, *, level: float = 0.95, **ranges: Any) -> float:
        """Return a share.

        Parameters
        ----------
        low, high : float
            Ends of the range.
        level : float
            Confidence level.
        **ranges : pair
            Of other axes.

        Returns
        -------
        float
            In [0, 1].

        Raises
        ------
        ArgumentError, DomainError
            When the ends are no range.
        MismatchError
            When there is another domain.

        Notes
        -----
        Of the source alone.
        """
        return 0.0


def test_what_an_override_leaves_out_is_inherited() -> None:
    class Override(Source):
        def share(self, low: float, high: float, *, level: float = 0.9, **ranges: Any) -> float:
            """Return half the share.

            Parameters
            ----------
            level : float
                Its own level.

            Raises
            ------
            DomainError
                Its own error.

            Notes
            -----
            Its own note.
            """
            return 0.0

    assert inspect.getdoc(Override.share) == (
        "Return half the share.\n\n"
        "Parameters\n----------\nlow, high : float\n    Ends of the range.\n"
        "level : float\n    Its own level.\n**ranges : pair\n    Of other axes.\n\n"
        "Returns\n-------\nfloat\n    In [0, 1].\n\n"
        "Raises\n------\nDomainError\n    Its own error.\n"
        "MismatchError\n    When there is another domain.\n\n"
        "Notes\n-----\nIts own note."
    )


def test_a_parameter_is_documented_by_its_own_name_or_not_at_all() -> None:
    class Forward:
        @inherits(Source.share)
        def share(self, first: float, last: float) -> tuple[float, float]:
            """Return both ends.

            In order.

            Returns
            -------
            tuple of float
                Ends.
            """
            return first, last

    text = inspect.getdoc(Forward.share)
    assert text is not None and text.startswith("Return both ends.\n\nIn order.\n\nParameters")
    assert "first, last : float\n    Ends of the range." in text
    assert "level" not in text and "ranges" not in text and "In [0, 1]" not in text


def test_a_class_method_inherits_from_that_of_its_base() -> None:
    class Base(Documented):
        @classmethod
        def read(cls, path: str) -> None:
            """Read.

            Parameters
            ----------
            path : str
                File.
            """

    class Derived(Base):
        @classmethod
        def read(cls, path: str) -> None:
            """Read a table."""

    class Silent(Base):
        @classmethod
        def read(cls, path: str) -> None:
            pass

    assert inspect.getdoc(Derived.read) == (
        "Read a table.\n\nParameters\n----------\npath : str\n    File."
    )
    assert inspect.getdoc(Silent.read) == inspect.getdoc(Base.read)


def test_without_docstrings_nothing_is_inherited() -> None:
    """As by ``python -OO``, which drops them."""

    @inherits(Source.share)
    def share() -> None:
        pass

    assert share.__doc__ is None


def test_a_reader_sees_the_whole_text_of_methods_that_leave_out_most() -> None:
    for method in (
        *(lw.LeastSquares.decode, lw.mechanisms.LabelCounts.check),
        *(lw.mechanisms.HistogramQuery.strategy_for, lw.SquareWave.from_words),
        lw.Integers.for_curator,
    ):
        text = inspect.getdoc(method)
        assert text is not None
        assert {"Parameters", "Returns", "Raises"} & {*text.split("\n")}, method
