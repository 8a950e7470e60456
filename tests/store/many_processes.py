"""A place used by many processes, as a program of its own: ``test_many_processes.py`` runs it.

It forks, and therefore opens no engine in the process that forks unless that is what is tried::

    python -m tests.store.many_processes forks "qdrant:docs?collection=docs" 100

Prints what it counted, as JSON; ends with a traceback where something was lost, doubled, left or hung.
"""

from __future__ import annotations

import importlib
import json
import os
import select
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from random import Random
from typing import Any

import psutil

from vecstore import Document, Schema, VectorStore, open_store
from vecstore.errors import (
    BackendError,
    DuplicateDocumentError,
    StoreClosedError,
    StoreFileError,
    VecstoreError,
)
from vecstore.testing.store_suite.children import in_a_child

PATIENCE = 60.0
SETTLED = 3
"""Turns after which what is kept once for all is there."""
ALLOWED = 3
"""Files or threads more than then that are no leak."""


def document(id: str, **metadata: Any) -> Document:
    return Document(f"text of {id}", metadata, id, [1.0, float(len(metadata))])


def opened(url: str) -> VectorStore:
    # Some engines have to be told which key is ordered here.
    if url.startswith("redis"):
        return open_store(url, dimension=2, numbers=["n"])
    if url.startswith("weaviate"):
        schema = Schema({"n": int, "turn": int}, others="allow")
        key = os.environ.get("VECSTORE_WEAVIATE_API_KEY") or None
        return open_store(url, dimension=2, schema=schema, api_key=key)
    return open_store(url, dimension=2)


def held() -> dict[str, int]:
    """What a process may leak."""
    us = psutil.Process()
    return {
        "files": us.num_fds(),
        "threads": threading.active_count(),
        "children": len(us.children(recursive=True)),
    }


def check_held(before: dict[str, int]) -> dict[str, int]:
    after = held()
    grown = {name: after[name] - before[name] for name in before}
    assert all(more <= ALLOWED for more in grown.values()), f"left behind: {grown}"
    return grown


# --- a store that is open, and forks ------------------------------------------------------------


def forks(url: str, times: int) -> dict[str, Any]:
    """Children of a process with an open store answer rightly or refuse, and the parent goes on."""
    refused, answered = 0, 0
    before: dict[str, int] = {}
    with opened(url) as store:
        store.add([document(f"{n}", n=n) for n in range(6)])

        def child() -> None:
            told = [_answer(store.count, 6), _answer(lambda: store.count("n < 2"), 2)]
            told.append(_answer(lambda: sorted(one.id for one in store.scan()), list("012345")))
            assert len(set(told)) == 1, f"answered by one call and refused by another: {told}"
            store.close()
            os.write(write, b"01"[told[0] : told[0] + 1])

        for turn in range(times):
            read, write = os.pipe()
            in_a_child(child, PATIENCE)
            os.close(write)
            was_answered = os.read(read, 1) == b"1"
            os.close(read)
            answered += was_answered
            refused += not was_answered
            assert store.count() == 6
            assert store.update_metadata(["0"], set={"turn": turn}) == 1
            if turn == min(SETTLED, times - 1):
                before = held()
        grown = check_held(before)
        assert answered in (0, times), "refused in one child and answered in another"
        assert store.count(f"turn == {times - 1}") == 1
    return {"answered": answered, "refused": refused, "more": grown}


def _answer(call: Callable[[], object], expected: object) -> bool:
    try:
        answer = call()
    except (StoreClosedError, BackendError):
        return False
    assert answer == expected, f"{answer} instead of {expected}"
    return True


# --- writers that are killed --------------------------------------------------------------------


def kills(url: str, times: int) -> dict[str, Any]:
    """Each writer finds what those before it were told is stored, and is killed while it writes."""
    random = Random(1)
    acknowledged: set[str] = set()
    before: dict[str, int] = {}
    for turn in range(times):
        read, write = os.pipe()
        writer = os.fork()
        if not writer:
            os.close(read)
            _write_until_killed(url, turn, acknowledged, write)
        os.close(write)
        heard = _heard(read, random.randint(1, 8))
        time.sleep(random.uniform(0, 0.004))
        os.kill(writer, signal.SIGKILL)
        heard += _heard(read, None)
        os.close(read)
        _, status = os.waitpid(writer, 0)
        lines = heard.decode().split("\n")[:-1]
        assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL, (
            f"turn {turn}: {heard.decode()}"
        )
        acknowledged.update(lines)
        if turn == min(SETTLED, times - 1):
            before = held()
    grown = check_held(before)
    in_a_child(lambda: _check_stored(url, acknowledged, times), PATIENCE)
    return {"killed": times, "acknowledged": len(acknowledged), "more": grown}


def _write_until_killed(url: str, turn: int, acknowledged: set[str], write: int) -> None:
    try:
        store = opened(url)
        _check_whole(store, acknowledged, turn)
        for number in range(1_000_000):
            for id in store.add([document(f"{turn}-{number}", turn=turn)]):
                os.write(write, f"{id}\n".encode())
    except BaseException:
        os.write(write, traceback.format_exc().encode())
    finally:
        os._exit(1)


def _heard(read: int, lines: int | None) -> bytes:
    """So many lines, or all until the other side is gone."""
    heard = b""
    while lines is None or heard.count(b"\n") < lines:
        assert select.select([read], [], [], PATIENCE)[0], "a writer hangs"
        part = os.read(read, 65_536)
        if not part:
            break
        heard += part
    return heard


def _check_whole(store: VectorStore, acknowledged: set[str], turns: int) -> None:
    found = {one.id: one for one in store.scan(include_embedding=True)}
    assert not acknowledged - found.keys(), "acknowledged documents are gone"
    # Of each writer at most the document that it was writing.
    assert len(found.keys() - acknowledged) <= turns
    for id, one in found.items():
        assert one.text == f"text of {id}"
        assert one.metadata == {"turn": int(id.split("-")[0])}
        assert one.embedding is not None
    assert store.count() == len(found)


def _check_stored(url: str, acknowledged: set[str], turns: int) -> None:
    with opened(url) as store:
        _check_whole(store, acknowledged, turns)


# --- two at once --------------------------------------------------------------------------------


def pairs(url: str, times: int) -> dict[str, Any]:
    """Two processes open one place at the same moment, write, and close, again and again."""
    before: dict[str, int] = {}
    duplicates = 0
    winners: dict[str, int | None] = {}
    for turn in range(times):
        outcomes = []
        sides = []
        for process in (0, 1):
            read, write = os.pipe()
            child = os.fork()
            if not child:
                os.close(read)
                _compete(url, turn, process, write)
            os.close(write)
            sides.append((process, child, read))
        for process, child, read in sides:
            heard = _heard(read, None).decode()
            os.close(read)
            assert os.waitpid(child, 0)[1] == 0, f"turn {turn}: {heard}"
            outcomes.append((process, heard))
        won = [process for process, heard in outcomes if heard == "won"]
        assert won, "two losers"
        duplicates += len(won) - 1
        winners[f"contested-{turn}"] = won[0] if len(won) == 1 else None
        if turn == min(SETTLED, times - 1):
            before = held()
    grown = check_held(before)
    in_a_child(lambda: _check_winners(url, winners, duplicates), PATIENCE)
    return {"pairs": times, "more": grown}


def _compete(url: str, turn: int, process: int, write: int) -> None:
    code = 1
    try:
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                store = opened(url)
                break
            except (StoreFileError, BackendError) as error:
                # The place belongs to one process at a time: it says so, and frees it by closing.
                told = str(error)
                assert "another" in told, told
                assert time.monotonic() < deadline, told
                time.sleep(0.002)
        store.add([document(f"{turn}-{process}", process=process)])
        try:
            store.add([document(f"contested-{turn}", process=process)], on_conflict="error")
            outcome = "won"
        except DuplicateDocumentError:
            outcome = "lost"
        assert len(store.get([f"{turn}-{process}", f"contested-{turn}"])) == 2
        store.close()
        os.write(write, outcome.encode())
        code = 0
    except BaseException:
        os.write(write, traceback.format_exc().encode())
    finally:
        os._exit(code)


def _check_winners(url: str, winners: dict[str, int | None], duplicates: int) -> None:
    with opened(url) as store:
        if store.capabilities.conflict_atomic:
            assert not duplicates, f"{duplicates} documents with two winners"
        assert store.count() == 3 * len(winners)
        for one in store.get(list(winners)):
            assert winners[one.id] in (None, one.metadata["process"])


WAYS = {"forks": forks, "kills": kills, "pairs": pairs}
CLIENTS = {
    "pgvector": "psycopg",
    "qdrant": "qdrant_client",
    "milvus": "pymilvus",
    "redis": "redis",
    "duckdb": "duckdb",
    "weaviate": "weaviate",
}


def servers_of(place: str) -> list[int]:
    """Processes whose command names a folder: an embedded server that was left running."""
    return [
        one.pid
        for one in psutil.process_iter(["pid", "cmdline"])
        if one.pid != os.getpid() and place in (one.info["cmdline"] or [])
    ]


def main() -> None:
    way, url, times = sys.argv[1], sys.argv[2], int(sys.argv[3])
    # Loaded once, and not by each child.
    client = CLIENTS.get(url.split("+")[0].split(":")[0])
    if client is not None:
        importlib.import_module(client)
    began = time.monotonic()
    try:
        counted = WAYS[way](url, times)
    except VecstoreError as error:
        raise AssertionError(f"{way} of {url}") from error
    counted["seconds"] = round(time.monotonic() - began, 1)
    print(json.dumps(counted))


if __name__ == "__main__":
    main()
