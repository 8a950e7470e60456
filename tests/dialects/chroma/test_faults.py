"""What Chroma's engine does wrong, and the store works around: each fails when that is mended."""

from __future__ import annotations

import random
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from math import isfinite
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from chromadb import EphemeralClient, HttpClient
from chromadb.config import Settings

from tests.engines.chroma import running_chroma
from vecstore.dialects.chroma.dialect import MOST_CONDITIONS
from vecstore.dialects.chroma.layout import MOST_TOKENS
from vecstore.dialects.floats import keeps_float

Collect = Callable[..., Any]


@pytest.fixture
def client() -> Iterator[Any]:
    client = EphemeralClient(Settings(anonymized_telemetry=False))
    yield client
    client.close()


@pytest.fixture
def collect(client: Any) -> Iterator[Collect]:
    """Makes a collection of records with the metadata given; their ids are 0, 1 and so on."""
    made: list[Any] = []

    def collect(*metadata: Any, space: str = "cosine") -> Any:
        collection = client.create_collection(
            f"fault-{uuid4().hex}",
            embedding_function=None,
            configuration={"hnsw": {"space": space}},
        )
        made.append(collection)
        if metadata:
            ids = [str(number) for number in range(len(metadata))]
            collection.add(ids=ids, embeddings=[[1.0, 0.0]] * len(ids), metadatas=[*metadata])
        return collection

    yield collect
    for collection in made:
        with suppress(Exception):  # what is broken is dropped as it is
            if ids := collection.get(include=[])["ids"]:
                collection.delete(ids=ids)
        client.delete_collection(collection.name)


def found(collection: Any, where: Any) -> list[str]:
    return sorted(collection.get(where=where, include=[])["ids"])


def test_some_floats_come_back_as_their_neighbours(collect: Collect) -> None:
    dice = random.Random(5)
    drawn = [struct.unpack(">d", dice.randbytes(8))[0] for _ in range(300)]
    values = [0.9999999999999999, *filter(isfinite, drawn)]
    kept = collect(*[{"n": value} for value in values]).get()
    returned = {
        int(id): fields["n"] for id, fields in zip(kept["ids"], kept["metadatas"], strict=True)
    }
    same = [returned[place] == value for place, value in enumerate(values)]
    assert same == [keeps_float(value) for value in values]
    assert returned[0] == 1.0
    assert 10 < same.count(False) < 100


def test_a_fraction_is_cut_off_where_it_meets_a_whole_number(collect: Collect) -> None:
    collection = collect({"n": 1}, {"n": 2}, {"n": 1.0})
    assert found(collection, {"n": {"$lt": 1.5}}) == ["2"]  # and not 0
    assert found(collection, {"n": {"$eq": 1.5}}) == ["0"]


def test_a_dropped_collection_leaves_its_lists_to_the_next(client: Any, collect: Collect) -> None:
    dropped = client.create_collection(f"fault-{uuid4().hex}", embedding_function=None)
    dropped.add(ids=["a"], embeddings=[[1.0, 0.0]], metadatas=[{"l": ["x"]}])
    client.delete_collection(dropped.name)
    inherited = collect({"z": 3})
    assert found(inherited, {"l": {"$contains": "x"}}) == ["0"]
    inherited.delete(ids=["0"])
    assert found(collect({"z": 3}), {"l": {"$contains": "x"}}) == []  # documents go as a whole


def test_an_upsert_keeps_what_it_does_not_name(collect: Collect) -> None:
    collection = collect({"old": 1, "both": 1})
    collection.upsert(ids=["0"], embeddings=[[1.0, 0.0]], metadatas=[{"both": 2}])
    assert collection.get()["metadatas"] == [{"old": 1, "both": 2}]


def test_how_many_conditions_a_filter_has(collect: Collect) -> None:
    collection = collect({"n": 1})

    def conditions(count: int) -> dict[str, Any]:
        return {"$or": [{"n": {"$eq": number}} for number in range(count)]}

    assert found(collection, conditions(MOST_CONDITIONS)) == ["0"]
    with pytest.raises(Exception, match="Expression tree is too large"):
        found(collection, conditions(1_010))


@pytest.mark.wide
def test_a_filter_of_ten_thousand_conditions_ends_the_process() -> None:
    program = (
        "from chromadb import EphemeralClient\n"
        "from chromadb.config import Settings\n"
        "client = EphemeralClient(Settings(anonymized_telemetry=False))\n"
        "docs = client.create_collection('docs', embedding_function=None)\n"
        "docs.add(ids=['a'], embeddings=[[1.0]], metadatas=[{'n': 1}])\n"
        "docs.get(where={'$or': [{'n': {'$eq': n}} for n in range(10_000)]})"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert run.returncode < 0, run.stderr[-500:]  # by a signal


def test_how_deep_a_filter_is(collect: Collect) -> None:
    collection = collect({"n": 1})

    def nested(depth: int) -> dict[str, Any]:
        where: dict[str, Any] = {"n": {"$eq": 1}}
        for level in range(depth):
            where = {"$or" if level % 2 else "$and": [where, {"n": {"$gte": 1}}]}
        return where

    assert found(collection, nested(55)) == ["0"]
    with pytest.raises(Exception, match=r"[Ii]nvalid where|recursion"):
        found(collection, nested(100))


@pytest.mark.parametrize(
    "where", [{}, {"$or": [{"n": 1}]}, {"n": {"$in": []}}, {"n": {"$in": [1, "a"]}}, {"n": None}]
)
def test_what_a_where_cannot_say(collect: Collect, where: Any) -> None:
    with pytest.raises(ValueError):
        found(collect({"n": 1}), where)


@pytest.mark.parametrize("value", [[], [0, 0.1], ["a", 1], {"a": 1}])
def test_what_metadata_cannot_hold(collect: Collect, value: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        collect({"n": value})


def test_lists_of_six_thousand_are_taken_and_never_written(collect: Collect) -> None:
    collection = collect({"l": [str(number) for number in range(MOST_TOKENS)]})
    assert found(collection, {"l": {"$contains": "4"}}) == ["0"]
    broken = collect()
    with pytest.raises(Exception):  # noqa: B017  # whatever it is, now or when it is read
        broken.add(
            ids=["0"],
            embeddings=[[1.0, 0.0]],
            metadatas=[{"l": [str(number) for number in range(6_000)]}],
        )
        broken.get()
    with pytest.raises(Exception):  # noqa: B017  # for ever
        broken.get()


def test_small_products_are_all_one(collect: Collect) -> None:
    collection = collect(space="ip")
    vectors = [[1e-4, 0.0], [5e-5, 0.0], [2e-5, 0.0]]
    collection.add(ids=["0", "1", "2"], embeddings=vectors)
    result = collection.query(query_embeddings=[[1e-4, 0.0]], n_results=3)
    assert {*result["distances"][0]} == {1.0}


@pytest.mark.wide
def test_a_client_leaves_its_connections_open(tmp_path: Path) -> None:
    with running_chroma(tmp_path) as (host, port):
        client: Any = HttpClient(host, port, settings=Settings(anonymized_telemetry=False))
        inner = client._admin_client
        client.close()
        for one in (client, inner):
            assert not one._server._session.is_closed
            one._server._session.close()
