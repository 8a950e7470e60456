"""Where one filtered search on each backend spends its time, by the profiler.

The shares are of processor and waiting time together, by the wall. The profiler makes calls of
Python functions dearer than they are, ours among them, and the engine no slower: the shares of
Python code are upper bounds.
"""

from __future__ import annotations

import cProfile
import pstats
import sysconfig
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from benchmarks.data import random_data
from benchmarks.others import missing
from benchmarks.overhead import ENGINES, Engine
from benchmarks.timing import duration, show

DIMENSION = 384
SECONDS = 5.0
"""How long one backend is watched at least, with some calls before it."""
_OURS = str(Path(__file__).resolve().parent.parent / "vecstore")
_PACKAGES = tuple(
    {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")},
)
_STANDARD = sysconfig.get_path("stdlib")
_SHOWN = 5
_WAITING = ("", 0, "waiting for another thread")

Function = tuple[str, int, str]


def run() -> None:
    """Print a table for each backend whose client is installed."""
    for kind in ENGINES:
        reason = missing(kind.modules, kind.package)
        if reason is not None:
            print(f"\nskipped {kind.name} ({reason})")
            continue
        data = random_data(kind.rows[0], DIMENSION)
        with (
            tempfile.TemporaryDirectory(prefix="vecstore-bench-") as folder,
            closing(kind(data, Path(folder))) as engine,
        ):
            _print(engine, *_profiled(_searching(engine)))


def _searching(engine: Engine) -> Callable[[], Any]:
    query = engine.data.query()
    filter = f"rank < {engine.data.kept(10)}"
    return lambda: engine.store.search(vector=query(), top_k=4, filter=filter)


def _profiled(call: Callable[[], Any]) -> tuple[dict[str, float], dict[str, float], float]:
    """Seconds by package, seconds by function of ours, and seconds of one call."""
    for _ in range(3):
        call()
    profile = cProfile.Profile()
    calls = 0
    started = time.perf_counter()
    while time.perf_counter() - started < SECONDS:
        profile.runcall(call)
        calls += 1
    packages: dict[str, float] = defaultdict(float)
    ours: dict[str, float] = defaultdict(float)
    for who, seconds in _spent(pstats.Stats(profile).stats.items()):  # type: ignore[attr-defined]
        package = _package(who[0])
        packages[package] += seconds
        if package == "vecstore":
            ours[_shown(who)] += seconds
    return packages, ours, sum(packages.values()) / calls


def _spent(stats: Iterable[Any]) -> Iterable[tuple[Function, float]]:
    """Each function's own time; that of functions in C goes to who called them."""
    for function, (_, _, own, _, callers) in stats:
        if function[0] != "~" or not callers:
            yield function, own
            continue
        waiting = "acquire" in function[2] or "Queue" in function[2]
        for caller, (_, _, spent, _) in callers.items():
            yield (_WAITING if waiting else caller), spent


def _package(path: str) -> str:
    if not path:
        return _WAITING[2]
    if path.startswith(_OURS):
        return "vecstore"
    for folder in _PACKAGES:
        if path.startswith(folder):
            return Path(path).relative_to(folder).parts[0].removesuffix(".py")
    if path.startswith((_STANDARD, "<frozen")):
        return "standard library"
    return "benchmarks"


def _shown(function: Function) -> str:
    path, line, name = function
    place = Path(path).relative_to(Path(_OURS).parent) if path.startswith(_OURS) else Path(path)
    return f"{place}:{line} {name}"


def _print(
    engine: Engine, packages: dict[str, float], ours: dict[str, float], seconds: float
) -> None:
    whole = sum(packages.values())
    rows = [
        [name, f"{spent / whole:.1%}"]
        for name, spent in sorted(packages.items(), key=lambda item: -item[1])
        if spent / whole >= 0.001
    ]
    rows += [
        [f"  {name}", f"{spent / whole:.1%}"]
        for name, spent in sorted(ours.items(), key=lambda item: -item[1])[:_SHOWN]
    ]
    show(
        f"{engine.name}: a search that keeps 10 % of {len(engine.data):,} x "
        f"{engine.data.dimension} documents, {duration(seconds)} a call under the profiler",
        ["where", "share"],
        rows,
    )
