"""Addresses, folders and clients: who opens, who closes, and what never shows."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import traceback
import warnings
from pathlib import Path
from typing import Any

import pytest
from qdrant_client import QdrantClient

from tests.engines.loopback import json_service
from vecstore import BackendError, ConfigurationError, Document, open_store
from vecstore.dialects.qdrant.store import QdrantStore
from vecstore.installing import install_line

SECRET = "hunter2-password"
DOCUMENT = Document("text", {"n": 1}, id="a", embedding=[1, 0])


class TestClients:
    def test_a_client_given_stays_open(self) -> None:
        client = QdrantClient(":memory:")
        with QdrantStore("docs", client=client, dimension=2) as store:
            assert store.native is client
        assert client.collection_exists("docs")
        client.close()

    @pytest.mark.parametrize("options", [{}, {"client": "both", "location": ":memory:"}])
    def test_one_way_to_the_engine(self, options: dict[str, Any]) -> None:
        if options:
            options = {**options, "client": QdrantClient(":memory:")}
        with pytest.raises(ConfigurationError, match=r"where Qdrant is|either a client"):
            QdrantStore("docs", **options)

    @pytest.mark.wide
    def test_a_folder_that_another_process_has_open(self, tmp_path: Path) -> None:
        program = f"""
            from vecstore.dialects.qdrant.store import QdrantStore
            with QdrantStore("docs", path={str(tmp_path)!r}, dimension=2):
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
            with pytest.raises(BackendError, match="already accessed by another client"):
                QdrantStore("docs", path=str(tmp_path))
            other.stdin.write("\n")
            other.stdin.close()
            assert other.wait(60) == 0
        QdrantStore("docs", path=str(tmp_path)).close()

    def test_a_missing_package(self) -> None:
        program = """
            import sys
            sys.modules["qdrant_client"] = None
            from vecstore import BackendNotInstalledError, open_store
            try:
                open_store("qdrant:?collection=docs")
            except BackendNotInstalledError as error:
                print(error)
        """
        ran = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(program)],
            capture_output=True,
            text=True,
            check=True,
        )
        assert install_line("qdrant") in ran.stdout


class TestAddresses:
    def test_memory_and_folder(self, tmp_path: Path) -> None:
        with open_store("qdrant:?collection=docs&metric=dot&dimension=2") as store:
            assert store.add([DOCUMENT]) == ["a"]
        url = f"qdrant://{tmp_path}?collection=docs"
        with open_store(url, dimension=2) as store:
            store.add([DOCUMENT])
        with open_store(url) as store:
            assert [one.id for one in store.search(vector=[1, 0], filter="n == 1")] == ["a"]

    def test_a_server_and_its_key(self) -> None:
        asked: list[str] = []

        def answer(method: str, path: str, body: Any) -> tuple[int, Any]:
            asked.append(path)
            return 200, {"result": {"exists": False}, "status": "ok", "time": 0.0}

        with json_service(answer) as address:
            host = address.removeprefix("http://")
            open_store(f"qdrant://{host}/kb?create=true&timeout=5").close()
        assert asked == ["/collections/kb/exists"]

    @pytest.mark.parametrize(
        ("url", "words"),
        [
            ("qdrant:", "name the collection"),
            ("qdrant://host:6333", "name the collection"),
            ("qdrant://root:pw@host/docs", "no users; pass api_key"),
            ("qdrant://host/docs?api_key=x", "secret"),
            ("qdrant://host/docs?exact=maybe", "'maybe'"),
            ("qdrant:?collection=docs&indexes=x", "by keyword"),
            ("qdrant:?collectoin=docs", "did you mean 'collection'"),
        ],
    )
    def test_what_is_no_address(self, url: str, words: str) -> None:
        with pytest.raises(ConfigurationError, match=words) as caught:
            open_store(url)
        assert "pw" not in str(caught.value)

    @pytest.mark.parametrize("status", [401, 503])
    def test_the_key_is_never_shown(
        self, status: int, caplog: pytest.LogCaptureFixture, recwarn: pytest.WarningsRecorder
    ) -> None:
        def answer(method: str, path: str, body: Any) -> tuple[int, Any]:
            return status, {"status": {"error": f"the key {SECRET} is not known"}, "time": 0.0}

        with json_service(answer) as url:
            with warnings.catch_warnings():
                # The client warns of a key that travels unencrypted, and rightly so.
                warnings.filterwarnings("ignore", "Api key is used with an insecure connection")
                with pytest.raises(BackendError, match=r"the key \*\*\* is not known") as caught:
                    QdrantStore("docs", url=url, api_key=SECRET)
        assert caught.value.retryable == (status == 503)
        assert SECRET not in "".join(traceback.format_exception(caught.value)) + caplog.text

    def test_a_server_that_is_not_there(self) -> None:
        with pytest.raises(BackendError, match="Qdrant refused open") as caught:
            open_store("qdrant://127.0.0.1:1/docs", timeout=1)
        assert caught.value.retryable

    def test_grpc_where_nobody_listens(self) -> None:
        """Shows that calls take that way; what comes back needs a server."""
        with pytest.raises(BackendError) as caught:
            QdrantStore("docs", url="http://127.0.0.1:1", grpc_port=1, prefer_grpc=True, timeout=1)
        assert "grpc" in type(caught.value.__cause__).__module__
        assert caught.value.retryable
