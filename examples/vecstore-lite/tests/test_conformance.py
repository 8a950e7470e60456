"""The whole proof of the dialect: the conformance kit, on a real SQLite."""

from __future__ import annotations

import json
import sqlite3

import pytest
from vecstore_lite import Lite

from vecstore import ConfigurationError
from vecstore.testing import DialectSuite


class TestLite(DialectSuite):
    dialect = Lite()

    def load(self, rows):
        type(self).database = sqlite3.connect(":memory:")
        self.database.execute("CREATE TABLE docs (id TEXT PRIMARY KEY, metadata TEXT)")
        pairs = [(name, json.dumps(metadata)) for name, metadata in rows.items()]
        self.database.executemany("INSERT INTO docs VALUES (?, ?)", pairs)

    def run(self, compiled, rows):
        sql = f"SELECT id FROM docs WHERE {compiled.query}"
        return {row[0] for row in self.database.execute(sql, compiled.params)}

    def also_refuses(self, atom):
        return len(atom.key.path) > 60


@pytest.mark.parametrize(
    "column", ["a b", "m; DROP TABLE docs", '"m"', "", "docs.", "value", "Key"]
)
def test_a_column_is_a_plain_name(column):
    with pytest.raises(ConfigurationError, match="column"):
        Lite(column=column)


def test_a_column_called_like_one_of_json_each_works_when_qualified():
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE docs (value TEXT)")
    database.execute("""INSERT INTO docs VALUES ('{"a": {"b": [1, 2]}}')""")
    compiled = Lite(column="docs.value").compile("a.b == 2")
    assert database.execute(
        f"SELECT 1 FROM docs WHERE {compiled.query}", compiled.params
    ).fetchall()
