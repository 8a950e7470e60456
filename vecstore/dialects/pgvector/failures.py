"""What the driver's errors mean, in words that tell what to do and no secret."""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from vecstore.errors import BackendError
from vecstore.store.drivers import Secrets, refused

_RETRYABLE_STATES: Final = ("08", "40", "53", "55P03", "57P")
CONFLICTS: Final = ("40001", "40P01")
"""Serialization failure and deadlock: the same transaction may well succeed when run again."""
_ENDED: Final = ("57P01", "57P02", "57P05")
"""The server ended the session: it stops, it crashed, or nobody had used the session for long."""
_LOST_STATEMENTS: Final = ("26000", "42P05", "08P01")

MISSING_EXTENSION: Final = (
    "the database has no extension vector; let an administrator run CREATE EXTENSION vector, or "
    "open the store with create=True as a role that may"
)
_ANEW: Final = "; if the table was changed or made anew since this store was opened, open it again"
_HINTS: Final[dict[str, str]] = {
    "26000": (
        "; a connection pooler in transaction mode loses prepared statements: open the store with "
        "prepare_threshold=None"
    ),
    "42P05": (
        "; a connection pooler in transaction mode mixes up prepared statements: open the store "
        "with prepare_threshold=None"
    ),
    "42703": _ANEW,
    "42P01": _ANEW,
    # Of many indexes of a table the server names none, and no row.
    "54000": (
        "; an entry of an index holds some 2,700 bytes of a text: leave keys with longer ones out "
        "of columns=..."
    ),
}


_STARTING: Final = "starting up|shutting down|recovery mode|not yet accepting"


class _Refusal(NamedTuple):
    pattern: re.Pattern[str]
    says: str
    retryable: bool


def _refusal(pattern: str, says: str, *, retryable: bool = False) -> _Refusal:
    return _Refusal(re.compile(pattern, re.IGNORECASE), says, retryable)


# libpq has no codes for failed connections, only the texts of the server and of the system.
_REFUSALS: Final = (
    _refusal(
        "invalid .*value|invalid connection option", "an option of the connection is no such value"
    ),
    _refusal(
        "password authentication failed|no password supplied|authentication failed",
        "the server does not accept this user and password",
    ),
    _refusal(r'role ".*" does not exist', "the server has no such role"),
    _refusal(r'database ".*" does not exist', "the server has no such database"),
    _refusal(r"no pg_hba\.conf entry", "the server does not let this client in (pg_hba.conf)"),
    _refusal(_STARTING, "the server is starting or stopping", retryable=True),
    _refusal(
        "too many clients|remaining connection slots|too many connections",
        "the server has no connection left",
        retryable=True,
    ),
    _refusal(
        "certificate|ssl error|sslmode|does not support ssl|tls", "the encryption does not work"
    ),
    _refusal(
        "temporary failure in name resolution", "the host cannot be looked up now", retryable=True
    ),
    _refusal(
        "could not translate host name|failed to resolve host|name or service not known"
        "|nodename nor servname|no address associated|getaddrinfo",
        "there is no such host",
    ),
    _refusal("permission denied", "this user may not open the server's socket"),
    _refusal(
        "connection refused|no such file or directory",
        "no server listens there",
        retryable=True,
    ),
    _refusal("timeout|timed out", "the server does not answer in time", retryable=True),
)


def is_lost(error: Exception) -> bool:
    """Whether the connection broke, rather than a statement on it."""
    import psycopg

    if not isinstance(error, psycopg.OperationalError):
        return False
    return not error.sqlstate or error.sqlstate in _ENDED


def is_starting(error: Exception) -> bool:
    """Whether a server is there that will take connections in a moment."""
    return re.search(_STARTING, str(error), re.IGNORECASE) is not None


def lost_its_statement(error: Any) -> bool:
    """Whether a prepared statement is not what it was: a pooler, or a changed table."""
    if error.sqlstate in _LOST_STATEMENTS:
        return True
    return error.sqlstate == "0A000" and "cached plan" in str(error)


def failed(operation: str, error: Any, secrets: Secrets) -> BackendError:
    """The error of an operation whose statement the server refused, or whose connection broke."""
    state = error.sqlstate or ""
    retryable = is_lost(error) or state.startswith(_RETRYABLE_STATES)
    hint = _HINTS.get(state, "")
    return refused("PostgreSQL", operation, error, secrets, retryable=retryable, hint=hint)


def not_connected(operation: str, error: Exception, secrets: Secrets) -> BackendError:
    """The error of an operation that got no connection because the server gave none."""
    text = str(error)
    # Of several hosts, or addresses of one, the most telling answer is named.
    for refusal in _REFUSALS:
        if refusal.pattern.search(text):
            says, retryable = f"{refusal.says}: ", refusal.retryable
            break
    else:
        says, retryable = "", True
    return BackendError(
        f"{operation} cannot connect to PostgreSQL: {says}{secrets.redacted(text)}",
        operation=operation,
        retryable=retryable,
    )


def none_free(operation: str, timeout: float, size: int) -> BackendError:
    """The error of an operation that waited in vain for one of the pool's connections."""
    return BackendError(
        f"{operation} got no connection to PostgreSQL within {timeout:g} s: all {size} connections "
        "of the pool are in use (pool_size, timeout)",
        operation=operation,
        retryable=True,
    )
