"""The tables of LangChain's PGVector, column by column as it makes them."""

from __future__ import annotations

import json
from uuid import UUID, uuid4

import psycopg
from psycopg import sql

STRANGERS = ["stranger-0", "stranger-1", "stranger-2"]
"""Ids of the rows of another collection, whose vectors have three dimensions."""

_TABLES = """
CREATE TABLE IF NOT EXISTS langchain_pg_collection (
    uuid UUID NOT NULL, name VARCHAR NOT NULL, cmetadata JSON, PRIMARY KEY (uuid), UNIQUE (name)
);
CREATE TABLE {table} (
    id VARCHAR NOT NULL, collection_id UUID, embedding VECTOR, document VARCHAR, cmetadata JSONB,
    PRIMARY KEY (id),
    FOREIGN KEY(collection_id) REFERENCES langchain_pg_collection (uuid) ON DELETE CASCADE
);
CREATE INDEX {index} ON {table} USING gin (cmetadata jsonb_path_ops);
"""


def langchain_table(dsn: str, table: str) -> UUID:
    """Make a table, with rows of another collection and one of none; the id of an empty collection.

    Args:
        dsn: The server.
        table: What ``langchain_pg_embedding`` is called.
    """
    ours = UUID(collection(dsn))
    theirs = collection(dsn)
    name = sql.Identifier(table)
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        connection.execute(
            sql.SQL(_TABLES).format(table=name, index=sql.Identifier(f"ix_cmetadata_{table}"))
        )
        for number, id in enumerate(STRANGERS):
            metadata = {"n": number, "rank": number, "theirs": True}
            connection.execute(
                sql.SQL("INSERT INTO {} VALUES (%s, %s, %s, %s, %s)").format(name),
                [id, theirs, "[1,2,3]", "a stranger", json.dumps(metadata)],
            )
    return ours


def collection(dsn: str) -> str:
    """Make a collection, whose name is drawn; its id."""
    id = str(uuid4())
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE IF NOT EXISTS langchain_pg_collection (uuid UUID NOT NULL, "
            "name VARCHAR NOT NULL, cmetadata JSON, PRIMARY KEY (uuid), UNIQUE (name))"
        )
        connection.execute(
            "INSERT INTO langchain_pg_collection VALUES (%s, %s, NULL)", [id, f"collection {id}"]
        )
    return id
