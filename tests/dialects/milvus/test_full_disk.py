"""milvus-lite on a disk that is full for a while, and a process that is killed later."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from vecstore.dialects.milvus.store import MilvusStore

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="limits files as POSIX does")

PROGRAM = """
    import json, os, resource, signal, sys
    from vecstore import BackendError, Document, open_store
    from vecstore.dialects.milvus.store import MilvusStore

    path, size, end = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    stored, told = [], []

    def add(store, first, last):
        for start in range(first, last, 50):
            ids = [str(n) for n in range(start, start + 50)]
            try:
                store.add([Document("x" * 500, {"n": int(id)}, id, [1, int(id)]) for id in ids])
            except BackendError as error:
                told.append(str(error))
                return
            stored.extend(ids)

    store, other = (MilvusStore("docs", uri=path, dimension=2) for _ in range(2))
    add(store, 0, 500)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    add(store, 500, 10_000)
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    failed = len(told)
    add(store, 20_000, 21_000)
    add(other, 30_000, 31_000)
    for change in (
        lambda: store.update_metadata(["1"], set={"a": 1}), lambda: store.delete(["1"]), store.clear
    ):
        try:
            change()
        except BackendError as error:
            told.append(str(error))
    with open(path + ".told", "w") as file:
        json.dump({"stored": stored, "told": told, "failed": failed}, file)
    if end == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    store.close()
    other.close()
    # Opened again in the same process, it takes writes.
    with MilvusStore("docs", uri=path) as store:
        add(store, 40_000, 40_500)
    with open(path + ".told", "w") as file:
        json.dump({"stored": stored, "told": told, "failed": failed}, file)
    if end == "exit":
        os._exit(0)
"""


# The log grows too long; or a segment cannot be written, of rows that the log has.
FULL = {
    "log": ("400000", {}),
    "segment": ("60000", {"MILVUS_LITE_MEMTABLE_MEMORY_LIMIT_BYTES": "1500000"}),
}


@pytest.mark.parametrize(
    ("full", "end"),
    [
        ("log", "kill"),
        ("segment", "close"),
        pytest.param("log", "close", marks=pytest.mark.heavy),
        pytest.param("segment", "kill", marks=pytest.mark.heavy),
    ],
)
@pytest.mark.wide
def test_what_was_acknowledged_survives(folder: Path, full: str, end: str) -> None:
    size, environment = FULL[full]
    path = str(folder / "docs.db")
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM), path, size, end],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    assert ran.returncode == (-9 if end == "kill" else 0), ran.stderr[-3000:]
    told = json.loads(Path(path + ".told").read_text())
    assert told["failed"] == 1, "the disk was never full"
    # Every later write was refused, also in the other store of the file.
    assert len(told["told"]) == 6
    assert all("open it again" in words for words in told["told"][1:])
    with MilvusStore("docs", uri=path) as store:
        found = {one.id for one in store.scan()}
        assert set(told["stored"]) <= found
        assert len(store.get(["1"])) == 1
