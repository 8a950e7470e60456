"""Long lists of values in a milvus-lite file: the store against the expression by itself."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.timing import duration, show
from vecstore import Document, F, compile_filter, open_store
from vecstore.dialects.milvus.layout import TAGS

DOCUMENTS = 3_000
COUNTS = (10, 100, 1_000, 10_000)


def run() -> None:
    """Print, for IN and NOT IN with lists of each length, both times and their ratio."""
    with (
        tempfile.TemporaryDirectory(prefix="vecstore-bench-") as folder,
        open_store(f"milvus://{Path(folder) / 'docs.db'}?collection=docs", dimension=8) as store,
    ):
        store.add(
            Document("", {"k": f"v{number}", "n": number}, str(number), [1.0, number] + [0.0] * 6)
            for number in range(DOCUMENTS)
        )
        rows = []
        for count in COUNTS:
            values = [f"v{2 * number}" for number in range(count)]
            for name, filter in (("IN", F.k.in_(values)), ("NOT IN", F.k.not_in(values))):
                query = compile_filter(filter, "milvus", tags=TAGS, limits=None).query

                def raw(query: str = query) -> Any:
                    return store.native.query("docs", filter=query, output_fields=["count(*)"])

                def ours(filter: Any = filter) -> Any:
                    return store.count(filter)

                alone, whole = _seconds(raw), _seconds(ours)
                rows.append(
                    (f"{name} {count:,}", duration(alone), duration(whole), f"{whole / alone:.2f}")
                )
        show(
            f"milvus-lite, {DOCUMENTS:,} documents, count",
            ["filter", "expression", "store", "ratio"],
            rows,
        )


def _seconds(call: Callable[[], Any]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started
