"""The demo, and copies, on a Weaviate server."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.cli.conftest import Run
from tests.cli.conftest import few_modules as few_modules
from tests.cli.conftest import run as run
from tests.engines.weaviate_server import Address
from vecstore import Document, Schema, SimpleVectorStore, copy
from vecstore.cli.demo import SEARCHES
from vecstore.dialects.weaviate.store import WeaviateStore

pytestmark = pytest.mark.servers


@pytest.fixture
def named(weaviate_address: Address, monkeypatch: pytest.MonkeyPatch) -> Address:
    """The server, named in the environment."""
    at = weaviate_address
    monkeypatch.setenv("VECSTORE_WEAVIATE_URL", at.url)
    monkeypatch.setenv("VECSTORE_WEAVIATE_GRPC_PORT", str(at.grpc_port))
    monkeypatch.setenv("VECSTORE_WEAVIATE_API_KEY", at.api_key or "")
    return at


def test_the_demo(run: Run, few_modules: None, named: Address) -> None:
    outcome = run("demo", "--json", "--engines", "weaviate")
    assert (outcome.code, outcome.err) == (0, "")
    report = outcome.json
    assert report["same"] is True
    assert report["kept_in_step"]["same"] is True
    found = report["engines"]["weaviate"]
    assert found["version"].startswith("Weaviate 1.")
    for mine, theirs in zip(report["searches"], found["searches"], strict=True):
        assert mine["memory"]["selected"] == theirs["selected"]
        assert [hit["id"] for hit in mine["memory"]["top"]] == [hit["id"] for hit in theirs["top"]]
    assert len(found["searches"]) == len(SEARCHES)
    at = {"url": named.url, "grpc_port": named.grpc_port, "api_key": named.api_key}
    with WeaviateStore("Another", create=True, **at) as store:
        assert not [name for name in store.native.collections.list_all() if "VecstoreDemo" in name]


def test_copies_there_and_back(weaviate_address: Address, tmp_path: Path) -> None:
    """By ids, texts, vectors and metadata with its types, and some without a vector."""
    at: Any = {
        "url": weaviate_address.url,
        "grpc_port": weaviate_address.grpc_port,
        "api_key": weaviate_address.api_key,
    }
    schema = Schema({"n": int}, others="allow")
    documents = [
        Document(
            f"text {n}",
            {"n": n, "x": float(n), "tags": ["a", f"{n}"], "of": {"a.b": None, "on": n % 2 == 0}},
            f"id/{n} ",
            None if n % 100 == 7 else [n % 7 + 1.5, 1, n],
        )
        for n in range(1_200)
    ]
    name, file = f"Copied_{uuid4().hex}", str(tmp_path / "kept.jsonl")
    with (
        SimpleVectorStore() as ours,
        WeaviateStore(name, create=True, dimension=3, schema=schema, **at) as store,
        SimpleVectorStore() as back,
    ):
        try:
            ours.add(documents, embed=False)
            assert copy(ours, store, filter="n < 700").written == 700
            whole = copy(ours, store)  # what was interrupted goes on
            assert (whole.written, whole.skipped, whole.differing) == (500, 700, ())
            assert (store.count(), store.count("of.on == true AND tags == '4'")) == (1_200, 1)
            assert copy(store, file, filter="n >= 200").written == 1_000
            assert copy(file, back).written == 1_000
            wanted = {one.id: one for one in ours.scan("n >= 200", include_embedding=True)}
            for one in back.scan(include_embedding=True):
                other = wanted.pop(one.id)
                assert (one.text, repr(one.metadata)) == (other.text, repr(other.metadata))
                assert (one.embedding is None) is (other.embedding is None)
                if one.embedding is not None:
                    assert one.embedding.tolist() == other.embedding.tolist()
            assert not wanted
        finally:
            store.native.collections.delete(name)
