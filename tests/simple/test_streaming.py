"""Files read piece by piece hold, and are refused for, what they do when they are read whole."""

from __future__ import annotations

import importlib.util
import io
import json
import os
import threading
import tracemalloc
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.simple.random_filters import metadata
from tests.store.test_document import METADATA
from vecstore import Document, SimpleVectorStore, StoreFileError
from vecstore.simple import persistence

ENCODERS = ["stdlib", "orjson"] if importlib.util.find_spec("orjson") else ["stdlib"]


@pytest.fixture(params=ENCODERS)
def encoder(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "stdlib":
        monkeypatch.setattr(persistence, "orjson", None)


def filled(count: int, seed: int = 1, dimension: int = 3) -> SimpleVectorStore:
    random = Random(seed)
    store = SimpleVectorStore(dimension=dimension)
    store.add(
        Document(
            random.choice(["", "text", "é\n\x07\u2028", "long " * 40]),
            metadata(random),
            f"{number}",
            [random.random() + 0.1 for _ in range(dimension)],
        )
        for number in range(count)
    )
    return store


def outcome(source: Any) -> Any:
    """Everything that was loaded, types included; or the error."""
    try:
        store = SimpleVectorStore().load(source)
    except StoreFileError as error:
        name = repr(os.fspath(source)) if isinstance(source, Path) else "the file"
        return str(error).replace(name, "NAME")
    found = [
        (one.id, one.text, repr(one.metadata), one.embedding.tobytes())  # type: ignore[union-attr]
        for one in store.scan(include_embedding=True)
    ]
    return store.metric, store.dimension, found


@pytest.mark.usefixtures("encoder")
@pytest.mark.parametrize("piece", [1, 7, 64, 1_000, 1 << 20])
@pytest.mark.parametrize("count", [0, 1, 2, 40])
def test_pieces_of_any_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int, count: int
) -> None:
    store, path = filled(count), tmp_path / "kb.json"
    store.save(path)
    expected = outcome(io.BytesIO(path.read_bytes()))
    assert len(expected[2]) == count
    with monkeypatch.context() as patch:
        # The first line is no longer than a piece.
        patch.setattr(persistence, "_PIECE", max(piece, 120))
        patch.setattr(persistence, "read_source", None)  # nothing is read whole
        assert outcome(path) == expected


@pytest.mark.usefixtures("encoder")
@pytest.mark.parametrize("changes", [300, pytest.param(20_000, marks=pytest.mark.heavy)])
def test_a_spoilt_file_is_refused_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: int
) -> None:
    monkeypatch.setattr(persistence, "_PIECE", 200)
    random, path = Random(changes), tmp_path / "kb.json"
    good = filled(6).to_json().encode()
    marks = [0, good.index(b"documents"), good.index(b'"vectors"'), len(good)]
    refused = 0
    for _ in range(changes):
        data = bytearray(good)
        for _ in range(random.choice([1, 1, 2])):
            near = random.choice(marks) + random.randint(-25, 25)
            place = min(max(0, random.choice([near, random.randrange(len(good))])), len(data) - 1)
            which = random.random()
            if which < 0.4:
                data[place] = random.choice(b'",:[]{}\n\\u0e1A=\xff')
            elif which < 0.6:
                del data[place : place + random.choice([1, 1, 4, 40])]
            elif which < 0.8:
                data[place:place] = random.choice(
                    [b",", b"\n", b'"', b"=", b"1e999", b"null", b"\\u0000"]
                )
            elif which < 0.9:
                data[place:place] = data[place : place + 60]
            else:
                del data[place + 1 :]
        path.write_bytes(data)
        expected = outcome(io.BytesIO(data))
        assert outcome(path) == expected, bytes(data)
        refused += isinstance(expected, str)
    assert refused > changes / 2


@given(st.lists(METADATA, max_size=4))
def test_any_metadata(
    tmp_path_factory: pytest.TempPathFactory, found: list[dict[str, Any]]
) -> None:
    store = SimpleVectorStore()
    store.add(Document("", held, str(n), [n + 1.0]) for n, held in enumerate(found))
    path = tmp_path_factory.mktemp("any") / "kb.json"
    store.save(path)
    loaded = SimpleVectorStore().load(path)
    assert [repr(one.metadata) for one in loaded.scan()] == [
        repr(one.metadata) for one in store.scan()
    ]


@pytest.mark.usefixtures("encoder")
@pytest.mark.parametrize(
    "value",
    [2**63, 2**64, -(2**63) - 1, 10**18, 10**30, 1e18, 1e30, [1, 2**70], [1.5, 2**63 + 1], 10**3_999],
)  # fmt: skip
def test_large_numbers_are_exact(tmp_path: Path, value: Any) -> None:
    store = SimpleVectorStore()
    store.add(
        [Document("", {"n": value, "o": {"p": [value, 1] if type(value) is int else 1}}, "a", [1])]
    )
    store.save(tmp_path / "kb.json")
    (found,) = SimpleVectorStore().load(tmp_path / "kb.json").scan()
    assert repr(found.metadata["n"]) == repr(value)
    assert found.metadata == next(store.scan()).metadata


def test_a_count_that_a_file_only_claims_takes_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "kb.json"
    text = filled(2).to_json()
    for claim in ('"count":1000000000000', '"count":true', '"count":-1', '"count":2.0'):
        path.write_text(text.replace('"count":2', claim), "utf-8")
        with pytest.raises(StoreFileError, match="documents"):
            SimpleVectorStore().load(path)
    path.write_text(text.replace('"dimension":3', '"dimension":100000000000'), "utf-8")
    with pytest.raises(StoreFileError, match="bytes"):
        SimpleVectorStore().load(path)


def test_saving_and_loading_take_little_memory(tmp_path: Path) -> None:
    vectors = np.random.default_rng(0).standard_normal((6_000, 512), dtype=np.float32)
    store = SimpleVectorStore()
    store.add(Document("", {}, str(n), vector) for n, vector in enumerate(vectors))
    path = tmp_path / "kb.json"
    tracemalloc.start()
    try:
        store.save(path)
        _, peak = tracemalloc.get_traced_memory()
        assert peak < vectors.nbytes / 2
        tracemalloc.reset_peak()
        loaded = SimpleVectorStore().load(path)
        held, peak = tracemalloc.get_traced_memory()
        assert peak - held < vectors.nbytes / 2
    finally:
        tracemalloc.stop()
    assert loaded.count() == 6_000


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with a name")
def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    text = json.dumps(json.loads(filled(3).to_json()))  # laid out otherwise
    writer = threading.Thread(target=path.write_text, args=(text, "utf-8"), daemon=True)
    writer.start()
    assert SimpleVectorStore().load(path).count() == 3
    writer.join(60)
