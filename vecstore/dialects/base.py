"""Tree -> backend query: the one walk that every dialect shares, and what else each of them has.

A dialect states as data what its engine can answer exactly (:class:`~vecstore.Capabilities`) and
fills in one hook for each construct. What it does not state is refused here, before a hook is
called, so that nothing falls through silently. Options and filters given as text are read here.

A filter that is compiled for the second time is kept in its finished form by the tree itself: with
the place of its keys in a text, and the very literals it was written with. So nothing that is kept
answers for another filter, however equal, it goes when the tree goes, and no error is kept.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from typing import Any, ClassVar, Final, Generic, Self, TypeVar

from vecstore.errors import ConfigurationError, UnsupportedFilterError
from vecstore.filter.checking import check_tree
from vecstore.filter.convert import Capabilities, Compiled, Refusal, check_own_names
from vecstore.filter.limits import DEFAULT_LIMITS, Limits
from vecstore.filter.normalize import fold_empty_list, simplified, simplify
from vecstore.filter.tree import (
    LOGICAL,
    MEMBERSHIPS,
    NULL_TESTS,
    ORDERINGS,
    Expression,
    FilterInput,
    Group,
    Op,
    unwrap,
)
from vecstore.filter.values import Kind, Scalar, kind_of
from vecstore.frozen import field_names

Part = TypeVar("Part")
"""What a dialect builds for each construct: a piece of SQL, a dict, a node."""

# A member of an enumeration is found by name each time it is asked for.
_AND, _OR = Op.AND, Op.OR
_STRING, _LIST = Kind.STRING, Kind.LIST
_ONLY_TEXTS = {str}

KEPT_DIALECTS: Final = 4
"""For so many dialects a tree keeps what it was compiled to."""
KEPT_SIZE: Final = 20_000
"""Characters and, counted as eight of them each, values of the largest result that is kept."""
_DEEPEST_KEPT: Final = 100


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
        simple = None if self.folds else expression.kept.simple
        if simple is None:
            simple = simplify(expression, self.fold) if self.folds else simplified(expression)
        elif simple is ...:
            simple = expression
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
        allowed = self._only_kinds(capabilities)
        node = root
        while True:
            op = node.op
            if op is _AND or op is _OR:
                operands = iter(node.operands)
                stack.append((op, operands, []))
                node = next(operands)
                continue
            if op in allowed and (op in NULL_TESTS or node.value.kind in allowed[op]):
                part = self._part(node)
            else:
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
        return self._part(atom)

    def _part(self, atom: Expression) -> Part:
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

    def _only_kinds(self, limits: Capabilities) -> Mapping[Op, frozenset[Kind]]:
        """The kinds of single literals beside each operator, if there is nothing else to check."""
        own = type(self)
        if own.kinds is not FilterConverter.kinds or own.check is not FilterConverter.check:
            return {}
        bounds = (
            limits.key_rule,
            limits.max_key_bytes,
            limits.max_number,
            limits.max_ordered_number,
            limits.float_rule,
            limits.max_string_bytes,
        )
        is_bound = limits.nested_keys is not True or any(bound is not None for bound in bounds)
        return {} if is_bound else limits.literals

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
            if value.kind is not _LIST:
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
            if _STRING not in allowed:
                raise self._refuse_literal(atom, _STRING)
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


class Dialect(FilterConverter[Part]):
    """Base of all dialects. A dialect is a frozen dataclass whose fields are its options.

    Example:
        >>> from vecstore.dialects.pgvector import Pgvector
        >>> print(Pgvector(paramstyle="format").compile("year > 2020").query)
        (jsonb_typeof("metadata" -> %s::text) = 'number' AND ("metadata" -> %s::text) > %s::jsonb)
    """

    former_options: ClassVar[Mapping[str, str]] = {}
    """Options that there were, each with the line that is written instead."""

    def __new__(cls, *args: Any, **options: Any) -> Self:
        """Refuse unknown options by name; the dataclass would not list those it has."""
        known = _options(cls)
        for name in options:
            if name not in known:
                if name in cls.former_options:
                    raise TypeError(
                        f"{cls.__name__} has no option {name!r} any more: "
                        f"{cls.former_options[name]}"
                    )
                listed = ", ".join(known) if known else "none"
                raise TypeError(f"{cls.__name__} has no option {name!r}; its options are: {listed}")
        return super().__new__(cls)

    def compile(self, filter: FilterInput, *, limits: Limits | None = DEFAULT_LIMITS) -> Compiled:
        """Compile a filter for this backend.

        Args:
            filter: Text, an expression, or None for no filter.
            limits: Bounds on the filter's size; None lifts them.

        Returns:
            The native query with its parameters; no other call gets the same dicts and lists.

        Raises:
            FilterSyntaxError: If the text cannot be read.
            FilterLimitError: If the filter is larger than the limits.
            UnsupportedFilterError: If the backend cannot answer the filter exactly.
        """
        if filter is None:
            return self.everything()
        if type(filter) is Expression and filter.kept.limits is limits:
            expression = filter  # as stores compile a tree that is known
        else:
            expression = as_expression(filter, limits)
        kept = expression.kept
        for dialect, compiled in kept.compiled:
            if dialect is self:
                if compiled is not None:
                    return _unshared(compiled)
                compiled = self.convert(expression)
                if is_constant(self) and _is_keepable(compiled):
                    kept.compiled = _before((self, _unshared(compiled)), kept.compiled)
                return compiled
        compiled = self.convert(expression)
        kept.compiled = _before((self, None), kept.compiled)
        return compiled

    def compile_to_read(self, filter: Expression) -> Compiled:
        """What :meth:`compile` returns without limits, for a store that changes nothing of it.

        It is kept from the first time on, and each later one gets the same object: a store asks
        for a filter at every call, and its hooks only read what came of it.
        """
        kept = filter.kept
        for dialect, compiled in kept.compiled:
            if dialect is self and compiled is not None:
                known: Compiled = compiled
                return known
        made = self.convert(filter)
        if is_constant(self) and _is_keepable(made):
            kept.compiled = _before((self, made), kept.compiled)
        return made


def as_expression(
    filter: Expression | Group | str, limits: Limits | None = DEFAULT_LIMITS
) -> Expression:
    """A filter given in any form as an expression that keeps within the limits."""
    if isinstance(filter, str):
        from vecstore.grammar.parser import parse

        return parse(filter, limits=limits)
    return check_tree(unwrap(filter), limits)


def check_choice(option: str, value: object, known: Collection[str]) -> None:
    """Hold an option to the words that it may be.

    Raises:
        ConfigurationError: Naming them.

    Example:
        >>> check_choice("layout", "exakt", ("exact", "plain"))
        Traceback (most recent call last):
        ...
        vecstore.errors.ConfigurationError: unknown layout 'exakt'; one of exact, plain
    """
    if not isinstance(value, str) or value not in known:
        raise ConfigurationError(f"unknown {option} {value!r}; one of {', '.join(known)}")


def option_names(dialect: type[Any]) -> list[str]:
    """The options a dialect class takes."""
    return list(_options(dialect))  # type: ignore[arg-type]


@cache
def _options(dialect: type[Any]) -> tuple[str, ...]:
    return field_names(dialect, init=True)


Kept = tuple[tuple[object, Compiled | None], ...]


def _before(first: tuple[object, Compiled | None], kept: Kept) -> Kept:
    others = [pair for pair in kept if pair[0] is not first[0]]
    return (first, *others[: KEPT_DIALECTS - 1])


def is_constant(dialect: object) -> bool:
    """Whether nobody can change the options of a dialect."""
    parameters = getattr(type(dialect), "__dataclass_params__", None)
    if parameters is None or not parameters.frozen:
        return False
    try:
        hash(dialect)
    except TypeError:
        return False
    return True


_SCALARS = frozenset({int, float, bool, type(None)})


def _is_keepable(compiled: Compiled) -> bool:
    """Whether a result is small, and made of values that can be copied or that nobody can change.

    These are the types of JSON, tuples, frozen sets, and frozen dataclasses of such values.
    """
    if type(compiled) is not Compiled:
        return False
    size = 0
    pending: list[tuple[Any, int, bool]] = [
        (compiled.native, 0, True),
        (compiled.params, 0, True),
    ]
    while pending:
        value, depth, copied = pending.pop()
        kind = type(value)
        size += 8
        if size > KEPT_SIZE or depth > _DEEPEST_KEPT:
            return False
        if kind is str:
            size += len(value)
        elif kind is tuple or kind is frozenset:
            pending += [(item, depth + 1, copied and kind is tuple) for item in value]
        elif kind is list and copied:
            pending += [(item, depth + 1, True) for item in value]
        elif kind is dict and copied:
            pending += [(item, depth + 1, True) for pair in value.items() for item in pair]
        elif kind not in _SCALARS:
            if not is_constant(value):
                return False
            pending += [(getattr(value, name), depth + 1, False) for name in field_names(kind)]
    return True


def _unshared(compiled: Compiled) -> Compiled:
    """The same result, with dicts and lists of its own."""
    native, params = _copied(compiled.native), _copied(compiled.params)
    if native is compiled.native and params is compiled.params:
        return compiled
    return Compiled(
        compiled.dialect, native, params, compiled.matches_all, compiled.matches_nothing
    )


def _copied(value: Any) -> Any:
    kind = type(value)
    if kind is dict:
        return {key: _copied(item) for key, item in value.items()}
    if kind is list:
        return [item if type(item) is str else _copied(item) for item in value]
    if kind is tuple:
        copies = tuple([_copied(item) for item in value])
        return (
            copies
            if any(one is not other for one, other in zip(copies, value, strict=True))
            else value
        )
    return value
