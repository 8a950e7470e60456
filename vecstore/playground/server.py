"""The playground on this machine: the page, and Python behind it.

Whoever can talk to a port of this machine is not whoever sits at it: other users, and every page
that is open in a browser. So the address holds a token that cannot be guessed, the host and the
origin of a request have to be the server's own, and what is served are the files of one table.
Filters are compiled, and never run: no store and no network can be reached from here.
"""

from __future__ import annotations

import hmac
import secrets
import socket
import sys
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any

from vecstore.playground.answer import BadRequest, answer_json

LOOPBACK = "127.0.0.1"
LARGEST_REQUEST = 1_048_576
"""Bytes in what the page may send."""
SECONDS_TO_SEND = 20.0
"""After so long without a byte a connection is closed."""

_TYPES = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "json": "application/json",
    "svg": "image/svg+xml",
}
_SERVED = ("playground.css", "playground.js", "docstrings.json", "icon.svg")
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",  # the address holds the token
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


def asset(name: str) -> bytes:
    """A file of the page."""
    return files("vecstore.playground").joinpath("assets", name).read_bytes()


def page(engine: str, place: str = "", version: str = "") -> str:
    """The page between ``<body>`` and ``</body>``.

    Args:
        engine: What answers: ``"local"`` is this server, ``"pyodide"`` Python in the browser, and
            with ``"none"`` the page says how to run it.
        place: Where its files lie, relative to the page, with a slash at the end.
        version: Of vecstore, to be shown.
    """
    written = asset("playground.html").decode("utf-8")
    for name, value in (("engine", engine), ("place", place), ("version", version)):
        written = written.replace("{{" + name + "}}", value)
    return written


class PlaygroundServer(ThreadingHTTPServer):
    """Serves the page to this machine, at an address that holds a token.

    Args:
        port: Where it listens; 0 is any that is free.

    Attributes:
        token: What the address holds.
        address: What to open in a browser.

    Raises:
        OSError: If the port is taken, or may not be used.

    Example:
        >>> with PlaygroundServer() as server:
        ...     server.address.startswith("http://127.0.0.1:")
        True
    """

    daemon_threads = True
    allow_reuse_address = False  # on Windows it would let a second server listen beside this one

    def __init__(self, port: int = 0) -> None:
        super().__init__((LOOPBACK, port), _Handler)
        from vecstore import __version__

        self.token = secrets.token_urlsafe(24)
        own = self.server_address[1]
        self.hosts = (f"{LOOPBACK}:{own}", f"localhost:{own}")
        self.address = f"http://{LOOPBACK}:{own}/{self.token}/"
        shell = asset("shell.html").decode("utf-8")
        whole = shell.replace("{{page}}", page("local", "", __version__)).encode("utf-8")
        self.files: dict[str, tuple[str, bytes]] = {
            name: (_TYPES[name.rpartition(".")[2]], asset(name)) for name in _SERVED
        }
        self.files[""] = (_TYPES["html"], whole)

    def server_bind(self) -> None:
        """Bind, without asking the network for this machine's name as the base class does."""
        if hasattr(socket, "SO_EXCLUSIVEADDRUSE"):
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        elif hasattr(socket, "SO_REUSEADDR"):  # so that --port can be used again at once
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = LOOPBACK, int(self.server_address[1])

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Write a traceback, but not for a browser that closes a connection early."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


class _Refusal(Exception):
    """A request that is not answered: a status, and why."""

    def __init__(self, status: HTTPStatus, why: str) -> None:
        super().__init__(why)
        self.status = status


class _Handler(BaseHTTPRequestHandler):
    server: PlaygroundServer
    protocol_version = "HTTP/1.1"
    timeout = SECONDS_TO_SEND
    server_version, sys_version = "vecstore", ""

    def do_GET(self) -> None:
        self._answer(self._file)

    do_HEAD = do_GET

    def do_POST(self) -> None:
        self._answer(self._reply)

    def _answer(self, made: Any) -> None:
        try:
            kind, content = made(self._name())
            status = HTTPStatus.OK
        except _Refusal as refusal:
            # What is left of the request is not read, so nothing can follow it.
            self.close_connection = True
            kind, content = "text/plain; charset=utf-8", f"{refusal}\n".encode()
            status = refusal.status
        self.send_response(status)
        for header, value in _HEADERS.items():
            self.send_header(header, value)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def _name(self) -> str:
        """What is asked for, of whoever may ask for it."""
        hosts = self.headers.get_all("Host", [])
        if len(hosts) != 1 or hosts[0] not in self.server.hosts:
            # Another name that leads here is a page that had its own name point to this machine.
            raise _Refusal(HTTPStatus.MISDIRECTED_REQUEST, "this is not the host you asked for")
        origins = self.headers.get_all("Origin", [])
        if any(origin != f"http://{hosts[0]}" for origin in origins):
            raise _Refusal(HTTPStatus.FORBIDDEN, "another page may not ask this one")
        token, slash, name = self.path.removeprefix("/").partition("/")
        if not hmac.compare_digest(token.encode(), self.server.token.encode()) or not slash:
            raise _Refusal(
                HTTPStatus.FORBIDDEN,
                "open the whole address that `vecstore playground` has printed",
            )
        return name.partition("?")[0]

    def _file(self, name: str) -> tuple[str, bytes]:
        found = self.server.files.get(name)
        if found is None:
            raise _Refusal(HTTPStatus.NOT_FOUND, "there is no such file")
        return found

    def _reply(self, name: str) -> tuple[str, bytes]:
        if name != "answer":
            raise _Refusal(HTTPStatus.NOT_FOUND, "there is nothing to ask")
        if not self.headers.get("Origin"):
            raise _Refusal(HTTPStatus.FORBIDDEN, "the page says where it comes from")
        if self.headers.get("Sec-Fetch-Site", "same-origin") != "same-origin":
            raise _Refusal(HTTPStatus.FORBIDDEN, "another page may not ask this one")
        if self.headers.get_content_type() != "application/json":
            raise _Refusal(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "send application/json")
        lengths = self.headers.get_all("Content-Length", [])
        if "Transfer-Encoding" in self.headers or len(lengths) != 1:
            raise _Refusal(HTTPStatus.LENGTH_REQUIRED, "say how long it is, once")
        if not (lengths[0].isascii() and lengths[0].isdigit() and len(lengths[0]) < 20):
            raise _Refusal(HTTPStatus.BAD_REQUEST, "a length is a number")
        length = int(lengths[0])
        if length > LARGEST_REQUEST:
            raise _Refusal(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"at most {LARGEST_REQUEST:,} bytes are read"
            )
        body = self.rfile.read(length)
        if len(body) < length:
            raise _Refusal(HTTPStatus.BAD_REQUEST, "it is shorter than it was said to be")
        try:
            return _TYPES["json"], answer_json(body.decode("utf-8")).encode("utf-8")
        except UnicodeDecodeError:
            raise _Refusal(HTTPStatus.BAD_REQUEST, "it is not UTF-8") from None
        except BadRequest as error:
            raise _Refusal(HTTPStatus.BAD_REQUEST, str(error)) from None
        except Exception:
            self.server.handle_error(self.request, self.client_address)
            raise _Refusal(
                HTTPStatus.INTERNAL_SERVER_ERROR, "a fault of vecstore's own; the terminal shows it"
            ) from None

    def log_message(self, format: str, *arguments: Any) -> None:
        """Nothing: a line would hold the token."""
