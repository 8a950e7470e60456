"""``python -m benchmarks``: ours beside others, in turn, on the same data.

Without names, everything that is kept in a table runs. Closer looks at single questions print what
they find; they run only when they are named.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks import in_memory, language, overhead, page, plots, results, startup
from benchmarks.harness import Run

BENCHMARKS: dict[str, Callable[[Run], None]] = {
    "parse": language.parsing,
    "compile": language.compiling,
    "evaluate": language.evaluating,
    "startup": startup.startup,
    "search": in_memory.search,
    "scaling": in_memory.scaling,
    "ingest": in_memory.ingest,
    "persistence": in_memory.persistence,
    "memory": in_memory.memory,
    "overhead": overhead.overhead,
}

CLOSER_LOOKS = {
    "million": "million",
    "pgvector": "pgvector_ingest",
    "qdrant": "qdrant_lists",
    "milvus": "milvus_lists",
    "observation": "observation_overhead",
    "pgvector_lists": "pgvector_lists",
    "long_lists": "long_lists",
    "hostile_filters": "hostile_filters",
    "profile": "profiles",
    "adapters": "adapters",
    "splitting": "splitting",
    "syncing": "syncing",
    "playground": "playground",
    "ids": "ids",
}
"""Modules of this package, whose clients need not be there for all else."""


def parser() -> argparse.ArgumentParser:
    """What the command line takes."""
    made = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Ours beside others, in turn, on the same data. Peers that are not installed "
        "are named and left out; all of them: pip install --group bench",
        epilog=f"benchmarks: {', '.join(BENCHMARKS)}. "
        f"Closer looks, which print only: {', '.join(CLOSER_LOOKS)}.",
    )
    made.add_argument("names", nargs="*", metavar="NAME", help="which; all benchmarks without any")
    made.add_argument("--quick", action="store_true", help="small data, about two minutes in all")
    made.add_argument("--large", action="store_true", help="a million documents as well")
    made.add_argument("--tiny", action="store_true", help=argparse.SUPPRESS)
    made.add_argument(
        "--clock",
        choices=("wall", "cpu"),
        default="wall",
        help="cpu: the processor's time in all threads of the process, for a machine that is busy "
        "otherwise; what runs in a server is measured by the wall all the same",
    )
    made.add_argument("--json", type=Path, metavar="FILE", help="write every sample to a file")
    made.add_argument(
        "--compare",
        type=Path,
        metavar="OLD.json",
        help="show where ours is slower than in an earlier run; the exit status is then 1",
    )
    made.add_argument(
        "--publish",
        type=Path,
        nargs="?",
        const=Path("docs/benchmarks"),
        metavar="FOLDER",
        help="put tables and pictures into the page of the documentation, with results.json beside",
    )
    made.add_argument(
        "--from",
        type=Path,
        nargs="+",
        default=[],
        dest="sources",
        metavar="RUN.json",
        help="measure nothing: take what earlier runs wrote, on one machine",
    )
    return made


def main(arguments: Sequence[str]) -> int:
    """Run what was asked for.

    Returns:
        0; 1 when something became slower; 2 when the arguments cannot be used.
    """
    options = parser().parse_args(arguments)
    names = options.names or list(BENCHMARKS)
    unknown = [name for name in names if name not in {**BENCHMARKS, **CLOSER_LOOKS}]
    if unknown:
        known = ", ".join([*BENCHMARKS, *CLOSER_LOOKS])
        print(f"There is no benchmark {unknown[0]!r}; there are: {known}.")
        return 2
    try:
        old = results.read(options.compare) if options.compare else None
        given = results.merged(options.sources) if options.sources else None
        tables = results.from_json(given) if given is not None else None
    except (OSError, ValueError, LookupError, TypeError) as error:
        print(f"That file cannot be used: {error}")
        return 2
    if tables is None:
        about = results.machine()
        print(page.describe(about))
        run = Run(
            quick=options.quick, large=options.large, tiny=options.tiny, clock=options.clock
        )  # fmt: skip
        for name in names:
            if name in CLOSER_LOOKS:
                import_module(f"benchmarks.{CLOSER_LOOKS[name]}").run()
            else:
                BENCHMARKS[name](run)
        tables, given = run.tables, results.as_json(run, about)
    about = given["machine"]
    if options.json:
        _write(options.json, given)
    if options.publish:
        _publish(options.publish, tables, given)
    return 0 if old is None else _compare(old, tables)


def _write(file: Path, contents: dict[str, Any]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(contents, indent=1) + "\n", "utf-8")


def _publish(folder: Path, tables: Sequence[Any], contents: dict[str, Any]) -> None:
    about = contents["machine"]
    try:
        pictures = plots.draw(tables, folder, page.caption(about))
    except ImportError:
        print("\nno pictures: matplotlib is not installed: pip install matplotlib")
        pictures = {}
    _write(folder / "results.json", contents)
    page.publish(folder / "index.md", tables, about, pictures)


def _compare(old: Sequence[Any], new: Sequence[Any]) -> int:
    changes = results.changes(list(old), list(new))
    slower = [change for change in changes if change.is_regression]
    print(f"\n{len(changes)} of our figures stand in both runs.")
    for change in sorted(changes, key=lambda change: change.factor, reverse=True):
        if abs(change.factor - 1) > results.TOLERANCE:
            against = "to the others" if change.relative else "alone"
            word = "SLOWER" if change.is_regression else "noise" if change.factor > 1 else "faster"
            print(f"  {word:6}  {change.factor:.2f}x {against}  {change.row}: {change.table}")
    if not slower:
        print("None is slower by more than runs differ by themselves.")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
