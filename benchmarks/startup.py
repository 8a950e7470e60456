"""What a program pays before its first filter runs."""

from __future__ import annotations

import subprocess
import sys
import time
from statistics import median

from benchmarks.timing import duration, show

_PROGRAMS = {
    "bare interpreter": "pass",
    "import vecstore": "import vecstore",
    "a filter built and evaluated": (
        "from vecstore import F; (F.year > 2020).matches({'year': 2021})"
    ),
    "a text parsed": "from vecstore import parse; parse('year > 2020')",
    "a text compiled to SQL": (
        "from vecstore import compile_filter; compile_filter('year > 2020', 'pgvector')"
    ),
    "import numpy": "import numpy",
    "import lark": "import lark",
}


def run() -> None:
    """Fresh interpreters, taking turns."""
    samples: dict[str, list[float]] = {name: [] for name in _PROGRAMS}
    for _ in range(9):
        for name, code in _PROGRAMS.items():
            started = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            samples[name].append(time.perf_counter() - started)
    bare = median(samples["bare interpreter"])
    rows = [
        [name, duration(median(taken)), duration(max(median(taken) - bare, 0.0))]
        for name, taken in samples.items()
    ]
    show("Start, each in a new process", ["", "whole", "over the bare interpreter"], rows)
