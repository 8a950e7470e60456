"""A real Weaviate on this machine: built once from its released source, run in a temporary folder.

``VECSTORE_WEAVIATE_URL`` names another server (with ``VECSTORE_WEAVIATE_GRPC_PORT``, 50051 unless
it says otherwise, and ``VECSTORE_WEAVIATE_API_KEY``). Without it, Go builds one::

    python -m tests.engines.weaviate_server                    # build it, and tell how far that is
    python -m tests.engines.weaviate_server --within 20        # ... in at most so many minutes
    python -m tests.engines.weaviate_server --former           # the version before as well

What was built stays in ``VECSTORE_SERVERS``, by default ``~/.cache/vecstore/servers``.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any
from urllib.parse import urlsplit

VERSION = "v1.37.4"
"""Goes with the client that ``pyproject.toml`` asks for."""
FORMER_VERSION = "v1.36.0"
"""The other one that the long run holds the dialect against."""

_PACKAGE = "github.com/weaviate/weaviate/cmd/weaviate-server"
_GRPC_PORT = 50_051
_PORTS = 6
_PORT_RANGE = (10_000, 30_000)
_STARTS = 4
_SECONDS_TO_START = 120.0
_SECONDS_TO_STOP = 30.0


class PortTaken(RuntimeError):
    """Somebody listens where the server was to; the message is what it wrote."""


class CannotBuild(Exception):
    """There is no server, and none can be built; the message says why."""


@dataclass(frozen=True)
class Address:
    """Where a server is, and the key that it takes."""

    url: str
    grpc_port: int
    api_key: str | None

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or "localhost"

    @property
    def port(self) -> int:
        return urlsplit(self.url).port or 8080


def named_server() -> Address | None:
    """The server that the environment names."""
    url = os.environ.get("VECSTORE_WEAVIATE_URL")
    if not url:
        return None
    port = int(os.environ.get("VECSTORE_WEAVIATE_GRPC_PORT") or _GRPC_PORT)
    return Address(url.rstrip("/"), port, os.environ.get("VECSTORE_WEAVIATE_API_KEY") or None)


# --- building -------------------------------------------------------------------------------------


def _folder(version: str) -> Path:
    cache = os.environ.get("VECSTORE_SERVERS") or Path.home() / ".cache" / "vecstore" / "servers"
    return Path(cache) / f"weaviate-{version}"


def built_server(version: str = VERSION) -> Path | None:
    """The program, if it was built before."""
    program = _folder(version) / "weaviate-server"
    return program if program.exists() else None


def build_server(
    version: str = VERSION,
    *,
    within: float | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> Path:
    """The program, built if it is not there; one process builds, others wait for it.

    Args:
        version: Which release.
        within: Seconds after which building is given up. What was compiled by then is kept by Go.
        tell: Gets lines about how far it is.

    Raises:
        CannotBuild: Without Go, when the source cannot be had, or when it takes too long.
    """
    if (program := built_server(version)) is not None:
        return program
    go = shutil.which("go")
    if go is None:
        raise CannotBuild("there is no Go (https://go.dev/dl) to build Weaviate with")
    folder = _folder(version)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (program := built_server(version)) is not None:
            return program
        # Beside its place, so that a program that is there is whole.
        with tempfile.TemporaryDirectory(dir=folder) as unfinished:
            _install(go, version, Path(unfinished), within, tell)
            os.replace(Path(unfinished) / "weaviate-server", folder / "weaviate-server")
    return folder / "weaviate-server"


def _install(
    go: str, version: str, into: Path, within: float | None, tell: Callable[[str], None]
) -> None:
    begun = time.monotonic()
    flags = f"{os.environ.get('GOFLAGS', '')} -p=2".strip()
    environment = {**os.environ, "GOBIN": str(into), "GOFLAGS": flags}
    tell(f"Building Weaviate {version}: some 1,500 packages, ten minutes or more the first time")
    building = subprocess.Popen(
        [go, "install", "-v", f"{_PACKAGE}@{version}"],
        env=environment,
        cwd=into,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert building.stderr is not None
    late = threading.Event()
    timer = threading.Timer(within or 0, lambda: (late.set(), _end(building)))
    if within is not None:
        timer.start()
    last: list[str] = []
    downloaded = compiled = 0
    told = begun
    try:
        for line in building.stderr:
            last = [*last[-20:], line.rstrip()]
            downloaded += line.startswith("go: downloading")
            compiled += not line.startswith(("go: ", "#"))
            if time.monotonic() >= told + 15:
                told = time.monotonic()
                tell(f"  {told - begun:.0f} s: {downloaded} modules, {compiled} packages compiled")
        status = building.wait()
    finally:
        timer.cancel()
        _end(building)
        building.stderr.close()
    if late.is_set():
        raise CannotBuild(
            f"Weaviate {version} was not built within {(within or 0) / 60:.0f} minutes "
            f"({compiled} packages compiled, which Go keeps)"
        )
    if status != 0:
        raise CannotBuild(f"Go could not build Weaviate {version}: " + " | ".join(last))
    tell(f"Built Weaviate {version} in {time.monotonic() - begun:.0f} s")


def _end(process: subprocess.Popen[Any]) -> None:
    """End a process and all that it started: it is the leader of a session."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


# --- running --------------------------------------------------------------------------------------


class WeaviateServer:
    """A server of one's own in a folder, to be started, killed and started again.

    Args:
        program: What `build_server` gave.
        folder: Holds its data.
        settings: Further variables of the server's.

    Attributes:
        address: The same after each start.
    """

    def __init__(self, program: Path, folder: Path, **settings: str) -> None:
        self._program = program
        self._folder = folder
        self._settings = settings
        self._first_port = _free_ports(_PORTS)
        self._process: subprocess.Popen[bytes] | None = None
        # It listens with gRPC on every interface, so nobody gets in without a key.
        self.address = Address(
            f"http://127.0.0.1:{self._first_port}", self._first_port + 1, token_hex(16)
        )

    def elsewhere(self) -> WeaviateServer:
        """One like it in a new folder beside, on other ports."""
        folder = self._folder.with_name(f"{self._folder.name}-{token_hex(4)}")
        return WeaviateServer(self._program, folder, **self._settings)

    def start(self) -> None:
        """Start it, and wait until it answers.

        Raises:
            PortTaken: If somebody listens on one of its ports.
            RuntimeError: If it does not start for another reason.
        """
        assert self._process is None
        self._folder.mkdir(parents=True, exist_ok=True)
        log = self._folder / "log"
        command = [str(self._program), "--scheme", "http", "--host", "127.0.0.1", "--port"]
        with log.open("ab") as output:
            # Between it and us stands a process that ends it when we are gone, however we went.
            self._process = subprocess.Popen(
                [sys.executable, __file__, "--run", *command, str(self._first_port)],
                env=self._environment(),
                cwd=self._folder,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self._await_ready(log)

    def _environment(self) -> dict[str, str]:
        first, name = self._first_port, "vecstore-test"
        return {
            **{key: value for key, value in os.environ.items() if "proxy" not in key.lower()},
            "PERSISTENCE_DATA_PATH": str(self._folder / "data"),
            "AUTHENTICATION_ANONYMOUS_ACCESS_ENABLED": "false",
            "AUTHENTICATION_APIKEY_ENABLED": "true",
            "AUTHENTICATION_APIKEY_ALLOWED_KEYS": self.address.api_key or "",
            "AUTHENTICATION_APIKEY_USERS": "vecstore",
            "GRPC_PORT": str(first + 1),
            "CLUSTER_GOSSIP_BIND_PORT": str(first + 2),
            "CLUSTER_DATA_BIND_PORT": str(first + 3),
            "RAFT_PORT": str(first + 4),
            "RAFT_INTERNAL_RPC_PORT": str(first + 5),
            "RAFT_BOOTSTRAP_EXPECT": "1",
            "RAFT_JOIN": f"{name}:{first + 4}",
            "CLUSTER_HOSTNAME": name,
            "CLUSTER_IN_LOCALHOST": "true",
            "CLUSTER_BIND_ADDR": "127.0.0.1",
            "CLUSTER_ADVERTISE_ADDR": "127.0.0.1",
            "DEFAULT_VECTORIZER_MODULE": "none",
            "ENABLE_MODULES": "",
            "API_BASED_MODULES_DISABLED": "true",
            "DISABLE_TELEMETRY": "true",
            "GO_PROFILING_DISABLE": "true",
            "LOG_LEVEL": "warning",
            # A test machine may be rather full.
            "DISK_USE_WARNING_PERCENTAGE": "99",
            "DISK_USE_READONLY_PERCENTAGE": "99",
            **self._settings,
        }

    def _await_ready(self, log: Path) -> None:
        assert self._process is not None
        end = time.monotonic() + _SECONDS_TO_START
        while time.monotonic() < end:
            if self._process.poll() is not None:
                break
            if _is_ready(self.address) and _listens(self.address.grpc_port):
                return
            time.sleep(0.05)
        self.kill()
        told = "\n".join(log.read_text(errors="replace").splitlines()[-20:])
        if "address already in use" in told:
            raise PortTaken(told)
        raise RuntimeError(f"Weaviate did not start:\n{told}")

    def stop(self) -> None:
        """Let it write what it has, and end."""
        self._finish(signal.SIGTERM)

    def kill(self) -> None:
        """End it as a power cut would."""
        self._finish(signal.SIGKILL)

    def _finish(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        if process.poll() is None and how is signal.SIGTERM:
            process.send_signal(how)
            with suppress(subprocess.TimeoutExpired):
                process.wait(_SECONDS_TO_STOP)
        _end(process)
        process.stdin.close()


def _free_ports(count: int) -> int:
    """The first of so many neighbouring ports that nobody listens on.

    The server takes the port of one of its services to be the one after another's. They lie below
    those that systems give to connections, which come and go while the server starts.
    """
    while True:
        first = random.SystemRandom().randrange(*_PORT_RANGE)
        if all(_is_free(first + one) for one in range(count)):
            return first


def _is_free(port: int) -> bool:
    with closing(socket.socket()) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError:
            return False
        return True


def _listens(port: int) -> bool:
    with closing(socket.socket()) as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _is_ready(address: Address) -> bool:
    try:
        with urllib.request.urlopen(f"{address.url}/v1/.well-known/ready", timeout=2):
            return True
    except (urllib.error.URLError, OSError):
        return False


@contextmanager
def running_weaviate(version: str = VERSION, **settings: str) -> Iterator[WeaviateServer]:
    """A server of that version for as long as the block runs.

    Raises:
        CannotBuild: If there is none.
    """
    program = build_server(version)
    with tempfile.TemporaryDirectory(prefix="vecstore-weaviate-") as folder:
        server = WeaviateServer(program, Path(folder, "first"), **settings)
        try:
            server = started(server)
            yield server
        finally:
            server.kill()


def started(server: WeaviateServer) -> WeaviateServer:
    """The server, started; on other ports where somebody took one of them in between."""
    for _ in range(_STARTS):
        try:
            server.start()
        except PortTaken:
            server = server.elsewhere()
        else:
            return server
    server.start()
    return server


def version_of(address: Address) -> str:
    """What a server says it is."""
    request = urllib.request.Request(f"{address.url}/v1/meta")
    if address.api_key is not None:
        request.add_header("Authorization", f"Bearer {address.api_key}")
    with urllib.request.urlopen(request, timeout=10) as answer:
        return str(json.load(answer)["version"])


# --- the command ----------------------------------------------------------------------------------


def _run(command: Sequence[str]) -> int:
    """Run a program until it ends, whoever started us ends, or we are told to end."""
    program = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    signal.signal(signal.SIGTERM, lambda *_: program.terminate())

    def watch() -> None:
        while sys.stdin.buffer.read(1):
            pass
        program.kill()

    threading.Thread(target=watch, daemon=True).start()
    return program.wait()


def main(arguments: Sequence[str]) -> int:
    if arguments[:1] == ["--run"]:
        return _run(arguments[1:])
    parser = argparse.ArgumentParser(prog="python -m tests.engines.weaviate_server")
    parser.add_argument("--version", default=VERSION)
    parser.add_argument("--former", action="store_true", help="build the version before as well")
    parser.add_argument("--within", type=float, help="minutes after which to give up")
    told = parser.parse_args(arguments)
    if (named := named_server()) is not None:
        print(f"Weaviate {version_of(named)} is at {named.url}")
        return 0
    within = None if told.within is None else 60 * told.within
    try:
        for version in [told.version, *[FORMER_VERSION] * told.former]:
            print(build_server(version, within=within, tell=lambda line: print(line, flush=True)))
    except CannotBuild as error:
        print(f"Skipped: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
