"""HTTP on this machine, for servers that real clients talk to, and what can go wrong on the way.

One thread serves all ports. A server is started by ``with`` and gone at its end; its ports are
those that the system has free.
"""

from __future__ import annotations

import asyncio
import json
import random
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Literal, Self
from urllib.parse import parse_qsl, unquote, urlsplit

_LONGEST_LINE = 65_536
_LONGEST_BODY = 64_000_000


@dataclass(frozen=True, slots=True)
class Request:
    """What a client asked."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def path(self) -> str:
        return unquote(urlsplit(self.target).path)

    @property
    def query(self) -> list[tuple[str, str]]:
        return parse_qsl(urlsplit(self.target).query, keep_blank_values=True)

    def option(self, name: str) -> str | None:
        return next((value for key, value in self.query if key == name), None)

    def json(self) -> Any:
        return json.loads(self.body) if self.body else {}


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: Any
    headers: dict[str, str] = field(default_factory=dict)


What = Literal["refuse", "cut before", "cut after", "cut midway", "slow"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What happens to a request in the place of its answer.

    Args:
        what: ``"refuse"`` with a status; ``"cut before"`` closes the connection and does nothing;
            ``"cut after"`` does it, and closes in the place of an answer; ``"cut midway"`` closes
            within the answer; ``"slow"`` answers late.
        path: Where; a path that the one of the request starts with.
        times: How many requests.
        after: How many requests pass before.
    """

    what: What
    path: str = ""
    times: int = 1
    after: int = 0
    status: int = 503
    message: str = "the service is busy"
    retry_after: str | None = "0.01"
    seconds: float = 0.0


class Faults:
    """The faults that are still to happen."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: list[list[Any]] = []
        self._storm: tuple[random.Random, float, str] | None = None
        self.happened = 0

    def add(self, fault: Fault) -> None:
        with self._lock:
            self._waiting.append([fault, fault.after, fault.times])

    @contextmanager
    def storm(self, seed: int, share: float, path: str = "") -> Iterator[None]:
        """Let something happen to that share of the requests, of every kind, while the block runs."""
        self._storm = (random.Random(seed), share, path)
        try:
            yield
        finally:
            self._storm = None

    def clear(self) -> None:
        with self._lock:
            self._waiting.clear()

    def next(self, request: Request) -> Fault | None:
        with self._lock:
            fault = self._next(request)
            self.happened += fault is not None
            return fault

    def _next(self, request: Request) -> Fault | None:
        for entry in self._waiting:
            fault, after, left = entry
            if not request.path.startswith(fault.path) or not left:
                continue
            if after:
                entry[1] -= 1
                continue
            entry[2] -= 1
            return fault  # type: ignore[no-any-return]
        if self._storm is not None:
            dice, share, path = self._storm
            if request.path.startswith(path) and dice.random() < share:
                status = dice.choice([429, 500, 502, 503, 504])
                what: What = dice.choice(
                    ["refuse", "refuse", "cut before", "cut after", "cut midway"]
                )
                return Fault(what=what, status=status, retry_after="0")
        return None


class HttpServer:
    """Ports, and what answers on each."""

    def __init__(self) -> None:
        self.faults = Faults()
        self.requests: list[tuple[Request, list[int]]] = []
        """Every request with the status of its answer; without one where it got none."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="test-server")
        self._servers: dict[int, asyncio.Server] = {}
        self._open: set[asyncio.StreamWriter] = set()
        self.during_answer: Callable[[Request], None] = lambda request: None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._run(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def listen(self, answer: Callable[[Request], Answer]) -> int:
        """Open a port of this machine that is free, and say which."""
        listening = socket.create_server(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await self._serve(reader, writer, answer)

        async def start() -> None:
            self._servers[port] = await asyncio.start_server(
                serve, sock=listening, limit=_LONGEST_LINE
            )

        if threading.current_thread() is self._thread:
            self._loop.create_task(start())
        else:
            self._run(start())
        return port

    def release(self, port: int) -> None:
        server = self._servers.pop(port, None)
        if server is not None:
            self._loop.call_soon_threadsafe(server.close)

    def cut_all(self) -> None:
        """Close every connection there is."""

        async def cut() -> None:
            for writer in list(self._open):
                writer.transport.abort()

        self._run(cut())

    def _run(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(60)

    async def _stop(self) -> None:
        for server in self._servers.values():
            server.close()
        for writer in list(self._open):
            writer.transport.abort()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _serve(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        answer: Callable[[Request], Answer],
    ) -> None:
        self._open.add(writer)
        try:
            while (request := await _read(reader)) is not None:
                if not await self._answer(request, writer, answer):
                    writer.transport.abort()
                    return
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            writer.transport.abort()
        finally:
            self._open.discard(writer)
            with suppress(Exception):
                writer.close()

    async def _answer(
        self,
        request: Request,
        writer: asyncio.StreamWriter,
        answer: Callable[[Request], Answer],
    ) -> bool:
        """Whether the connection stays open."""
        statuses: list[int] = []
        self.requests.append((request, statuses))
        fault = self.faults.next(request)
        what = None if fault is None else fault.what
        if what == "cut before":
            return False
        if fault is not None and what == "slow":
            await asyncio.sleep(fault.seconds)
        if fault is not None and what == "refuse":
            given = refusal(fault.status, fault.message)
            if fault.retry_after is not None:
                given.headers["Retry-After"] = fault.retry_after
        else:
            self.during_answer(request)
            given = answer(request)
        if what == "cut after":
            return False
        written = _written(given)
        if what == "cut midway":
            writer.write(written[: len(written) * 2 // 3])
            await writer.drain()
            return False
        statuses.append(given.status)
        writer.write(written)
        await writer.drain()
        return True


def refusal(status: int, message: str, code: str = "") -> Answer:
    return Answer(
        status, {"error": {"code": code or _CODES[status], "message": message}, "status": status}
    )


_CODES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "FORBIDDEN",
    404: "NOT_FOUND",
    408: "DEADLINE_EXCEEDED",
    409: "ALREADY_EXISTS",
    413: "PAYLOAD_TOO_LARGE",
    414: "URI_TOO_LONG",
    429: "RESOURCE_EXHAUSTED",
    500: "UNKNOWN",
    502: "UNAVAILABLE",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


async def _read(reader: asyncio.StreamReader) -> Request | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ")
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    length = int(headers.get("content-length", 0))
    assert length <= _LONGEST_BODY
    return Request(method, target, headers, await reader.readexactly(length) if length else b"")


def _written(answer: Answer) -> bytes:
    body = b""
    if answer.body is not None:
        body = json.dumps(answer.body, separators=(",", ":")).encode()
    lines = [
        f"HTTP/1.1 {answer.status} .",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        *(f"{name}: {value}" for name, value in answer.headers.items()),
    ]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body
