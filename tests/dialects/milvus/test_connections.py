"""Addresses, files and clients: who opens, who closes, and what never shows."""

from __future__ import annotations

import logging
import subprocess
import sys
import textwrap
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from vecstore import (
    BackendError,
    BackendNotInstalledError,
    ConfigurationError,
    Document,
    DuplicateDocumentError,
    open_store,
)
from vecstore.dialects.milvus.store import MilvusStore
from vecstore.installing import install_line
from vecstore.store.drivers import Secrets

Open = Callable[..., MilvusStore]
SECRET = "hunter2-pässword"

HOSTILE = [
    "it's",
    'say "hi"',
    "back\\slash",
    "new\nline",
    'x"] or id != "',
    "'] or id != '",
    "%s {0} {a}",
    "element_filter(tags)",
    "\U00020000",
    "sha256:" + "0" * 64,
    "é" * 600,
]


def documents(ids: list[str]) -> list[Document]:
    return [Document(id[:50], {id[:50]: id[:50]}, id, [1, number]) for number, id in enumerate(ids)]


class TestHostileTexts:
    @pytest.mark.parametrize("lite", [True, False], ids=["file", "cursor"])
    def test_ids_through_every_operation(self, open_milvus: Open, lite: bool) -> None:
        store = open_milvus(dimension=2)
        store._call.lite = lite
        assert store.add(documents(HOSTILE)) == HOSTILE
        for id in HOSTILE:
            assert [one.id for one in store.get([id])] == [id]
            assert store.update_metadata([id], set={"seen": id[:50]}) == 1
            with pytest.raises(DuplicateDocumentError):
                store.add(documents([id]), on_conflict="error")
        assert sorted(one.id for one in store.scan(batch_size=2)) == sorted(HOSTILE)
        assert [one.id for one in store.get(HOSTILE[::-1])] == HOSTILE[::-1]
        for left, id in enumerate(HOSTILE[::-1]):
            assert store.delete([id, id + "?"]) == 1
            assert store.count() == len(HOSTILE) - left - 1

    def test_values_select_their_own_document_alone(self, open_milvus: Open) -> None:
        store = open_milvus(dimension=2)
        store.add(documents(HOSTILE))
        from vecstore import F

        for id in HOSTILE:
            key = id[:50]
            assert [one.id for one in store.get(filter=F[key] == key)] == [id]
            assert store.count(F[key].is_not_null()) == 1


class TestClients:
    def test_a_client_given_stays_open(self, file: str) -> None:
        from pymilvus import MilvusClient

        client = MilvusClient(file)
        with MilvusStore("given", client=client, dimension=2) as store:
            store.add(documents(["a"]))
            assert store.native is client
        assert client.has_collection("given")
        # Nor does a store of its own on the file take the engine away from it.
        MilvusStore("given", uri=file).close()
        assert client.query("given", filter='id == "a"', output_fields=["id"]) == [{"id": "a"}]
        client.close()

    def test_stores_on_one_file_come_and_go(self, folder: Path) -> None:
        path = str(folder / "shared.db")
        first = MilvusStore("docs", uri=path, dimension=2)
        second = MilvusStore("docs", uri=path)
        first.add(documents(["a"]))
        first.close()
        assert [one.id for one in second.get()] == ["a"]
        second.close()
        with MilvusStore("docs", uri=path) as third:
            assert third.count() == 1

    def test_an_idle_file_is_not_asked_whether_it_lives(self, folder: Path) -> None:
        with MilvusStore("docs", uri=str(folder / "idle.db"), dimension=2) as store:
            options = store.native._handler._grpc_options
        assert options["grpc.keepalive_time_ms"] > 1_000 * 3_600

    @pytest.mark.heavy
    def test_nothing_is_thrown_off_or_said_while_a_store_is_idle(self, folder: Path) -> None:
        path = folder / "idle.db"
        program = f"""
            import time
            from vecstore import Document
            from vecstore.dialects.milvus.store import MilvusStore
            with MilvusStore("docs", uri={str(path)!r}, dimension=2) as store:
                store.add([Document("a", id="a", embedding=[1, 0])])
                time.sleep(100)
                print(store.count())
        """
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True
        )
        assert (done.stdout, done.stderr, done.returncode) == ("1\n", "", 0)

    def test_eight_threads(self, open_milvus: Open) -> None:
        store = open_milvus(dimension=2)
        barrier = threading.Barrier(8)

        def work(worker: int) -> None:
            barrier.wait()
            for number in range(6):
                id = f"{worker}-{number}"
                store.add(documents([id, f"shared-{number}"]))
                assert store.get([id])[0].id == id
                assert store.search(vector=[1, 0], top_k=3)
                assert store.count() >= number
                assert store.delete([id]) == 1

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(8)))
        assert sorted(one.id for one in store.scan()) == [f"shared-{number}" for number in range(6)]

    @pytest.mark.wide
    def test_a_file_that_another_process_has_open(
        self, folder: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        path = folder / "taken.db"
        program = f"""
            from vecstore.dialects.milvus.store import MilvusStore
            with MilvusStore("docs", uri={str(path)!r}, dimension=2):
                print("ready", flush=True)
                input()
        """
        with subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(program)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as other:
            assert other.stdout is not None
            assert other.stdin is not None
            assert other.stdout.readline() == "ready\n"
            caplog.set_level(logging.CRITICAL, "milvus_lite")
            with pytest.raises(
                BackendError, match=r"another process has .*taken.db open"
            ) as caught:
                MilvusStore("docs", uri=str(path))
            assert caught.value.retryable
            other.stdin.write("\n")
            other.stdin.close()
            assert other.wait(60) == 0
        MilvusStore("docs", uri=str(path)).close()


class TestAddresses:
    def test_a_file(self, folder: Path) -> None:
        url = f"milvus://{folder}/kb.db?collection=docs&metric=dot&dimension=2"
        with open_store(url) as store:
            store.add(documents(["a"]))
        with open_store(url, metric="dot") as store:
            assert store.count() == 1

    @pytest.mark.parametrize(
        ("url", "words"),
        [
            ("milvus:///kb.db", "name the collection"),
            ("milvus:///kb?collection=docs", "ends with .db"),
            ("milvus:?collection=docs", "ends with .db"),
            ("milvus://host:19530", "name the collection"),
            ("milvus:///no-such-folder/kb.db?collection=docs", "no folder /no-such-folder"),
            ("milvus://host/docs?token=x", "secret"),
            ("milvus://host/docs?shards=many", "'many'"),
        ],
    )
    def test_what_is_no_address(self, url: str, words: str) -> None:
        with pytest.raises(ConfigurationError, match=words):
            open_store(url)

    @pytest.mark.parametrize("where", ["user", "token"])
    def test_a_server_that_is_not_there_shows_no_secret(
        self, where: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        from urllib.parse import quote

        with pytest.raises(BackendError, match="Milvus refused open") as caught:
            if where == "user":
                open_store(f"milvus://root:{quote(SECRET)}@127.0.0.1:1/docs", timeout=0.3)
            else:
                open_store("milvus://127.0.0.1:1/docs", token=SECRET, timeout=0.3)
        assert caught.value.retryable
        shown = "".join(traceback.format_exception(caught.value)) + caplog.text
        assert SECRET not in shown
        assert quote(SECRET) not in shown

    def test_secrets_in_errors_of_the_engine(self, open_milvus: Open) -> None:
        store = open_milvus(dimension=2)
        store._call._secrets = Secrets([SECRET])
        assert SECRET not in repr(store)

        def fail(client: object) -> None:
            raise RuntimeError(f"no entry with {SECRET}")

        with pytest.raises(BackendError, match=r"no entry with \*\*\*") as caught:
            store._call("search", fail)
        assert SECRET not in "".join(traceback.format_exception(caught.value))

    @pytest.mark.parametrize(
        ("module", "place", "extra"),
        [
            ("pymilvus", "localhost:19530/db", "milvus"),
            ("pymilvus", "{folder}/kb.db", "milvus-embedded"),
            ("milvus_lite", "{folder}/kb.db", "milvus-embedded"),
        ],
    )
    def test_missing_packages(self, module: str, place: str, extra: str, folder: Path) -> None:
        address = f"milvus://{place.format(folder=folder)}?collection=docs"
        program = f"""
            import sys
            sys.modules[{module!r}] = None
            from vecstore import BackendNotInstalledError, open_store
            try:
                open_store({address!r})
            except BackendNotInstalledError as error:
                print(error)
        """
        ran = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(program)],
            capture_output=True,
            text=True,
            check=True,
        )
        assert install_line(extra) in ran.stdout
        assert issubclass(BackendNotInstalledError, ImportError)
