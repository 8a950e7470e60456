"""Expression <-> plain dicts, for JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vecstore.errors import FilterTypeError
from vecstore.filter.keys import key_form, read_key
from vecstore.filter.limits import (
    TOO_DEEP,
    TOO_MANY,
    Limits,
    checked_limits,
    limit_error,
)
from vecstore.filter.tree import (
    LOGICAL,
    NULL_TESTS,
    Expression,
    Key,
    Op,
    Value,
    check_tree,
    rule,
    trusted,
)
from vecstore.filter.values import UnusableValue, shown

_OPS = {op.value: op for op in Op}
_LOGICAL_FIELDS = frozenset({"op", "operands"})
_NULL_FIELDS = frozenset({"op", "key"})
_ATOM_FIELDS = frozenset({"op", "key", "value"})


@rule("to_dict")
def expression_to_dict(expression: Expression) -> dict[str, Any]:
    """The dict form of a tree: JSON-able, and new at every call."""
    root: list[dict[str, Any]] = []
    stack: list[tuple[Expression, list[dict[str, Any]]]] = [(expression, root)]
    while stack:
        node, siblings = stack.pop()
        if node.op in LOGICAL:
            operands: list[dict[str, Any]] = []
            siblings.append({"op": node.op.value, "operands": operands})
            stack.extend((child, operands) for child in reversed(node.operands))
            continue
        path = node.key.path
        form: dict[str, Any] = {
            "op": node.op.value,
            "key": key_form(path),
        }
        if node.op not in NULL_TESTS:
            literal = node.value.value
            form["value"] = list(literal) if isinstance(literal, tuple) else literal
        siblings.append(form)
    return root[0]


def without_origin(expression: Expression) -> Expression:
    """The same tree as if a program had built it: no places in a text, no mark of a stranger's."""
    return expression_from_dict(expression_to_dict(expression), None, from_outside=False)


@rule("from_dict")
def expression_from_dict(
    data: Mapping[str, Any], limits: Limits | None, *, from_outside: bool = True
) -> Expression:
    """Read the dict form; the inverse of :func:`expression_to_dict`.

    Raises:
        FilterTypeError: For anything that is not exactly that form.
        FilterLimitError: If the tree is larger than the limits.
    """
    limits = checked_limits(limits)
    opened: list[tuple[Op, Any, int]] = []
    pending: list[tuple[Any, int]] = [(data, 1)]
    while pending:
        item, depth = pending.pop()
        op = _operator(item)
        children: tuple[Any, ...] = ()
        if op in LOGICAL:
            if limits is not None and depth > limits.depth:
                raise limit_error("depth", limits.depth, TOO_DEEP, None)
            children = _operands(op, item)
            pending.extend((child, depth + 1) for child in reversed(children))
        opened.append((op, item, len(children)))
        if limits is not None and len(opened) + len(pending) > limits.nodes:
            raise limit_error("nodes", limits.nodes, TOO_MANY, None)
    # Parents come before their children here, so the reverse order meets every child first.
    built: list[Expression] = []
    for op, item, count in reversed(opened):
        if op in LOGICAL:
            built.append(Expression(op, *[built.pop() for _ in range(count)]))
        else:
            built.append(_atom(op, item, from_outside))
    return check_tree(built[0], limits)


def _operands(op: Op, item: Mapping[str, Any]) -> tuple[Any, ...]:
    _check_fields(op, item, _LOGICAL_FIELDS)
    operands = item["operands"]
    if not isinstance(operands, list | tuple):
        raise FilterTypeError(
            f'"operands" of {op.value!r} is a list, not {type(operands).__name__}'
        )
    return tuple(operands)


def _operator(item: Any) -> Op:
    if not isinstance(item, Mapping):
        raise FilterTypeError(
            f"a filter in dict form is an object, not {type(item).__name__}",
            hint='{"op": "eq", "key": "country", "value": "BG"}',
        )
    if "op" not in item:
        raise FilterTypeError(
            'a filter in dict form needs the field "op"',
            hint='{"op": "eq", "key": "country", "value": "BG"}',
        )
    name = item["op"]
    op = _OPS.get(name) if isinstance(name, str) else None
    if op is None:
        raise FilterTypeError(
            f"unknown operator {shown(name)}", hint="one of " + ", ".join(sorted(_OPS))
        )
    return op


def _check_fields(op: Op, item: Mapping[str, Any], wanted: frozenset[str]) -> None:
    extra = [field for field in item if field not in wanted]
    missing = sorted(wanted - item.keys())
    if extra or missing:
        fault = f"unknown field {shown(extra[0])}" if extra else f"missing field {missing[0]!r}"
        raise FilterTypeError(
            f"{fault} in a filter with the operator {op.value!r}",
            hint="its fields are " + ", ".join(sorted(wanted)),
        )


def _atom(op: Op, item: Mapping[str, Any], from_outside: bool) -> Expression:
    _check_fields(op, item, _NULL_FIELDS if op in NULL_TESTS else _ATOM_FIELDS)
    raw = item["key"]
    if not isinstance(raw, str | list | tuple):
        raise FilterTypeError(f'"key" is text or a list of names, not {type(raw).__name__}')
    try:
        key = Key(*read_key(raw))
    except UnusableValue as error:
        raise FilterTypeError(f'"key": {error.reason}', hint=error.remedy) from None
    atom = Expression(op, key) if op in NULL_TESTS else Expression(op, key, Value(item["value"]))
    return trusted(op, atom.operands, from_outside=from_outside)
