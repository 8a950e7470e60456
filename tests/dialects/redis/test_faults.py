"""What Redis Search does that the dialect works around; each fails when that changes."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from random import Random
from time import sleep
from typing import Any, cast

import numpy as np
import pytest
import redis

from tests.engines.redis import RedisRows
from vecstore import BackendError, F, UnsupportedFilterError, parse
from vecstore.dialects.redis import Redis
from vecstore.dialects.redis.client import Calls
from vecstore.dialects.redis.embedded import EmbeddedServer
from vecstore.dialects.redis.layout import ORDERED_BYTES, Layout
from vecstore.dialects.redis.records import Records

TAGS = "abcdefgh"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    server = EmbeddedServer(tmp_path_factory.mktemp("redis") / "data")
    with redis.Redis(unix_socket_path=server.socket, protocol=3) as client:
        client.execute_command(
            *("FT.CREATE", "i", "PREFIX", 1, "p:", "SCHEMA"),
            *("t", "TAG", "SEPARATOR", ",", "CASESENSITIVE", "n", "NUMERIC"),
        )
        for number, held in enumerate(product((0, 1), repeat=len(TAGS))):
            tags = [tag for tag, has in zip(TAGS, held, strict=True) if has]
            client.hset(f"p:{number}", mapping={"t": ",".join([*tags, "all"]), "n": number})
        yield client
    server.close()


def found(client: Any, query: str) -> set[int]:
    answer = client.execute_command(
        *("FT.SEARCH", "i", query, "NOCONTENT", "LIMIT", 0, 1_000, "DIALECT", 2, "TIMEOUT", 0)
    )
    return {int(one[b"id"].removeprefix(b"p:")) for one in answer[b"results"]}


def having(tag: str) -> set[int]:
    place = len(TAGS) - 1 - TAGS.index(tag)
    return {number for number in range(2 ** len(TAGS)) if number >> place & 1}


EVERY = set(range(2 ** len(TAGS)))


def test_nested_queries_lose_rows(client: Any) -> None:
    """Why each filter is an OR of ANDs."""
    client.execute_command("FT.CREATE", "few", "PREFIX", 1, "few:", "SCHEMA", "t", "TAG")
    # What is written while the new index still looks through the server may be indexed twice, under
    # other numbers, and the fault depends on these.
    while client.execute_command("FT.INFO", "few")[b"indexing"]:
        sleep(0.01)
    held = ["gc", "eac", "", "", "", "", "f", "bh", "bg", "", "ec", "", "hea", "d", "hg", "", "bf"]
    for number, tags in enumerate(held):
        client.hset(f"few:{number}", mapping={"t": ",".join([*tags, "all"])})

    def rows(query: str) -> list[int]:
        answer = client.execute_command(
            *("FT.SEARCH", "few", query, "NOCONTENT", "LIMIT", 0, 99, "DIALECT", 2)
        )
        return sorted(int(one[b"id"].removeprefix(b"few:")) for one in answer[b"results"])

    assert rows("@t:{e} ((-@t:{f}) (-@t:{c}) | @t:{g})") == []
    assert rows("(@t:{e} -@t:{f|c}) | (@t:{e} @t:{g})") == [12]


def test_an_or_of_more_than_twenty_with_negations_selects_other_rows(client: Any) -> None:
    """Why it has at most twenty."""

    def wrong(size: int) -> int:
        dice, count = Random(size), 0
        for _ in range(80):
            parts = [(dice.sample(TAGS, 3), dice.sample(TAGS, 2)) for _ in range(size)]
            query = " | ".join(
                f"({' '.join(f'@t:{{{tag}}}' for tag in tags)} -@t:{{{'|'.join(others)}}})"
                for tags, others in parts
            )
            rows = [
                set.intersection(*map(having, tags)) - set.union(*map(having, others))
                for tags, others in parts
            ]
            count += found(client, query) != set.union(*rows)
        return count

    assert wrong(20) == 0
    assert wrong(21) + wrong(24) > 0


def test_a_filter_of_twenty_alternatives_is_answered_and_one_more_refused() -> None:
    def filter(size: int) -> str:
        return " OR ".join(f"(a == {number} AND b != {number})" for number in range(size))

    assert Redis().compile(parse(filter(20))).query.count(" | ") == 19
    with pytest.raises(UnsupportedFilterError, match="at most 20 ANDs") as caught:
        Redis().compile(parse(filter(21)))
    assert 'residual="evaluate"' in str(caught.value)
    equalities = " OR ".join(f"k{number} == 1" for number in range(1_000))
    assert " | " not in Redis().compile(parse(equalities)).query


def test_a_negation_that_is_a_whole_query_is_no_query_for_nothing(client: Any) -> None:
    """Why a filter without matches asks for a tag that no document has."""
    with pytest.raises(redis.ResponseError, match="Syntax error"):
        found(client, "-*")
    assert found(client, "@t:{never}") == set()


def test_a_number_that_is_none_hides_the_document(client: Any) -> None:
    """Why the field is written for numbers alone."""
    client.hset("p:999", mapping={"t": "only", "n": "text"})
    assert found(client, "@t:{only}") == set()
    client.hdel("p:999", "n")
    assert found(client, "@t:{only}") == {999}
    client.delete("p:999")


def test_tags_are_trimmed(client: Any) -> None:
    """Why tokens are hashed, in which there is nothing to trim or to split."""
    client.hset("p:998", mapping={"t": " blank ,x"})
    assert found(client, "@t:{blank}") == {998}
    client.delete("p:998")


def test_without_the_option_tags_have_no_case(client: Any) -> None:
    client.execute_command("FT.CREATE", "j", "PREFIX", 1, "q:", "SCHEMA", "t", "TAG")
    client.hset("q:1", mapping={"t": "Upper"})
    answer = client.execute_command("FT.SEARCH", "j", "@t:{upper}", "NOCONTENT", "DIALECT", 2)
    assert answer[b"total_results"] == 1


def test_searches_end_by_themselves_unless_told_otherwise(client: Any) -> None:
    """Why queries say TIMEOUT 0: a part of the rows is no error."""
    settings = client.execute_command("FT.CONFIG", "GET", "*")
    assert settings[b"TIMEOUT"] == b"500"
    assert settings[b"ON_TIMEOUT"] == b"return"


def test_a_reading_that_fails_leaves_no_cursor() -> None:
    """A server keeps one for five minutes, and has 128 of them for an index."""
    asked: list[tuple[Any, ...]] = []

    def call(operation: str, *words: Any) -> Any:
        asked.append(words)
        if words[:2] == ("FT.CURSOR", "READ"):
            raise BackendError("gone", operation=operation)
        return [{b"results": []}, 7]

    with pytest.raises(BackendError, match="gone"):
        Records(call=cast(Calls, call), index="docs").ids("scan", None)
    assert asked[-1] == ("FT.CURSOR", "DEL", "docs", 7)


def test_texts_are_ordered_up_to_the_bytes_that_are_laid_out() -> None:
    key = frozenset([("k",)])
    dialect = Redis(texts=key)
    text = "x" * ORDERED_BYTES
    documents = {
        name: {"k": text[:-1] + more} for name, more in zip("abc", ("", "x", "xx"), strict=True)
    }
    with RedisRows(Layout(texts=key)) as rows:
        rows.load(documents)
        assert rows.select(dialect.compile(F.k > text[:-1])) == {"b", "c"}
        assert rows.select(dialect.compile(F.k <= text[:-1])) == {"a"}
    with pytest.raises(UnsupportedFilterError, match="fewer than 64 bytes"):
        dialect.compile(F.k > text)


def test_a_number_past_every_float_hides_no_document() -> None:
    key = frozenset([("k",)])
    dialect = Redis(numbers=key)
    with RedisRows(Layout(numbers=key)) as rows:
        rows.load({"large": {"k": 10**400}, "small": {"k": -(10**400)}, "one": {"k": 1}})
        assert rows.select(dialect.compile(F.k > 1)) == {"large"}
        assert rows.select(dialect.compile(F.k < 1)) == {"small"}
        assert rows.select(dialect.compile(F.k != 1)) == {"large", "small"}


def test_a_part_of_an_answer_is_an_error() -> None:
    """A server may be told to give up early all the same, and says so beside the rows."""

    def call(operation: str, *words: Any) -> Any:
        part = {b"results": [], b"total_results": 0, b"warning": [b"Timeout limit was reached"]}
        return [part, 0] if words[0] == "FT.AGGREGATE" else part

    records = Records(call=cast(Calls, call), index="docs")
    for read in (
        lambda: records.ids("scan", None),
        lambda: records.count(None),
        lambda: records.nearest(np.ones(2, np.float32), 1, None),
    ):
        with pytest.raises(BackendError, match="Timeout limit was reached") as caught:
            read()
        assert caught.value.retryable


def test_a_vector_of_another_length_hides_the_document(client: Any) -> None:
    client.execute_command(
        *("FT.CREATE", "v", "PREFIX", 1, "v:", "SCHEMA", "t", "TAG", "v", "VECTOR", "FLAT", 6),
        *("TYPE", "FLOAT32", "DIM", 2, "DISTANCE_METRIC", "COSINE"),
    )
    client.hset("v:1", mapping={"t": "a", "v": struct.pack("3f", 1, 2, 3)})
    client.hset("v:2", mapping={"t": "a"})
    answer = client.execute_command("FT.SEARCH", "v", "@t:{a}", "NOCONTENT", "DIALECT", 2)
    assert [one[b"id"] for one in answer[b"results"]] == [b"v:2"]


def test_indexes_are_in_the_first_database_alone(client: Any) -> None:
    path = client.connection_pool.connection_kwargs["path"]
    with (
        redis.Redis(unix_socket_path=path, protocol=3, db=1) as other,
        pytest.raises(redis.ResponseError, match="db != 0"),
    ):
        other.execute_command("FT.CREATE", "k", "SCHEMA", "t", "TAG")


def test_servers_of_rows_end_with_their_folder(tmp_path: Path) -> None:
    with RedisRows(Layout()) as rows:
        rows.load({"a": {"k": 1}})
        socket = rows.client.connection_pool.connection_kwargs["path"]
        assert rows.select(Redis().compile("k == 1")) == {"a"}
    assert not Path(socket).exists()
