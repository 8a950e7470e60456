"""Conditions on the metadata that PostgreSQL answers soon, however long they are.

**Long conditions** are written so that they do not unpack a row's metadata again for every
comparison. PostgreSQL keeps metadata of more than some two kilobytes compressed, and every operator
that is given the column unpacks it for itself: of 250 comparisons, over 95 % of the time went
there. Past a few of them, a condition is put into a subselect that unpacks the metadata once. Where
many literals are compared with one key, it also finds out once which of them a row has there:
otherwise each comparison goes through the whole list that a value may be.

An index on the metadata does not reach into a subselect. So conditions that it may serve stand
outside as well: those of an AND beside the subselect, those of an OR in groups, each behind a
subselect of its own that says the same. The planner still finds them; where it reads all rows all
the same, only rows of which the subselect is true come to them.

**Long lists of literals** are looked up in a hash table that the server makes once a statement.
``m @> ANY(...)`` compares every row with every literal, which an index on the metadata makes up
for while the literals are few. Over an array that is known when the statement is planned,
``= ANY(...)`` is a hash table for texts and for numbers, so that the length of the list hardly
matters. It is one comparison for a scalar, and one for each element of a list.
"""

from __future__ import annotations

from collections import defaultdict
from math import prod
from typing import Final

from vecstore.dialects.pgvector.layout import encode_json, encode_nested
from vecstore.dialects.sql import Bound, SqlPart, joined
from vecstore.filter.tree import Expression
from vecstore.filter.values import Scalar

MOST_CONTAINED: Final = 16
"""The longest list for containment, which an index serves; longer ones are hashed over all rows."""
MOST_WITHOUT_INDEX: Final = 2
"""The same where no index serves: for NOT IN, and without one on the metadata."""
_MOST_SCANS: Final = 64
MOST_READS: Final = 16
"""So often a condition may read the metadata as it is; and the size of a group."""
_MANY: Final = 32
"""Literals of one key from which on it is cheaper to look for all of them in one go."""

CONTAINS: Final = " @> ANY("
_METADATA: Final = "vecstore_metadata"
_JOINTS: Final = {"AND": " AND ", "OR": " OR "}


class Read(str):
    """The JSONB column, where a condition reads it."""

    __slots__ = ()


class Sought(Bound):
    """The documents of which metadata has to contain one, behind :data:`CONTAINS`.

    Attributes:
        atom: The comparison that they stand for.
    """

    atom: Expression


class Contained(list[str | Bound]):
    """A containment that is neither negated nor hidden: an index on the metadata serves it."""

    __slots__ = ()


def contains(column: Read, atom: Expression) -> Contained:
    """The value at the atom's key equals a literal, or is a list with an element that does."""
    sought = Sought(encode_nested(atom.key.path, atom.value.items), "text[]::jsonb[]")
    sought.atom = atom
    return Contained((column, CONTAINS, sought, ")"))


class Combination(list[str | Bound]):
    """An AND or OR as it reads without subselects.

    Attributes:
        joint: AND or OR.
        parts: Its operands.
        reads: How often it reads the metadata.
        is_served: Whether an index may find its rows.

    Args:
        joint: AND or OR.
        parts: Its operands.
        indexed: Whether an index serves the metadata.
    """

    __slots__ = ("indexed", "is_served", "joint", "parts", "reads")

    def __init__(self, joint: str, parts: list[SqlPart], indexed: bool) -> None:
        super().__init__(joined(parts, _JOINTS[joint]))
        self.joint = joint
        self.parts = parts
        self.indexed = indexed
        self.reads = served = 0
        for part in parts:
            reads = _reads(part)
            self.reads += reads
            served += _is_served(part, reads, indexed)
        self.is_served = served > 0 if joint == "AND" else served == len(parts)


def with_few_reads(part: SqlPart, most_bound: int | None) -> SqlPart:
    """A whole condition, with subselects where it reads the metadata often.

    Args:
        part: The condition.
        most_bound: How many parameters it may bind; None where one that stands twice counts once.
    """
    if not isinstance(part, Combination) or part.reads <= MOST_READS:
        return part
    if part.joint == "OR":
        return _either(part, most_bound)
    served, others = _split(part)
    if sum(map(_reads, others)) <= MOST_READS:
        served, others = part.parts, []
    outside = [with_few_reads(one, most_bound) for one in served]
    if others:
        outside.append(_unpacked_and_found(joined(others, " AND ")))
    return joined(outside, " AND ") if len(outside) > 1 else outside[0]


def _split(combination: Combination) -> tuple[list[SqlPart], list[SqlPart]]:
    """Those of an AND that an index is to find, and those that are tested on what it found.

    Of short ones a few are enough for it. Each of them reads the metadata for itself.
    """
    served: list[SqlPart] = []
    others: list[SqlPart] = []
    room = MOST_READS
    for part in combination.parts:
        reads = _reads(part)
        if not _is_served(part, reads, combination.indexed) or room < reads <= MOST_READS:
            others.append(part)
            continue
        served.append(part)
        if reads <= MOST_READS:
            room -= reads
    return served, others


def _either(part: Combination, most_bound: int | None) -> SqlPart:
    if not part.is_served:
        return _unpacked_and_found(part)
    many = _compared_with_many(part)
    copies = 4 if many else 2
    bound = 0 if most_bound is None else sum(isinstance(one, Bound) for one in part)
    if most_bound is not None and bound * copies > most_bound:
        return part
    groups: list[list[SqlPart]] = [[]]
    room = MOST_READS
    for one in part.parts:
        room -= _reads(one)
        if room < 0 and groups[-1]:
            groups.append([])
            room = MOST_READS - _reads(one)
        groups[-1].append(one)
    either = [joined(group, " OR ") for group in groups]
    guarded = [joined([_unpacked(one), one], " AND ") if _reads(one) else one for one in either]
    if not many:
        return joined(guarded, " OR ")
    # Looking up once pays for all groups together. PostgreSQL tests first what it takes to be
    # cheaper, which the groups are not if the last one asks for all of it again.
    whole = _unpacked_and_found(part)
    guarded[-1] = joined([guarded[-1], whole], " AND ")
    return joined([whole, joined(guarded, " OR ")], " AND ")


def _reads(part: SqlPart) -> int:
    if type(part) is Combination:
        return part.reads
    count = 0
    for piece in part:
        if type(piece) is Read:
            count += 1
    return count


def _is_served(part: SqlPart, reads: int, indexed: bool) -> bool:
    """Whether an index may find the rows.

    What does not read the metadata is about a column of its own, which may have another.
    """
    if type(part) is Combination:
        return part.is_served
    return indexed if type(part) is Contained else not reads


# --- the subselect --------------------------------------------------------------------------------


def _unpacked(part: SqlPart) -> SqlPart:
    """The condition on metadata that is unpacked once, which the empty path does to any value."""
    column = next((piece for piece in part if type(piece) is Read), None)
    if column is None:
        return part
    # OFFSET keeps the planner from taking the inner subselects apart again.
    source: SqlPart = ["(SELECT ", column, f" #> '{{}}'::text[] AS {_METADATA} OFFSET 0)"]
    return ["(SELECT ", *_on_metadata(part), " FROM ", *source, " AS vecstore_row)"]


def _unpacked_and_found(part: SqlPart) -> SqlPart:
    """The same, where keys that many literals are compared with are looked at once."""
    many = _compared_with_many(part)
    if not many:
        return _unpacked(part)
    found = {path: _Found(f"vecstore_key_{number}", path) for number, path in enumerate(many)}
    inside: SqlPart = []
    pieces = iter(enumerate(part))
    for place, piece in pieces:
        sought = part[place + 2] if type(piece) is Read and place + 2 < len(part) else None
        key = found.get(sought.atom.key.path) if type(sought) is Sought else None
        if type(sought) is Sought and key is not None:
            inside += key.holds(sought.atom.value.items)
            for _ in range(3):  # the operator, what was sought, and the parenthesis
                next(pieces)
        else:
            inside.append(piece)
    column = next(piece for piece in part if type(piece) is Read)
    source: SqlPart = ["SELECT ", column, f" #> '{{}}'::text[] AS {_METADATA} OFFSET 0"]
    keys = found.values()
    for columns in ([key.value() for key in keys], [key.literals() for key in keys]):
        made = [piece for one in columns for piece in (", ", *one)]
        source = [f"SELECT {_METADATA}", *made, " FROM (", *source, ") AS vecstore_row OFFSET 0"]
    return ["(SELECT ", *_on_metadata(inside), " FROM (", *source, ") AS vecstore_row)"]


def _compared_with_many(part: SqlPart) -> list[tuple[str, ...]]:
    """The keys that many literals are compared with."""
    literals: dict[tuple[str, ...], int] = defaultdict(int)
    for piece in part:
        if type(piece) is Sought:
            literals[piece.atom.key.path] += len(piece.atom.value.items)
    return [path for path, count in literals.items() if count >= _MANY]


def _on_metadata(part: SqlPart) -> SqlPart:
    return [_METADATA if type(piece) is Read else piece for piece in part]


class _Found:
    """Which of many literals a row has at a key."""

    __slots__ = ("_literals", "_name", "_path")

    def __init__(self, name: str, path: tuple[str, ...]) -> None:
        self._name = name
        self._path = path
        self._literals: list[str] = []

    def holds(self, literals: tuple[Scalar, ...]) -> SqlPart:
        """One comparison: the row has one of these literals."""
        written = [encode_json(one) for one in literals]
        self._literals += written
        return [self._name, CONTAINS, Bound(written, "text[]::jsonb[]"), ")"]

    def value(self) -> SqlPart:
        """What the row has at the key."""
        steps: SqlPart = [_METADATA]
        for segment in self._path:
            steps += [" -> ", Bound(segment, "text")]
        return [*steps, f" AS {self._name}"]

    def literals(self) -> SqlPart:
        """Of all literals those that :meth:`value` is, or holds: a list, or NULL for none.

        JSON values are equal that have one type and content, and 1 equals 1.0. An array that is
        known when the statement is planned is a hash table.
        """
        name = self._name
        return [
            "(SELECT jsonb_agg(element.item) FROM jsonb_array_elements("
            f"CASE jsonb_typeof({name}) WHEN 'array' THEN {name} "
            f"ELSE jsonb_build_array({name}) END) AS element(item) WHERE element.item = ANY(",
            Bound(self._literals, "text[]::jsonb[]"),
            f")) AS {name}",
        ]


# --- long lists -----------------------------------------------------------------------------------


def among(value: SqlPart, text: SqlPart, literals: tuple[Scalar, ...]) -> SqlPart:
    """A JSON value equals one of the literals, or is a list with an element that does.

    Args:
        value: An expression for the JSON value, NULL where the key is missing.
        text: The same as a text.
        literals: Of any kinds.

    Returns:
        A condition that is never NULL.
    """
    kinds = _Kinds(literals)
    item: SqlPart = ["element.item"]
    item_text: SqlPart = ["element.item #>> '{}'"]
    return [
        "CASE jsonb_typeof(",
        *value,
        ")",
        *kinds.cases(value, text),
        " WHEN 'array' THEN EXISTS (SELECT FROM jsonb_array_elements(",
        *value,
        ") AS element(item) WHERE CASE jsonb_typeof(element.item)",
        *kinds.cases(item, item_text),
        " ELSE FALSE END) ELSE FALSE END",
    ]


def among_texts(column: str, literals: list[str]) -> SqlPart:
    """A list of texts, in a JSONB column of its own, has an element among the literals."""
    return [
        f"EXISTS (SELECT FROM jsonb_array_elements_text({column}) AS element(item) "
        'WHERE element.item COLLATE "C" = ANY(',
        Bound(literals, "text[]"),
        "))",
    ]


def with_few_scans(parts: list[SqlPart]) -> list[SqlPart]:
    """Keep the conditions of an AND from multiplying the work of a GIN index.

    PostgreSQL answers all ``@> ANY`` of an AND in one go, scanning the index once for every
    combination of their elements: 2 ** n times for n equalities. Past a few, the longer lists are
    hidden from the index by IS TRUE, and tested on the rows that the shorter ones find.
    """
    lengths = [_containment(part) for part in parts]
    if prod(filter(None, lengths)) <= _MOST_SCANS:
        return parts
    scans, kept = 1, list(parts)
    for length, number in sorted([(length, one) for one, length in enumerate(lengths) if length]):
        if scans > 1 and scans * length > _MOST_SCANS:
            kept[number] = ["(", *parts[number], ") IS TRUE"]
        else:
            scans *= length
    return kept


def _containment(part: SqlPart) -> int:
    """How many elements the list of a plain ``@> ANY`` has; 0 for any other condition."""
    sought = part[-2] if type(part) is Contained else None
    return len(sought.value) if isinstance(sought, Bound) else 0


class _Kinds:
    """The literals by kind, since a number equals no text; each array is bound once."""

    def __init__(self, literals: tuple[Scalar, ...]) -> None:
        texts: list[str] = []
        numbers: list[str] = []
        bools: set[bool] = set()
        for one in literals:
            if type(one) is int:
                numbers.append(str(one))
            elif isinstance(one, str):
                texts.append(one)
            elif isinstance(one, bool):
                bools.add(one)
            else:
                numbers.append(encode_json(one))
        self._texts = Bound(texts, "text[]") if texts else None
        # As numeric and not as JSON text, in which 1 and 1.0 differ.
        self._numbers = Bound(numbers, "text[]::numeric[]") if numbers else None
        written = [encode_json(one) for one in sorted(bools)]
        self._bools = Bound(written, "text[]::jsonb[]") if written else None

    def cases(self, value: SqlPart, text: SqlPart) -> SqlPart:
        """``WHEN`` a type ``THEN`` the comparison, for each kind that there is."""
        cases: SqlPart = []
        if self._texts is not None:
            # By code point, whatever collation the database has.
            cases += [" WHEN 'string' THEN (", *text, ') COLLATE "C" = ANY(', self._texts, ")"]
        if self._numbers is not None:
            cases += [" WHEN 'number' THEN (", *value, ")::numeric = ANY(", self._numbers, ")"]
        if self._bools is not None:
            cases += [" WHEN 'boolean' THEN (", *value, ") = ANY(", self._bools, ")"]
        return cases
