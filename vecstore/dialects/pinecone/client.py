"""Calling Pinecone: bounded retries, several requests at a time, and errors without secrets."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import urlsplit

from vecstore.dialects.pinecone.retries import RETRYABLE, Deadline, pause_before, wanted_pause
from vecstore.errors import BackendError, ConfigurationError, StoreClosedError, VecstoreError
from vecstore.store.drivers import Secrets, not_installed, refused
from vecstore.store.threads import CallThreads

if TYPE_CHECKING:
    import pinecone

Result = TypeVar("Result")

KEY_VARIABLE: Final = "PINECONE_API_KEY"
"""Where the API key is looked for."""
HOST_VARIABLE: Final = "PINECONE_CONTROLLER_HOST"
"""Where the address of the control plane is looked for, by Pinecone's own clients as well."""

_CONNECTIONS = 64
_SHORTEST_TIMEOUT = 0.1
_ON_THIS_MACHINE = frozenset({"localhost", "127.0.0.1", "::1"})
_ADDRESS = re.compile(r"(https?://)?(?P<name>[A-Za-z0-9.-]+|\[::1\])(:[0-9]+)?(/.*)?")


class Calls:
    """A Pinecone client whose failures come out as :class:`~vecstore.BackendError`.

    Args:
        index: An existing ``pinecone.Index``, which stays the caller's; or None.
        index_host: The host of an index, or None where the control plane is to tell it.
        api_key: The key; None for the one in the environment.
        host: The address of the control plane, None for Pinecone's own.
        timeout: Seconds for one request.
        deadline: Seconds for one call of the store with all that it tries again.
        retries: How often a request is sent again.
        parallel: How many requests of one call are sent at a time.

    Attributes:
        client: The ``pinecone.Index``; None until the index is known.
        deadline: As given.

    Raises:
        BackendNotInstalledError: If the client is missing.
        ConfigurationError: If there is no key, or one of the options cannot be used.
    """

    def __init__(
        self,
        index: pinecone.Index | None,
        *,
        index_host: str | None,
        api_key: str | None,
        host: str | None,
        timeout: float,
        deadline: float,
        retries: int,
        parallel: int,
    ) -> None:
        try:
            from pinecone import Index
        except ImportError as error:
            needed = "the Pinecone store needs one more package"
            raise not_installed(needed, "pinecone", error) from error
        if index is not None and not isinstance(index, Index):
            raise ConfigurationError(
                "index is the name of an index or a pinecone.Index (of the REST interface), not a "
                f"{type(index).__name__}"
            )
        key = api_key
        if index is None:
            key = api_key or os.environ.get(KEY_VARIABLE)
            if not key:
                raise ConfigurationError(
                    f"Pinecone wants an API key: set {KEY_VARIABLE} in the environment, or pass "
                    "api_key=... by keyword; Pinecone Local takes any"
                )
        else:
            key = getattr(getattr(index, "_config", None), "api_key", None)
        self.client: Any = index
        self.deadline = deadline
        self._own = index is None
        self._key = key
        self._secrets = Secrets([key])
        # The client would take it from there too, and has to be told what stands on this machine.
        self._host = host or os.environ.get(HOST_VARIABLE) or None
        self._index_host = index_host
        self._timeout = timeout
        self._retries = retries
        self._parallel = parallel
        self._control: Any = None
        self._threads: ThreadPoolExecutor | None = None
        self._calls = CallThreads(single=True)
        self.exclusive: AbstractContextManager[Any] = nullcontext()
        self._lock = threading.Lock()
        if index_host is not None:
            self.connect(index_host)

    # --- one request -------------------------------------------------------------------------

    def __call__(
        self,
        operation: str,
        call: Callable[[Any, float], Result],
        deadline: Deadline | None = None,
    ) -> Result:
        """Run one request on the index.

        Args:
            operation: What the caller of the store asked for; errors name it.
            call: Gets the ``pinecone.Index`` and the seconds that the request may take. It may be
                called several times.
            deadline: Shared with other requests of the same call of the store.

        Raises:
            BackendError: For whatever the client raises.
        """
        return self._tried(operation, lambda left: call(self.client, left), deadline)

    def in_namespace(
        self,
        operation: str,
        call: Callable[[Any, float], Result],
        deadline: Deadline | None = None,
    ) -> Result | None:
        """Run one request on a namespace; None where that is not there: nothing was written yet."""
        from pinecone import NotFoundError

        def ask(index: Any, timeout: float) -> Result | None:
            try:
                return call(index, timeout)
            except NotFoundError as error:
                if "namespace" in error.message.lower():
                    return None
                raise

        return self(operation, ask, deadline)

    def control(self, operation: str, call: Callable[[Any], Result]) -> Result:
        """Run one request on the control plane; ``call`` gets the ``pinecone.Pinecone``."""
        return self._tried(operation, lambda _: call(self._controller()), None)

    def _tried(
        self, operation: str, call: Callable[[float], Result], deadline: Deadline | None
    ) -> Result:
        if deadline is None:
            deadline = Deadline(self.deadline)
        attempt = 0
        while True:
            attempt += 1
            try:
                seconds = max(_SHORTEST_TIMEOUT, min(self._timeout, deadline.left))
                return self._calls.run_whole(partial(call, seconds))
            except VecstoreError:
                raise
            except Exception as error:
                if operation == "open" and isinstance(error, TypeError | ValueError):
                    told = self._secrets.redacted(str(error).strip()) or type(error).__name__
                    raise ConfigurationError(f"pinecone: {told}") from None
                wanted = wanted_pause(getattr(error, "headers", None))
                pause = pause_before(attempt, wanted)
                retryable = _is_retryable(error)
                most = self._retries
                if operation == "open" and not hasattr(error, "status_code"):
                    most = min(1, most)  # most likely nobody is there, and will not be
                if retryable and attempt <= most and pause < deadline.left:
                    deadline.wait(pause)
                    if deadline.left:
                        continue
                raise self.failure(operation, error, attempt, wanted) from (
                    self._secrets.safe_cause(error)
                )

    def failure(
        self, operation: str, error: Exception, attempts: int = 1, wanted: float | None = None
    ) -> BackendError:
        """What a caller is told of an error of the client."""
        hint = f" (tried {attempts} times)" if attempts > 1 else ""
        if wanted is not None and wanted >= 1:
            hint += f"; it asks to wait {wanted:.0f} s before the next try"
        return refused(
            "Pinecone",
            operation,
            error,
            self._secrets,
            retryable=_is_retryable(error),
            hint=hint,
        )

    # --- several -----------------------------------------------------------------------------

    def all(
        self, tasks: Sequence[Callable[[Deadline], Result]], deadline: Deadline | None = None
    ) -> list[Result]:
        """The results of requests that are sent at the same time.

        Raises:
            Exception: What the first of them raised; those not begun by then are not begun.
        """
        outcomes = self.outcomes(tasks, deadline)
        for outcome in outcomes:
            if isinstance(outcome, Exception):
                raise outcome
        return outcomes  # type: ignore[return-value]

    def outcomes(
        self, tasks: Sequence[Callable[[Deadline], Result]], deadline: Deadline | None = None
    ) -> list[Result | Exception | None]:
        """What became of each of the requests: its result, its error, or None if not begun.

        Args:
            tasks: Each gets the deadline of all. They must not call this method.
            deadline: By default one of their own.
        """
        if deadline is None:
            deadline = Deadline(self.deadline)
        if len(tasks) <= 1 or self._parallel == 1:
            outcomes: list[Result | Exception | None] = [None] * len(tasks)
            for number, task in enumerate(tasks):
                try:
                    outcomes[number] = task(deadline)
                except Exception as error:
                    outcomes[number] = error
                    break
            return outcomes
        several = _Several(tasks, deadline)
        # Pools and conditions are Python's own: a signal in the midst of one can leave its lock
        # taken for ever. No signal comes to the thread that waits here.
        return self._calls.run_whole(lambda: several.run(self._pool()), several.stop)

    def _pool(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(self._parallel, "vecstore-pinecone")
            return self._threads

    # --- connections -------------------------------------------------------------------------

    def connect(self, index_host: str) -> None:
        """Make the client of an index.

        Args:
            index_host: As the control plane tells it.
        """

        def make(_: float) -> Any:
            return _client(self._key, self._timeout, self._host, index_host).index(host=index_host)

        index_host = _reachable(index_host, self._host)
        self._index_host = index_host
        index = self._tried("open", make, None)
        _leave_retries_to_us(index)
        self.client = index

    def _controller(self) -> Any:
        with self._lock:
            if self._control is None:
                self._control = _client(self._key, self._timeout, self._host, self._host)
            return self._control

    @property
    def own(self) -> bool:
        """Whether the client is the store's, and not the caller's."""
        return self._own

    def close(self) -> None:
        """Close the client if it is our own, and end the threads."""
        threads, self._threads = self._threads, None
        if threads is not None:
            threads.shutdown()
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._own and self.client is not None:
            self.client.close()
        self._calls.close()

    def after_fork(self) -> None:
        """Forget what a child must not share with its parent, and connect anew.

        Raises:
            StoreClosedError: If the client is the caller's.
        """
        if not self._own:
            raise StoreClosedError(
                "this process was forked, and the connections of a Pinecone client do not survive "
                "that; make a client and a store in the child"
            )
        _forgotten.extend((self.client, self._control, self._threads))
        self.client = self._control = self._threads = None
        self._lock = threading.Lock()
        if self._index_host is not None:
            self.connect(self._index_host)


class _Several:
    """Requests that are sent at the same time, and what becomes of each."""

    def __init__(self, tasks: Sequence[Callable[[Deadline], Any]], deadline: Deadline) -> None:
        self._tasks, self._deadline = tasks, deadline
        self._outcomes: list[Any] = [None] * len(tasks)
        self._stopped = False

    def run(self, threads: ThreadPoolExecutor) -> list[Any]:
        """Send them all, and wait until none is on its way."""
        for begun in [threads.submit(self._one, number) for number in range(len(self._tasks))]:
            begun.result()
        return self._outcomes

    def stop(self) -> None:
        """Let none begin any more; those on their way finish, and try nothing again."""
        self._stopped = True
        self._deadline.stop()

    def _one(self, number: int) -> None:
        if self._stopped:
            return
        try:
            self._outcomes[number] = self._tasks[number](self._deadline)
        except Exception as error:
            self._outcomes[number] = error
            self.stop()


_forgotten: list[Any] = []
"""Clients that a forked child inherited: collecting one would end its parent's connections."""


def _client(key: str | None, timeout: float, host: str | None, asked: str | None) -> Any:
    """A client of the control plane; ``asked`` is the host that it is to talk to."""
    from pinecone import Pinecone, RetryConfig

    return Pinecone(
        api_key=key,
        host=host,
        timeout=timeout,
        # Reading certificates takes longer than a request on this machine, which needs none.
        ssl_verify=not (asked or "").startswith("http://"),
        connection_pool_maxsize=_CONNECTIONS,
        retry_config=RetryConfig(max_retries=0),
        source_tag="vecstore",
    )


def _reachable(index_host: str, host: str | None) -> str:
    """The host of an index with its scheme: Pinecone Local tells it without, and has no TLS."""
    bare = index_host.removeprefix("https://")
    local = urlsplit(f"//{bare}").hostname in _ON_THIS_MACHINE
    if host is not None and host.startswith("http://") and local:
        return f"http://{bare.removeprefix('http://')}"
    return index_host


def check_addressee(option: str, address: str) -> None:
    """Refuse that an address alone sends the key of the environment to somebody else.

    Args:
        option: Where it stands.
        address: A host, with or without a scheme.

    Raises:
        ConfigurationError: If it is neither Pinecone's, encrypted, nor this machine.

    Example:
        >>> check_addressee("host", "http://localhost:5080")
        >>> check_addressee("index_host", "docs-1a2b3c.svc.aped-4627-b74a.pinecone.io")
    """
    # Only what every reader of addresses takes for the same host: the client puts https:// before
    # whatever does not start so, even before another scheme.
    found = _ADDRESS.fullmatch(address)
    name = "" if found is None else found["name"].strip("[]").lower()
    if name in _ON_THIS_MACHINE:
        return
    where = "names a host that is not Pinecone's"
    if name == "pinecone.io" or name.endswith(".pinecone.io"):
        if not address.startswith("http://"):
            return
        where = "is unencrypted"
    raise ConfigurationError(
        f"the address {where}, and {KEY_VARIABLE} would be sent there; pass {option}=... or "
        "api_key=... by keyword"
    )


def _leave_retries_to_us(index: Any) -> None:
    """Switch off what the client tries again: it knows no deadline, and would multiply with ours.

    There is no option for it. Where a later client has another inside, its own retries stay, which
    are bounded too.
    """
    from pinecone import RetryConfig

    with suppress(AttributeError):
        transport = index._http._client._transport
        if isinstance(transport._config, RetryConfig):
            transport._config = replace(transport._config, max_retries=0)


def _is_retryable(error: Exception) -> bool:
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return status in RETRYABLE
    return type(error).__name__ in ("PineconeConnectionError", "PineconeTimeoutError")
