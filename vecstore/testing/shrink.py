"""Making a failing case small: few comparisons, a small document, plain values."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from vecstore.filter.normalize import NEGATION
from vecstore.filter.tree import LOGICAL, NULL_TESTS, Expression, Key, Op, Value
from vecstore.filter.values import Scalar

Document = dict[str, Any]
Fails = Callable[[Expression, Document], bool]


def shrink(
    filter: Expression,
    document: Document,
    fails: Fails,
    *,
    max_tries: int = 400,
    max_seconds: float = 20.0,
) -> tuple[Expression, Document]:
    """The smallest filter and document found on which ``fails`` still holds.

    Greedy: of the next smaller variants the first that fails is taken, until none does or the
    budget is spent.

    Args:
        filter: A filter that fails.
        document: The document that it fails on.
        fails: Decides a variant; whatever it cannot judge counts as not failing.
        max_tries: Most calls of ``fails``.
        max_seconds: Longest time to go on.

    Example:
        >>> from vecstore import parse
        >>> small, document = shrink(
        ...     parse("(a == 1 OR b != 'long text') AND c IS NULL"),
        ...     {"a": 7, "b": "x", "d": [1, 2]},
        ...     lambda filter, document: "!=" in filter.to_text() and "b" in document,
        ... )
        >>> small.to_text(), document
        ("b != ''", {'b': ''})
    """
    until = time.monotonic() + max_seconds
    tries = 0
    progress = True
    while progress:
        progress = False
        for smaller in _variants(filter, document):
            if tries >= max_tries or time.monotonic() > until:
                return filter, document
            tries += 1
            if fails(*smaller):
                filter, document = smaller
                progress = True
                break
    return filter, document


def _variants(filter: Expression, document: Document) -> Iterator[tuple[Expression, Document]]:
    """Smaller cases, the boldest steps first."""
    yield from ((smaller, document) for smaller in _smaller_trees(filter))
    yield from ((filter, smaller) for smaller in _smaller_objects(document))
    for old in _literals(filter):
        for new in _plainer(old):
            swapped = _swap(document, old, new)
            if swapped != document:
                yield _with_literal(filter, old, new), swapped
    for atom in (node for node in filter.walk() if node.op not in LOGICAL):
        for path in _plainer_paths(atom.key.path):
            moved = _moved(document, atom.key.path, path)
            if moved is not None:
                yield _with_path(filter, atom.key.path, path), moved


def _smaller_trees(filter: Expression) -> Iterator[Expression]:
    if filter.op not in LOGICAL:
        yield from _smaller_atoms(filter)
        return
    children = filter.operands
    yield from children
    if filter.op is Op.NOT and children[0].op not in LOGICAL:
        yield Expression(NEGATION[children[0].op], *children[0].operands)
    for index in range(len(children)):
        rest = children[:index] + children[index + 1 :]
        if len(rest) >= 2:
            yield Expression(filter.op, *rest)
    for index, child in enumerate(children):
        for smaller in _smaller_trees(child):
            yield Expression(filter.op, *children[:index], smaller, *children[index + 1 :])


def _smaller_atoms(atom: Expression) -> Iterator[Expression]:
    if atom.op in NULL_TESTS:
        return
    literal = atom.value.value
    if not isinstance(literal, tuple):
        for plainer in _plainer(literal):
            yield Expression(atom.op, atom.key, Value(plainer))
        return
    half = len(literal) // 2
    if half:
        yield Expression(atom.op, atom.key, Value(literal[:half]))
        yield Expression(atom.op, atom.key, Value(literal[half:]))
    if len(literal) == 1:
        yield Expression(Op.EQ if atom.op is Op.IN else Op.NE, atom.key, Value(literal[0]))
    if len(literal) <= 8:
        for index, item in enumerate(literal):
            before, after = literal[:index], literal[index + 1 :]
            yield Expression(atom.op, atom.key, Value((*before, *after)))
            for plainer in _plainer(item):
                yield Expression(atom.op, atom.key, Value((*before, plainer, *after)))


def _smaller_objects(document: Document) -> Iterator[Document]:
    for key in document:
        yield {name: value for name, value in document.items() if name != key}
    for key, value in document.items():
        for smaller in _smaller_values(value):
            yield {**document, key: smaller}


def _smaller_values(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from _smaller_objects(value)
    elif isinstance(value, list):
        for index in range(len(value)):
            yield value[:index] + value[index + 1 :]
        for index, item in enumerate(value):
            for plainer in _plainer(item):
                yield [*value[:index], plainer, *value[index + 1 :]]
    elif value is not None:
        yield from _plainer(value)


def _plainer(value: Scalar) -> Iterator[Scalar]:
    """Values of the same kind that are shorter to write."""
    candidates: list[Scalar]
    if isinstance(value, bool):
        return
    if isinstance(value, str):
        half = len(value) // 2
        candidates = ["", "a", value[:half], value[half:], value[1:], value[:-1]]
    else:
        candidates = [0, 1, int(value), -value]
    size = _weight(value)
    yield from dict.fromkeys(new for new in candidates if _weight(new) < size)


def _weight(value: Scalar) -> int:
    return len(repr(value)) + (isinstance(value, str) and not value.isalnum() and bool(value))


def _plainer_paths(path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if len(path) > 1:
        yield path[-1:]
        yield path[:-1]
    for index, segment in enumerate(path):
        if len(segment) > 1 or segment not in "kxyn":
            for name in ("k", segment[: len(segment) // 2], segment[len(segment) // 2 :]):
                if name and name != segment:
                    yield (*path[:index], name, *path[index + 1 :])


def _literals(filter: Expression) -> list[Scalar]:
    found: dict[tuple[type, Scalar], Scalar] = {}
    for node in filter.walk():
        if node.op not in LOGICAL and node.op not in NULL_TESTS and len(node.value.items) <= 8:
            found.update({(type(item), item): item for item in node.value.items})
    return list(found.values())


def _with_literal(filter: Expression, old: Scalar, new: Scalar) -> Expression:
    def replaced(atom: Expression) -> Expression:
        if atom.op in NULL_TESTS:
            return atom
        return Expression(atom.op, atom.key, Value(_swap(atom.value.value, old, new)))

    return _rebuilt(filter, replaced)


def _with_path(filter: Expression, old: tuple[str, ...], new: tuple[str, ...]) -> Expression:
    def replaced(atom: Expression) -> Expression:
        key = Key(*new) if atom.key.path == old else atom.key
        return Expression(atom.op, key, *atom.operands[1:])

    return _rebuilt(filter, replaced)


def _rebuilt(filter: Expression, atom: Callable[[Expression], Expression]) -> Expression:
    if filter.op not in LOGICAL:
        return atom(filter)
    return Expression(filter.op, *[_rebuilt(child, atom) for child in filter.operands])


def _swap(value: Any, old: Scalar, new: Scalar) -> Any:
    if isinstance(value, Mapping):
        return {key: _swap(item, old, new) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)([_swap(item, old, new) for item in value])
    return new if type(value) is type(old) and value == old else value


def _moved(document: Document, old: tuple[str, ...], new: tuple[str, ...]) -> Document | None:
    """The document with what stands at one path put at another; None when there is nothing."""
    value: Any = document
    for segment in old:
        if not isinstance(value, dict) or segment not in value:
            return None
        value = value[segment]
    for segment in reversed(new):
        value = {segment: value}
    rest = {key: item for key, item in document.items() if key != old[0]}
    return {**rest, **value}
