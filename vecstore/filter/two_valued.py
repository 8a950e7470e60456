"""Filters of systems that know no third truth value: a comparison that is not true is false.

``year > 2020`` says nothing of a document without a year, and neither does its negation. To
Haystack, LlamaIndex, MongoDB and Qdrant the comparison is false there, and NOT makes it true.

No tree of the thirteen operators says that for every document: it would have to select ``[2021]``
and leave out ``2021``, and nothing but an ordering tells a list from its element; of a list, no
ordering holds. Where a schema declares that a key holds single values of one kind, the ordering is
unknown exactly where the key is absent, and ``year <= 2020 OR year IS NULL`` says it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from vecstore.errors import FilterTypeError
from vecstore.filter.normalize import NEGATION
from vecstore.filter.text import key_text
from vecstore.filter.tree import LOGICAL, ORDERINGS, Expression, Op, rule, trusted


class DeclaredKey(Protocol):
    """What a schema says of one key."""

    @property
    def kind(self) -> str:
        """The name of its kind; ``"any"`` for several."""

    @property
    def ordered(self) -> bool:
        """Whether it holds single values that can be ordered."""


class DeclaredKeys(Protocol):
    """A declaration of keys; a schema is one."""

    @property
    def keys(self) -> Mapping[tuple[str, ...], DeclaredKey]:
        """What each key holds, by its path."""

    def check(self, filter: Expression, /, *, coerce: bool = False) -> Expression:
        """Refuse a filter that compares with what a key cannot hold."""


OfAtom = Callable[[Expression, bool], Expression]
"""What becomes of a comparison or null test, and of one under an odd number of NOTs."""


def pushed_down(expression: Expression, atom: OfAtom) -> Expression:
    """The tree with each atom replaced, and without NOT, however deep it is."""
    frames: list[tuple[Op, list[Expression], list[Expression], bool]] = []
    node, negated = expression, False
    while True:
        while node.op is Op.NOT:
            node, negated = node.operands[0], not negated
        if node.op in LOGICAL:
            op = NEGATION[node.op] if negated else node.op
            first, *others = node.operands
            frames.append((op, others[::-1], [], negated))
            node = first
            continue
        done = atom(node, negated)
        while frames:
            op, waiting, parts, negated = frames[-1]
            parts.append(done)
            if waiting:
                node = waiting.pop()
                break
            frames.pop()
            done = Expression(op, *parts)
        else:
            return done


@rule("two_valued")
def two_valued(expression: Expression, schema: DeclaredKeys | None) -> Expression:
    """See :meth:`~vecstore.Expression.two_valued`."""
    keys = {} if schema is None else schema.keys

    def of_atom(node: Expression, negated: bool) -> Expression:
        if not negated:
            return node
        if node.op in ORDERINGS:
            _check_declared(node, keys)
            if schema is not None:
                schema.check(node)
        return opposite(node)

    return pushed_down(expression, of_atom)


def opposite(node: Expression) -> Expression:
    """What is true where a comparison is not, of a key that is absent or one value of one kind."""
    turned = trusted(
        NEGATION[node.op],
        node.operands,
        node.span,
        node.written_op,
        from_outside=node.from_outside,
    )
    if node.op not in ORDERINGS:
        return turned
    absent = trusted(
        Op.ISNULL, (node.key,), node.span, node.written_op, from_outside=node.from_outside
    )
    return Expression(Op.OR, turned, absent)


def _check_declared(node: Expression, keys: Mapping[tuple[str, ...], DeclaredKey]) -> None:
    name = key_text(node.key.path)
    declared = keys.get(node.key.path)
    if declared is None:
        fault = "is not declared"
    elif not declared.ordered or declared.kind == "any":
        fault = f"is declared as {declared}"
    else:
        return
    raise FilterTypeError(
        f"NOT {node.to_text()} cannot be told for a document of which {name} is a list or of "
        f"another kind, and {name} {fault}",
        span=node.span,
        hint=f"declare {name} to hold one kind of single values: "
        f"two_valued(Schema({{{name!r}: {'str' if isinstance(node.value.value, str) else 'int'}}}))"
        "; or ask document by document: matches(metadata, unknown=False)",
    )
