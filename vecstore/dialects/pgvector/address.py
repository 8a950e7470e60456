"""The options that an address of a pgvector store may carry, and how each is read."""

from __future__ import annotations

from typing import Any, Final


def _flag(text: str) -> bool:
    if text.lower() in ("true", "1", "yes"):
        return True
    if text.lower() in ("false", "0", "no"):
        return False
    raise ValueError(text)


def _index(text: str) -> str | None:
    return None if text.lower() == "none" else text


LIBPQ_OPTIONS: Final = (
    "sslmode",
    "sslrootcert",
    "connect_timeout",
    "application_name",
    "options",
    "target_session_attrs",
)
URL_OPTIONS: Final[dict[str, Any]] = {
    **dict.fromkeys(("table", "schema", "metric"), str),
    **dict.fromkeys(("id_column", "text_column", "metadata_column", "embedding_column"), str),
    **dict.fromkeys(("dimension", "exact_below", "pool_size", "search_effort"), int),
    **dict.fromkeys(("timeout", "statement_timeout"), float),
    **dict.fromkeys(LIBPQ_OPTIONS, str),
    "create": _flag,
    "index": _index,
    "index_options": None,
    "columns": None,
    "batching": None,
}
