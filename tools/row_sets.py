"""Write the table of what one intention selects on five engines, each asked in its own words.

    python -m tools.row_sets

The filters are what one writes first, from each engine's documentation. Every engine runs, on
documents as its own client stores them; nothing in the table is written by hand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from tests.engines.chroma import ChromaRows
from tests.engines.duckdb import DuckDBRows
from tests.engines.milvus import MilvusRows, running_milvus_lite
from tests.engines.postgres import PostgresRows, running_postgres
from tests.engines.qdrant import QdrantLocalRows
from tests.engines.rows import Rows
from vecstore import compile_filter, parse
from vecstore.dialects.chroma.layout import ExactLayout
from vecstore.dialects.milvus.layout import tags_of

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("README.md", "docs/index.md")
INTENTION = "status != 'draft'"
DOCUMENTS: dict[str, dict[str, Any]] = {
    "no status": {"title": "a"},
    "null": {"title": "b", "status": None},
    "5": {"title": "c", "status": 5},
    "a list": {"title": "d", "status": ["draft", "new"]},
}
"""What is easily forgotten, by the head of its column."""
PLAIN: dict[str, dict[str, Any]] = {"'draft'": {"status": "draft"}, "'final'": {"status": "final"}}
"""On these all agree, or the filters would not mean the same."""


class Asked(NamedTuple):
    """An engine, and the intention in its words.

    Attributes:
        title: As the table calls both.
        query: What it is asked.
        params: With it.
        dialect: Which of ours writes for it.
        options: Of the dialect, for documents as our own store lays them out.
    """

    title: str
    query: Any
    params: Any
    dialect: str
    options: Mapping[str, Any]


ASKED = {
    "postgres": Asked(
        """PostgreSQL, `metadata @? '$.status ? (@ != "draft")'`""",
        "metadata @? '$.status ? (@ != \"draft\")'",
        None,
        "pgvector",
        {},
    ),
    "duckdb": Asked(
        """DuckDB, `(metadata -> 'status') <> '"draft"'`""",
        "(metadata -> 'status') <> '\"draft\"'",
        None,
        "duckdb",
        {},
    ),
    "qdrant": Asked(
        "Qdrant, `must_not` with `match`",
        {"must_not": [{"key": "status", "match": {"value": "draft"}}]},
        None,
        "qdrant",
        {},
    ),
    "milvus": Asked(
        """Milvus Lite, `metadata["status"] != "draft"`""",
        'metadata["status"] != "draft"',
        None,
        "milvus",
        {"tags": "tags"},
    ),
    "chroma": Asked(
        """Chroma, `{"status": {"$ne": "draft"}}`""",
        {"status": {"$ne": "draft"}},
        None,
        "chroma",
        {"layout": "exact"},
    ),
}


def by_hand_and_by_us(name: str, theirs: Rows, ours: Rows) -> tuple[set[str], set[str]]:
    """The columns that an engine selects when it is asked in its words, and in ours.

    Raises:
        AssertionError: If the two filters do not agree on the documents that nobody forgets.
    """
    asked, documents = ASKED[name], DOCUMENTS | PLAIN
    theirs.load(documents)
    by_hand = theirs.select(asked.query, asked.params)
    ours.load(documents)
    by_us = ours.select(compile_filter(INTENTION, asked.dialect, **asked.options))
    for found in (by_hand, by_us):
        assert found & PLAIN.keys() == {"'final'"}, (name, found)
    return by_hand - PLAIN.keys(), by_us - PLAIN.keys()


def selected(
    postgres: Callable[[], Any] = running_postgres, milvus: Callable[[], Any] = running_milvus_lite
) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """What each engine selects, asked by hand and by vecstore.

    Args:
        postgres: A context with the address of a PostgreSQL.
        milvus: A context with the address of a Milvus Lite.
    """
    by_hand, by_us = {}, {}
    with ExitStack() as stack:
        dsn, uri = stack.enter_context(postgres()), stack.enter_context(milvus())
        engines: dict[str, tuple[Rows, Rows]] = {
            "postgres": (PostgresRows(dsn), PostgresRows(dsn)),
            "duckdb": (DuckDBRows(), DuckDBRows()),
            "qdrant": (QdrantLocalRows(), QdrantLocalRows()),
            "milvus": (MilvusRows(uri), MilvusRows(uri, tags_of)),
            "chroma": (ChromaRows(), ChromaRows(ExactLayout().write)),
        }
        for name, both in engines.items():
            for rows in both:
                stack.enter_context(rows)
            by_hand[name], by_us[name] = by_hand_and_by_us(name, *both)
    return by_hand, by_us


def table(by_hand: Mapping[str, set[str]], by_us: Mapping[str, set[str]]) -> str:
    """The table in Markdown.

    Raises:
        AssertionError: If vecstore selects anything else than the reference does, or if two of the
            engines selected the same.
    """
    wanted = {name for name, held in DOCUMENTS.items() if parse(INTENTION).matches(held)}
    assert all(found == wanted for found in by_us.values()), by_us
    assert len(set(map(frozenset, by_hand.values()))) == len(ASKED), "the pages say: all different"

    def row(title: str, found: set[str], mark: str = "") -> str:
        cells = [f"{mark}{'✓' if name in found else '–'}{mark}" for name in DOCUMENTS]
        return f"| {' | '.join([title, *cells])} |"

    heads = [f"`{name}`" if name.isdigit() else name for name in DOCUMENTS]
    return "\n".join(
        [
            f"| `{INTENTION}`, written by hand as | {' | '.join(heads)} |",
            "|---|" + ":-:|" * len(heads),
            *[row(ASKED[name].title, by_hand[name]) for name in ASKED],
            row("**vecstore, on each of them**", wanted, "**"),
        ]
    )


_PLACE = re.compile(
    r"(<!-- row sets[^>]*-->\n\n)(?:.*?\n\n)??(<!-- end of row sets -->)", re.DOTALL
)


def with_table(page: str, written: str) -> str:
    """The text of a page with the table in its place."""
    changed, places = _PLACE.subn(lambda found: f"{found[1]}{written}\n\n{found[2]}", page)
    assert places == 1, "the place of the table is missing"
    return changed


if __name__ == "__main__":
    made = table(*selected())
    for name in PAGES:
        path = ROOT / name
        path.write_text(with_table(path.read_text("utf-8"), made), "utf-8")
    print(made)
