"""Timing calls against each other, and printing what came out."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

_SAMPLE_SECONDS = 0.02


def interleaved(calls: Mapping[str, Callable[[], Any]], *, rounds: int = 15) -> dict[str, float]:
    """Median seconds a call takes, for each of them.

    The calls take turns, so that a busy moment of the machine falls on all of them alike.
    """
    repeats = {}
    for name, call in calls.items():
        call()
        started = time.perf_counter()
        call()
        once = time.perf_counter() - started
        repeats[name] = max(1, int(_SAMPLE_SECONDS / max(once, 1e-7)))
    samples: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            count = repeats[name]
            started = time.perf_counter()
            for _ in range(count):
                call()
            samples[name].append((time.perf_counter() - started) / count)
    return {name: median(values) for name, values in samples.items()}


def duration(seconds: float) -> str:
    """Seconds in the unit that reads best."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def show(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table; the first column is text, the others are figures."""
    table = [head, *rows]
    widths = [max(len(row[column]) for row in table) for column in range(len(head))]
    print(f"\n{title}\n")
    for number, row in enumerate(table):
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        print("  " + "   ".join(cells))
        if number == 0:
            print("  " + "   ".join("-" * width for width in widths))


def compare(title: str, calls: Mapping[str, Callable[[], Any]], *, baseline: str) -> None:
    """Time the calls, and print each with its ratio to the baseline."""
    seconds = interleaved(calls)
    rows = [
        [name, duration(taken), f"{taken / seconds[baseline]:.2f}x"]
        for name, taken in seconds.items()
    ]
    show(title, ["", "a call", f"to {baseline}"], rows)
