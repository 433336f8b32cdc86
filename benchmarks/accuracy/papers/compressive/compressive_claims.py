"""What the compressive paper says of figures 2 and 3 and of its promise, judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks import verdicts
from benchmarks.markdown import listed
from benchmarks.verdicts import Cell, Claim

Row = Mapping[str, Any]

BASELINES = ("RR", "RAPPOR", "SS", "HR")
STEPS = {"norm": "clip-and-normalize", "proj": "simplex"}

PUBLISHED, NORMALIZED = "CP as printed", "CP, normalized"
SAME = ("SS, s known", "HR, s known", "CP published matrix, s known", "CP balanced, s known")
UNKNOWN = ("SS, s unknown", "CP balanced, s unknown")

LITTLE = 1.25
"""Factor up to which the last step has "little effect", beside the factors of 2 to 10."""


def named(step: str, *, but: str = "") -> list[str]:
    """Return the baselines with one of their last steps."""
    return [f"{key} {step}" for key in BASELINES if key != but]


def claims(measured: Mapping[str, Any]) -> list[Claim]:
    """Return what is said of figure 2, of figure 3 and of the epsilon that is kept."""
    second, third = measured["figure_2"], measured["figure_3"]
    return [
        *_second(second),
        *_third(third),
        *_mainly(third, [row for row in (*second, *third) if SAME[2] in row["methods"]]),
        *_promise([*second, *third]),
    ]


def values(row: Row, method: str) -> list[float]:
    """Return the L1 errors of a method in a row, repeat by repeat."""
    kept: list[float] = row["methods"][method]["l1"]["values"]
    return kept


def mean(row: Row, method: str) -> float:
    """Return the mean L1 error of a method in a row."""
    return float(row["methods"][method]["l1"]["mean"])


def beats(row: Row, ours: str, others: Sequence[str], factor: float = 1.0) -> Cell:
    """Return whether a method has a smaller error than each of others, or than a part of it."""
    return verdicts.less(values(row, ours), [values(row, one) for one in others], factor=factor)


def alike(row: Row, one: str, other: str, factor: float) -> Cell:
    """Return whether two errors are similar: they differ by less than a factor, either way."""

    def judge(beyond: float) -> Cell:
        pairs = (one, other), (other, one)
        return verdicts.both([beats(row, ours, [theirs], 1 + beyond) for ours, theirs in pairs])

    return verdicts.loosely(judge, beyond=factor - 1)


def gains(rows: Sequence[Row], ours: str, others: Sequence[str]) -> list[float]:
    """Return the least error of others over ours, in every row."""
    return [min(mean(row, one) for one in others) / mean(row, ours) for row in rows]


def _span(found: Sequence[float]) -> str:
    return f"{min(found):.2f} to {max(found):.1f} times"


def _second(rows: Sequence[Row]) -> list[Claim]:
    own = gains(rows, PUBLISHED, named("norm"))
    projected = gains(rows, PUBLISHED, named("proj"))
    every = [*named("norm"), *named("proj")]
    below = sum(gain > 1 for gain in projected)
    twice = sum(gain >= 2 for gain in projected)
    lost = [row for row, gain in zip(rows, projected, strict=True) if gain <= 1]
    where = listed([f"{row['population']} at {row['people']:,}" for row in lost]) if lost else "-"
    better = {
        key: [mean(row, f"{key} proj") / mean(row, f"{key} norm") for row in rows]
        for key in BASELINES
    }
    improved = "; ".join(f"{key} {min(r):.2f} to {max(r):.2f}" for key, r in better.items())
    steps = [mean(row, NORMALIZED) / mean(row, PUBLISHED) for row in rows]
    return [
        Claim(
            "In the default setting the error of our method is 2-10 times lower than all baseline "
            "methods [with their own normalization].",
            [beats(row, PUBLISHED, named("norm"), factor=0.5) for row in rows],
            f"Counted where it is at least 2 times lower than the best: {_span(own)}, at least 2 "
            f"in {sum(gain >= 2 for gain in own)} of {len(rows)}.",
            where="figure 2",
        ),
        Claim(
            "The performance of compressive privatization is almost always better than the "
            "baselines, with or without projected decoders.",
            [beats(row, PUBLISHED, every) for row in rows],
            f"Against the best projected one {_span(projected)} lower; lower in {below} of "
            f"{len(rows)} cells, at least 2 times in {twice}. Not lower: {where}.",
            most=True,
            where="figure 2",
        ),
        Claim(
            "With the projected decoder, the performance of all baselines except for RR improves "
            "significantly.",
            [
                beats(row, f"{key} proj", [f"{key} norm"])
                for key in BASELINES
                if key != "RR"
                for row in rows
            ],
            f"Projected over normalized: {improved}.",
            where="figure 2",
        ),
        Claim(
            "For our method, the simple normalization decoder has already achieved similar "
            "accuracy.",
            [alike(row, NORMALIZED, PUBLISHED, LITTLE) for row in rows],
            f"{_last(steps)}",
            where="figure 2",
        ),
    ]


def _last(steps: Sequence[float]) -> str:
    close = sum(abs(step - 1) <= 0.1 for step in steps)
    return (
        f"Counted within a factor of {LITTLE}: normalized over projected {min(steps):.2f} to "
        f"{max(steps):.2f}, within 10% in {close} of {len(steps)}. Where it is below 1, the "
        "projection on the whole simplex has spread what was missing over all symbols."
    )


def _third(rows: Sequence[Row]) -> list[Claim]:
    steps = [mean(row, NORMALIZED) / mean(row, PUBLISHED) for row in rows]
    own = gains(rows, NORMALIZED, named("norm"))
    projected = gains(rows, PUBLISHED, named("proj"))
    by_epsilon = {
        epsilon: [
            gain for row, gain in zip(rows, projected, strict=True) if row["epsilon"] == epsilon
        ]
        for epsilon in dict.fromkeys(row["epsilon"] for row in rows)
    }
    told = listed(
        [f"{sum(g > 1 for g in found)} of {len(found)} at {e:g}" for e, found in by_epsilon.items()]
    )
    return [
        Claim(
            "The type of decoder has little effect on the performance of our estimation algorithm.",
            [alike(row, NORMALIZED, PUBLISHED, LITTLE) for row in rows],
            _last(steps),
            where="figure 3",
        ),
        Claim(
            "Our method can always achieve good performance for different ε regardless of the "
            "decoder.",
            [beats(row, one, named("norm")) for row in rows for one in (NORMALIZED, PUBLISHED)],
            "Counted against the baselines with their own normalization, which normalized CP is "
            f"{_span(own)} below. Against projected ones, of which the sentence does not speak, CP "
            f"as printed has the smaller error in {told}.",
            where="figure 3",
        ),
    ]


MAINLY = (
    "The improvement mainly comes from compressive privatization, rather than the choice of "
    "decoder."
)


def _mainly(third: Sequence[Row], same: Sequence[Row]) -> list[Claim]:
    """Return both readings of what the improvement mainly comes from.

    A decoder is the last step, as in the paper's own comparison; or all that the collector does
    and knows, of which the published method alone is told s.
    """
    left = [_left(row) for row in same]
    return [
        Claim(
            MAINLY,
            [beats(row, NORMALIZED, named("norm"), factor=0.5) for row in third],
            "With the last step of the baselines' own code on both sides; counted below half of "
            "their error.",
            where="figure 3",
            form="the last step alike",
        ),
        Claim(
            MAINLY,
            [_mostly(row) for row in same],
            "Counted where, of the factor by which the error falls, more than half (in logarithms) "
            "is left once SS and HR are decoded as the method is, with s known and a fit on the "
            "symbols found. Left are factors of "
            f"{min(left):.2f} to {max(left):.2f} of {min(map(_whole, same)):.1f} to "
            f"{max(map(_whole, same)):.1f}; SS or HR has at most 1.15 times the error of the "
            f"published matrix in {sum(one <= 1.15 for one in left)} of {len(left)} cells, and a "
            f"smaller one in {sum(one < 1 for one in left)}."
            if same
            else "",
            where="figure 3",
            form="the last step and s alike",
        ),
    ]


def _whole(row: Row) -> float:
    return min(mean(row, name) for name in named("norm")) / mean(row, NORMALIZED)


def _left(row: Row) -> float:
    return min(mean(row, name) for name in SAME[:2]) / mean(row, SAME[2])


def _mostly(row: Row) -> Cell:
    """Return whether most of an improvement is left where all know s and decode alike."""
    names = (*named("norm"), NORMALIZED, *SAME[:3])

    def mostly(means: Mapping[str, float]) -> bool:
        whole = min(means[name] for name in named("norm")) / means[NORMALIZED]
        return min(means[name] for name in SAME[:2]) / means[SAME[2]] > whole**0.5

    return verdicts.resampled(mostly, {name: values(row, name) for name in names})


def _promise(rows: Sequence[Row]) -> list[Claim]:
    by_epsilon: dict[float, list[tuple[float, float]]] = {}
    for row in rows:
        pairs = zip(row["promise"]["true"]["values"], row["promise"]["beta"]["values"], strict=True)
        by_epsilon.setdefault(row["epsilon"], []).extend(pairs)
    told = ", ".join(
        f"{sum(true for true, _ in pairs) / len(pairs):.3f} at ε = {epsilon:g} (β = "
        f"{sum(beta for _, beta in pairs) / len(pairs):.2f})"
        for epsilon, pairs in by_epsilon.items()
    )
    return [
        Claim(
            "If the ones of all columns are within 1 ± β of m/2, or of m e^-ε, Q is (ε + 2β)-LDP.",
            [
                # Stored to five digits, so the last of them may be rounded.
                verdicts.certain(all(true <= epsilon + 2 * beta + 1e-3 for true, beta in pairs))
                for epsilon, pairs in by_epsilon.items()
                if all(beta <= 1 for _, beta in pairs)
            ],
            f"So the published matrices keep more than ε: mean true epsilon {told}; where β > 1 "
            "the lemma says nothing. Baselines and balanced columns keep ε exactly, and the "
            "figures compare them at the same nominal ε, as the paper does.",
            where="lemmas 2.1 and 4.1",
        )
    ]


def same_knowledge(rows: Sequence[Row]) -> str:
    """Return what is seen when everybody knows s: no sentence of the paper, so no verdict."""
    over = [_left(row) for row in rows if SAME[2] in row["methods"]]
    lower = [
        min(mean(row, f"{key} proj") for key in ("SS", "HR"))
        / min(mean(row, name) for name in SAME[:2])
        for row in rows
        if SAME[2] in row["methods"]
    ]
    return (
        f"Knowing s helps everybody: it divides the error of the better of SS and HR by "
        f"{min(lower):.2f} to {max(lower):.1f}, and then that error is {_span(over)} that of the "
        f"published matrix (below 1: SS or HR is better; within 15% or above in "
        f"{sum(one >= 1 / 1.15 for one in over)} of {len(over)} cells)."
    )
