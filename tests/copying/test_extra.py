"""What stands beside the metadata, through every store: each is a destination, then a source."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.servers import pinecone, weaviate
from vecstore import ChromaStore, Document, DocumentError, SimpleVectorStore, copy, open_store
from vecstore.store.backend import KEEPING_EXTRA

EXTRA = {
    "zeta": [{"n": 2**53 + 1, "x": 1.0}, {"n": None}, {}],
    "alpha": [[1, [2, []]], "\0é𝄞\u2028"],
}


def documents() -> list[Document]:
    made = [Document(f"text {n}", {"n": n}, f"id {n}", [1.0, n]) for n in range(300)]
    made[1] = made[1].replace(extra=EXTRA)
    made[2] = made[2].replace(extra="null")
    made[299] = made[299].replace(extra=[[0]] * 300)
    return made


def held(store: Any) -> dict[str, str]:
    return {one.id: json.dumps(one.extra) for one in store.scan() if one.extra is not None}


@pytest.fixture
def around(tmp_path: Path, postgres_dsn: str) -> Iterator[list[Any]]:
    """An empty store of each kind, and files between some of them."""
    addresses = {
        "memory": "memory:",
        "sqlite": f"sqlite://{tmp_path}/s.db?table=docs",
        "duckdb": f"duckdb://{tmp_path}/d.db?table=docs",
        "lancedb": f"lancedb://{tmp_path}/l?table=docs",
        "qdrant": f"qdrant://{tmp_path}/q?collection=docs",
        "milvus": f"milvus://{tmp_path}/m.db?collection=docs",
        "chroma": f"chroma://{tmp_path}/c?collection=docs",
        "redis": f"redis+embedded://{tmp_path}/r?index=docs",
    }
    table = f"ring_{tmp_path.name.replace('-', '_')}"
    addresses["pgvector"] = f"{postgres_dsn}{'&' if '?' in postgres_dsn else '?'}table={table}"
    with ExitStack() as stack:
        theirs = stack.enter_context(pinecone.PineconeServer())
        other = stack.enter_context(weaviate.WeaviateServer())
        addresses["pinecone"] = f"pinecone://ring/kb?host={theirs.address}"
        addresses["weaviate"] = (
            f"weaviate://{other.address.removeprefix('http://')}/Ring?grpc_port={other.grpc_port}"
        )
        keys = {"pinecone": pinecone.KEY, "weaviate": weaviate.KEY}
        makes = {"pgvector", "pinecone", "weaviate"}
        stores: list[Any] = []
        for name in KEEPING_EXTRA:
            options: dict[str, Any] = {"create": True} if name in makes else {}
            if name in keys:
                options["api_key"] = keys[name]
            stores.append(stack.enter_context(open_store(addresses[name], dimension=2, **options)))
        yield [*stores[:3], tmp_path / "a.jsonl", *stores[3:7], tmp_path / "b.parquet", *stores[7:]]


@pytest.mark.wide
@pytest.mark.filterwarnings("ignore:Local mode is not recommended")
def test_it_is_carried_from_each_store_and_file_to_the_next(around: list[Any]) -> None:
    """A copy asks a store for nothing but its documents: a ring has each of them on both sides."""
    source: Any = SimpleVectorStore(dimension=2)
    source.add(documents())
    wanted = held(source)
    assert len(wanted) == 3
    for destination in [*around, SimpleVectorStore(dimension=2)]:
        told = copy(source, destination)
        assert (told.written, told.differing) == (300, ())
        if not isinstance(destination, Path):
            assert held(destination) == wanted, destination
        source = destination


class KeepsNone(SimpleVectorStore):
    capabilities = replace(SimpleVectorStore.capabilities, keeps_extra=False)


@pytest.mark.parametrize("kind", ["none", "plain"])
def test_a_destination_without_a_place_for_it_refuses_it_and_writes_nothing(
    tmp_path: Path, kind: str
) -> None:
    source = SimpleVectorStore(dimension=2)
    source.add(documents())
    copy(source, tmp_path / "a.jsonl")
    for number, given in enumerate((source, tmp_path / "a.jsonl")):
        destination = (
            KeepsNone()
            if kind == "none"
            else ChromaStore(f"{tmp_path.name}-{number}", memory=True, layout="plain")
        )
        with destination as to:
            with pytest.raises(DocumentError, match=r"'id 1'.*\(keeps_extra\)") as caught:
                copy(given, to)
            assert {"id 1", "id 2"} <= {*caught.value.faulty_ids}
            assert to.count() == 0
            assert copy(given, to, filter="n > 2 AND n < 299").written == 296
