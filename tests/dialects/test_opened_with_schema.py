"""A schema given to ``open_store`` is known when the store is made, like one given to its class."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

import pytest

from vecstore import Document, Schema, open_store

SIZES = Schema({"size": ["large", "small"], "year": int})


def _postgres(dsn: str, table: str) -> str:
    from psycopg.conninfo import conninfo_to_dict

    parts = conninfo_to_dict(dsn)
    query = {"host": parts["host"], "table": table, "create": "true"}
    if "port" in parts:
        query["port"] = str(parts["port"])
    return f"postgresql://{parts['user']}@/{parts['dbname']}?{urlencode(query)}"


@pytest.mark.parametrize(
    "address",
    [
        lambda folder: f"qdrant:///{folder}/qdrant?collection=docs",
        lambda folder: f"milvus:///{folder}/docs.db?collection=docs",
        lambda folder: "memory:",
    ],
    ids=["qdrant", "milvus", "memory"],
)
def test_orderings_of_known_texts(address: Callable[[Path], str], tmp_path: Path) -> None:
    with open_store(address(tmp_path), dimension=2, schema=SIZES) as store:
        store.add([Document("", {"size": "small", "year": 2020}, "a", [1, 0])])
        assert store.count("size > 'large'") == 1
        assert store.schema is SIZES


def test_columns_of_postgres(postgres_dsn: str) -> None:
    import psycopg
    from psycopg import sql

    table = "opened_with_schema"
    name = sql.Identifier(table)
    try:
        url = _postgres(postgres_dsn, table)
        with open_store(url, dimension=2, index=None, schema=SIZES, columns=["year"]) as store:
            store.add([Document("", {"size": "small", "year": 2020}, "a", [1, 0])])
            assert store.count("year >= 2020") == 1
        with psycopg.connect(postgres_dsn) as connection:
            read = connection.execute(sql.SQL("SELECT year FROM {}").format(name))
            assert read.fetchone() == (2020,)
    finally:
        with psycopg.connect(postgres_dsn) as connection:
            connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(name))
