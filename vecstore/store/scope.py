"""What a scope says about documents: which ones belong to it, and which changes keep them there."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any, Final, Generic, NoReturn, TypeVar

from vecstore.document import shown_id
from vecstore.errors import FilterError, ScopeError
from vecstore.filter.evaluate import matcher_of_every_element, read_path
from vecstore.filter.normalize import fold_empty_list, simplified, simplify
from vecstore.filter.text import key_text
from vecstore.filter.tree import MEMBERSHIPS, Expression, FilterInput, Op
from vecstore.store.arguments import read_filter

ScopeInput = FilterInput | Callable[[], FilterInput]
"""A filter, or a function that returns one."""

Known = TypeVar("Known")
Made = TypeVar("Made")

_RECENT: Final = 16
_LARGEST_KEPT: Final = 1_000
"""Nodes and literals of the largest filter that is kept with its scope."""


class Recent(Generic[Known, Made]):
    """What was made of a few objects lately, for whoever comes with the very object again.

    It is asked without a lock: the pairs are replaced in one step, so that threads that add at the
    same time make a thing twice at worst.

    Example:
        >>> names = Recent()
        >>> one, equal = [1], [1]
        >>> names.put(one, "one")
        'one'
        >>> names.get(one), names.get(equal)
        ('one', None)
    """

    __slots__ = ("_pairs",)

    def __init__(self) -> None:
        self._pairs: tuple[tuple[Known, Made], ...] = ()

    def get(self, known: Known) -> Made | None:
        """What was made of this object; None if that is not known, or not any more."""
        for one, made in self._pairs:
            if one is known:
                return made
        return None

    def put(self, known: Known, made: Made) -> Made:
        """Keep it, in the place of what was kept first."""
        self._pairs = ((known, made), *self._pairs[: _RECENT - 1])
        return made


class Scope:
    """A filter that documents have to match, and every element of their lists with them.

    A comparison with a list asks whether *some* element fits. Were a document admitted by that
    alone, ``tenant: ["ours", "theirs"]`` would match the scopes of both. So a document is admitted
    where the filter holds whichever element stands for each list under a key of the scope. A scope
    that shares no value with this one, and does not ask one key for two values at once, then never
    matches it: it would match one of these documents without lists, which are all in this scope.

    Args:
        filter: The filter.

    Example:
        >>> from vecstore import F
        >>> scope = Scope(F.tenant == "a")
        >>> scope.admitted({"n": 1}, "some id")
        {'n': 1, 'tenant': 'a'}
        >>> scope.condition_to_stay({"tenant": "b"}, ())
        False
    """

    def __init__(self, filter: Expression) -> None:
        self.filter = filter
        self._simple = simplified(filter)
        self._equalities = _equalities(self._simple)
        self._decided: Callable[[Mapping[str, Any]], bool] | None = None
        self._joined: Recent[Expression, Expression] = Recent()
        self._around: Recent[Scope, Scope] = Recent()

    def joined(self, filter: Expression) -> Expression:
        """The filter, inside this scope.

        It is one tree for one filter, as long as that is asked for again before many others: what
        a tree keeps, such as the query that it was compiled to, is found again.
        """
        known = self._joined.get(filter)
        if known is not None:
            return known
        joined = self.filter & filter
        return self._joined.put(filter, joined) if is_small(filter) else joined

    def around(self, inner: Scope) -> Scope:
        """The scope of what belongs to both, one object for one inner scope."""
        known = self._around.get(inner)
        return known or self._around.put(inner, Scope(self.filter & inner.filter))

    def _admits(self, metadata: Mapping[str, Any]) -> bool:
        if self._decided is None:  # searches do not ask
            self._decided = matcher_of_every_element(self._simple)
        return self._decided(metadata)

    def admitted(self, metadata: dict[str, Any], document_id: str) -> dict[str, Any]:
        """The metadata of a new document, with the keys that the scope determines.

        Raises:
            ScopeError: If the document does not belong to the scope.
        """
        for atom in self._equalities:
            path = atom.key.path
            if _is_absent(read_path(metadata, path)):
                stamped = _with(metadata, path, atom.value.items[0])
                if stamped is None:
                    raise _foreign(document_id, path)
                metadata = stamped
            elif not _is_exactly(metadata, atom):
                raise _foreign(document_id, path)
        if not self._admits(metadata):
            raise _foreign(document_id, None)
        return metadata

    def keeps(self, metadata: Mapping[str, Any]) -> bool:
        """Whether a document of the scope may have this metadata after a change."""
        return self._admits(metadata) and all(
            _is_exactly(metadata, atom) for atom in self._equalities
        )

    def condition_to_stay(self, set: Mapping[str, Any], unset: Iterable[str]) -> Expression | bool:
        """What a document of the scope has to match to stay in it when its metadata changes.

        Args:
            set: New values of keys at the top.
            unset: Keys that are taken away.

        Returns:
            True if every one stays, False if none does, else a filter on the keys that do not
            change.
        """
        touched = {*set, *unset}
        if isinstance(self._simple, bool):
            return self._simple
        exact = self._equalities

        def decided(atom: Expression) -> bool | None:
            if atom.key.path[0] not in touched:
                return fold_empty_list(atom)
            if atom in exact:
                return _is_exactly(set, atom)
            return matcher_of_every_element(atom)(set)

        # Without NOT, a filter says of each atom whether it holds, and only then is it true: an
        # atom that will hold is as good as TRUE, one that will not as FALSE.
        condition = simplify(self._simple, decided)
        return True if condition == self._simple else condition


def constant(value: Made) -> Callable[[], Made]:
    """A function that returns this at each call."""
    return lambda: value


def failed(error: ScopeError) -> Callable[[], Scope]:
    """The scope of a function that has failed: every call in it fails the same."""

    def scope() -> NoReturn:
        raise error

    return scope


def asked(function: Callable[[], Any]) -> Callable[[], Expression]:
    """What a function of the caller's says at each call.

    What is returned raises ScopeError for whatever is no filter.
    """

    def scope() -> Expression:
        try:
            answer = function()
        except Exception as error:
            raise ScopeError(
                f"the function of this scope failed with {type(error).__name__}; its own error is "
                "the cause of this one; nothing was read or written"
            ) from error
        if isinstance(answer, Coroutine):
            answer.close()
            raise ScopeError(
                "the function of this scope is asynchronous; let it return the filter itself, "
                "from a context variable for example"
            )
        try:
            filter = read_filter(answer)
        except (TypeError, FilterError):
            filter = None
        if filter is None:
            raise ScopeError(
                f"the function of this scope returned {_kind(answer)}; it has to return a filter; "
                "nothing was read or written"
            )
        return filter

    return scope


def _kind(answer: object) -> str:
    if isinstance(answer, str):
        return "a text that is no filter"
    return "None" if answer is None else f"a {type(answer).__name__}"


def leaves_scope() -> ScopeError:
    """The error for a change that would move documents out of the scope."""
    return ScopeError(
        "this change of metadata would move documents out of the scope of this store; nothing was "
        "changed; leave the keys of the scope as they are"
    )


def is_small(filter: Expression) -> bool:
    """Whether a filter is small enough to be kept with what was made of it."""
    size = 0
    for node in filter.walk():
        size += 1 + (len(node.value.items) if node.op in MEMBERSHIPS else 0)
        if size > _LARGEST_KEPT:
            return False
    return True


def _equalities(filter: Expression | bool) -> tuple[Expression, ...]:
    """The equalities that every document of the scope meets: alone, or joined to others by AND."""
    if isinstance(filter, bool):
        return ()
    parts = filter.operands if filter.op is Op.AND else (filter,)
    return tuple(part for part in parts if part.op is Op.EQ)


def _is_absent(value: Any) -> bool:
    return value is None or value == []


def _is_exactly(metadata: Mapping[str, Any], atom: Expression) -> bool:
    """Whether the value itself is equal. A list that holds it would belong to other scopes too."""
    held = read_path(metadata, atom.key.path)
    return type(held) is not list and atom.matches(metadata)


def _with(metadata: dict[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any] | None:
    """A copy with a value at a path, or None where something else than an object is in its way."""
    copy = dict(metadata)
    here = copy
    for name in path[:-1]:
        inner = here.get(name)
        if not _is_absent(inner) and type(inner) is not dict:
            return None
        here[name] = dict(inner or {})
        here = here[name]
    here[path[-1]] = value
    return copy


def _foreign(document_id: str, path: tuple[str, ...] | None) -> ScopeError:
    if path is None:
        return ScopeError(
            f"document {shown_id(document_id)} does not belong to the scope of this store: its "
            "metadata does not match the scope's filter, with every element where it holds a list"
        )
    return ScopeError(
        f"document {shown_id(document_id)} has another value under {key_text(path)} than the scope "
        "of this store; leave the key out, and it is filled in"
    )
