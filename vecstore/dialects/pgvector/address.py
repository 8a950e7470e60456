"""The options that an address of a pgvector store may carry, and how each is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from vecstore.errors import BackendNotInstalledError, ConfigurationError
from vecstore.installing import install_line
from vecstore.store.url import StoreURL


def _flag(text: str) -> bool:
    if text.lower() in ("true", "1", "yes"):
        return True
    if text.lower() in ("false", "0", "no"):
        return False
    raise ValueError(text)


def _index(text: str) -> str | None:
    return None if text.lower() == "none" else text


def _threshold(text: str) -> int | None:
    return None if text.lower() == "none" else int(text)


LIBPQ_OPTIONS: Final = (
    "host",
    "hostaddr",
    "port",
    "user",
    "password",
    "dbname",
    "service",
    "passfile",
    "sslmode",
    "sslrootcert",
    "sslcert",
    "sslkey",
    "sslpassword",
    "sslcrl",
    "sslsni",
    "sslnegotiation",
    "ssl_min_protocol_version",
    "ssl_max_protocol_version",
    "channel_binding",
    "require_auth",
    "gssencmode",
    "krbsrvname",
    "requirepeer",
    "connect_timeout",
    "tcp_user_timeout",
    "keepalives",
    "keepalives_idle",
    "keepalives_interval",
    "keepalives_count",
    "application_name",
    "options",
    "client_encoding",
    "target_session_attrs",
    "load_balance_hosts",
)
"""Keywords of libpq's connection strings, handed on as they are."""
URL_OPTIONS: Final[dict[str, Any]] = {
    **dict.fromkeys(("table", "namespace", "metric"), str),
    **dict.fromkeys(("id_column", "text_column", "metadata_column", "embedding_column"), str),
    **dict.fromkeys(("dimension", "exact_below", "pool_size", "search_effort"), int),
    **dict.fromkeys(("timeout", "statement_timeout"), float),
    **dict.fromkeys(LIBPQ_OPTIONS, str),
    "create": _flag,
    "prepare_threshold": _threshold,
    "index": _index,
    "index_options": None,
    "columns": None,
    "batching": None,
}


def connection_string(url: StoreURL, libpq: Mapping[str, Any]) -> str:
    """What libpq connects by.

    Args:
        url: The address, whose parts give way to
        libpq: keywords of libpq. A host that starts with a slash is the folder of a socket.

    Raises:
        BackendNotInstalledError: If psycopg is missing.
        ConfigurationError: If libpq cannot read it; without a word of it, which may be secret.
    """
    try:
        import psycopg
        from psycopg.conninfo import make_conninfo
    except ImportError as error:
        raise BackendNotInstalledError(
            f"the pgvector store needs psycopg: {install_line('pgvector')}",
            name=error.name,
        ) from error

    parts = {
        "host": url.host or None,
        "port": url.port,
        "user": url.user,
        "password": url.password,
        "dbname": url.path.strip("/") or None,
        **{name: str(value) for name, value in libpq.items() if value is not None},
    }
    try:
        return make_conninfo("", **parts)
    except psycopg.ProgrammingError:
        raise ConfigurationError(
            "libpq does not take these options of a connection; they look like "
            "postgresql://user@host:5432/database?sslmode=require"
        ) from None
