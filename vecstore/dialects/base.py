"""What every dialect has beside its emitter: options, filters given as text, and what it has kept.

A filter that is compiled for the second time is kept in its finished form by the tree itself: with
the place of its keys in a text, and the very literals it was written with. So nothing that is kept
answers for another filter, however equal, it goes when the tree goes, and no error is kept.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from typing import Any, ClassVar, Final, Self

from vecstore.errors import ConfigurationError
from vecstore.filter.checking import check_tree
from vecstore.filter.convert import Compiled, FilterConverter, Part
from vecstore.filter.limits import DEFAULT_LIMITS, Limits
from vecstore.filter.tree import Expression, FilterInput, Group, unwrap
from vecstore.frozen import field_names

KEPT_DIALECTS: Final = 4
"""For so many dialects a tree keeps what it was compiled to."""
KEPT_SIZE: Final = 20_000
"""Characters and, counted as eight of them each, values of the largest result that is kept."""
_DEEPEST_KEPT: Final = 100


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
