"""The thirteen operators and what each may stand beside."""

from __future__ import annotations

import enum

from vecstore.filter.values import Kind


class Op(enum.Enum):
    """The thirteen operators; the value is the name used in the dict form."""

    AND = "and"
    OR = "or"
    NOT = "not"
    EQ = "eq"
    NE = "ne"
    GT = "gt"
    GTE = "gte"
    LT = "lt"
    LTE = "lte"
    IN = "in"
    NIN = "nin"
    ISNULL = "isnull"
    ISNOTNULL = "isnotnull"

    # Members are singletons: identity hashing is right, and much faster than hashing the name.
    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"Op.{self.name}"

    @property
    def symbol(self) -> str:
        """The operator as the canonical text spells it."""
        return _SYMBOLS[self]


_SYMBOLS = {
    Op.AND: "AND",
    Op.OR: "OR",
    Op.NOT: "NOT",
    Op.EQ: "==",
    Op.NE: "!=",
    Op.GT: ">",
    Op.GTE: ">=",
    Op.LT: "<",
    Op.LTE: "<=",
    Op.IN: "IN",
    Op.NIN: "NOT IN",
    Op.ISNULL: "IS NULL",
    Op.ISNOTNULL: "IS NOT NULL",
}

LOGICAL = frozenset({Op.AND, Op.OR, Op.NOT})
ORDERINGS = frozenset({Op.GT, Op.GTE, Op.LT, Op.LTE})
COMPARISONS = ORDERINGS | {Op.EQ, Op.NE}
MEMBERSHIPS = frozenset({Op.IN, Op.NIN})
NULL_TESTS = frozenset({Op.ISNULL, Op.ISNOTNULL})


def literal_fault(op: Op, kind: Kind) -> tuple[str, str] | None:
    """What is wrong with a literal of that kind on the right of ``op``, and the remedy.

    The text parser and the constructors share it, so that both refuse the same trees in the
    same words.
    """
    if op in MEMBERSHIPS:
        if kind is not Kind.LIST:
            return f"{op.symbol} takes a list, not a {kind.value}", f"write {op.symbol} [...]"
    elif op in ORDERINGS:
        if kind not in (Kind.NUMBER, Kind.STRING):
            return (
                f"{op.symbol} orders numbers or strings, not a {kind.value}",
                "compare with ==" if kind is Kind.BOOL else "compare with one number or string",
            )
    elif kind is Kind.LIST:
        membership = Op.IN if op is Op.EQ else Op.NIN
        return (
            f"{op.symbol} compares with one value, not a list",
            f"write {membership.symbol} [...]",
        )
    return None
