"""Expression <-> plain dicts, for JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from vecstore.errors import FilterTypeError
from vecstore.filter.checking import check_tree
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
    MEMBERSHIPS,
    NULL_TESTS,
    Expression,
    Key,
    Op,
    Value,
    rule,
    trusted,
)
from vecstore.filter.values import UnusableValue, shown

_OPS = {op.value: op for op in Op}
_SPELLINGS: Final[dict[str, Op]] = {
    **_OPS,
    **{op.symbol.lower().replace(" ", ""): op for op in Op},
    "&&": Op.AND,
    "||": Op.OR,
    "!": Op.NOT,
    "=": Op.EQ,
    "equals": Op.EQ,
    "<>": Op.NE,
    "neq": Op.NE,
    "notequals": Op.NE,
    "ge": Op.GTE,
    "le": Op.LTE,
    "any": Op.IN,
    "notnull": Op.ISNOTNULL,
}
"""How else operators are written, in lower case, without a dollar sign, blanks and joints."""
_OTHER_FIELDS: Final[dict[str, str]] = {
    **dict.fromkeys("operator operation comparator comparison type".split(), "op"),
    **dict.fromkeys(
        "field name column attribute property path identifier variable metadata_key".split(), "key"
    ),
    **dict.fromkeys("val values literal operand right".split(), "value"),
    **dict.fromkeys(
        "conditions filters args arguments children expressions clauses".split(),
        "operands",
    ),
}
"""What the fields are called elsewhere: for the corrected form in an error, nothing more."""

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
    opened: list[tuple[Op, Any, int, _Place]] = []
    pending: list[tuple[Any, int, _Place]] = [(data, 1, None)]
    while pending:
        item, depth, place = pending.pop()
        op = _operator(item, place)
        children: tuple[Any, ...] = ()
        if op in LOGICAL:
            if limits is not None and depth > limits.depth:
                raise limit_error("depth", limits.depth, TOO_DEEP, None)
            children = _operands(op, item, place)
            pending.extend(
                (children[number], depth + 1, (place, number))
                for number in reversed(range(len(children)))
            )
        opened.append((op, item, len(children), place))
        if limits is not None and len(opened) + len(pending) > limits.nodes:
            raise limit_error("nodes", limits.nodes, TOO_MANY, None)
    # Parents come before their children here, so the reverse order meets every child first.
    built: list[Expression] = []
    for op, item, count, place in reversed(opened):
        try:
            if op in LOGICAL:
                built.append(Expression(op, *[built.pop() for _ in range(count)]))
            else:
                built.append(_atom(op, item, from_outside, place))
        except FilterTypeError as error:
            raise _placed(error, item, place) from None
    return check_tree(built[0], limits)


_Place = tuple["_Place", int] | None
"""Where an item stands: the place of the one around it, and its number among the operands."""


def _operands(op: Op, item: Mapping[str, Any], place: _Place) -> tuple[Any, ...]:
    _check_fields(op, item, _LOGICAL_FIELDS, place)
    operands = item["operands"]
    if not isinstance(operands, list | tuple):
        raise _refused(
            f'"operands" of {op.value!r} is a list, not {type(operands).__name__}', item, place
        )
    return tuple(operands)


def _operator(item: Any, place: _Place) -> Op:
    if not isinstance(item, Mapping):
        raise _refused(
            f"a filter in dict form is an object, not {type(item).__name__}", item, place, _EXAMPLE
        )
    if "op" not in item:
        raise _refused('a filter in dict form needs the field "op"', item, place, _EXAMPLE)
    op = _read_operator(item["op"])
    if op is None:
        listed = "one of " + ", ".join(sorted(_OPS))
        raise _refused(f"unknown operator {shown(item['op'])}", item, place, listed)
    return op


def _read_operator(name: Any) -> Op | None:
    if not isinstance(name, str) or len(name) > _LONGEST_SPELLING:
        return None
    op = _OPS.get(name)
    if op is None:
        plain = name.lower().removeprefix("$").translate(_WITHOUT_JOINTS)
        op = _SPELLINGS.get(plain)
    return op


_LONGEST_SPELLING = 20
_WITHOUT_JOINTS = str.maketrans("", "", " _-")
_EXAMPLE = '{"op": "eq", "key": "country", "value": "BG"}'


def _check_fields(op: Op, item: Mapping[str, Any], wanted: frozenset[str], place: _Place) -> None:
    extra = [field for field in item if field not in wanted]
    missing = sorted(wanted - item.keys())
    if extra or missing:
        fault = f"unknown field {shown(extra[0])}" if extra else f"missing field {missing[0]!r}"
        raise _refused(
            f"{fault} in a filter with the operator {op.value!r}",
            item,
            place,
            "its fields are " + ", ".join(sorted(wanted)),
        )


def _atom(op: Op, item: Mapping[str, Any], from_outside: bool, place: _Place) -> Expression:
    _check_fields(op, item, _NULL_FIELDS if op in NULL_TESTS else _ATOM_FIELDS, place)
    raw = item["key"]
    if not isinstance(raw, str | list | tuple):
        raise FilterTypeError(f'"key" is text or a list of names, not {type(raw).__name__}')
    try:
        key = Key(*read_key(raw))
    except UnusableValue as error:
        raise FilterTypeError(f'"key": {error.reason}', hint=error.remedy) from None
    atom = Expression(op, key) if op in NULL_TESTS else Expression(op, key, Value(item["value"]))
    return trusted(op, atom.operands, from_outside=from_outside)


# --- what an error says -----------------------------------------------------------------------


def _refused(message: str, item: Any, place: _Place, hint: str | None = None) -> FilterTypeError:
    return _placed(FilterTypeError(message, hint=hint), item, place)


def _placed(error: FilterTypeError, item: Any, place: _Place) -> FilterTypeError:
    """The error with its place in the dict, and the corrected item where there is one."""
    if getattr(error, "placed", False):
        return error
    corrected = _corrected(item)
    hint = error.hint if corrected is None else f"write {corrected}"
    found = FilterTypeError(f"{_path(place)}{error.message}", span=error.span, hint=hint)
    found.placed = True  # type: ignore[attr-defined]
    return found


def _path(place: _Place) -> str:
    steps: list[str] = []
    while place is not None:
        place, number = place
        steps.append(f"operands[{number}]")
    if len(steps) > _STEPS_SHOWN:
        steps[_STEPS_SHOWN // 2 : -_STEPS_SHOWN // 2] = ["…"]
    return f"at {'.'.join(reversed(steps))}: " if steps else ""


def _corrected(item: Any) -> str | None:
    """One comparison as it has to be written, where what is meant is plain; else None."""
    if not isinstance(item, Mapping) or not 0 < len(item) <= _FIELDS_CORRECTED:
        return None
    form: dict[str, Any] = {}
    for name, value in item.items():
        field = _OTHER_FIELDS.get(name.lower(), name) if isinstance(name, str) else ""
        if field in form:
            return None
        form[field] = value
    op = _read_operator(form.get("op"))
    if op is None or op in LOGICAL or "key" not in form:
        return None
    value = form.get("value")
    several = isinstance(value, list | tuple | set)
    if op in NULL_TESTS:
        form.pop("value", None)
    elif several and op in (Op.EQ, Op.NE):
        op = Op.IN if op is Op.EQ else Op.NIN
    elif not several and value is not None and op in MEMBERSHIPS:
        form["value"] = [value]
    elif "value" in form and value is None and op in (Op.EQ, Op.NE):
        op = Op.ISNULL if op is Op.EQ else Op.ISNOTNULL
        del form["value"]
    form = {"op": op.value, **{name: held for name, held in form.items() if name != "op"}}
    import json

    try:
        right = expression_to_dict(expression_from_dict(form, None)) if form != item else None
        text = None if right is None else json.dumps(right, ensure_ascii=False)
    except (FilterTypeError, ValueError):
        return None
    return text if text is not None and len(text) <= _CORRECTION_SHOWN else None


_STEPS_SHOWN = 8
_FIELDS_CORRECTED = 6
_CORRECTION_SHOWN = 200
