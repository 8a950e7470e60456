from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.store.embedders import letters
from vecstore import (
    BackendError,
    BackendNotInstalledError,
    ConfigurationError,
    DimensionMismatchError,
    Document,
    SimpleVectorStore,
    StoreFileError,
    StoreURL,
    open_store,
    plugins,
)
from vecstore.installing import install_line
from vecstore.store.url import flag, store_class, store_schemes

DOCUMENT = Document("x", {"n": 1}, id="x", embedding=[1, 2])


# --- addresses --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("memory:", ("memory", None, None, "", None, "", {})),
        ("qdrant://h:6333/docs", ("qdrant", None, None, "h", 6333, "/docs", {})),
        ("qdrant+https://h/c?grpc=1", ("qdrant+https", None, None, "h", None, "/c", {"grpc": "1"})),
        (
            "postgresql://us%40er:p%3Aw@h:5/db?table=my%20docs&schema=",
            ("postgresql", "us@er", "p:w", "h", 5, "/db", {"table": "my docs", "schema": ""}),
        ),
        (
            "pgvector+embedded:///folder?table=docs",
            ("pgvector+embedded", None, None, "", None, "/folder", {"table": "docs"}),
        ),
        ("milvus:///a%23b.db", ("milvus", None, None, "", None, "/a#b.db", {})),
        ("qdrant://[::1]:6333/c", ("qdrant", None, None, "::1", 6333, "/c", {})),
        ("memory:kb.json", ("memory", None, None, "", None, "kb.json", {})),
        ("postgresql://u@%2Frun%2Fpg/d", ("postgresql", "u", None, "/run/pg", None, "/d", {})),
        ("postgresql://h1,h2/d", ("postgresql", None, None, "h1,h2", None, "/d", {})),
    ],
)
def test_reading_and_writing_addresses(url: str, parts: Any) -> None:
    read = StoreURL.read(url)
    assert (
        read.scheme,
        read.user,
        read.password,
        read.host,
        read.port,
        read.path,
        read.query,
    ) == parts
    again = StoreURL.read(str(read))
    assert (again.scheme, again.user, again.host, again.port, again.path, again.query) == (
        read.scheme,
        read.user,
        read.host,
        read.port,
        read.path,
        read.query,
    )


def test_a_password_is_never_shown() -> None:
    read = StoreURL.read("postgresql://user:s3cret@host/db")
    assert read.password == "s3cret"
    assert "s3cret" not in f"{read} {read!r}"
    for bad in (
        "postgresql://user:s3cret@host:notaport/db",
        "postgresql://user:s3cret@[host/db",
        "nothing://user:s3cret@host/db",
        "memory://user:s3cret@host/db",
        "memory://user:s3cret@host/db?x",
        "memory://user:s3cret@host/db#x",
        "memory://user:s3cret@host/db?a=1&a=2",
        "memory://user:s3cret@host/db?metrik=1",
    ):
        with pytest.raises(ConfigurationError) as caught:
            open_store(bad)
        error: BaseException | None = caught.value
        while error is not None:
            assert "s3cret" not in str(error)
            error = None if error.__suppress_context__ else error.__cause__ or error.__context__


PASSWORDS = [
    "2024?x=S3cr3t%40",
    "2024?S3cr3t=x",
    "2024?x=S3cr3t",
    "20/24S3cr3t",
    "20#24S3cr3t",
    "S3cr3t?",
    "2024?metric=S3cr3t&metric=S3cr3t",
    "2024?dimension=S3cr3t",
    "S3cr3t/x?dimension=1",
    "p@S3cr3t/x",
    "p@S3cr3t?x=1",
    "S3cr3t%",
    "S3cr3t[",
    "[S3cr3t",
]


@pytest.mark.parametrize("scheme", ["memory", "postgresql", "qdrant", "milvus", "nothing"])
@pytest.mark.parametrize("end", ["@host/db", "%40host/db", "@host:6333/db?metric=dot", ""])
@pytest.mark.parametrize("password", PASSWORDS)
def test_a_password_that_was_not_encoded_is_never_shown(
    scheme: str, end: str, password: str
) -> None:
    try:
        url = StoreURL.read(f"{scheme}://user:{password}{end}")
        url.options({"metric": str, "dimension": int}, {})
        url.file()
    except ConfigurationError as failure:
        error: BaseException | None = failure
        while error is not None:
            assert "S3cr3t" not in str(error)
            error = None if error.__suppress_context__ else error.__cause__ or error.__context__


def test_each_place_names_the_options_that_it_takes() -> None:
    with pytest.raises(ConfigurationError) as behind:
        open_store("memory:?nothing_like_it=1")
    assert str(behind.value).endswith(
        "behind the ? memory takes: metric, dimension, quantize, sidecar"
    )
    with pytest.raises(TypeError) as keyword:
        open_store("memory:", nothing_like_it=1)
    assert str(keyword.value).endswith(
        "by keyword it takes: metric, dimension, batching, quantize, sidecar, embedder, "
        "async_threads, observers, observe_content, max_cost, schema, residual, "
        "residual_limit, embed_as"
    )
    for name in ("batching", "embedder", "async_threads", "observers", "observe_content"):
        with pytest.raises(ConfigurationError, match=rf"given by keyword: .*{name}=\.\.\."):
            open_store(f"memory:?{name}=1")
    with pytest.raises(TypeError, match="did you mean 'async_threads'"):
        open_store("memory:", async_thread=1)


@pytest.mark.parametrize(
    "common", [{"async_threads": 0}, {"observers": [1]}, {"observe_content": "yes"}]
)
def test_common_options_are_read_before_anything_is_made(common: Any, plug_in: Any) -> None:
    plug_in("failing-store", "other", "plugged_fails:Store", FAILING)
    with pytest.raises(ConfigurationError):
        open_store("other:?kind=OSError", **common)


@pytest.mark.parametrize(
    "name",
    [
        "password",
        "PASSWORD",
        "sslpassword",
        "passwd",
        "pwd",
        "secret",
        "token",
        "access_token",
        "api_key",
        "apikey",
        "api-key",
        "key",
        "access_key",
        "authorization",
        "credentials",
    ],
)
def test_secrets_do_not_belong_in_a_query_string(name: str) -> None:
    with pytest.raises(ConfigurationError, match="is a secret") as caught:
        open_store(f"memory:?{name}=hush")
    assert "hush" not in str(caught.value)
    assert f"{name}=..." in str(caught.value)


@pytest.mark.parametrize("name", ["keyspace", "monkey", "partition_key", "author", "tokenizer"])
def test_names_that_only_look_like_secrets(name: str) -> None:
    assert StoreURL.read(f"memory:?{name}=1").query == {name: "1"}


@pytest.mark.parametrize("bad", ["", "kb.json", "/data/kb.json", "C:\\kb.json", ":memory:", "1a:"])
def test_what_is_no_address(bad: str) -> None:
    with pytest.raises(ConfigurationError, match="scheme"):
        open_store(bad)


def test_a_path_in_place_of_an_address() -> None:
    with pytest.raises(TypeError, match=r"memory:\{path\}"):
        open_store(Path("kb.json"))  # type: ignore[arg-type]


def test_unknown_schemes_suggest_the_closest() -> None:
    with pytest.raises(ConfigurationError, match=r"did you mean 'memory'\? \(known: .*memory"):
        open_store("memroy:")
    assert "memory" in store_schemes()


# --- the store in memory ----------------------------------------------------------------------


def test_options_come_from_the_address_and_keywords_go_first() -> None:
    store = open_store("memory:?metric=dot&dimension=3", embedder=letters, metric="euclidean")
    assert isinstance(store, SimpleVectorStore)
    assert (store.metric, store.dimension, store.embedder) == ("euclidean", 3, letters)


@pytest.mark.parametrize(
    ("url", "options", "error", "words"),
    [
        ("memory:?metrik=dot", {}, ConfigurationError, "did you mean 'metric'"),
        ("memory:", {"metrik": "dot"}, TypeError, "did you mean 'metric'"),
        ("memory:?metric=hamming", {}, ConfigurationError, "euclidean"),
        ("memory:?dimension=three", {}, ConfigurationError, "'three'"),
        ("memory:?batching=x", {}, ConfigurationError, "by keyword"),
        ("memory://kb.json", {}, ConfigurationError, "memory:path"),
        ("memory:kb.json#x", {}, ConfigurationError, "%23"),
        ("memory:?metric=dot&metric=dot", {}, ConfigurationError, "twice"),
    ],
)
def test_options_that_cannot_be_used(url: str, options: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        open_store(url, **options)


def test_a_file_is_loaded_when_present_and_saved_on_close(tmp_path: Path) -> None:
    url = f"memory://{tmp_path}/kb.json"
    with open_store(url) as store:
        store.add([DOCUMENT])
        assert not (tmp_path / "kb.json").exists()
    store = open_store(url)
    assert store.get(include_embedding=True) == [DOCUMENT]
    store.delete(["x"])
    store.close()
    assert open_store(url).count() == 0
    with pytest.raises(DimensionMismatchError):
        open_store(url).add([Document("", embedding=[1, 2, 3])])


def test_paths_relative_and_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = open_store("memory:my%20kb.json")
    store.add([DOCUMENT])
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    store.close()  # to where it was opened
    assert open_store(f"memory:///{tmp_path}/my kb.json").count() == 1
    assert open_store(f"memory:{tmp_path}/my kb.json").count() == 1
    assert open_store("memory:../my kb.json").count() == 1


def test_a_file_is_written_only_when_something_changed(tmp_path: Path) -> None:
    path = tmp_path / "kb.json"
    with open_store(f"memory:{path}"):
        pass
    assert not path.exists()
    with open_store(f"memory:{path}") as store:
        store.add([DOCUMENT])
    before = path.stat().st_ino
    with open_store(f"memory:{path}") as store:
        store.search(vector=[1, 2])
    assert path.stat().st_ino == before
    with open_store(f"memory:{path}") as store:
        store.update_metadata(["x"], set={"n": 2})
    assert path.stat().st_ino != before


def test_an_exception_inside_with_saves_what_there_is(tmp_path: Path) -> None:
    url = f"memory:{tmp_path}/kb.json"
    with pytest.raises(ZeroDivisionError), open_store(url) as store:
        store.add([DOCUMENT])
        1 / 0
    assert open_store(url).count() == 1


def test_a_file_that_cannot_be_used_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "kb.json").write_text("{")
    with pytest.raises(StoreFileError, match="cut off"):
        open_store(f"memory:{tmp_path}/kb.json")
    with pytest.raises(StoreFileError, match="folder"):
        open_store(f"memory:{tmp_path}")
    with pytest.raises(StoreFileError, match=r"no folder.*relative"):
        open_store(f"memory:{tmp_path}/nowhere/kb.json")


def test_a_store_whose_file_cannot_be_saved_stays_open(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    store = open_store(f"memory:{tmp_path}/folder/kb.json")
    assert isinstance(store, SimpleVectorStore)
    store.add([DOCUMENT])
    shutil.rmtree(tmp_path / "folder")
    with pytest.raises(StoreFileError):
        store.close()
    store.save(tmp_path / "rescued.json")
    assert SimpleVectorStore().load(tmp_path / "rescued.json").count() == 1


# --- plug-ins ---------------------------------------------------------------------------------


@pytest.fixture
def plug_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Installs distributions that offer stores."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def install(distribution: str, scheme: str, target: str, code: str = "") -> None:
        info = tmp_path / f"{distribution}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n"
        )
        (info / "entry_points.txt").write_text(f"[vecstore.stores]\n{scheme} = {target}\n")
        if code:
            (tmp_path / f"{target.partition(':')[0]}.py").write_text(code)
        plugins._found.cache_clear()

    yield install
    plugins._found.cache_clear()
    for name in [name for name in sys.modules if name.startswith("plugged_")]:
        del sys.modules[name]


STORE = """
from vecstore import SimpleVectorStore
class Store(SimpleVectorStore):
    pass
"""


def test_a_plug_in_opens_its_scheme(plug_in: Any) -> None:
    plug_in("other-store", "other+tls", "plugged_one:Store", STORE)
    assert "other+tls" in store_schemes()
    assert type(open_store("other+tls:?metric=dot")).__module__ == "plugged_one"


def test_two_plug_ins_for_one_scheme_are_both_named(plug_in: Any) -> None:
    plug_in("first-store", "other", "plugged_one:Store", STORE)
    plug_in("second-store", "other", "plugged_two:Store", STORE)
    with pytest.raises(ConfigurationError, match="two distributions") as caught:
        open_store("other:")
    assert "first-store" in str(caught.value)
    assert "second-store" in str(caught.value)


def test_two_entry_points_for_one_scheme_in_one_distribution_are_both_named(plug_in: Any) -> None:
    plug_in("other-store", "other", "plugged_one:Store\nother = plugged_two:Store", STORE)
    told = "stores for other: are offered twice by other-store, as 'plugged_one:Store' and"
    with pytest.raises(ConfigurationError, match=f"{told} 'plugged_two:Store'"):
        open_store("other:")


def test_one_entry_point_that_is_listed_twice_is_one(plug_in: Any) -> None:
    plug_in("other-store", "other", "plugged_one:Store\nother = plugged_one:Store")
    assert "other" in store_schemes()


def test_a_plug_in_for_one_of_our_own_schemes(plug_in: Any) -> None:
    plug_in("first-store", "memory", "plugged_one:Store", STORE)
    assert store_class("memory") is SimpleVectorStore
    with pytest.raises(ConfigurationError, match="vecstore-dialects and first-store"):
        store_schemes()


def test_a_plug_in_that_cannot_be_imported_raises(plug_in: Any) -> None:
    plug_in("broken-store", "other", "plugged_broken:Store", "import no_such_module_anywhere")
    with pytest.raises(BackendNotInstalledError, match="no_such_module_anywhere") as caught:
        open_store("other:")
    assert "plugged_broken:Store" in str(caught.value)
    assert "broken-store" in str(caught.value)
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)
    assert caught.value.name == "no_such_module_anywhere"


def test_a_plug_in_that_fails_when_it_is_imported(plug_in: Any) -> None:
    plug_in("broken-store", "other", "plugged_failing:Store", "raise RuntimeError('s3cret')")
    with pytest.raises(ConfigurationError, match=r"RuntimeError.*broken-store") as caught:
        open_store("other:")
    assert "s3cret" not in str(caught.value)


FAILING = """
from vecstore import SimpleVectorStore
import socket

class Store(SimpleVectorStore):
    @classmethod
    def from_url(cls, url, *, embedder=None, **options):
        kind = url.query.get("kind")
        if kind == "missing":
            import psycopg_that_is_not_there
        if kind == "keyword":
            return cls(embedder, **options)
        if kind == "odd":
            class Odd(Exception):
                def __str__(self):
                    raise ValueError("no text")
            raise Odd
        if kind == "driver":
            int(socket)
        raise {"OSError": OSError, "ValueError": ValueError, "KeyError": KeyError,
               "MemoryError": MemoryError, "StopIteration": StopIteration}[kind]("s3cret")
"""


@pytest.mark.parametrize(
    "kind", ["OSError", "ValueError", "KeyError", "MemoryError", "StopIteration", "odd", "driver"]
)
def test_whatever_opening_raises_is_of_our_own(plug_in: Any, kind: str) -> None:
    plug_in("failing-store", "other", "plugged_fails:Store", FAILING)
    with pytest.raises(BackendError, match="other: could not be opened") as caught:
        open_store(f"other:?kind={kind}")
    assert caught.value.operation == "open"
    assert caught.value.__cause__ is not None
    assert "s3cret" not in str(caught.value)


def test_opening_without_the_client_of_an_engine(plug_in: Any) -> None:
    plug_in("failing-store", "other", "plugged_fails:Store", FAILING)
    with pytest.raises(BackendNotInstalledError, match="psycopg_that_is_not_there") as caught:
        open_store("other:?kind=missing")
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)
    with pytest.raises(TypeError, match="no_such_option"):
        open_store("other:?kind=keyword", no_such_option=1)


def test_without_psycopg(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0].startswith("psycopg")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(BackendNotInstalledError, match=re.escape(install_line("pgvector"))):
        open_store("postgresql://localhost/db")


def test_a_store_that_cannot_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vecstore.dialects.qdrant.store", None)
    with pytest.raises(BackendNotInstalledError, match=re.escape(install_line("qdrant"))):
        open_store("qdrant:?collection=docs")


def test_a_plug_in_that_is_no_store(plug_in: Any) -> None:
    plug_in("odd-store", "other", "plugged_odd:Store", "Store = dict")
    with pytest.raises(ConfigurationError, match=r"subclass of vecstore\.VectorStore"):
        open_store("other:")


def test_a_store_without_addresses() -> None:
    from tests.store.minimal import MinimalStore

    with pytest.raises(ConfigurationError, match="MinimalStore cannot be opened by a URL"):
        MinimalStore.from_url(StoreURL.read("x1:"))


# --- what addresses of servers share ----------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("qdrant://host/docs", "http://host:6333"),
        ("qdrant://host:7000/docs", "http://host:7000"),
        ("qdrant+https://host/docs", "https://host:443"),
        ("milvus+https://[::1]:7000/docs", "https://[::1]:7000"),
    ],
)
def test_the_server_of_an_address(url: str, server: str) -> None:
    assert StoreURL.read(url).server(6333) == server


def test_the_collection_is_an_option_or_the_path_of_a_server() -> None:
    assert StoreURL.read("qdrant://host/docs").collection(None, 6333) == "docs"
    assert StoreURL.read("qdrant://host/docs").collection("others", 6333) == "others"
    assert StoreURL.read("qdrant:///folder").collection("docs", 6333) == "docs"
    with pytest.raises(ConfigurationError, match=r"name the collection: qdrant://host:6333/docs"):
        StoreURL.read("qdrant+https://host").collection(None, 6333)
    with pytest.raises(ConfigurationError, match="name the collection"):
        StoreURL.read("qdrant:///folder").collection(None, 6333)


def test_options_that_are_true_or_false() -> None:
    assert [flag(text) for text in ("true", "Yes", "1", "FALSE", "no", "0")] == [True] * 3 + [
        False
    ] * 3
    with pytest.raises(ValueError, match="maybe"):
        flag("maybe")
