"""The reference evaluator: what a filter means, decided on one document's metadata.

Every dialect is tested against it. A filter is compiled once into a program of two-valued atom
tests with a jump for each outcome, so that evaluation neither recurses nor looks at a document
more than the verdict needs. The third truth value comes from the same programs: a filter is
FALSE exactly where its negation matches, and UNKNOWN where neither matches.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from vecstore.errors import DocumentError
from vecstore.filter.ast import Expression, trusted
from vecstore.filter.normalize import simplify
from vecstore.filter.op import LOGICAL, Op
from vecstore.filter.text import key_text
from vecstore.filter.values import Kind, Scalar, UnusableValue, kind_of, to_metadata_value

Reader = Callable[[Mapping[str, Any]], Any]
Test = Callable[[Mapping[str, Any]], bool]

_ACCEPT, _REJECT = -1, -2
_PLAIN = frozenset({bool, int, str, dict, type(None)})


class Evaluator:
    """A filter compiled for evaluation."""

    __slots__ = ("_expression", "_negative", "_positive")

    def __init__(self, expression: Expression) -> None:
        self._expression = expression
        self._positive = _program(simplify(expression))
        self._negative: bool | list[tuple[Test, int, int]] | None = None

    def matches(self, metadata: Mapping[str, Any]) -> bool:
        """Whether the filter is TRUE."""
        return _run(self._positive, metadata)

    def evaluate(self, metadata: Mapping[str, Any]) -> bool | None:
        """TRUE, FALSE, or None for UNKNOWN."""
        if _run(self._positive, metadata):
            return True
        if self._negative is None:
            self._negative = _program(simplify(trusted(Op.NOT, (self._expression,))))
        return False if _run(self._negative, metadata) else None


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


def _no_metadata(value: object) -> TypeError:
    remedy = "; pass its .metadata" if hasattr(value, "metadata") else ""
    return TypeError(
        f"a filter is evaluated on metadata, a mapping, not on a {type(value).__name__}{remedy}"
    )


def _run(program: bool | list[tuple[Test, int, int]], metadata: Mapping[str, Any]) -> bool:
    if isinstance(program, bool):
        return program
    position = 0
    while position >= 0:
        test, on_true, on_false = program[position]
        position = on_true if test(metadata) else on_false
    return position == _ACCEPT


def _program(expression: Expression | bool) -> bool | list[tuple[Test, int, int]]:
    """Lay the atoms out so that each knows where evaluation goes on after either outcome.

    The list is filled from the last atom to the first, since a jump goes to the right
    neighbour: positions are counted from the end until the finished list is turned round.
    """
    if isinstance(expression, bool):
        return expression
    placed: list[tuple[Test, int, int]] = []
    frames: list[tuple[Op, list[Expression], int, int]] = []
    node, on_true, on_false = expression, _ACCEPT, _REJECT
    while True:
        while node.op in LOGICAL:  # the last child leaves its parent wherever the parent goes
            children = list(node.operands)
            frames.append((node.op, children, on_true, on_false))
            node = children.pop()
        placed.append((_atom_test(node), on_true, on_false))
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


def _atom_test(atom: Expression) -> Test:
    path = atom.key.path
    op = atom.op
    if op is Op.ISNULL:
        return lambda metadata: _is_absent(read_path(metadata, path))
    if op is Op.ISNOTNULL:
        return lambda metadata: not _is_absent(read_path(metadata, path))
    if op is Op.EQ or op is Op.IN:
        holds = _equality(atom.value.items)
        return lambda metadata: holds(read_path(metadata, path))
    if op is Op.NE or op is Op.NIN:
        holds = _equality(atom.value.items)
        return lambda metadata: not holds(read_path(metadata, path))
    return _ordering(path, op, atom.value.items[0])


def _is_absent(value: Any) -> bool:
    return value is None or (type(value) is list and not value)


def _equality(literals: tuple[Scalar, ...]) -> Callable[[Any], bool]:
    """A test for "equals one of the literals", on a scalar or on any element of a list.

    The literals are kept apart by kind: True and 1 share a hash and are equal to Python.
    """
    by_kind: dict[Kind, set[Scalar]] = {kind: set() for kind in Kind}
    for literal in literals:
        by_kind[kind_of(literal)].add(literal)
    numbers = by_kind[Kind.NUMBER]
    by_type: dict[type, set[Scalar]] = {
        str: by_kind[Kind.STRING],
        bool: by_kind[Kind.BOOL],
        int: numbers,
        float: numbers,
    }

    def holds(value: Any) -> bool:
        if type(value) is list:
            return any(item in by_type[type(item)] for item in value)
        wanted = by_type.get(type(value))
        return wanted is not None and value in wanted

    return holds


def _ordering(path: tuple[str, ...], op: Op, literal: Scalar) -> Test:
    types = (str,) if isinstance(literal, str) else (int, float)
    compare: Callable[[Any, Any], bool] = _COMPARE[op]

    def test(metadata: Mapping[str, Any]) -> bool:
        value = read_path(metadata, path)
        return type(value) in types and compare(value, literal)

    return test


_COMPARE: dict[Op, Callable[[Any, Any], bool]] = {
    Op.GT: operator.gt,
    Op.GTE: operator.ge,
    Op.LT: operator.lt,
    Op.LTE: operator.le,
}
