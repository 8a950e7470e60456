"""Who is answered, and who is not."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from vecstore.playground import server as module
from vecstore.playground.server import LARGEST_REQUEST, PlaygroundServer

REQUEST = json.dumps({"filter": "a == 1", "documents": ['{"a": 1}']}).encode()


class Reply(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


@pytest.fixture(scope="module")
def server() -> Iterator[PlaygroundServer]:
    with PlaygroundServer() as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.05,))
        thread.start()
        yield made
        made.shutdown()
        thread.join()


def ask(
    server: PlaygroundServer,
    method: str = "GET",
    name: str = "",
    body: bytes | None = None,
    *,
    path: str | None = None,
    **headers: str | None,
) -> Reply:
    """One request; a header given as None is left out, and an underscore stands for a hyphen."""
    sent: dict[str, Any] = {"Host": server.hosts[0]}
    if method == "POST":
        sent |= {"Origin": f"http://{server.hosts[0]}", "Content-Type": "application/json"}
        if body is not None:
            sent["Content-Length"] = str(len(body))
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    connection = http.client.HTTPConnection(*server.server_address[:2], timeout=60)
    try:
        target = f"/{server.token}/{name}" if path is None else path
        connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
        for header, value in sent.items():
            if value is not None:
                connection.putheader(header, value)
        connection.endheaders(body)
        response = connection.getresponse()
        return Reply(response.status, dict(response.getheaders()), response.read())
    finally:
        connection.close()


def test_the_page_and_its_files(server: PlaygroundServer) -> None:
    page = ask(server)
    assert page.status == 200
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    text = page.body.decode()
    assert 'data-engine="local"' in text
    assert "{{" not in text
    assert server.token not in text
    for name, kind in [
        ("playground.js", "text/javascript"),
        ("playground.css", "text/css"),
        ("docstrings.json", "application/json"),
        ("icon.svg", "image/svg+xml"),
    ]:
        reply = ask(server, name=name)
        assert reply.status == 200
        assert reply.headers["Content-Type"].startswith(kind)
        assert reply.body == module.asset(name)
    head = ask(server, "HEAD")
    assert (head.status, head.body) == (200, b"")
    assert head.headers["Content-Length"] == page.headers["Content-Length"]


def test_nothing_from_elsewhere_can_run_in_the_page_or_frame_it(server: PlaygroundServer) -> None:
    for reply in (ask(server), ask(server, path="/")):
        policy = reply.headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert reply.headers["Referrer-Policy"] == "no-referrer"
        assert reply.headers["X-Content-Type-Options"] == "nosniff"
        assert reply.headers["Cache-Control"] == "no-store"
        assert "Access-Control-Allow-Origin" not in reply.headers
        assert "Python" not in reply.headers["Server"]
    text = ask(server).body.decode()
    assert "style=" not in text
    assert "<style" not in text
    assert "http" not in text.replace("http-equiv", "")


def test_an_answer(server: PlaygroundServer) -> None:
    reply = ask(server, "POST", "answer", REQUEST)
    assert reply.status == 200
    assert reply.headers["Content-Type"] == "application/json"
    assert json.loads(reply.body)["documents"][0]["verdict"] == "true"
    # A browser may call this machine by its other name, and then says so in both headers.
    local = server.hosts[1]
    again = ask(server, "POST", "answer", REQUEST, Host=local, Origin=f"http://{local}")
    assert again.body == reply.body


def test_several_answers_come_over_one_connection(server: PlaygroundServer) -> None:
    connection = http.client.HTTPConnection(*server.server_address[:2], timeout=60)
    headers = {
        "Host": server.hosts[0],
        "Origin": f"http://{server.hosts[0]}",
        "Content-Type": "application/json",
    }
    for _ in range(3):
        connection.request("POST", f"/{server.token}/answer", REQUEST, headers)
        response = connection.getresponse()
        assert response.status == 200
        response.read()
        kept = connection.sock
        assert kept is not None
    connection.close()


@pytest.mark.parametrize("name", ["", "playground.js", "answer"])
@pytest.mark.parametrize(
    "path",
    ["/{}", "/", "/wrong/{}", "/{}?token={token}", "/{token}x/{}", "/%00/{}", "http://127.0.0.1/{token}/{}"],
)  # fmt: skip
def test_without_the_token_nothing_is_told(server: PlaygroundServer, path: str, name: str) -> None:
    path = path.replace("{token}", server.token).replace("{}", name)
    for method, body in (("GET", None), ("POST", REQUEST)):
        reply = ask(server, method, body=body, path=path)
        assert reply.status in (403, 400)
        assert server.token.encode() not in reply.body


def test_a_token_in_bytes_that_are_no_text_is_a_wrong_one(server: PlaygroundServer) -> None:
    with socket.create_connection(server.server_address[:2], timeout=60) as raw:
        raw.sendall(b"GET /\xff\xfe/ HTTP/1.1\r\nHost: " + server.hosts[0].encode() + b"\r\n\r\n")
        assert raw.makefile("rb").readline().split()[1] == b"403"


def test_every_server_has_a_token_of_its_own_that_cannot_be_guessed() -> None:
    with PlaygroundServer() as one, PlaygroundServer() as two:
        assert one.token != two.token
        assert len(one.token) >= 32


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:{port}", "127.0.0.1", "localhost", "127.0.0.1:1", "0.0.0.0:{port}",
     "127.0.0.1.evil.example:{port}", "", None],
)  # fmt: skip
def test_another_host_is_refused(server: PlaygroundServer, host: str | None) -> None:
    if host is not None:
        host = host.replace("{port}", str(server.server_port))
    assert ask(server, Host=host).status == 421
    assert ask(server, "POST", "answer", REQUEST, Host=host).status == 421


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "", "https://{host}", "http://{host}.evil.example", "http://localhost"],
)  # fmt: skip
def test_another_origin_is_refused(server: PlaygroundServer, origin: str) -> None:
    origin = origin.replace("{host}", server.hosts[0])
    assert ask(server, "POST", "answer", REQUEST, Origin=origin).status == 403
    assert ask(server, Origin=origin).status == 403


def test_a_request_says_where_it_comes_from_and_what_it_is(server: PlaygroundServer) -> None:
    assert ask(server, "POST", "answer", REQUEST, Origin=None).status == 403
    assert ask(server, "POST", "answer", REQUEST, Sec_Fetch_Site="cross-site").status == 403
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", None):
        assert ask(server, "POST", "answer", REQUEST, Content_Type=kind).status == 415
    assert ask(server, "POST", "answer", REQUEST, Sec_Fetch_Site="same-origin").status == 200


@pytest.mark.parametrize(
    ("length", "status"),
    [(str(LARGEST_REQUEST + 1), 413), ("9" * 19, 413), ("9" * 5_000, 400), ("-1", 400), ("1e3", 400),
     ("²", 400), ("", 400), (None, 411)],
)  # fmt: skip
def test_a_length_that_is_none_or_too_much_is_refused_unread(
    server: PlaygroundServer, length: str | None, status: int
) -> None:
    # Without a body: whoever waited for one would wait here, too.
    reply = ask(server, "POST", "answer", None, Content_Length=length)
    assert reply.status == status
    assert reply.headers["Connection"] == "close"


def test_a_body_in_chunks_is_refused(server: PlaygroundServer) -> None:
    reply = ask(
        server, "POST", "answer", b"0\r\n\r\n", Transfer_Encoding="chunked", Content_Length=None
    )
    assert reply.status == 411


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"\xff\xfe", b'{"filter": 1}', b"[" * 100_000, b'{"filter": "\xed\xa0\x80"}']
)  # fmt: skip
def test_a_body_that_the_page_does_not_send_is_refused(
    server: PlaygroundServer, body: bytes
) -> None:
    assert ask(server, "POST", "answer", body).status == 400


def test_a_body_that_ends_early_is_refused(server: PlaygroundServer) -> None:
    with socket.create_connection(server.server_address[:2], timeout=60) as raw:
        raw.sendall(
            f"POST /{server.token}/answer HTTP/1.1\r\nHost: {server.hosts[0]}\r\n"
            f"Origin: http://{server.hosts[0]}\r\nContent-Type: application/json\r\n"
            "Content-Length: 100\r\n\r\n{".encode()
        )
        raw.shutdown(socket.SHUT_WR)
        assert raw.makefile("rb").readline().split()[1] == b"400"


@pytest.mark.parametrize(
    "name",
    ["../server.py", "..%2fserver.py", "%2e%2e/server.py", "../../../../../../etc/passwd", "playground.js/",
     "./playground.js", "//playground.js", "shell.html", "playground.html", "server.py", "worker.js\x01",
     "answer"],
)  # fmt: skip
def test_only_the_files_of_the_page_are_served(server: PlaygroundServer, name: str) -> None:
    with socket.create_connection(server.server_address[:2], timeout=60) as raw:
        raw.sendall(
            f"GET /{server.token}/{name} HTTP/1.1\r\nHost: {server.hosts[0]}\r\n"
            "Connection: close\r\n\r\n".encode("latin-1")
        )
        status = raw.makefile("rb").readline().split()[1]
    assert status in (b"404", b"400")


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PATCH"])
def test_other_methods_are_not_known(server: PlaygroundServer, method: str) -> None:
    assert ask(server, method).status == 501


def test_two_hosts_in_one_request_are_refused(server: PlaygroundServer) -> None:
    with socket.create_connection(server.server_address[:2], timeout=60) as raw:
        raw.sendall(
            f"GET /{server.token}/ HTTP/1.1\r\nHost: {server.hosts[0]}\r\nHost: evil.example\r\n"
            "Connection: close\r\n\r\n".encode()
        )
        assert raw.makefile("rb").readline().split()[1] == b"421"


def test_only_this_machine_can_connect(server: PlaygroundServer) -> None:
    assert server.socket.getsockname()[0] == "127.0.0.1"


def test_a_silent_connection_is_closed_and_keeps_nobody_waiting(
    server: PlaygroundServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module._Handler, "timeout", 0.2)
    silent = [socket.create_connection(server.server_address[:2], timeout=60) for _ in range(5)]
    silent[0].sendall(b"GET / HT")
    assert ask(server).status == 200
    for connection in silent:
        assert connection.recv(1) == b""  # it was closed at the other end
        connection.close()


def test_a_fault_of_our_own_is_told_here_and_not_there(
    server: PlaygroundServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(text: str) -> str:
        raise RuntimeError("deep inside")

    monkeypatch.setattr(module, "answer_json", broken)
    reply = ask(server, "POST", "answer", REQUEST)
    assert reply.status == 500
    assert b"deep inside" not in reply.body
    told = capsys.readouterr().err
    assert "RuntimeError: deep inside" in told
    assert server.token not in told


def test_requests_leave_no_line_behind(
    server: PlaygroundServer, capfd: pytest.CaptureFixture[str]
) -> None:
    ask(server)
    ask(server, path="/wrong/")
    assert capfd.readouterr() == ("", "")


def test_eight_at_a_time_get_their_own_answers(server: PlaygroundServer) -> None:
    wrong: list[Any] = []

    def work(number: int) -> None:
        for step in range(10):
            body = json.dumps(
                {"filter": f"a == {number}", "documents": [f'{{"a": {step}}}']}
            ).encode()
            told = json.loads(ask(server, "POST", "answer", body).body)
            if told["filter"]["text"] != f"a == {number}" or (
                told["documents"][0]["verdict"] == "true"
            ) is not (number == step):
                wrong.append(told)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
