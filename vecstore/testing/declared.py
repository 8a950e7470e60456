"""What a dialect's capabilities say of a filter, read independently of the converter."""

from __future__ import annotations

from collections.abc import Callable, Collection

from vecstore.filter.convert import Capabilities
from vecstore.filter.tree import LOGICAL, MEMBERSHIPS, NULL_TESTS, ORDERINGS, Expression
from vecstore.filter.values import Kind, kind_of

Kinds = Callable[[Expression], Collection[Kind] | None]


def atom_refusal(
    capabilities: Capabilities, atom: Expression, kinds: Kinds | None = None
) -> str | None:
    """The field of the capabilities that rules this comparison or null test out, or None.

    Args:
        capabilities: What the dialect declares.
        atom: With the operator that is left after NOT is pushed down.
        kinds: How a dialect answers that declares the kinds of literal key by key; by default the
            table in ``capabilities.literals`` does.

    Example:
        >>> from vecstore import parse
        >>> atom_refusal(Capabilities(max_number=100), parse("k == 101"))
        'max_number'
    """
    path = atom.key.path
    if len(path) > 1 and capabilities.nested_keys is not True:
        return "nested_keys"
    rule = capabilities.key_rule
    if rule is not None and not all(rule.pattern.fullmatch(segment) for segment in path):
        return "key_rule"
    if capabilities.max_key_bytes is not None:
        if sum(len(segment.encode()) + 1 for segment in path) - 1 > capabilities.max_key_bytes:
            return "max_key_bytes"
    allowed = kinds(atom) if kinds is not None else capabilities.literals.get(atom.op)
    if allowed is None:
        return "literals"
    if atom.op in NULL_TESTS:
        return None
    items = atom.value.items
    if atom.op in MEMBERSHIPS and capabilities.max_list is not None:
        if len(items) > capabilities.max_list:
            return "max_list"
    for item in items:
        kind = kind_of(item)
        if kind not in allowed:
            return "literals"
        if isinstance(item, str):
            longest = capabilities.max_string_bytes
            if longest is not None and len(item.encode()) > longest:
                return "max_string_bytes"
        elif kind is Kind.NUMBER:
            if _beyond(item, capabilities.max_number):
                return "max_number"
            rule_of_floats = capabilities.float_rule
            if isinstance(item, float) and rule_of_floats and not rule_of_floats.keeps(item):
                return "float_rule"
            if atom.op in ORDERINGS and _beyond(item, capabilities.max_ordered_number):
                return "max_ordered_number"
    return None


def tree_refusal(
    capabilities: Capabilities,
    simple: Expression,
    refuses: Callable[[Expression], str | None],
) -> str | None:
    """The same for a whole filter without NOT; ``refuses`` judges its atoms."""
    atoms = 0
    stack = [(simple, 0)]
    while stack:
        node, depth = stack.pop()
        if node.op in LOGICAL:
            if capabilities.max_depth is not None and depth >= capabilities.max_depth:
                return "max_depth"
            stack.extend((child, depth + 1) for child in node.operands)
            continue
        atoms += 1
        if capabilities.max_atoms is not None and atoms > capabilities.max_atoms:
            return "max_atoms"
        reason = refuses(node)
        if reason is not None:
            return reason
    return None


def _beyond(number: int | float, largest: int | None) -> bool:
    return largest is not None and not -largest <= number <= largest
