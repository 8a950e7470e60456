"""What a program pays before its first filter runs, each time in a new process."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable

from benchmarks.harness import Floor, Run
from benchmarks.others import missing

BARE = "bare interpreter"
_COMPILED = "vecstore, import and a text compiled to SQL"
_PROGRAMS: dict[str, tuple[str, tuple[str, ...], str]] = {
    _COMPILED: (
        "import vecstore; vecstore.compile_filter('year > 2020', 'pgvector')",
        ("vecstore",),
        "",
    ),
    "vecstore, import": ("import vecstore", ("vecstore",), ""),
    "vecstore, import and a text parsed": (
        "from vecstore import parse; parse('year > 2020')",
        ("vecstore",),
        "",
    ),
    "vecstore, a filter built and evaluated": (
        "from vecstore import F; (F.year > 2020).matches({'year': 2021})",
        ("vecstore",),
        "",
    ),
    "vecstore --help": (
        "import sys; sys.argv = ['vecstore', '--help']; from vecstore.cli import main; main()",
        ("typer", "rich"),
        "typer rich",
    ),
    "vecstore compile": (
        "import sys; sys.argv = ['vecstore', 'compile', 'year > 2020', '--dialect', 'pgvector']; "
        "from vecstore.cli import main; main()",
        ("typer", "rich"),
        "typer rich",
    ),
    "numpy": ("import numpy", ("numpy",), "numpy"),
    "lark": ("import lark", ("lark",), "lark"),
    "sqlglot, a condition parsed": (
        "from sqlglot import condition; condition('year > 2020')",
        ("sqlglot",),
        "sqlglot[c]",
    ),
    "luqum, a query parsed": (
        "from luqum.parser import parser; parser.parse('year:[2020 TO *]')",
        ("luqum",),
        "luqum",
    ),
    "langchain, a query parsed": (
        "from langchain_classic.chains.query_constructor.parser import get_parser; "
        "get_parser().parse('gte(\"year\", 2020)')",
        ("langchain_classic", "lark"),
        "langchain-classic lark",
    ),
    "psycopg": ("import psycopg", ("psycopg",), "psycopg[binary]"),
    "qdrant_client": ("import qdrant_client", ("qdrant_client",), "qdrant-client"),
    "pymilvus": ("import pymilvus", ("pymilvus",), "pymilvus"),
}


def _clock(run: Run) -> Callable[[], float]:
    if run.clock != "cpu":
        return time.perf_counter
    import resource

    def children() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    return children


def startup(run: Run) -> None:
    """Fresh interpreters, taking turns; what the bare interpreter takes is subtracted."""
    skipped: dict[str, str] = {}
    programs = {BARE: "pass"}
    for name, (code, modules, package) in _PROGRAMS.items():
        reason = missing(modules, package)
        if reason is not None:
            skipped[name] = reason
        elif not run.tiny or name == _COMPILED:
            programs[name] = code
    clock = _clock(run)
    # Whoever installs the package has it compiled; the first round sees to that here.
    environment = {**os.environ}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    samples: dict[str, list[float]] = {name: [] for name in programs}
    for number in range(run.size(10, 4, 1) + 1):
        for name, code in list(programs.items()):
            started = clock()
            command = [sys.executable, "-c", code]
            done = subprocess.run(command, env=environment, capture_output=True)
            taken = clock() - started
            if done.returncode:
                del programs[name], samples[name]
                skipped[name] = (done.stderr.decode().strip().splitlines() or ["failed"])[-1][:100]
            elif number:  # the first one reads the files from the disk
                samples[name].append(taken)
    bare = samples.pop(BARE)
    over = {
        name: [max(value - base, 1e-5) for value, base in zip(values, bare, strict=True)]
        for name, values in samples.items()
    }
    if _COMPILED in skipped:
        raise RuntimeError(f"{_COMPILED}: {skipped[_COMPILED]}")
    run.keep(
        "startup",
        "over the bare interpreter, cold",
        "s",
        over,
        ours=tuple(name for name in over if name.startswith("vecstore")),
        floors=[
            Floor("import, first parse and compile", _COMPILED, None, 0.030),
        ],
        skipped=skipped,
        clock=run.clock,
    )
    whole = {name: samples[name] for name in samples if name.startswith("vecstore ")}
    if whole:
        run.keep(
            "startup",
            "the command, with the interpreter",
            "s",
            whole,
            ours=tuple(whole),
            floors=[Floor(name, name, None, 0.150) for name in whole],
            clock=run.clock,
        )
