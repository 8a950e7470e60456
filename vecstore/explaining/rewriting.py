"""What normalisation does to a filter, and what may surprise in how it is answered."""

from __future__ import annotations

from vecstore.filter.normalize import simplify
from vecstore.filter.tree import LOGICAL, ORDERINGS, Expression, trusted


def rewrites(expression: Expression) -> list[str]:
    """What normalisation did to a filter, a line for each change.

    Example:
        >>> from vecstore import parse
        >>> rewrites(parse("NOT (a < 1)"))
        ['NOT a < 1  ->  a >= 1']
    """
    simple = simplify(expression)
    if isinstance(simple, bool):
        which = "every document" if simple else "no document"
        return [f"the filter selects {which}, whatever is in it"]
    steps = []
    kept = 0
    for node in simple.walk():
        if node.op in LOGICAL:
            continue
        kept += 1
        if node.merged:
            kept += len(node.merged) - 1
            steps.append(f"{len(node.merged)} comparisons of {node.key}  ->  {node.to_text()}")
        elif node.op is not node.written_op:
            written = trusted(node.written_op, node.operands)
            steps.append(f"NOT {written.to_text()}  ->  {node.to_text()}")
    written_atoms = sum(1 for node in expression.walk() if node.op not in LOGICAL)
    if kept < written_atoms:
        gone = written_atoms - kept
        steps.append(
            f"{gone} comparison{'s' if gone > 1 else ''} left out: said twice or by another, or "
            "the same for every document"
        )
    return steps


def remarks(expression: Expression) -> list[str]:
    """What may surprise in how a filter is answered, a line for each remark.

    Example:
        >>> from vecstore import parse
        >>> remarks(parse("year >= 2010"))
        ['year >= 2010: a list under year never matches an ordering; with == and IN one element is \
enough']
        >>> remarks(parse("year == 2010"))
        []
    """
    simple = simplify(expression)
    if isinstance(simple, bool):
        return []
    orderings = {
        str(node.key): node for node in reversed(list(simple.walk())) if node.op in ORDERINGS
    }
    return [
        f"{node.to_text()}: a list under {key} never matches an ordering; with == and IN one "
        "element is enough"
        for key, node in reversed(orderings.items())
    ]
