"""The command: ``python -m benchmarks``; see the README beside this file."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time

from benchmarks import results
from benchmarks.runner import BENCHMARKS, UnknownBenchmarkError, chosen, run


def main(arguments: list[str] | None = None) -> int:
    """Run benchmarks or write the tables; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure speed and accuracy, keep the results as JSON, write the tables.",
    )
    parser.add_argument(
        "names",
        nargs="*",
        metavar="name",
        help="benchmarks or folders of them; or: tables; or: papers, and which of them",
    )
    parser.add_argument("--list", action="store_true", help="name the benchmarks")
    parser.add_argument(
        "--quick", action="store_true", help="small sizes; the result is printed and not kept"
    )
    parser.add_argument(
        "--check", action="store_true", help="with tables: write nothing, fail if one is stale"
    )
    parser.add_argument(
        "--seed", type=int, help="with papers: judge their claims again with this seed, and keep it"
    )
    choice = parser.parse_intermixed_args(arguments)
    if choice.list:
        for name, what in BENCHMARKS.items():
            print(f"{name:{max(map(len, BENCHMARKS))}} {what}")
        return 0
    if choice.seed is not None and choice.names[:1] != ["papers"]:
        parser.error("--seed goes with papers: python -m benchmarks papers --seed 2")
    if choice.names == ["tables"]:
        return _tables(check=choice.check)
    if choice.names[:1] == ["papers"] and choice.quick == (choice.seed is not None):
        parser.error(
            "papers goes with --quick or with --seed N; "
            "`python -m benchmarks accuracy/papers` measures them all anew"
        )
    if choice.check:
        parser.error("--check goes with tables: python -m benchmarks tables --check")
    try:
        if choice.names[:1] == ["papers"]:
            only = chosen([f"accuracy/papers/{name}" for name in choice.names[1:]])
            return _papers(only if choice.names[1:] else None, seed=choice.seed)
        names = chosen(choice.names)
    except UnknownBenchmarkError as error:
        parser.error(str(error))
    return _run(names, quick=choice.quick)


def _papers(only: list[str] | None, *, seed: int | None) -> int:
    """Judge the papers' claims again: with another seed, which is kept, or with fewer repeats.

    Fails if a verdict turned into its opposite, or moved where fewer repeats did not move it when
    the kept result was measured.
    """
    from benchmarks.accuracy.papers.fewer_repeats import FULL, surprising
    from benchmarks.accuracy.papers.fresh_seeds import joined
    from benchmarks.accuracy.papers.judged_again import told, turned

    few = {"divided": FULL["divided"], "least": FULL["least"]} if seed is None else {}
    start = time.monotonic()
    document = run("accuracy/fresh_seeds", changed={"only": only, "seed": seed, **few})
    assert document is not None  # a benchmark without its data is left out, not this one
    from benchmarks.tables import section

    claims = document["measured"]["claims"]
    wrong = surprising(claims) if seed is None else turned(claims)
    print(section(document["name"], document), flush=True)
    if seed is not None:
        results.write(joined(document, results.read("accuracy/fresh_seeds")))
        _tables(check=False)
    print(f"{len(claims)} claims in {time.monotonic() - start:.0f} s", file=sys.stderr)
    if wrong:
        print(f"not as kept:\n{told(wrong)}", file=sys.stderr)
    return 1 if wrong or not claims else 0


def _run(names: list[str], *, quick: bool) -> int:
    failed = []
    for name in names:
        print(f"{name}: {BENCHMARKS[name]} ...", file=sys.stderr, flush=True)
        try:
            document = run(name, quick=quick)
        except subprocess.CalledProcessError:
            failed.append(name)
            continue
        if document is None:
            continue
        if quick:
            from benchmarks.tables import section

            print(section(name, document), end="\n\n", flush=True)
        else:
            results.write(document)
    if not quick:
        _tables(check=False)
    for name in failed:
        print(f"FAILED {name}; its earlier result was left as it is", file=sys.stderr)
    return 1 if failed else 0


def _tables(*, check: bool) -> int:
    # The scripts are imported here, and with them NumPy; the runner stays small until then.
    from benchmarks import tables

    if not check:
        tables.write()
        return 0
    stale = tables.stale()
    for path in stale:
        name = path.relative_to(tables.FOLDER.parent).as_posix()
        print(f"{name} is stale; run `python -m benchmarks tables`", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
