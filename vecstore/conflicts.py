"""What ``add`` says of ids that cannot be had: stored already, or given twice."""

from __future__ import annotations

from collections.abc import Sequence

from vecstore.document import shown_id
from vecstore.errors import DuplicateDocumentError

SHOWN = 3
"""How many names an error gives."""


def duplicates_error(ids: Sequence[str]) -> DuplicateDocumentError:
    """The error for ids that are stored already, where ``on_conflict`` is ``"error"``.

    Args:
        ids: At least one; the first few are shown, all of them are in the error's ``ids``.

    Example:
        >>> str(duplicates_error(["a", "b"])).partition(";")[0]
        "2 of these documents are stored already, with the ids 'a' and 'b'"
    """
    what = "one" if len(ids) == 1 else f"{len(ids):,}"
    verb, noun = ("is", "the id") if len(ids) == 1 else ("are", "the ids")
    return DuplicateDocumentError(
        f"{what} of these documents {verb} stored already, with {noun} {listed_ids(ids)}; "
        'on_conflict="skip" leaves what is stored, "replace" replaces it',
        ids=ids,
    )


def repeated_error(ids: Sequence[str]) -> DuplicateDocumentError:
    """The error for ids that several documents of one call have.

    Args:
        ids: At least one.
    """
    what = "one id stands" if len(ids) == 1 else f"{len(ids):,} ids stand"
    return DuplicateDocumentError(
        f"{what} more than once in this call: {listed_ids(ids)}; "
        'on_conflict="skip" keeps the first document of an id, "replace" the last',
        ids=ids,
    )


def listed_ids(ids: Sequence[str]) -> str:
    """The first few ids as errors name them, and how many more there are.

    Example:
        >>> listed_ids(["a", "b", "c", "d", "e"])
        "'a', 'b', 'c' and 2 more"
    """
    return listed([shown_id(id) for id in ids[:SHOWN]], len(ids))


def listed(names: Sequence[str], count: int) -> str:
    """Names in a sentence, of which there are ``count`` in all.

    Example:
        >>> listed(["a", "b"], 2), listed(["a", "b"], 1_002)
        ('a and b', 'a, b and 1,000 more')
    """
    if count > len(names):
        return f"{', '.join(names)} and {count - len(names):,} more"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]
