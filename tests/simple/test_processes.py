"""Processes that are killed while saving, and processes that save to one path."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from vecstore import SimpleVectorStore

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and kill")

PREAMBLE = """
import os, random, select, signal, sys, time
import numpy as np
from vecstore import Document, SimpleVectorStore

path, times, sidecar = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "sidecar"

def filled(mark, count):
    store = SimpleVectorStore()
    vectors = np.full((count, 64), mark + 1, np.float32)
    store.add(
        Document(f"text {mark} " * 20, {"mark": mark, "count": count}, id=str(n), embedding=v)
        for n, v in enumerate(vectors)
    )
    return store

def check(store):
    marks = {d.metadata["mark"] for d in store.scan()}
    assert len(marks) == 1, marks
    (mark,) = marks
    for d in store.scan(include_embedding=True):
        assert d.metadata["count"] == store.count()
        assert d.text == f"text {mark} " * 20
        assert d.embedding.tolist() == [mark + 1] * 64
    return mark

def child(work):
    pid = os.fork()
    if not pid:
        try:
            work()
        finally:
            os._exit(1)
    return pid
"""

KILLING = (
    PREAMBLE
    + """
versions = [filled(1, 800), filled(2, 1500), filled(3, 400)]
versions[0].save(path, sidecar=sidecar)
folder = os.path.dirname(path)
chance = random.Random(1)
seen, broken_off = set(), 0

def save_on(turn, done):
    while True:
        versions[turn % len(versions)].save(path, sidecar=sidecar)
        turn += 1
        os.write(done, b".")

for turn in range(times):
    told, done = os.pipe()
    pid = child(lambda: save_on(turn, done))
    os.close(done)
    os.read(told, 1)  # however slow the machine, one save went through
    os.close(told)
    time.sleep(chance.uniform(0, 0.03))
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    seen.add(check(SimpleVectorStore().load(path)))
    for name in os.listdir(folder):
        if name.endswith(".tmp"):
            broken_off += 1
            os.unlink(os.path.join(folder, name))
print(sorted(seen), broken_off)
"""
)

RACING = (
    PREAMBLE
    + """
versions = [filled(1, 800), filled(2, 1500)]
versions[0].save(path, sidecar=sidecar)

told, enough = os.pipe()

def save_many(version):
    os.close(enough)
    saved = 0
    # Until the reader has seen enough, however rarely it has its turn.
    while saved < times or not select.select([told], [], [], 0)[0]:
        version.save(path, sidecar=sidecar)
        saved += 1
    os._exit(0)

pids = [child(lambda v=version: save_many(v)) for version in versions]
seen, loads = set(), 0
while pids:
    seen.add(check(SimpleVectorStore().load(path)))
    loads += 1
    if enough is not None and loads > 5 and len(seen) == 2:
        os.close(enough)
        enough = None
    pid, status = os.waitpid(-1, os.WNOHANG)
    if pid:
        assert status == 0
        pids.remove(pid)
print(sorted(seen), loads)
"""
)


def run(script: str, path: Path, times: int, way: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", script, str(path), str(times), way],
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split("]")


@pytest.mark.parametrize("way", ["alone", pytest.param("sidecar", marks=pytest.mark.wide)])
@pytest.mark.parametrize("times", [60, pytest.param(2_000, marks=pytest.mark.heavy)])
@pytest.mark.wide
def test_a_process_killed_while_saving_leaves_the_file_whole(
    tmp_path: Path, times: int, way: str
) -> None:
    seen, broken_off = run(KILLING, tmp_path / "kb.json", times, way)
    # Said by the run itself: several versions were met, and many kills fell into the writing.
    assert seen == "[1, 2, 3"
    assert int(broken_off) >= times // 10
    assert SimpleVectorStore().load(tmp_path / "kb.json").count() in (400, 800, 1500)


@pytest.mark.parametrize("way", ["alone", "sidecar"])
@pytest.mark.parametrize("times", [25, pytest.param(500, marks=pytest.mark.heavy)])
@pytest.mark.wide
def test_two_processes_saving_to_one_path(tmp_path: Path, times: int, way: str) -> None:
    seen, loads = run(RACING, tmp_path / "kb.json", times, way)
    assert seen == "[1, 2"
    assert int(loads) > 5
    SimpleVectorStore().save(tmp_path / "kb.json")  # a writer that lost may leave its vectors
    assert [p.name for p in tmp_path.iterdir()] == ["kb.json"]
