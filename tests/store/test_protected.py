"""Folders and files that this user may not write to: said at once, with what can be done."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from vecstore import Document, open_store

PLACES = {
    "sqlite": "sqlite://{folder}/kb.db?table=docs",
    "duckdb": "duckdb://{folder}/kb.duckdb?table=docs",
    "lancedb": "lancedb://{folder}/tables?table=docs",
}
# Root without its privileges still reads what only root may read, such as Python in root's home.
PROGRAM = """
import ctypes, os, sys
from vecstore import Document, open_store
from vecstore.errors import VecstoreError

if os.geteuid() == 0 and sys.platform == "linux":
    version, none = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    if ctypes.CDLL(None, use_errno=True).capset(version, none) != 0:
        raise OSError(ctypes.get_errno(), "capset")
elif os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
for url in sys.argv[1:]:
    try:
        with open_store(url, dimension=2) as store:
            print(store.count(), end=" read, ")
            store.add([Document("new", {}, "new", [1, 0])])
    except VecstoreError as error:
        print(type(error).__name__, error)
"""


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="needs users")
def test_what_may_not_be_written_says_why() -> None:
    # Root may do everything, so the test asks without root's privileges.
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        folder, empty = Path(name, "there"), Path(name, "empty")
        for one in (folder, empty):
            one.mkdir()
        for url in PLACES.values():
            with open_store(url.format(folder=folder), dimension=2) as store:
                store.add([Document("old", {}, "old", [1, 0])])
        places = sorted(Path(name).rglob("*"), reverse=True)
        for place in places:
            place.chmod(0o555 if place.is_dir() else 0o444)
        asked = [url.format(folder=at) for url in PLACES.values() for at in (folder, empty)]
        asked.append(f"duckdb://{folder}/kb.duckdb?table=docs&read_only=true")
        try:
            ran = subprocess.run(
                [sys.executable, "-c", PROGRAM, *asked],
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
        finally:
            for place in places:
                place.chmod(0o755)
    lines = ran.stdout.splitlines()
    assert len(lines) == len(asked), ran.stderr[-2000:]
    sqlite, no_sqlite, duckdb, no_duckdb, lancedb, no_lancedb, reading = lines
    assert "1 read, " in sqlite
    assert "open the store without read_only, on a file that can" in sqlite
    assert f"unable to open database file: nothing can be written to {empty}" in no_sqlite
    assert "is write-protected; to read it only, open it with read_only=True" in duckdb
    assert f"Permission denied; nothing can be written to {empty}" in no_duckdb
    assert "1 read, StoreFileError nothing can be written to the folder" in lancedb
    assert "so that this store only reads: Permission denied" in lancedb
    assert "StoreFileError" in no_lancedb
    assert "Permission denied" in no_lancedb
    assert "1 read, " in reading
    assert "read-only" in reading
