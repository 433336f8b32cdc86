"""What the headline tables share: the kept result, the line that says how it was measured."""

from __future__ import annotations

from typing import Any

from scipy import stats

from benchmarks import results
from benchmarks.isolated import place
from benchmarks.markdown import figure

LEVEL = 0.95


class NotMeasuredError(Exception):
    """A benchmark has no kept result."""


def kept(name: str) -> dict[str, Any]:
    """Return the kept result of a benchmark."""
    document = results.read(name)
    if document is None:
        raise NotMeasuredError(name)
    return document


def measured_by(*documents: dict[str, Any]) -> str:
    """Return the line with the program, the commit and the machine of some results."""
    lines = []
    for one in documents:
        name, where = one["name"], one["machine"]
        commit = one["commit"][:10] if one["commit"] else "unknown"
        lines.append(
            f"{{source}}`{name} <{file_of(name)}>` at commit {commit}, on "
            f"{where['processor']}, {where['cores']} cores, {where['memory_gib']:g} GiB, "
            f"{where['system']}, with a load of {one['load']['before']:g} at the start"
        )
    sentences = [f"Measured by {'; '.join(lines)}.", *map(results.earlier_default, documents)]
    return f"*{' '.join(dict.fromkeys(filter(None, sentences)))}*"


def file_of(name: str) -> str:
    """Return the path of the script of a benchmark."""
    return f"benchmarks/{place(name)}.py"


def percent(share: float) -> str:
    """Return a share in percent."""
    return f"{100 * share:.1f}%"


def margin(error: float, repeats: int) -> float:
    """Return half the length of a 95% confidence interval of a mean, by Student's t."""
    return float(stats.t.ppf(0.5 + LEVEL / 2, repeats - 1)) * error


def interval(mean: float, error: float, repeats: int, *, scale: float = 1.0) -> str:
    """Return a mean with its 95% confidence interval, both times a scale."""
    half = margin(error, repeats)
    ends = (figure(scale * max(0.0, mean - half)), figure(scale * (mean + half)))
    return f"{figure(scale * mean)} [{ends[0]}, {ends[1]}]"
