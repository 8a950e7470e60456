"""A vecstore dialect for documents whose metadata is JSON text in a column of SQLite."""

from vecstore_lite.dialect import Lite

__all__ = ["Lite"]
