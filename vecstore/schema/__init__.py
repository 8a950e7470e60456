"""Schemas of metadata: what keys hold, checked on filters and on documents."""

from vecstore.schema.kinds import KeyType
from vecstore.schema.schema import Change, CoercedFilterWarning, Schema

__all__ = ["Change", "CoercedFilterWarning", "KeyType", "Schema"]
