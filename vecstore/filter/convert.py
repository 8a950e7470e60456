"""Tree -> backend query: the one walk that every dialect shares.

A dialect states as data what its engine can answer exactly (:class:`Capabilities`) and fills in
one hook for each construct. What it does not state is refused here, before a hook is called,
so that nothing falls through silently.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Final, Generic, TypeVar

from vecstore.errors import FilterError, UnsupportedFilterError
from vecstore.filter.normalize import fold_empty_list, simplified, simplify
from vecstore.filter.tree import LOGICAL, MEMBERSHIPS, NULL_TESTS, ORDERINGS, Expression, Op
from vecstore.filter.values import Kind, Scalar, kind_of
from vecstore.frozen import field, frozen

Part = TypeVar("Part")
"""What a dialect builds for each construct: a piece of SQL, a dict, a node."""

SAFE_DOUBLE: Final = 2**53 - 1
"""Largest integer that a float64 engine keeps apart from both of its neighbours."""

# A member of an enumeration is found by name each time it is asked for.
_AND, _OR = Op.AND, Op.OR
_ONLY_TEXTS = {str}

_SCALARS = frozenset({Kind.BOOL, Kind.NUMBER, Kind.STRING})
_ORDERED = frozenset({Kind.NUMBER, Kind.STRING})

ALL_LITERALS: Final[Mapping[Op, frozenset[Kind]]] = {
    Op.EQ: _SCALARS,
    Op.NE: _SCALARS,
    Op.IN: _SCALARS,
    Op.NIN: _SCALARS,
    **dict.fromkeys(sorted(ORDERINGS, key=lambda op: op.value), _ORDERED),
    Op.ISNULL: frozenset(),
    Op.ISNOTNULL: frozenset(),
}
"""Every operator of the language with every kind of literal it may meet."""


@frozen
class Refusal:
    """Why a backend cannot answer something exactly, and what to do instead."""

    reason: str
    remedy: str | None = None


@frozen
class KeyRule:
    """Which key segments an engine can address.

    Attributes:
        pattern: What a whole segment must match.
        refusal: Told to the user when it does not.
    """

    pattern: re.Pattern[str]
    refusal: Refusal

    def __post_init__(self) -> None:
        if not isinstance(self.pattern, re.Pattern):
            raise TypeError(f"a KeyRule takes a compiled pattern: re.compile({self.pattern!r})")


@frozen
class FloatRule:
    """Which floats an engine reads as they are written.

    Attributes:
        keeps: Whether a float is read as itself.
        digits: Significant digits up to which it is, in the usual range of exponents.
        remedy: Told to the user when it is not.
    """

    keeps: Callable[[float], bool]
    digits: int
    remedy: str


@frozen(kw_only=True)
class Capabilities:
    """What a dialect answers exactly; everything else is refused.

    Attributes:
        literals: The operators (AND, OR and NOT aside, which every dialect has) and the kinds of
            literal each may stand before; for IN and NOT IN the kinds of the list's elements.
        refusals: Better words for what ``literals`` leaves out.
        nested_keys: Whether a key may step into objects, or why not.
        key_rule: Which key segments can be addressed, or None for any.
        max_key_bytes: Longest whole key in UTF-8, segments joined by one byte, or None.
        max_number: Largest magnitude of a number that is compared exactly, or None.
        max_ordered_number: The same before an ordering, for engines that hold numbers in two
            ways, or None.
        float_rule: Which floats the engine reads exactly, or None for all.
        max_string_bytes: Longest string literal in UTF-8, or None.
        max_list: Most literals in one list, or None.
        max_depth: Most levels of AND and OR after NOT is pushed down, or None.
        max_atoms: Most comparisons and null tests in a filter, or None.
    """

    literals: Mapping[Op, frozenset[Kind]] = field(default_factory=lambda: ALL_LITERALS)
    refusals: Mapping[tuple[Op, Kind | None], Refusal] = field(default_factory=dict)
    nested_keys: bool | Refusal = True
    key_rule: KeyRule | None = None
    max_key_bytes: int | None = None
    max_number: int | None = None
    max_ordered_number: int | None = None
    float_rule: FloatRule | None = None
    max_string_bytes: int | None = None
    max_list: int | None = None
    max_depth: int | None = None
    max_atoms: int | None = None

    @property
    def float_digits(self) -> int | None:
        """Significant digits of floats that are read exactly, or None for all."""
        return None if self.float_rule is None else self.float_rule.digits


NO_QUERY: Final = object()
"""Stands for the query of a filter that matches nothing where an engine cannot say so."""


@frozen
class Compiled:
    """A filter in the language of one backend.

    Attributes:
        dialect: Name of the dialect.
        params: Bound parameters, for dialects that bind; a tuple or a dict.
        matches_all: True when the filter selects every document: leave it out of the call.
        matches_nothing: True when the filter selects no document: no call is needed.

    Example:
        >>> from vecstore import compile_filter
        >>> compiled = compile_filter("year > 2020", "qdrant")
        >>> compiled.matches_all, compiled.matches_nothing
        (False, False)
    """

    dialect: str
    native: Any
    params: Any = ()
    matches_all: bool = False
    matches_nothing: bool = False

    @property
    def query(self) -> Any:
        """The native query, safe to run as it is.

        Raises:
            FilterError: If the filter matches nothing and the engine has no such query; look at
                ``matches_nothing`` first.
        """
        if self.native is NO_QUERY:
            raise FilterError(
                f"this filter matches no document, and {self.dialect} has no query for that",
                hint="test .matches_nothing first and skip the call",
            )
        return self.native

    def __str__(self) -> str:
        if self.native is NO_QUERY:
            return "(matches nothing: no call needed)"
        if self.native is None or self.native == "":
            shown = "(no filter)"
        elif isinstance(self.native, dict | list):
            shown = json.dumps(self.native, ensure_ascii=False, indent=2)
        else:
            shown = str(self.native)
        if not self.params:
            return shown
        pairs = self.params.items() if isinstance(self.params, dict) else enumerate(self.params, 1)
        return "\n".join([shown, *[f"  {name} = {value!r}" for name, value in pairs]])


def check_own_names(subclass: type, own: Iterable[str]) -> None:
    """Refuse a class from outside that takes a name for itself which its base goes by inside.

    Args:
        subclass: The class.
        own: Names of the base; those without an underscore are for subclasses.

    Raises:
        TypeError: Naming it.
    """
    if subclass.__module__.partition(".")[0] == __name__.partition(".")[0]:
        return
    # Names of ABC are there twice where a dataclass is made anew with its slots.
    taken = [name for name in own if re.match("_(?!abc_)[a-z]", name) and name in vars(subclass)]
    if taken:
        raise TypeError(
            f"{subclass.__name__}.{taken[0]} stands in the way of its base, which has something of "
            f"its own under that name; call it otherwise, for example {taken[0]}_of_mine"
        )


class FilterConverter(ABC, Generic[Part]):
    """The template method that turns an expression into a backend's query.

    Subclasses name themselves, declare ``capabilities`` and write the hooks. A hook gets atoms
    that the capabilities allow, in a tree of AND and OR without NOT, and returns a predicate
    that is true exactly where the atom is TRUE by the rules of the language; how the predicate
    treats FALSE and UNKNOWN is its own affair, since nothing negates it afterwards.
    """

    name: ClassVar[str]

    match_all: ClassVar[Any] = None
    """The native query for a filter that is TRUE on every document."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        check_own_names(cls, vars(FilterConverter))

    @property
    @abstractmethod
    def capabilities(self) -> Capabilities:
        """What this dialect, with its options, answers exactly."""

    @abstractmethod
    def all_of(self, parts: list[Part]) -> Part:
        """AND of two or more parts."""

    @abstractmethod
    def any_of(self, parts: list[Part]) -> Part:
        """OR of two or more parts."""

    def compare(self, atom: Expression) -> Part:
        """EQ, NE, GT, GTE, LT or LTE of ``atom.key`` with the scalar ``atom.value``.

        By itself, equality is membership in a list of one literal, and the rest is ``order``.
        """
        return self.order(atom) if atom.op in ORDERINGS else self.member(atom)

    def order(self, atom: Expression) -> Part:
        """GT, GTE, LT or LTE of ``atom.key`` with the scalar ``atom.value``."""
        raise self.refuse(atom, "it has no such operator")

    @abstractmethod
    def member(self, atom: Expression) -> Part:
        """IN or NIN of ``atom.key`` with the non-empty list ``atom.value``."""

    @abstractmethod
    def null(self, atom: Expression) -> Part:
        """ISNULL or ISNOTNULL of ``atom.key``."""

    def finish(self, part: Part) -> Compiled:
        """Wrap the part that stands for the whole filter; by itself it is the query."""
        return Compiled(self.name, part)

    def everything(self) -> Compiled:
        """The query for a filter that is TRUE on every document."""
        return Compiled(self.name, self.match_all, matches_all=True)

    @abstractmethod
    def nothing(self) -> Compiled:
        """The query for a filter that is TRUE on no document, or :data:`NO_QUERY` in it."""

    def fold(self, atom: Expression) -> bool | None:
        """Decide an atom without a document: True, False, or None when it depends.

        Dialects with declared key types add what those make impossible.
        """
        return fold_empty_list(atom)

    @property
    def folds(self) -> bool:
        """Whether :meth:`fold` decides more than this class does by itself.

        Where it does not, a tree is simplified once for all dialects and stores. A dialect whose
        ``fold`` depends on its options may say when it has nothing to add.
        """
        return type(self).fold is not FilterConverter.fold

    def kinds(self, atom: Expression) -> frozenset[Kind] | None:
        """The kinds of literal allowed at this atom; None refuses the operator.

        Dialects with declared keys answer by key, others by the table.
        """
        return self.capabilities.literals.get(atom.op)

    def refusal(self, atom: Expression, kind: Kind | None) -> Refusal | None:
        """Why :meth:`kinds` leaves this kind of literal out, or the operator when it is None.

        Dialects with declared keys name the key, others answer by the table.
        """
        return self.capabilities.refusals.get((atom.op, kind))

    def check(self, atom: Expression) -> None:
        """Refuse what the capabilities cannot state as data; nothing by default.

        Raises:
            UnsupportedFilterError: Best built with :meth:`refuse`.
        """

    def convert(self, expression: Expression) -> Compiled:
        """Push NOT down, check, and build the query from the atoms upwards.

        Raises:
            UnsupportedFilterError: If the backend cannot answer the filter exactly.
        """
        simple = simplify(expression, self.fold) if self.folds else simplified(expression)
        if isinstance(simple, bool):
            return self.everything() if simple else self.nothing()
        capabilities = self.capabilities
        self._check_size(simple, capabilities)
        return self.finish(self._build(simple, capabilities))

    def refuse(
        self, atom: Expression | None, reason: str, remedy: str | None = None
    ) -> UnsupportedFilterError:
        """The error that refuses an atom, or the whole filter, with its place in the text."""
        if atom is None:
            return UnsupportedFilterError(dialect=self.name, reason=reason, remedy=remedy)
        logical = atom.op in LOGICAL
        return UnsupportedFilterError(
            dialect=self.name,
            op=atom.written_op,
            key=None if logical else str(atom.key),
            reason=reason,
            remedy=remedy,
            span=atom.span,
        )

    def _build(self, root: Expression, capabilities: Capabilities) -> Part:
        # What is open: an AND or OR, its operands that are still to come, and the parts of others.
        stack: list[tuple[Op, Iterator[Expression], list[Part]]] = []
        node = root
        while True:
            op = node.op
            if op is _AND or op is _OR:
                operands = iter(node.operands)
                stack.append((op, operands, []))
                node = next(operands)
                continue
            part = self._atom(node, capabilities)
            while stack:
                op, operands, parts = stack[-1]
                parts.append(part)
                following = next(operands, None)
                if following is not None:
                    node = following
                    break
                stack.pop()
                part = self.all_of(parts) if op is _AND else self.any_of(parts)
            else:
                return part

    def _atom(self, atom: Expression, capabilities: Capabilities) -> Part:
        try:
            self._check_atom(atom, capabilities)
        except UnsupportedFilterError:
            if not atom.merged:
                raise
            # As it was written, the engine may well answer it; if not, the place is the exact one.
            return self._apart(atom, capabilities)
        op = atom.op
        if op in NULL_TESTS:
            return self.null(atom)
        if op in MEMBERSHIPS:
            return self.member(atom)
        return self.compare(atom)

    def _apart(self, atom: Expression, capabilities: Capabilities) -> Part:
        parts = [self._atom(source, capabilities) for source in atom.merged]
        limit = capabilities.max_atoms
        if limit is not None and len(parts) > limit:
            raise self._too_many_atoms(atom, limit)
        return self.any_of(parts) if atom.op is Op.IN else self.all_of(parts)

    def _check_size(self, root: Expression, limits: Capabilities) -> None:
        level = [root]
        depth = atoms = 0
        while True:
            below: list[Expression] = []
            for node in level:
                if node.op in LOGICAL:
                    below += node.operands
                else:
                    atoms += 1
            if not below:
                break
            depth += 1
            level = below
        too_deep = limits.max_depth is not None and depth > limits.max_depth
        if too_deep or (limits.max_atoms is not None and atoms > limits.max_atoms):
            raise self._oversize(root, limits)

    def _oversize(self, root: Expression, limits: Capabilities) -> UnsupportedFilterError:
        """The error for the first node that passes a limit, from left to right."""
        atoms = 0
        stack = [(root, 0)]
        while stack:
            node, depth = stack.pop()
            if node.op in LOGICAL:
                depth += 1
                if limits.max_depth is not None and depth > limits.max_depth:
                    return self.refuse(
                        node,
                        f"it takes at most {limits.max_depth:,} nested levels of AND and OR "
                        "(max_depth)",
                        "flatten the filter, or split it into several searches",
                    )
                stack.extend((child, depth) for child in reversed(node.operands))
                continue
            atoms += 1
            if limits.max_atoms is not None and atoms > limits.max_atoms:
                return self._too_many_atoms(node, limits.max_atoms)
        raise AssertionError("the filter keeps within the limits")

    def _too_many_atoms(self, atom: Expression, limit: int) -> UnsupportedFilterError:
        return self.refuse(
            atom,
            f"it takes at most {limit:,} comparisons in a filter (max_atoms)",
            "use IN for many values of one key, or split the filter",
        )

    def _check_atom(self, atom: Expression, limits: Capabilities) -> None:
        path, op = atom.key.path, atom.op
        if len(path) > 1 and limits.nested_keys is not True:
            refusal = limits.nested_keys or Refusal("it has no keys inside objects")
            raise self.refuse(atom, refusal.reason, refusal.remedy)
        if limits.key_rule is not None:
            for segment in path:
                if not limits.key_rule.pattern.fullmatch(segment):
                    refusal = limits.key_rule.refusal
                    raise self.refuse(atom, refusal.reason, refusal.remedy)
        if limits.max_key_bytes is not None:
            size = len(".".join(path).encode())
            if size > limits.max_key_bytes:
                raise self.refuse(
                    atom,
                    f"its keys hold at most {limits.max_key_bytes:,} bytes, not {size:,} "
                    "(max_key_bytes)",
                    "use a shorter key",
                )
        if type(self).kinds is FilterConverter.kinds:
            allowed = limits.literals.get(op)
        else:
            allowed = self.kinds(atom)
        if allowed is None:
            raise self._refuse_literal(atom, None)
        if op not in NULL_TESTS:
            value = atom.value
            if value.kind is not Kind.LIST:
                if value.kind not in allowed:
                    raise self._refuse_literal(atom, value.kind)
                self._check_literal(atom, value.items[0], limits)
            else:
                self._check_list(atom, value.items, allowed, limits)
        self.check(atom)

    def _check_list(
        self,
        atom: Expression,
        items: tuple[Scalar, ...],
        allowed: frozenset[Kind],
        limits: Capabilities,
    ) -> None:
        if limits.max_list is not None and len(items) > limits.max_list:
            raise self.refuse(
                atom,
                f"it takes at most {limits.max_list:,} values in one list (max_list)",
                "split the list over several searches",
            )
        if limits.max_string_bytes is None and set(map(type, items)) == _ONLY_TEXTS:
            if Kind.STRING not in allowed:
                raise self._refuse_literal(atom, Kind.STRING)
            return
        for item in items:
            if kind_of(item) not in allowed:
                raise self._refuse_literal(atom, kind_of(item))
            self._check_literal(atom, item, limits)

    def _check_literal(self, atom: Expression, item: Scalar, limits: Capabilities) -> None:
        if isinstance(item, str):
            if limits.max_string_bytes is not None and len(item.encode()) > limits.max_string_bytes:
                raise self.refuse(
                    atom,
                    f"it compares texts of at most {limits.max_string_bytes:,} bytes "
                    "(max_string_bytes)",
                    "filter on a shorter value, such as a hash of the text",
                )
        elif not isinstance(item, bool):
            if limits.max_number is not None and abs(item) > limits.max_number:
                raise self.refuse(
                    atom,
                    f"it compares numbers exactly only up to {limits.max_number} in magnitude "
                    "(max_number)",
                    "store such numbers as text and compare with a quoted value",
                )
            rule = limits.float_rule
            if rule is not None and isinstance(item, float) and not rule.keeps(item):
                raise self.refuse(
                    atom,
                    f"it would read {item!r} as the float next to it (float_rule)",
                    rule.remedy,
                )
            largest = limits.max_ordered_number
            if largest is not None and atom.op in ORDERINGS and abs(item) > largest:
                raise self.refuse(
                    atom,
                    f"it orders numbers exactly only up to {largest} in magnitude "
                    "(max_ordered_number)",
                    "store such numbers in a larger unit",
                )

    def _refuse_literal(self, atom: Expression, kind: Kind | None) -> UnsupportedFilterError:
        refusal = self.refusal(atom, kind)
        if refusal is None:
            what = "it has no such operator" if kind is None else f"it has none for {kind.value}s"
            refusal = Refusal(what)
        return self.refuse(atom, refusal.reason, refusal.remedy)
