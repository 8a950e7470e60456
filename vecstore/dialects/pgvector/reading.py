"""Long conditions, written so that they do not unpack a row's metadata again for every comparison.

PostgreSQL keeps metadata of more than some two kilobytes compressed, and every operator that is
given the column unpacks it for itself: of 250 comparisons, over 95 % of the time went there. Past a
few of them, a condition is put into a subselect that unpacks the metadata once.

An index on the metadata does not reach into a subselect. So conditions that it may serve stand
outside as well: those of an AND beside the subselect, those of an OR in groups, each behind a
subselect of its own that says the same. The planner still finds them; where it reads all rows all
the same, only rows of which the subselect is true come to them.
"""

from __future__ import annotations

from typing import Final

from vecstore.dialects.sql import Bound, SqlPart, joined

MOST_READS: Final = 16
"""So often a condition may read the metadata as it is; and the size of a group."""

CONTAINS: Final = " @> ANY("
_UNPACKED: Final = "vecstore_row.vecstore_metadata"


class Read(str):
    """The JSONB column, where a condition reads it."""

    __slots__ = ()


class Combination(list[str | Bound]):
    """An AND or OR.

    Attributes:
        plain: The same without subselects, for what it becomes part of.
    """

    __slots__ = ("plain",)

    def __init__(self, part: SqlPart, plain: SqlPart) -> None:
        super().__init__(part)
        self.plain = plain


def all_of(parts: list[SqlPart]) -> Combination:
    """``(a AND b ...)``."""
    plains = [_plain(part) for part in parts]
    whole = joined(plains, " AND ")
    served = [part for part, plain in zip(parts, plains, strict=True) if _is_served(plain)]
    others = [plain for plain in plains if not _is_served(plain)]
    if sum(map(_reads, others)) <= MOST_READS:
        return Combination(joined(parts, " AND "), whole)
    unpacked = _unpacked(joined(others, " AND "))
    return Combination(joined([*served, unpacked], " AND ") if served else unpacked, whole)


def any_of(parts: list[SqlPart], most_bound: int | None) -> Combination:
    """``(a OR b ...)``.

    Args:
        parts: Its operands.
        most_bound: How many parameters it may bind; None where one that stands twice counts once.
    """
    plains = [_plain(part) for part in parts]
    whole = joined(plains, " OR ")
    if _reads(whole) <= MOST_READS:
        return Combination(whole, whole)
    if not all(map(_is_served, plains)):
        return Combination(_unpacked(whole), whole)
    if most_bound is not None and sum(isinstance(one, Bound) for one in whole) * 2 > most_bound:
        return Combination(whole, whole)
    groups: list[list[SqlPart]] = [[]]
    room = MOST_READS
    for plain in plains:
        room -= _reads(plain)
        if room < 0 and groups[-1]:
            groups.append([])
            room = MOST_READS - _reads(plain)
        groups[-1].append(plain)
    either = [joined(group, " OR ") for group in groups]
    guarded = [joined([_unpacked(group), group], " AND ") for group in either]
    return Combination(joined(guarded, " OR "), whole)


def _plain(part: SqlPart) -> SqlPart:
    return part.plain if isinstance(part, Combination) else part


def _reads(part: SqlPart) -> int:
    return sum(isinstance(piece, Read) for piece in part)


def _is_served(part: SqlPart) -> bool:
    """Whether an index may find the rows: a containment is neither negated nor hidden from it."""
    for place, piece in enumerate(part):
        if isinstance(piece, str) and piece.endswith(CONTAINS):
            _bound, _closed, *after = part[place + 1 : place + 4]
            if not after or not str(after[0]).startswith(") IS "):
                return True
    return False


def _unpacked(part: SqlPart) -> SqlPart:
    """The condition on metadata that is unpacked once, which the empty path does to any value."""
    column = next((piece for piece in part if isinstance(piece, Read)), None)
    if column is None:
        return part
    inside = [Read(_UNPACKED) if isinstance(piece, Read) else piece for piece in part]
    start: SqlPart = ["(SELECT ", *inside, " FROM (SELECT ", column]
    # OFFSET keeps the planner from taking the inner subselect apart again.
    return [*start, " #> '{}'::text[] AS vecstore_metadata OFFSET 0) AS vecstore_row)"]
