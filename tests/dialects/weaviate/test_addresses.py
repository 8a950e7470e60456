"""Where a Weaviate server is, and what is said where none answers; without a server."""

from __future__ import annotations

import re
import socket
import sys
import traceback
from collections.abc import Iterator
from typing import Any

import pytest

from vecstore import (
    BackendError,
    BackendNotInstalledError,
    ConfigurationError,
    open_store,
)
from vecstore.dialects.weaviate.client import ServerAddress
from vecstore.dialects.weaviate.store import WeaviateStore
from vecstore.installing import install_line

KEY = "hunter2-password"


@pytest.fixture
def nowhere() -> Iterator[str]:
    """The address of a port on which nobody listens, and which nobody else gets."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


class TestPlaces:
    @pytest.mark.parametrize(
        ("url", "place"),
        [
            ("http://localhost:8080", ("localhost", 50_051)),
            ("https://w.example.com", ("w.example.com", 50_051)),
            (
                "https://a.c0.europe.gcp.weaviate.cloud",
                ("grpc-a.c0.europe.gcp.weaviate.cloud", 443),
            ),
            ("https://a.weaviate.network", ("a.grpc.weaviate.network", 443)),
            ("https://weaviate.cloud.example.com", ("weaviate.cloud.example.com", 50_051)),
            ("http://[::1]:8080", ("::1", 50_051)),
        ],
    )
    def test_where_grpc_is(self, url: str, place: tuple[str, int]) -> None:
        assert ServerAddress(url=url).grpc_place() == place
        said = ServerAddress(url=url, grpc_host="g", grpc_port=7)
        assert said.grpc_place() == ("g", 7)

    @pytest.mark.parametrize(
        ("url", "rest", "grpc"),
        [
            ("http://h", "http://h:80", "h:50051"),
            ("https://h", "https://h:443", "h:50051"),
            ("http://[::1]:8080", "http://[::1]:8080", "[::1]:50051"),
        ],
    )
    def test_what_the_client_is_told(self, url: str, rest: str, grpc: str) -> None:
        client = ServerAddress(url=url, api_key=KEY).client(3)
        parameters = client._connection._connection_params
        assert parameters._http_url == rest
        assert f"{parameters.grpc.host}:{parameters.grpc.port}" == grpc

    def test_the_key_shows_nowhere(self) -> None:
        assert KEY not in repr(ServerAddress(url="http://h", api_key=KEY))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, "either an address or a client: url='http://localhost:8080'"),
        ({"url": ""}, "url is a text, and not an empty one"),
        ({"url": 8080}, "url is a text"),
        ({"url": "localhost:8080"}, "url is the address of Weaviate's REST interface"),
        ({"url": "ftp://h"}, "url is the address of Weaviate's REST interface"),
        ({"url": "http://h/v1"}, "without a user or a path"),
        ({"url": f"http://me:{KEY}@h"}, "without a user or a path"),
        ({"url": "http://h:99999"}, "this is no address of Weaviate: Port out of range"),
        ({"url": "http://[::1"}, "this is no address of Weaviate: Invalid IPv6"),
        ({"url": "http://h", "grpc_port": 70_000}, "grpc_port is the number of a port, not 70000"),
        ({"url": "http://h", "grpc_port": True}, "grpc_port is the number of a port, not True"),
        ({"url": "http://h", "api_key": f"{KEY}é"}, "api_key has printable characters of ASCII"),
        ({"url": "http://h", "api_key": f"{KEY}\nX: y"}, "api_key has printable characters"),
        ({"url": "http://h", "timeout": 0}, "timeout is a number of seconds, not 0"),
        ({"url": "http://h", "timeout": float("inf")}, "timeout is a number of seconds, not inf"),
        ({"url": "http://h", "index": "ivf"}, "index is one of hnsw, flat, not 'ivf'"),
        ({"url": "http://h", "create": "yes"}, "create is True or False, not 'yes'"),
        ({"url": "http://h", "tenant": "a b"}, "name of a tenant .* not 'a b'"),
        ({"url": "http://h", "vector_name": ""}, "vector_name is a text, and not an empty one"),
        ({"url": "http://h", "metric": "manhattan"}, "manhattan"),
        ({"client": object()}, "client is a weaviate.WeaviateClient, not a object"),
        ({"client": object(), "api_key": KEY}, "either a client or an address"),
    ],
)
def test_options_that_cannot_work(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigurationError, match=told) as caught:
        WeaviateStore("Docs", **options)
    assert KEY not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("a b", "such as 'A_b'"),
        ("größe", "such as 'Gr_e'"),
        ("1st", "not '1st'"),
        ("_a", "not '_a'"),
        ("a" * 256, "up to 255"),
        ("", "a collection has a name"),
        (7, "a collection has a name, not 7"),
    ],
)
def test_names_that_no_collection_has(name: Any, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        WeaviateStore(name, url="http://h")


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("weaviate:///Docs", "name the server and the collection: weaviate://localhost:8080/Docs"),
        ("weaviate://h", "name the collection: weaviate://host:8080/"),
        (f"weaviate://me:{KEY}@h/Docs", "no user or password in the address .* api_key="),
        (f"weaviate://h/Docs?api_key={KEY}", "'api_key' is a secret.* by keyword"),
        ("weaviate://h/Docs?shards=2", "there is no option 'shards'"),
        ("weaviate://h/a/b", "not 'a/b'"),
        ("weaviate+https://h/Docs?grpc_port=x", "grpc_port"),
    ],
)
def test_addresses_that_open_nothing(address: str, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told) as caught:
        open_store(address)
    assert KEY not in "".join(traceback.format_exception(caught.value))


def test_nobody_answers(nowhere: str) -> None:
    with pytest.raises(BackendError, match=f"no Weaviate answers at {re.escape(nowhere)} ") as told:
        open_store(nowhere.replace("http", "weaviate") + "/Docs", api_key=KEY)
    assert told.value.retryable
    assert told.value.operation == "open"
    assert KEY not in "".join(traceback.format_exception(told.value))


def test_one_that_takes_calls_and_says_nothing() -> None:
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        mute.listen()
        url = f"http://127.0.0.1:{mute.getsockname()[1]}"
        with pytest.raises(BackendError, match="it takes too long") as told:
            WeaviateStore("Docs", url=url, timeout=0.5)
    assert told.value.retryable


def test_without_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "weaviate", None)
    line = install_line("weaviate")
    with pytest.raises(BackendNotInstalledError, match=re.escape(line)):
        WeaviateStore("Docs", url="http://h")
