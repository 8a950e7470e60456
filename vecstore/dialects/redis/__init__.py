"""Redis Search: queries over hashes, of tags for tokens and of numbers for declared keys."""

from typing import TYPE_CHECKING, Any

from vecstore.dialects.redis.dialect import Redis

if TYPE_CHECKING:
    from vecstore.dialects.redis.store import RedisStore

__all__ = ["Redis", "RedisStore"]


def __getattr__(name: str) -> Any:
    # The store when it is asked for: compiling a filter needs nothing of it.
    if name == "RedisStore":
        from vecstore.dialects.redis.store import RedisStore

        return RedisStore
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
