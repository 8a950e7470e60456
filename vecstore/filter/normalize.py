"""Pushing NOT down to the atoms, and what can be said without looking at a document.

NOT disappears through De Morgan's laws and the negation map; under the three-valued rules of
the language this changes no verdict on any document. What is left is built of AND and OR over
atoms, which a backend may read as plain two-valued logic.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import is_
from typing import Any

from vecstore.filter.merge import merge
from vecstore.filter.tree import (
    LOGICAL,
    MEMBERSHIPS,
    ORDERINGS,
    Expression,
    Op,
    Value,
    rule,
    trusted,
)
from vecstore.filter.values import MAX_METADATA_DEPTH

NEGATION: dict[Op, Op] = {
    Op.AND: Op.OR,
    Op.OR: Op.AND,
    Op.EQ: Op.NE,
    Op.NE: Op.EQ,
    Op.GT: Op.LTE,
    Op.LTE: Op.GT,
    Op.GTE: Op.LT,
    Op.LT: Op.GTE,
    Op.IN: Op.NIN,
    Op.NIN: Op.IN,
    Op.ISNULL: Op.ISNOTNULL,
    Op.ISNOTNULL: Op.ISNULL,
}
# NOT itself has no twin: two of them cancel.
_NOT = Op.NOT

Fold = Callable[[Expression], bool | None]
"""Decides an atom without a document: True or False when it is constant, else None."""


def fold_empty_list(atom: Expression) -> bool | None:
    """``k IN []`` is false and ``k NOT IN []`` true on every document."""
    if atom.op is Op.IN and not atom.value.items:
        return False
    if atom.op is Op.NIN and not atom.value.items:
        return True
    return None


def fold_deep_key(atom: Expression) -> bool | None:
    """A key that steps into more objects than a document can hold is absent from all of them.

    An ordering is UNKNOWN there, hence TRUE on no document, and neither is its negation.
    """
    if len(atom.key.path) <= MAX_METADATA_DEPTH:
        return None
    return atom.op in TRUE_WHERE_ABSENT


TRUE_WHERE_ABSENT = frozenset({Op.NE, Op.NIN, Op.ISNULL})


def simplify(expression: Expression, fold: Fold = fold_empty_list) -> Expression | bool:
    """Push NOT down, splice, merge atoms of one key, fold constants, unwrap single children.

    The result is TRUE on the same documents as the expression; FALSE and UNKNOWN may be exchanged.

    Args:
        expression: Any tree, however deep.
        fold: Decides atoms that are constant. It is not asked about keys that no document can have.

    Returns:
        A tree of AND, OR and atoms in which no AND stands in an AND and no OR in an OR; or the
        constant that the filter is for every document.
    """
    return _rewritten(expression, fold, fold_deep_key)


def simplified(expression: Expression) -> Expression | bool:
    """What :func:`simplify` returns, made once for a tree."""
    kept = expression.kept
    simple = kept.simple
    if simple is None:
        simple = simplify(expression)
        # A tree that kept itself would be freed late.
        kept.simple = ... if simple is expression else simple
        return simple
    return expression if simple is ... else simple


def _rewritten(expression: Expression, fold: Fold, fold_deep: Fold) -> Expression | bool:
    # A list of parts starts as the operands of one AND or OR, and each is replaced in its place.
    # An item with parts is an AND or OR of which all parts are done.
    root: list[Any] = [expression]
    stack: list[tuple[list[Any] | None, Expression, bool, list[Any], int]] = [
        (None, expression, False, root, 0)
    ]
    while stack:
        parts, node, negated, target, place = stack.pop()
        if parts is not None:
            target[place] = _joined(node, negated, parts)
            continue
        while node.op is _NOT:
            node, negated = node.operands[0], not negated
        if node.op in LOGICAL:
            parts = list(node.operands)
            stack.append((parts, node, negated, target, place))
            for number, child in enumerate(parts):
                if child.op in LOGICAL:
                    stack.append((None, child, negated, parts, number))
                else:
                    parts[number] = _atom(child, negated, fold, fold_deep)
        else:
            target[place] = _atom(node, negated, fold, fold_deep)
    result: Expression | bool = root[0]
    return result


def _atom(atom: Expression, negated: bool, fold: Fold, fold_deep: Fold) -> Expression | bool:
    if negated:
        atom = _negated_atom(atom)
    if len(atom.key.path) > MAX_METADATA_DEPTH:
        verdict = fold_deep(atom)
        if verdict is not None:
            return verdict
    if fold is fold_empty_list and atom.op not in MEMBERSHIPS:
        return atom
    verdict = fold(atom)
    return atom if verdict is None else verdict


@rule("normalize")
def normalize(expression: Expression) -> Expression:
    """The simplified tree as an expression; constants are written with an empty list."""
    # An ordering that is never TRUE may be UNKNOWN.
    simple = _rewritten(expression, fold_empty_list, _fold_exactly)
    if not isinstance(simple, bool):
        return simple
    first_key = next(node for node in expression.walk() if node.op not in LOGICAL).key
    return Expression(Op.NIN if simple else Op.IN, first_key, Value(()), span=expression.span)


def _fold_exactly(atom: Expression) -> bool | None:
    """What is constant in all three values."""
    return None if atom.op in ORDERINGS else fold_deep_key(atom)


def _joined(node: Expression, negated: bool, done: list[Expression | bool]) -> Expression | bool:
    op = NEGATION[node.op] if negated else node.op
    absorbing = op is Op.OR  # TRUE decides an OR, FALSE decides an AND
    parts: list[Expression] = []
    for part in done:
        if isinstance(part, bool):
            if part is absorbing:
                return absorbing
        elif part.op is op:
            parts.extend(part.operands)
        else:
            parts.append(part)
    left = merge(op, parts)
    if left is None:
        return absorbing
    if not left:
        return not absorbing
    if len(left) == 1:
        return left[0]
    operands = tuple(left)
    # By identity: equal atoms may stand in different places of a text.
    if not negated and len(operands) == len(node.operands):
        if all(map(is_, operands, node.operands)):
            return node
    return trusted(op, operands, node.span, node.written_op)


def _negated_atom(atom: Expression) -> Expression:
    return trusted(
        NEGATION[atom.op],
        atom.operands,
        atom.span,
        atom.written_op,
        from_outside=atom.from_outside,
        merged=tuple(map(_negated_atom, atom.merged)),
    )
