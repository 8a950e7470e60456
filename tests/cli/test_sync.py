"""sync: a folder in a store, again and again, and what a kill in between leaves."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import Outcome, Run
from vecstore import Document, F, SimpleVectorStore, open_store

ROOT = Path(__file__).resolve().parent.parent.parent

EMBEDDER = '''
"""An embedder of a test: how often a text holds "e", and how long it is."""
import json
import os
import time


def embed(texts):
    time.sleep(float(os.environ.get("EMBED_SECONDS", "0")))
    with open("asked.txt", "a") as file:
        file.write("".join(json.dumps(text) + "\\n" for text in texts))
    return [[text.count("e") + 1, len(text)] for text in texts]
'''

GUIDE = """# Bread

Flour and water.

## Rye

Rye is sour.
"""


@pytest.fixture
def docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    # A name that no other test imports: modules stay loaded for the whole run.
    (tmp_path / "embedders_of_sync.py").write_text(EMBEDDER, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "embedders_of_sync", raising=False)
    folder = tmp_path / "docs"
    (folder / "more").mkdir(parents=True)
    (folder / "bread.md").write_text(GUIDE, "utf-8")
    (folder / "more" / "oats.txt").write_text("Oats need no steam.", "utf-8")
    (folder / "logo.png").write_bytes(b"\x89PNG")
    return folder


def asked(folder: Path) -> list[str]:
    """The texts that were embedded since this was called the last time."""
    path = folder.parent / "asked.txt"
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    path.unlink(missing_ok=True)
    return [json.loads(line) for line in lines]


def bring(run: Run, *options: str, store: str = "memory:kb.json") -> Outcome:
    return run("sync", "docs", "-s", store, "--corpus", "d", "-e", "embedders_of_sync:embed",
               *options)  # fmt: skip


def test_what_is_embedded(run: Run, docs: Path) -> None:
    assert bring(run, "--embed-as", "metadata").code == 0
    rye = next(text for text in asked(docs) if "is sour" in text)
    assert rye.splitlines()[:3] == ["headings: Bread, Rye", "source: bread.md", "title: Bread"]
    [stored] = open_store("memory:kb.json").get(filter="headings == 'Rye'")
    assert "title:" not in stored.text
    assert " 2 unchanged" in bring(run, "--embed-as", "metadata").out
    assert asked(docs) == []
    (docs.parent / "texts_of_sync.py").write_text("def loud(one):\n    return one.text.upper()\n")
    assert " 2 changed" in bring(run, "--embed-as", "texts_of_sync:loud").out
    assert any("RYE IS SOUR" in text for text in asked(docs))
    for wrong, told in [
        ("titles", "write metadata, or module:attribute"),
        ("texts_of_sync:quiet", "cannot be loaded: AttributeError"),
        ("texts_of_sync:__name__", "embed_as is a function"),
    ]:
        outcome = bring(run, "--embed-as", wrong)
        assert outcome.code == 2
        assert told in " ".join(outcome.err.split())


def test_a_folder_again_and_again(run: Run, docs: Path, tmp_path: Path) -> None:
    outcome = bring(run)
    assert outcome.code == 0
    assert outcome.out.startswith(
        "sources: 0 unchanged, 2 added, 0 changed, 0 removed; "
        "chunks: embedded 3, reused 0, deleted 0 ("
    )
    assert outcome.err == "1 file was left out, of a kind that is not read: .png\n"
    assert len(asked(docs)) == 3

    again = bring(run)
    assert again.out.startswith("sources: 2 unchanged, 0 added")
    assert "embedded 0" in again.out
    assert asked(docs) == []

    # A section moves, a sentence changes, a file goes.
    head, _, tail = GUIDE.partition("## Rye")
    (docs / "bread.md").write_text(f"## Rye{tail}\n{head}", "utf-8")
    assert "1 changed, 0 removed; chunks: embedded 0, reused 2" in bring(run).out
    (docs / "bread.md").write_text(GUIDE.replace("sour", "dark"), "utf-8")
    assert "chunks: embedded 1, reused 1, deleted 1" in bring(run).out
    assert asked(docs) == ["## Rye\n\nRye is dark."]
    (docs / "more" / "oats.txt").unlink()
    assert "0 removed" in bring(run).out
    would = bring(run, "--remove", "missing", "--dry-run")
    assert would.out.startswith("- more/oats.txt\nwould be done: sources: 1 unchanged")
    with open_store("memory:kb.json") as store:
        assert store.count(F.source == "more/oats.txt") == 1
        store.add([Document("theirs", {"source": "x"}, id="theirs", embedding=[1, 1])])
    done = bring(run, "--remove", "missing", "--json").json
    assert {key: done[key] for key in ("unchanged", "removed", "deleted", "dry_run")} == {
        "unchanged": 1,
        "removed": ["more/oats.txt"],
        "deleted": 1,
        "dry_run": False,
    }
    store = SimpleVectorStore().load(tmp_path / "kb.json")
    assert {one.metadata["source"] for one in store.scan()} == {"bread.md", "x"}


def test_what_would_be_done_is_told_and_nothing_is(run: Run, docs: Path, tmp_path: Path) -> None:
    (docs / "a\x1b[2J.txt").write_text("A name of a stranger's.")
    outcome = bring(run, "--dry-run", "--pattern", "*.txt", "--pattern", "more/*")
    assert outcome.out.startswith("+ a\\x1b[2J.txt\n+ more/oats.txt\nwould be done: sources: 0 un")
    assert asked(docs) == []
    assert not (tmp_path / "kb.json").exists()


def test_files_that_cannot_be_read_are_left_out_or_stop_it(
    run: Run, docs: Path, tmp_path: Path
) -> None:
    bring(run)
    (docs / "bread.md").write_bytes(b"\xff")
    (docs / "new.txt").write_text("New.")
    stopped = bring(run, "--on-error", "raise")
    assert (stopped.code, stopped.out) == (2, "")
    assert stopped.err.startswith("error: bread.md is not UTF-8 at byte 0")
    outcome = bring(run, "--remove", "missing")
    assert outcome.code == 1
    assert outcome.err.startswith("left out: bread.md is not UTF-8 at byte 0; pass encoding=")
    assert "1 unchanged, 1 added, 0 changed, 0 removed, 1 failed" in outcome.out
    report = bring(run, "--json")
    assert report.code == 1
    assert [one["source"] for one in report.json["failures"]] == ["bread.md"]
    store = SimpleVectorStore().load(tmp_path / "kb.json")
    assert store.count(F.source == "bread.md") == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nothing", "-s", "memory:"), "nothing is no folder"),
        (("docs", "-s", "memory:", "-p", "*.csv"), "there is no file to be read\n"),
        (("docs", "-s", "memory:", "-p", "*.png"), "whose kind is not known"),
        (("docs", "-s", "memory:", "-p", "logo*"), "1 file was left out, of a kind that is not"),
        (("docs", "-s", "kb.json"), "write memory: before its path"),
        (("docs", "-s", "qdrnt:"), "qdrant"),
    ],
)
def test_faults_of_the_call(run: Run, docs: Path, arguments: tuple[str, ...], said: str) -> None:
    outcome = run("sync", *arguments, "--corpus", "d", "-e", "embedders_of_sync:embed")
    assert (outcome.code, outcome.out) == (2, "")
    assert said in outcome.err


def test_search_shows_source_headings_and_page(run: Run, docs: Path) -> None:
    from tests.indexing.test_readers import pdf_of

    (docs / "scan.pdf").write_bytes(pdf_of(["", "Page two\nis here."]))
    outcome = bring(run)
    assert "scan.pdf: no text layer on page 1\n" in outcome.err
    for place in ("memory:kb.json", "kb.json"):
        found = run("search", place, "x", "-e", "embedders_of_sync:embed")
        lines = [line.strip() for line in found.out.splitlines() if line.strip()]
        assert lines[0].split() == ["score", "source", "text"]
        shown = "\n".join(" ".join(line.split()[-8:]) for line in lines)
        assert "bread.md Rye is sour.\nBread › Rye" in shown
        assert "scan.pdf Page two\npage 2" in shown
        assert "more/oats.txt Oats need no steam." in shown
    hits = run("search", "kb.json", "x", "--json", "-e", "embedders_of_sync:embed").json
    assert {hit["metadata"]["source"] for hit in hits} == {"bread.md", "more/oats.txt", "scan.pdf"}


def _killed(docs: Path, store: str, seconds: float) -> None:
    """The command, killed after some time, with an embedder that takes a while for each batch."""
    with subprocess.Popen(
        [sys.executable, "-m", "vecstore", "sync", "docs", "-s", store, "--corpus", "d",
         "-e", "embedders_of_sync:embed", "--remove", "missing"],
        cwd=docs.parent,
        env={**os.environ, "PYTHONPATH": str(ROOT), "EMBED_SECONDS": "0.05"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        while process.poll() is None and not (docs.parent / "asked.txt").exists():
            time.sleep(0.01)
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)


@pytest.mark.heavy
@pytest.mark.parametrize("engine", ["memory", "pgvector"])
def test_a_kill_at_any_time_is_as_if_nothing_had_happened(
    run: Run, docs: Path, tmp_path: Path, engine: str, request: pytest.FixtureRequest
) -> None:
    rng = random.Random(3)
    store = "memory:kb.json"
    if engine == "pgvector":
        dsn = request.getfixturevalue("postgres_dsn")
        store = f"{dsn}{'&' if '?' in dsn else '?'}table=kill_sync&create=true"
    for number in range(10):
        for name in range(60):
            if rng.random() < 0.6:
                words = " ".join(rng.choices(["rye", "oats", "barley"], k=6))
                (docs / f"{name}.txt").write_text(f"{words} {number}.\n\n{rng.random()}")
        _killed(docs, store, rng.random() * 0.4)
        asked(docs)
        done = bring(run, "--remove", "missing", "--json", store=store)
        assert done.code == 0
        with open_store(store) as opened:
            held = {one.id: (one.text, one.metadata) for one in opened.scan()}
        fresh_path = tmp_path / "fresh.json"
        fresh_path.unlink(missing_ok=True)
        bring(run, store=f"memory:{fresh_path}")
        fresh = SimpleVectorStore().load(fresh_path)
        assert held == {one.id: (one.text, one.metadata) for one in fresh.scan()}
        again = bring(run, "--remove", "missing", "--json", store=store).json
        assert (again["embedded"], again["deleted"], again["changed"]) == (0, 0, [])
