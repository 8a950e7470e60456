"""Redis Search: queries over hashes, of tags for tokens and of numbers for declared keys."""

from vecstore.dialects.redis.dialect import Redis

__all__ = ["Redis"]
