"""Pushing NOT down to the atoms, and what can be said without looking at a document.

NOT disappears through De Morgan's laws and the negation map; under the three-valued rules of
the language this changes no verdict on any document. What is left is built of AND and OR over
atoms, which a backend may read as plain two-valued logic.
"""

from __future__ import annotations

from collections.abc import Callable

from vecstore.filter.merge import merge
from vecstore.filter.tree import LOGICAL, ORDERINGS, Expression, Op, Value, rule, trusted
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

    def decided(atom: Expression) -> bool | None:
        verdict = fold_deep_key(atom)
        return fold(atom) if verdict is None else verdict

    return _rewritten(expression, decided)


def _rewritten(expression: Expression, fold: Fold) -> Expression | bool:
    # Each open frame gathers the finished children of one AND or OR. A child of the same
    # operator is opened into its parent's own list, which is what splices it.
    results: list[Expression | bool] = []
    stack: list[_Frame | tuple[Expression, bool, list[Expression | bool]]] = [
        (expression, False, results)
    ]
    while stack:
        item = stack.pop()
        if isinstance(item, _Frame):
            item.target.append(_joined(item))
            continue
        node, negated, target = item
        while node.op is Op.NOT:
            node, negated = node.operands[0], not negated
        if node.op not in LOGICAL:
            atom = _negated_atom(node) if negated else node
            verdict = fold(atom)
            target.append(atom if verdict is None else verdict)
            continue
        op = NEGATION[node.op] if negated else node.op
        frame = _Frame(op, node, target)
        stack.append(frame)
        stack.extend((child, negated, frame.parts) for child in reversed(node.operands))
    return results[0]


class _Frame:
    """An AND or OR whose children are being rewritten."""

    __slots__ = ("node", "op", "parts", "target")

    def __init__(self, op: Op, node: Expression, target: list[Expression | bool]) -> None:
        self.op = op
        self.node = node
        self.target = target
        self.parts: list[Expression | bool] = []


@rule("normalize")
def normalize(expression: Expression) -> Expression:
    """The simplified tree as an expression; constants are written with an empty list."""
    simple = _rewritten(expression, _fold_exactly)
    if not isinstance(simple, bool):
        return simple
    first_key = next(node for node in expression.walk() if node.op not in LOGICAL).key
    return Expression(Op.NIN if simple else Op.IN, first_key, Value(()), span=expression.span)


def _fold_exactly(atom: Expression) -> bool | None:
    """What is constant in all three values."""
    if atom.op in ORDERINGS:
        return None
    verdict = fold_deep_key(atom)
    return fold_empty_list(atom) if verdict is None else verdict


def _joined(frame: _Frame) -> Expression | bool:
    absorbing = frame.op is Op.OR  # TRUE decides an OR, FALSE decides an AND
    parts: list[Expression] = []
    for part in frame.parts:
        if isinstance(part, bool):
            if part is absorbing:
                return absorbing
        elif part.op is frame.op:
            parts.extend(part.operands)
        else:
            parts.append(part)
    left = merge(frame.op, parts)
    if left is None:
        return absorbing
    if not left:
        return not absorbing
    if len(left) == 1:
        return left[0]
    return trusted(frame.op, tuple(left), frame.node.span, frame.node.written_op)


def _negated_atom(atom: Expression) -> Expression:
    return trusted(
        NEGATION[atom.op],
        atom.operands,
        atom.span,
        atom.written_op,
        from_outside=atom.from_outside,
        merged=tuple(map(_negated_atom, atom.merged)),
    )
