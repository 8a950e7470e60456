"""``python -m benchmarks``, with the names of parts or, for all of them, alone."""

from __future__ import annotations

import os
import platform
import sys

import numpy as np

from benchmarks import (
    hostile_filters,
    language,
    memory,
    milvus_lists,
    observation_overhead,
    pgvector_ingest,
    pgvector_lists,
    qdrant_lists,
    startup,
)

_PARTS = {
    "startup": startup.run,
    "language": language.run,
    "memory": memory.run,
    "pgvector": pgvector_ingest.run,
    "qdrant": qdrant_lists.run,
    "milvus": milvus_lists.run,
    "observation": observation_overhead.run,
    "pgvector_lists": pgvector_lists.run,
    "hostile_filters": hostile_filters.run,
}


def main(names: list[str]) -> int:
    """Run the named parts."""
    unknown = [name for name in names if name not in _PARTS]
    if unknown:
        print(f"There is no benchmark {unknown[0]!r}; there are: {', '.join(_PARTS)}.")
        return 2
    print(
        f"CPython {platform.python_version()}, numpy {np.__version__}, "
        f"{os.cpu_count()} cores, {platform.machine()}"
    )
    for name in names or _PARTS:
        _PARTS[name]()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
