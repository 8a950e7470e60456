"""Calls of milvus-lite that are interrupted, or do not end."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from vecstore import BackendError, Document
from vecstore.dialects.milvus.store import MilvusStore

Open = Callable[..., MilvusStore]

PROGRAM = """
    import os, random, signal, sys, threading
    from vecstore import Document
    from vecstore.dialects.milvus.store import MilvusStore

    # What a shell starts in the background is deaf to it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    store = MilvusStore("docs", uri=sys.argv[1], dimension=2)
    store.add([Document("", {"n": n}, str(n), [1, n]) for n in range(300)])
    dice, interrupted = random.Random(1), 0
    for turn in range(int(sys.argv[2])):
        timer = threading.Timer(
            dice.random() * 0.02, os.kill, (os.getpid(), signal.SIGINT)
        )
        try:
            timer.start()
            # Not for ever: Python drops an exception that comes up inside a finaliser.
            while timer.is_alive():
                store.update_metadata(filter="n >= 0", set={"turn": turn})
            timer.join()
        except KeyboardInterrupt:
            interrupted += 1
        timer.join()
        # In another thread: this one may hold a lock that it takes twice.
        counts = []
        other = threading.Thread(target=lambda: counts.append(store.count()), daemon=True)
        other.start()
        other.join(60)
        assert counts == [300], f"after {turn} interruptions: {counts}"
        assert store.count() == 300
    store.close()
    with MilvusStore("docs", uri=sys.argv[1]) as store:
        assert store.count() == 300
    print(interrupted, flush=True)
"""


def run(folder: Path, turns: int) -> str:
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM), str(folder / "docs.db"), str(turns)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    return ran.stdout


def test_calls_after_an_interruption_work(folder: Path) -> None:
    assert int(run(folder, 15)) >= 10


@pytest.mark.heavy
@pytest.mark.timeout(700)
def test_calls_after_many_interruptions_work(folder: Path) -> None:
    assert int(run(folder, 1_000)) >= 900


def test_a_call_has_a_deadline(open_milvus: Open) -> None:
    store = open_milvus(dimension=2)
    store._call._deadline = 0.2
    ended = threading.Event()

    def hang(client: Any) -> None:
        ended.wait(60)

    with pytest.raises(BackendError, match=r"has not ended search after 0.2 s \(timeout\)") as told:
        store._call("search", hang)
    assert told.value.retryable
    with pytest.raises(BackendError, match="not ended count"):
        store.count()  # waits for what hangs, and not for ever
    ended.set()
    store._call._deadline = 60
    assert store.add([Document("", {}, "a", [1, 0])]) == ["a"]
    assert store.count() == 1


def test_an_interrupted_write_ends_before_the_next_call(open_milvus: Open) -> None:
    store = open_milvus(dimension=2)
    store.add([Document("", {}, "a", [1, 0])])
    going, ends = threading.Event(), threading.Event()

    def slow(client: Any) -> None:
        going.set()
        ends.wait(60)
        client.delete(store._plan.name, filter='id == "a"')

    def interrupt() -> None:
        going.wait(60)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    # What a shell starts in the background is deaf to it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Thread(target=interrupt).start()
        with pytest.raises(KeyboardInterrupt):
            store._call("delete", slow, writing=True)
    finally:
        signal.signal(signal.SIGINT, before)
    threading.Timer(0.1, ends.set).start()
    assert store.count() == 0
