"""How far a call travels through the package: what a reader has to open to follow it."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

# In an interpreter of its own: what other tests have imported (OpenTelemetry) is told of calls.
_WAYS = """
import json, os, sys
import vecstore
from vecstore import Document, compile_filter, open_store, parse

ROOT = os.path.dirname(vecstore.__file__)
TEXT = "year >= 2001 AND lang == 'en'"

def way(call, client=None):
    "Modules, one for each function that is called, up to the first that is the client's."
    modules, arrived = [], []

    def profile(frame, event, _):
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(ROOT) and not arrived:
            modules.append(file[len(ROOT) + 1 :])
        elif event == "call" and client and client in file:
            arrived.append(True)

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    assert client is None or arrived
    changes = sum(one != other for one, other in zip(modules, modules[1:]))
    return {"modules": sorted(set(modules)), "changes": changes}

ways = {}
documents = [
    Document(f"t{n}", {"year": 2000 + n, "lang": "en"}, id=f"d{n}", embedding=[1, n + 1, 0])
    for n in range(5)
]
for url, client in {"memory:": None, "qdrant:?collection=docs": "qdrant_client"}.items():
    with open_store(url, dimension=3) as store:
        store.add(documents)
        ask = lambda: store.search(vector=[1, 2, 0], filter=TEXT, top_k=2)
        ask()
        ways["search, " + url.partition(":")[0]] = way(ask, client)
for name in ("pgvector", "qdrant", "milvus"):
    tree = parse(TEXT)
    compile_filter(tree, name)
    ways["compile, " + name] = way(lambda: compile_filter(tree, name))
print(json.dumps(ways))
"""


@pytest.fixture(scope="module")
def ways() -> Any:
    run = subprocess.run([sys.executable, "-c", _WAYS], capture_output=True, check=True)
    return json.loads(run.stdout)


@pytest.mark.parametrize(
    ("trip", "modules", "changes"),
    [
        ("search, memory", 12, 40),
        ("search, qdrant", 12, 40),
        ("compile, pgvector", 7, 30),
        ("compile, qdrant", 7, 30),
        ("compile, milvus", 7, 30),
    ],
)
def test_the_way_is_no_longer_than_it_was(ways: Any, trip: str, modules: int, changes: int) -> None:
    found = ways[trip]
    assert len(found["modules"]) <= modules, found["modules"]
    assert found["changes"] <= changes
