"""The reference evaluator: what a filter means, decided on one document's metadata.

Every dialect is tested against it. A filter is compiled once into a program of two-valued atom
tests with a jump for each outcome, so that evaluation neither recurses nor looks at a document
more than the verdict needs. The third truth value comes from the same programs: a filter is
FALSE exactly where its negation matches, and UNKNOWN where neither matches.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from operator import ge, gt, le, lt
from typing import Any

from vecstore.errors import DocumentError
from vecstore.filter.normalize import simplified, simplify
from vecstore.filter.text import key_text
from vecstore.filter.tree import LOGICAL, MEMBERSHIPS, ORDERINGS, Expression, Op, rule, trusted
from vecstore.filter.values import Kind, Scalar, UnusableValue, kind_of, to_metadata_value

Reader = Callable[[Mapping[str, Any]], Any]
Test = Callable[[Mapping[str, Any]], bool]

_ACCEPT, _REJECT = -1, -2
_PLAIN = frozenset({bool, int, str, dict, type(None)})


@rule("evaluate")
class Evaluator:
    """A filter compiled for evaluation."""

    __slots__ = ("_expression", "_negative", "matches")

    matches: Test
    """Whether the filter is TRUE on a document with this metadata."""

    def __init__(self, expression: Expression) -> None:
        self._expression = expression
        self.matches = _decided(simplified(expression), _reader, any)
        self._negative: Test | None = None

    def evaluate(self, metadata: Mapping[str, Any]) -> bool | None:
        """TRUE, FALSE, or None for UNKNOWN."""
        if self.matches(metadata):
            return True
        if self._negative is None:
            negation = trusted(Op.NOT, (self._expression,))
            self._negative = _decided(simplify(negation), _reader, any)
        return False if self._negative(metadata) else None


@rule("two_valued_matcher")
def two_valued_matcher(expression: Expression) -> Test:
    """What ``matches(metadata, unknown=False)`` asks: an unknown comparison is taken for false."""
    return _running(expression, _reader, any)


def stored_matcher(expression: Expression) -> Test:
    """What ``expression.matcher()`` gives, for metadata that a document holds already.

    Values are taken as they stand, without being read as a document would hold them.
    """
    kept = expression.kept
    matcher = kept.stored_matcher
    if matcher is None:
        matcher = kept.stored_matcher = _decided(simplified(expression), _stored_reader, any)
    return matcher


def matcher_of_every_element(expression: Expression | bool) -> Test:
    """A function that tells whether the filter holds whichever element stands for each list.

    Where it says yes of a document, the filter is TRUE on the document itself and on each one that
    has, in the place of every list under a key of the filter, any one element of that list: every
    comparison it relies on holds for all elements, and a filter without NOT stays true while its
    comparisons do.

    Args:
        expression: What :func:`~vecstore.filter.normalize.simplify` returned.
    """
    return _decided(expression, _stored_reader, all)


def read_path(metadata: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    """The value at a path as a document would hold it, or None when it is missing.

    Raises:
        DocumentError: If the value there is one that documents cannot hold.
        TypeError: If ``metadata`` is no mapping.
    """
    value: Any = metadata
    for segment in path:
        if not isinstance(value, Mapping):
            if value is metadata:
                raise _no_metadata(value)
            return None
        value = value.get(segment)
    if type(value) in _PLAIN:
        return value
    if isinstance(value, Mapping):
        return value
    try:
        return to_metadata_value(value)
    except UnusableValue as error:
        key = key_text(path)
        raise DocumentError(
            f"the value under key {key} cannot be filtered on: {error.reason}; {error.remedy}",
            key=key,
        ) from None


def _reader(path: tuple[str, ...]) -> Reader:
    return lambda metadata: read_path(metadata, path)


def _stored_reader(path: tuple[str, ...]) -> Reader:
    if len(path) == 1:
        (name,) = path
        return lambda metadata: metadata.get(name)

    def read(metadata: Mapping[str, Any]) -> Any:
        value: Any = metadata
        for name in path:
            # Asking an abstract class takes several times as long.
            if value.__class__ is not dict and not isinstance(value, Mapping):
                return None
            value = value.get(name)
        return value

    return read


def _no_metadata(value: object) -> TypeError:
    remedy = "; pass its .metadata" if hasattr(value, "metadata") else ""
    return TypeError(
        f"a filter is evaluated on metadata, a mapping, not on a {type(value).__name__}{remedy}"
    )


Readers = Callable[[tuple[str, ...]], Reader]
OfElements = Callable[[Any], bool]
"""``any`` or ``all``: how many elements of a list have to equal a literal."""


def _decided(expression: Expression | bool, reader: Readers, elements: OfElements) -> Test:
    """One function that decides the whole filter."""
    if isinstance(expression, bool):
        verdict = expression
        return lambda metadata: verdict
    nested = _nested(expression, reader, elements)
    return _running(expression, reader, elements) if nested is None else nested


def _running(expression: Expression, reader: Readers, elements: OfElements) -> Test:
    """A function that goes from atom to atom, however deep the filter is."""
    program = _program(expression, reader, elements)

    def run(metadata: Mapping[str, Any]) -> bool:
        position = 0
        while position >= 0:
            test, on_true, on_false = program[position]
            position = on_true if test(metadata) else on_false
        return position == _ACCEPT

    return run


_DEEPEST_CALL = 20
"""Levels of AND and OR that are evaluated as functions that call each other."""


def _nested(
    expression: Expression, reader: Readers, elements: OfElements, depth: int = 0
) -> Test | None:
    """A function for each AND and OR, which is fastest; None where they are nested too deep."""
    if expression.op not in LOGICAL:
        return _atom_test(expression, reader, elements)
    if depth == _DEEPEST_CALL:
        return None
    tests: list[Test] = []
    for child in expression.operands:
        test = _nested(child, reader, elements, depth + 1)
        if test is None:
            return None
        tests.append(test)
    return _all_of(tests) if expression.op is Op.AND else _any_of(tests)


def _all_of(tests: list[Test]) -> Test:
    def run(metadata: Mapping[str, Any]) -> bool:
        # A generator inside all() costs more than most tests.
        for test in tests:
            if test(metadata):
                continue
            return False
        return True

    return run


def _any_of(tests: list[Test]) -> Test:
    def run(metadata: Mapping[str, Any]) -> bool:
        for test in tests:
            if not test(metadata):
                continue
            return True
        return False

    return run


def _program(
    expression: Expression, reader: Readers, elements: OfElements
) -> list[tuple[Test, int, int]]:
    """Lay the atoms out so that each knows where evaluation goes on after either outcome.

    A NOT swaps the two: what is not TRUE under it, be it UNKNOWN, counts as false.

    The list is filled from the last atom to the first, since a jump goes to the right
    neighbour: positions are counted from the end until the finished list is turned round.
    """
    placed: list[tuple[Test, int, int]] = []
    frames: list[tuple[Op, list[Expression], int, int]] = []
    node, on_true, on_false = expression, _ACCEPT, _REJECT
    while True:
        while node.op in LOGICAL:  # the last child leaves its parent wherever the parent goes
            children = list(node.operands)
            if node.op is Op.NOT:
                on_true, on_false = on_false, on_true
            else:
                frames.append((node.op, children, on_true, on_false))
            node = children.pop()
        placed.append((_atom_test(node, reader, elements), on_true, on_false))
        entry = len(placed) - 1
        while frames and not frames[-1][1]:
            frames.pop()
        if not frames:
            break
        op, children, on_true, on_false = frames[-1]
        node = children.pop()
        if op is Op.AND:
            on_true = entry
        else:
            on_false = entry
    last = len(placed) - 1
    return [
        (test, last - yes if yes >= 0 else yes, last - no if no >= 0 else no)
        for test, yes, no in reversed(placed)
    ]


def _atom_test(atom: Expression, reader: Readers, elements: OfElements) -> Test:
    if reader is _stored_reader and elements is any and len(atom.key.path) == 1:
        test = _plain_test(atom.key.path[0], atom)
        if test is not None:
            return test
    read = reader(atom.key.path)
    op = atom.op
    if op is Op.ISNULL:
        return lambda metadata: _is_absent(read(metadata))
    if op is Op.ISNOTNULL:
        return lambda metadata: not _is_absent(read(metadata))
    if op is Op.EQ or op is Op.IN:
        holds = _equality(atom.value.items, elements)
        return lambda metadata: holds(read(metadata))
    if op is Op.NE or op is Op.NIN:
        # Already a statement on every element: none of them equals a literal.
        held = _equality(atom.value.items, any)
        return lambda metadata: not held(read(metadata))
    return _ordering(read, op, atom.value.items[0])


def _plain_test(name: str, atom: Expression) -> Test | None:
    """The commonest tests in one step: metadata that a document holds, and a key at its top.

    A list holds values of one type. To Python ``True`` is 1; everything else that is equal is of
    one kind.
    """
    op = atom.op
    if op is Op.ISNULL:
        return lambda held: (
            (value := held.get(name)) is None or (value.__class__ is list and not value)
        )
    if op is Op.ISNOTNULL:
        return lambda held: (
            not ((value := held.get(name)) is None or (value.__class__ is list and not value))
        )
    if op in MEMBERSHIPS:
        return None
    literal: Any = atom.value.value
    if op in ORDERINGS:
        compare = _COMPARE[op]
        if isinstance(literal, str):
            return lambda held: (
                (value := held.get(name)).__class__ is str and compare(value, literal)
            )
        return lambda held: (
            ((kind := (value := held.get(name)).__class__) is int or kind is float)
            and compare(value, literal)
        )
    if isinstance(literal, bool):
        if op is Op.EQ:
            return lambda held: (
                (value := held.get(name)) is literal
                or (value.__class__ is list and any(item is literal for item in value))
            )
        return lambda held: (
            (value := held.get(name)) is not literal
            and not (value.__class__ is list and any(item is literal for item in value))
        )
    if isinstance(literal, str):
        if op is Op.EQ:
            return lambda held: (
                (value := held.get(name)) == literal
                or (value.__class__ is list and literal in value)
            )
        return lambda held: (
            (value := held.get(name)) != literal
            and not (value.__class__ is list and literal in value)
        )
    if op is Op.EQ:
        return lambda held: (
            ((value := held.get(name)) == literal and value.__class__ is not bool)
            or (value.__class__ is list and literal in value and value[0].__class__ is not bool)
        )
    return lambda held: (
        ((value := held.get(name)) != literal or value.__class__ is bool)
        and not (value.__class__ is list and literal in value and value[0].__class__ is not bool)
    )


def _is_absent(value: Any) -> bool:
    return value is None or (type(value) is list and not value)


_FEW = 16
"""So many literals are looked for in a list one by one."""


def _equality(literals: tuple[Scalar, ...], elements: OfElements) -> Callable[[Any], bool]:
    """A test for "equals one of the literals", on a scalar or on the elements of a list.

    The literals are kept apart by kind: True and 1 are equal to Python. Numbers are looked up by
    order and not by hash: whoever writes the filter could choose ten thousand integers that all
    have one hash, and each look-up would then try them one by one.
    """
    if len(literals) == 1:
        return _equality_with(literals[0], elements)
    by_kind: dict[Kind, list[Any]] = {kind: [] for kind in Kind}
    for literal in literals:
        by_kind[kind_of(literal)].append(literal)
    is_number = _lookup(by_kind[Kind.NUMBER])
    texts, truths = frozenset(by_kind[Kind.STRING]), frozenset(by_kind[Kind.BOOL])
    by_type: dict[type, Callable[[Any], bool]] = {
        str: texts.__contains__,
        bool: truths.__contains__,
        int: is_number,
        float: is_number,
    }

    def is_literal(item: Any) -> bool:
        found = by_type.get(type(item))
        return found is not None and found(item)

    few = literals if len(literals) <= _FEW else ()

    def holds(value: Any) -> bool:
        if type(value) is not list:
            return is_literal(value)
        if few:
            # What is unequal to Python is unequal, and Python looks through a list much faster.
            for literal in few:
                if literal in value:
                    break
            else:
                return False
        return bool(value) and elements(is_literal(item) for item in value)

    return holds


def _equality_with(literal: Scalar, elements: OfElements) -> Callable[[Any], bool]:
    types = (int, float) if kind_of(literal) is Kind.NUMBER else (type(literal),)

    def holds(value: Any) -> bool:
        kind = type(value)
        if kind in types:
            return bool(value == literal)
        if kind is not list or literal not in value:
            return False
        return elements(type(item) in types and item == literal for item in value)

    return holds


def _lookup(numbers: list[Any]) -> Callable[[Any], bool]:
    ordered = sorted(numbers)
    end = len(ordered)

    def found(number: Any) -> bool:
        position = bisect_left(ordered, number)
        return position < end and bool(ordered[position] == number)

    return found


def _ordering(read: Reader, op: Op, literal: Scalar) -> Test:
    types = (str,) if isinstance(literal, str) else (int, float)
    compare: Callable[[Any, Any], bool] = _COMPARE[op]

    def test(metadata: Mapping[str, Any]) -> bool:
        value = read(metadata)
        return type(value) in types and compare(value, literal)

    return test


_COMPARE: dict[Op, Callable[[Any, Any], bool]] = {Op.GT: gt, Op.GTE: ge, Op.LT: lt, Op.LTE: le}
