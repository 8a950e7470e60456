"""Where the store on Redis finds its server, and what it leaves alone there."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import redis

from vecstore import (
    BackendError,
    ConfigurationError,
    DimensionMismatchError,
    Document,
    DocumentError,
    DuplicateDocumentError,
    F,
    RedisStore,
    Schema,
    SchemaMismatchError,
    ScopeError,
    UnsupportedFilterError,
    open_store,
)
from vecstore.dialects.redis.embedded import EmbeddedServer, _listens
from vecstore.dialects.redis.embedded import _answers as answers_there
from vecstore.dialects.redis.records import Records


def document(id: str, **metadata: Any) -> Document:
    return Document(f"text of {id}", metadata, id, [1.0, float(len(metadata))])


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("places") / "data"
    server = EmbeddedServer(folder)
    yield folder
    server.close()


@pytest.fixture
def client(data: Path) -> Iterator[Any]:
    address = (data / "vecstore.socket").read_text("utf-8")
    with redis.Redis(unix_socket_path=address, protocol=3) as client:
        yield client
        client.flushall()


def test_an_address_of_a_folder(data: Path, client: Any) -> None:
    address = f"redis+embedded://{data}?index=docs&metric=dot"
    with open_store(address, dimension=2) as store:
        assert store.add([document("a", n=1)]) == ["a"]
        assert store.metric == "dot"
    with open_store(f"{address}&create=false") as again:
        assert [one.metadata for one in again.get(["a"])] == [{"n": 1}]


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("redis://localhost", "name the index"),
        ("redis://localhost/1?index=docs", "database 0 alone"),
        ("redis+embedded:?index=docs", "lies in a folder"),
        ("redis://localhost?index=a:b", "an index has a name"),
        ("redis://localhost?index=docs&timeout=0", "a number of seconds above 0"),
        ("redis+embedded:///no/such/folder?index=docs", "does not exist"),
    ],
)
def test_addresses_that_cannot_work(address: str, told: str) -> None:
    with pytest.raises(ConfigurationError, match=told):
        open_store(address)


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letter").write_text("mine")
    with pytest.raises(ConfigurationError, match="holds other files"):
        RedisStore("docs", path=tmp_path)
    assert [one.name for one in tmp_path.iterdir()] == ["letter"]


def test_a_server_that_is_not_there_shows_no_password() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(BackendError) as caught:
        open_store(f"redis://me:swordfish@127.0.0.1:{port}/0?index=docs", timeout=2)
    assert caught.value.retryable
    assert "swordfish" not in f"{caught.value!r}{caught.value.__cause__!r}"


def test_what_was_sent_is_not_sent_again_by_itself() -> None:
    """It may have been done: a client of redis would try three times more."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        connections = []

        def serve() -> None:
            with suppress(OSError):  # the server is closed
                while True:
                    connection, _ = server.accept()
                    connections.append(connection)
                    connection.recv(1_000)
                    connection.close()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        address = f"redis://127.0.0.1:{server.getsockname()[1]}/0?index=docs"
        with pytest.raises(BackendError):
            open_store(address, timeout=20)
        server.shutdown(socket.SHUT_RDWR)
        thread.join(20)
    assert len(connections) == 1


def test_a_client_of_the_callers_own(client: Any) -> None:
    with RedisStore("docs", client=client, dimension=2, create=True) as store:
        assert store.native is client
        store.add([document("a")])
    assert client.ping()
    path = client.connection_pool.connection_kwargs["path"]
    for options, told in (
        ({"protocol": 2}, "RESP3"),
        ({"protocol": 3, "decode_responses": True}, "decode_responses"),
        ({"protocol": 3, "db": 1}, "another database"),
    ):
        with redis.Redis(unix_socket_path=path, **options) as other:
            with pytest.raises(ConfigurationError, match=told):
                RedisStore("docs", client=other)


def test_what_others_keep_beside_the_documents_stays(client: Any) -> None:
    client.set("vecstore:docs:text", "mine")
    client.hset("vecstore:docs:hash", mapping={"theirs": "1"})
    client.hset("vecstore:docs2:a", mapping={"metadata": "{}"})
    with RedisStore("docs", client=client, dimension=2, create=True) as store:
        store.add([document("a"), document("b")])
        assert store.count() == 2
        assert {one.id for one in store.scan()} == {"a", "b"}
        assert store.get(["text", "hash"]) == []
        assert store.delete(["text", "hash"]) == 0
        with pytest.raises(DocumentError, match="somebody else wrote"):
            store.add([document("c"), document("text")])
        assert store.count() == 2
        assert store.clear() == 2
        assert store.count() == 0
    assert client.get("vecstore:docs:text") == b"mine"
    assert client.hgetall("vecstore:docs:hash") == {b"theirs": b"1"}
    assert client.hgetall("vecstore:docs2:a") == {b"metadata": b"{}"}


def test_hostile_ids_and_keys_are_what_they_are(client: Any) -> None:
    ids = ["a:b", "*", "a b", "\x01", "é\n", "{x}", "../up", "' OR 1"]
    schema = Schema({"k": "any"}, others="allow")
    with RedisStore("docs", client=client, dimension=2, create=True, schema=schema) as store:
        store.add([document(id, **{"k": id, "a}|b": id}) for id in ids])
        for id in ids:
            assert [one.id for one in store.get(filter=F.k == id)] == [id]
            assert [one.id for one in store.get(filter=F["a}|b"] == id)] == [id]
        assert store.delete(["*"]) == 1
        assert store.count() == len(ids) - 1


def test_the_layout_is_noted_and_holds_for_whoever_opens_it(client: Any) -> None:
    schema = Schema({"year": int, "day": str}, others="allow")
    with RedisStore("docs", client=client, dimension=2, create=True, schema=schema) as store:
        store.add([document("a", year=1), document("b", year=3, day="2024-01-02")])
    note = json.loads(client.get("vecstore-layout:docs"))
    assert (note["version"], note["dimension"], note["metric"]) == (1, 2, "cosine")
    with RedisStore("docs", client=client) as store:
        assert store.dimension == 2
        assert [one.id for one in store.get(filter="year > 2")] == ["b"]
        assert [one.id for one in store.get(filter="day < '2024-02'")] == ["b"]
        with pytest.raises(UnsupportedFilterError, match="declared"):
            store.count("n > 1")
        with pytest.warns(UserWarning, match="evaluate"):
            assert store.count("n > 1", residual="evaluate") == 0
    with pytest.raises(SchemaMismatchError, match=r"by cosine and not by dot.*2 dimensions"):
        RedisStore("docs", client=client, metric="dot", dimension=3)
    client.set("vecstore-layout:docs", json.dumps({**note, "version": 9}))
    with pytest.raises(SchemaMismatchError, match="version 9 and not 1"):
        RedisStore("docs", client=client)


def test_a_damaged_note_is_told_with_the_line_that_puts_it_right(client: Any) -> None:
    with RedisStore("docs", client=client, dimension=2, create=True, numbers=["n"]) as store:
        store.add([document("a", n=1)])
    key = "vecstore-layout:docs"
    note = json.loads(client.get(key))
    damaged: list[Any] = [
        *({**note, "dimension": bad} for bad in ("x", "2", -2, 0, True, None, 2.0, [2])),
        *({**note, "numbers": bad} for bad in ("n", ["n"], [[1]], [[]], {"n": 1}, None, 1)),
        *({**note, "texts": bad} for bad in ("n", [["n", None]])),
        {name: note[name] for name in note if name != "dimension"},
        {**note, "dimension": 3},  # the index has another, and would find no vector
        None,
        [],
        "note",
        1,
    ]
    texts = ["{", "", "[" * 100_000, "\xff", *map(json.dumps, damaged)]
    for text in texts:
        client.set(key, text)
        with pytest.raises(SchemaMismatchError, match="'vecstore-layout:docs' says") as caught:
            RedisStore("docs", client=client, numbers=["n"])
    client.delete(key)
    client.rpush(key, "1")
    with pytest.raises(SchemaMismatchError, match="'vecstore-layout:docs' says") as caught:
        RedisStore("docs", client=client, dimension=2, numbers=["n"])
    [right] = re.findall(f"SET {key} '(.*?)'", str(caught.value))
    client.set(key, right)
    with RedisStore("docs", client=client) as store:
        assert [one.id for one in store.get(filter="n > 0")] == ["a"]
        assert [one.id for one in store.search(vector=[1, 1])] == ["a"]


@pytest.mark.parametrize("others", [{"theirs": "1"}, {"metadata": ""}, {"metadata": "[]"}])
def test_a_hash_of_others_has_its_id(client: Any, others: dict[str, str]) -> None:
    """As a row in a table of SQL has that is no document."""
    client.hset("vecstore:docs:b", mapping=others)
    held = client.hgetall("vecstore:docs:b")
    with RedisStore("docs", client=client, dimension=2, create=True) as store:
        with pytest.raises(DuplicateDocumentError) as caught:
            store.add([document("a"), document("b")], on_conflict="error")
        assert (caught.value.ids, store.count()) == (["b"], 0)
        assert store.add([document("a"), document("b")], on_conflict="skip").skipped == ("b",)
        with pytest.raises(ScopeError):
            store.scoped(F.n == 1).add([document("b", n=1)])
        assert client.hgetall("vecstore:docs:b") == held
        assert store.add([document("b", n=2)]) == ["b"]
        assert store.get(["b"])[0].metadata == {"n": 2}
        assert b"theirs" not in client.hgetall("vecstore:docs:b")


def test_a_hash_that_others_write_meanwhile_is_not_replaced(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with RedisStore("docs", client=client, dimension=2, create=True) as store:
        store.add([document("a")])
        write = Records.write

        def later(*arguments: Any, **options: Any) -> bool:
            client.hset("vecstore:docs:b", mapping={"theirs": "1"})
            return write(*arguments, **options)

        monkeypatch.setattr(Records, "write", later)
        assert store.add([document("b"), document("c")], on_conflict="skip").skipped == ("b",)
        assert [one.id for one in store.scan()] == ["a", "c"]
        assert client.hgetall("vecstore:docs:b") == {b"theirs": b"1"}


def test_indexes_of_others_are_refused(client: Any) -> None:
    client.execute_command("FT.CREATE", "docs", "SCHEMA", "t", "TAG")
    with pytest.raises(SchemaMismatchError, match="not in vecstore's layout"):
        RedisStore("docs", client=client, dimension=2, create=True)
    with pytest.raises(SchemaMismatchError, match="create=True"):
        RedisStore("others", client=client)


def test_an_index_that_was_dropped_is_told_and_made_anew(client: Any) -> None:
    with RedisStore("docs", client=client, dimension=2, create=True) as store:
        store.add([document(f"{n}", n=n) for n in range(3_000)])
        client.execute_command("FT.DROPINDEX", "docs")
        with pytest.raises(BackendError, match="open the store anew"):
            store.count()
    with RedisStore("docs", client=client) as store:
        assert store.count() == 3_000
        client.flushall()
        with pytest.raises(BackendError, match="nothing was written"):
            store.add([document("a")])
    assert client.keys() == []


def test_of_two_that_make_an_index_the_first_decides(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with RedisStore("docs", client=client, create=True) as store:
        make = store._make_collection

        def later(dimension: int) -> None:
            RedisStore("docs", client=client, create=True, dimension=3).close()
            make(dimension)

        monkeypatch.setattr(store, "_make_collection", later)
        with pytest.raises(DimensionMismatchError):
            store.add([document("a")])
        assert store.count() == 0
    assert json.loads(client.get("vecstore-layout:docs"))["dimension"] == 3


def test_a_filter_of_many_alternatives_is_evaluated_when_asked_for(client: Any) -> None:
    filter = " OR ".join(f"(a == {number} AND b != {number})" for number in range(30))
    with RedisStore("docs", client=client, dimension=2, create=True) as store:
        store.add([document(f"{n}", a=n % 40, b=n % 7) for n in range(200)])
        with pytest.raises(UnsupportedFilterError, match='residual="evaluate"'):
            store.count(filter)
        expected = sum(n % 40 < 30 and n % 7 != n % 40 for n in range(200))
        with pytest.warns(UserWarning, match="evaluate"):
            assert store.count(filter, residual="evaluate") == expected


def test_what_changes_after_it_was_read_is_judged_again(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        RedisStore("docs", client=client, dimension=2, create=True) as store,
        RedisStore("docs", client=client) as other,
    ):
        store.add([document("a", n=1), document("b", n=1), document("c", n=1)])
        script = Records._script

        def later(self: Records, *arguments: Any) -> Any:
            monkeypatch.setattr(Records, "_script", script)
            other.update_metadata(set={"n": 2}, ids=["a"])
            other.update_metadata(set={"more": 1}, ids=["b"])
            return script(self, *arguments)

        monkeypatch.setattr(Records, "_script", later)
        assert store.delete(filter="n == 1") == 2
        assert [one.id for one in store.scan()] == ["a"]


def test_a_number_that_is_unset_is_ordered_no_more(client: Any) -> None:
    with RedisStore("docs", client=client, dimension=2, create=True, numbers=["n"]) as store:
        store.add([document("a", n=1), document("b", n=2), document("c", n=3)])
        store.update_metadata(unset=["n"], ids=["a"])
        store.update_metadata(set={"n": "text"}, ids=["b"])
        assert store.count("n > 0") == 1
        store.add([document("c", n=[3])])
        assert store.count("n > 0") == 0


def test_a_search_keeps_to_every_part_of_an_or(client: Any) -> None:
    filter = "(k == 'a' AND n != 1) OR (k == 'b' AND n != 2)"
    with RedisStore("docs", client=client, dimension=2, create=True) as store:
        store.add([document(f"{k}{n}", k=k, n=n) for k in "abc" for n in range(3)])
        found = store.search(vector=[1, 0], top_k=3, filter=filter)
        assert [one.id for one in found] == ["a0", "a2", "b0"]


# --- the embedded server ------------------------------------------------------------------------


def ended(address: str) -> bool:
    ends = time.monotonic() + 60
    while os.path.exists(address) and time.monotonic() < ends:
        time.sleep(0.02)
    return not os.path.exists(address)


def test_a_server_ends_with_its_last_user_and_keeps_its_documents(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with RedisStore("docs", path=folder, dimension=2) as one:
        with RedisStore("docs", path=folder) as other:
            one.add([document("a", n=1)])
            assert other.count("n == 1") == 1
        address = (folder / "vecstore.socket").read_text("utf-8")
        assert one.count() == 1
    assert not os.path.exists(address)
    with RedisStore("docs", path=folder) as again:
        assert [one.id for one in again.search(vector=[1, 1], filter="n == 1")] == ["a"]


def test_a_server_ends_with_a_user_that_was_killed(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    program = textwrap.dedent(
        f"""
        import sys
        from vecstore import Document, RedisStore
        store = RedisStore("docs", path={str(folder)!r}, dimension=2)
        store.add([Document("text", {{}}, "a", [1.0, 0.0])])
        print("there", flush=True)
        sys.stdin.read()
        """
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as user:
        assert user.stdout is not None
        assert user.stdout.readline() == "there\n"
        address = (folder / "vecstore.socket").read_text("utf-8")
        user.send_signal(signal.SIGKILL)
    assert ended(address)
    with RedisStore("docs", path=folder) as store:
        assert store.count() == 1


def killed(store: RedisStore, keeper: bool) -> None:
    """Kill the server of a store, or the program that keeps it."""
    server = store.native.info("server")["process_id"]
    status = Path(f"/proc/{server}/status").read_text("utf-8")
    parent = int(re.findall(r"^PPid:\s+(\d+)", status, re.MULTILINE)[0])
    os.kill(parent if keeper else server, signal.SIGKILL)
    # The system closes its socket last. What a killed keeper left behind ends by itself.
    while _listens(store.native.connection_pool.connection_kwargs["path"]):
        time.sleep(0.01)


@pytest.mark.parametrize("keeper", [False, True])
def test_a_server_that_was_killed_is_started_again(tmp_path: Path, keeper: bool) -> None:
    folder = tmp_path / "data"
    with (
        RedisStore("docs", path=folder, dimension=2, numbers=["n"]) as first,
        RedisStore("docs", path=folder) as second,
    ):
        first.add([document(f"{n}", n=n) for n in range(2_000)])
        place = Path(first.native.connection_pool.connection_kwargs["path"]).parent
        killed(first, keeper)
        with RedisStore("docs", path=folder) as new:
            assert new.count("n >= 1000") == 1_000
        assert not place.exists()
        for store in (first, second):
            with pytest.raises(BackendError, match="was gone, and runs again") as caught:
                store.count()
            assert caught.value.retryable
            assert store.count("n < 10") == 10
            assert len(store.search(vector=[1, 1], top_k=5)) == 5
        assert first.add([document("more", n=1)]) == ["more"]
        assert second.get(["more"])[0].metadata == {"n": 1}
        # And where the open store is the first to notice.
        killed(second, keeper)
        with pytest.raises(BackendError, match="send it once more"):
            second.add([document("last")])
        second.add([document("last")])
        assert second.count() == 2_002
        with pytest.raises(BackendError, match="runs again"):
            first.count()
        assert first.count() == 2_002
        address = second.native.connection_pool.connection_kwargs["path"]
    assert ended(address)
    with RedisStore("docs", path=folder) as again:
        assert again.count() == 2_002


def test_two_processes_use_one_server(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    program = textwrap.dedent(
        f"""
        from vecstore import Document, RedisStore
        with RedisStore("docs", path={str(folder)!r}, dimension=2) as store:
            store.add([Document("text", {{}}, "theirs", [1.0, 0.0])])
        """
    )
    with RedisStore("docs", path=folder, dimension=2) as store:
        subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
        assert store.count() == 1
        address = (folder / "vecstore.socket").read_text("utf-8")
    assert not os.path.exists(address)


def test_a_copy_of_a_folder_has_a_server_of_its_own(tmp_path: Path) -> None:
    with RedisStore("docs", path=tmp_path / "data", dimension=2) as store:
        store.add([document("a")])
        shutil.copytree(tmp_path / "data", tmp_path / "copy")
        with RedisStore("docs", path=tmp_path / "copy", dimension=2) as copy:
            copy.clear()
        assert store.count() == 1


def test_a_busy_server_is_waited_for_and_gets_no_second_one_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = str(tmp_path / "socket")
    with socket.socket(socket.AF_UNIX) as busy:
        busy.bind(place)
        busy.listen()
        (tmp_path / "vecstore.turn").touch()
        (tmp_path / "vecstore.socket").write_text(place)
        monkeypatch.setattr("vecstore.dialects.redis.embedded._PATIENCE", 0.2)
        with pytest.raises(BackendError, match="does not answer") as caught:
            RedisStore("docs", path=tmp_path, dimension=2)
    assert caught.value.retryable
    assert (tmp_path / "vecstore.socket").read_text() == place


@pytest.mark.parametrize(
    ("answers", "outcome"),
    [
        (["-LOADING Redis is loading the dataset in memory"] * 3 + ["+PONG"], True),
        (["-BUSY Redis is busy running a script"], None),
    ],
)
def test_a_server_that_still_reads_its_folder_is_waited_for(
    tmp_path: Path, answers: list[str], outcome: bool | None
) -> None:
    place, told = str(tmp_path / "socket"), os.fsencode(tmp_path)
    pings = iter(answers)

    def serve(listening: socket.socket) -> None:
        with suppress(OSError, StopIteration):
            while True:
                connection, _ = listening.accept()
                with connection, connection.makefile("rb") as asked:
                    while head := asked.readline():
                        words = [asked.readline() for _ in range(2 * int(head[1:]))][1::2]
                        answer = b"+OK"
                        if words[0].strip() == b"HELLO":
                            answer = b"%1\r\n$5\r\nproto\r\n:3"
                        elif words[0].strip() == b"CONFIG":
                            answer = b"%%1\r\n$3\r\ndir\r\n$%d\r\n%s" % (len(told), told)
                        elif words[0].strip() == b"PING":
                            answer = next(pings).encode()
                        connection.sendall(answer + b"\r\n")

    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(place)
        listening.listen()
        threading.Thread(target=serve, args=(listening,), daemon=True).start()
        if outcome is None:
            with pytest.raises(BackendError, match="does not answer"):
                answers_there(place, tmp_path)
        else:
            assert answers_there(place, tmp_path) is outcome
    assert next(pings, None) is None


def test_an_interrupted_call_leaves_no_answer_for_the_next_one(
    data: Path, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = redis.Redis.parse_response

    def interrupted(*arguments: Any, **options: Any) -> Any:
        raise KeyboardInterrupt

    with RedisStore("docs", path=data, dimension=2) as store:
        store.add([document(f"{n}", n=n % 3) for n in range(10)])
        client.execute_command("CLIENT", "PAUSE", 300, "ALL")
        monkeypatch.setattr(redis.Redis, "parse_response", interrupted)
        with pytest.raises(KeyboardInterrupt):
            store.count("n == 0")
        monkeypatch.setattr(redis.Redis, "parse_response", read)
        assert store.count("n == 1") == 3


def test_metadata_of_others_that_is_nested_too_deep_stops_no_search(client: Any) -> None:
    with RedisStore("docs", client=client, dimension=2, create=True) as store:
        store.add([document("a")])
        client.hset("vecstore:docs:a", "metadata", "[" * 100_000)
        with pytest.warns(UserWarning, match="no document"):
            assert store.search(vector=[1, 0]) == []
        client.set("vecstore-layout:docs", "[" * 100_000)
        with pytest.raises(SchemaMismatchError, match="cannot be read"):
            RedisStore("docs", client=client)
