"""What a caller passes to a store, read and checked: search requests, filters, ids, numbers."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from vecstore.document import is_possible_id
from vecstore.filter.builder import Field
from vecstore.filter.keys import read_key
from vecstore.filter.tree import Expression, FilterInput, Group, Key, unwrap
from vecstore.filter.values import MAX_METADATA_DEPTH, UnusableValue
from vecstore.spellings import in_the_language

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


KeyInput = str | Sequence[str] | Key | Field
"""A key as a filter writes it, as a list of names, or as ``F.author.name``."""

Residual = Literal["refuse", "evaluate"]
"""What becomes of a filter that the engine answers in part."""


class Evaluation(NamedTuple):
    """What one call says of filters that the engine answers in part; None is as the store says.

    Attributes:
        mode: ``"refuse"`` them, or ``"evaluate"`` the rest on what the engine finds.
        limit: How many documents are looked at at most.
    """

    mode: Residual | None = None
    limit: int | None = None


AS_THE_STORE: Final = Evaluation()

FEWEST_CANDIDATES: Final = 20
"""Of how many documents diverse results are chosen at least, where ``fetch_k`` does not say."""

CANDIDATES_EACH: Final = 5
"""Of how many for each document of ``top_k``."""


class SearchOptions(NamedTuple):
    """What a caller says of a search besides what is looked for: fields of :class:`SearchRequest`.

    As they were given: a request reads and checks them.
    """

    top_k: int = 4
    threshold: float | None = None
    filter: FilterInput = None
    include_embedding: bool = False
    offset: int = 0
    residual: Residual | None = None
    residual_limit: int | None = None
    diversity: float | None = None
    fetch_k: int | None = None
    ids: Iterable[str] | None = None
    exclude_ids: Iterable[str] | None = None

    def read(self) -> SearchOptions:
        """With filter and ids read, for several requests to share."""
        ids, out = self.ids, self.exclude_ids
        return self._replace(
            filter=read_filter(self.filter),
            ids=None if ids is None else read_chosen("ids", ids),
            exclude_ids=None if out is None else read_chosen("exclude_ids", out),
        )


@dataclass(frozen=True, slots=True, eq=False)
class SearchRequest:
    """One search, checked when it is made; ``store.search(request)`` runs it.

    Args:
        query: The text to embed and look for; or
        vector: the vector to look for. One of the two.
        top_k: How many documents to return at most; 0 returns none.
        threshold: Leave out documents that score less; None leaves out nothing.
        filter: Which documents to look among: an expression or its text.
        include_embedding: Whether results carry their vectors.
        offset: How many of the best documents to pass over: with ``top_k=10``, page after page is
            ``offset=0``, 10, 20.
        residual: ``"evaluate"`` what the engine cannot answer of the filter, or ``"refuse"`` it;
            None is as the store says.
        residual_limit: How many documents are looked at for that at most; None is as the store
            says.
        diversity: From 0, by the score alone, to 1, as unlike each other as can be; None is 0.
        fetch_k: Of how many of the best documents diverse ones are chosen; None is five times
            ``top_k``, and 20 at least.
        ids: Among which documents to look; ids that no document has are passed over, and an empty
            list finds nothing. None is among all of them.
        exclude_ids: Documents that are left out, also of ``ids``; None leaves out none.

    Raises:
        TypeError: For an argument of a wrong type, both or neither of ``query`` and ``vector``.
        ValueError: For a blank query; for a ``top_k`` or ``offset`` that is negative, or above
            2**31 - 1 together; for a ``threshold`` of NaN, or a vector that is none; for a
            ``diversity`` that is not from 0 to 1, or fewer ``fetch_k`` than are to be chosen.
        FilterSyntaxError: For a filter text that cannot be read.

    Example:
        >>> SearchRequest("bread", top_k=2, filter="lang == 'en'")
        SearchRequest(query='bread', top_k=2, filter="lang == 'en'")
    """

    query: str | None = None
    vector: ArrayLike | None = None
    top_k: int = 4
    threshold: float | None = None
    filter: FilterInput = None
    include_embedding: bool = False
    offset: int = 0
    residual: Residual | None = None
    residual_limit: int | None = None
    diversity: float | None = None
    fetch_k: int | None = None
    ids: Iterable[str] | None = None
    exclude_ids: Iterable[str] | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        if self.query is None and self.vector is None:
            raise TypeError(
                "a search needs a query text or vector=[...]; to read documents without "
                "searching, write store.get(filter=...)"
            )
        if self.query is not None and self.vector is not None:
            raise TypeError("a search takes a query text or a vector, not both")
        if self.query is not None:
            read_query(self.query)
        if self.vector is not None:
            put(self, "vector", _query_vector(self.vector))
        put(self, "top_k", read_count("top_k", self.top_k))
        put(self, "offset", read_count("offset", self.offset))
        read_count("top_k + offset", self.top_k + self.offset)
        put(self, "threshold", _threshold(self.threshold))
        put(self, "filter", read_filter(self.filter))
        put(self, "include_embedding", read_flag("include_embedding", self.include_embedding))
        read_evaluation(self.residual, self.residual_limit)
        if self.diversity is not None or self.fetch_k is not None:
            put(self, "diversity", read_diversity(self.diversity))
            put(self, "fetch_k", self._candidates())
        if self.ids is not None:
            put(self, "ids", read_chosen("ids", self.ids))
        if self.exclude_ids is not None:
            put(self, "exclude_ids", read_chosen("exclude_ids", self.exclude_ids))

    @property
    def choice(self) -> tuple[tuple[str, ...] | None, tuple[str, ...]]:
        """Among which ids to look, None for all of them, and which of all to leave out."""
        ids: Any = self.ids
        excluded: Any = self.exclude_ids or ()
        if ids is None or not excluded:
            return ids, excluded
        out = frozenset(excluded)
        return tuple([id for id in ids if id not in out]), ()

    def _candidates(self) -> int | None:
        chosen = self.offset + self.top_k
        if self.fetch_k is None:
            if self.diversity and chosen > default_fetch_k(self.top_k):
                raise ValueError(
                    f"diverse results are chosen from {default_fetch_k(self.top_k):,} documents, "
                    f"and offset + top_k is {chosen:,}; pass the same fetch_k={5 * chosen} for "
                    "every page"
                )
            return None
        fetch_k = read_count("fetch_k", self.fetch_k)
        if self.diversity is None:
            raise ValueError(
                "fetch_k is of how many documents diversity=... chooses; pass diversity=0.5 as "
                "well, or leave fetch_k out"
            )
        if fetch_k < chosen:
            what = "offset + top_k" if self.offset else "top_k"
            raise ValueError(
                f"fetch_k is of how many documents {what} are chosen: {chosen:,} or more, not "
                f"{fetch_k:,}"
            )
        return fetch_k

    def __eq__(self, other: object) -> bool:
        if type(other) is not SearchRequest:
            return NotImplemented
        return self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> tuple[Any, ...]:
        vector: Any = self.vector
        return (
            self.query,
            None if vector is None else tuple(vector.tolist()),
            self.top_k,
            self.threshold,
            self.filter,
            self.include_embedding,
            self.offset,
            self.residual,
            self.residual_limit,
            self.diversity,
            self.fetch_k,
            self.ids,
            self.exclude_ids,
        )

    def __repr__(self) -> str:
        vector: Any = self.vector
        parts = [
            f"query={self.query!r}" if vector is None else f"vector=<{len(vector)} dimensions>",
            f"top_k={self.top_k}",
        ]
        if self.offset:
            parts.append(f"offset={self.offset}")
        if self.threshold is not None:
            parts.append(f"threshold={self.threshold}")
        if self.filter is not None:
            parts.append(f"filter={str(self.filter)!r}")
        if self.include_embedding:
            parts.append("include_embedding=True")
        if self.residual is not None:
            parts.append(f"residual={self.residual!r}")
        if self.residual_limit is not None:
            parts.append(f"residual_limit={self.residual_limit}")
        if self.diversity is not None:
            parts.append(f"diversity={self.diversity}")
        if self.fetch_k is not None:
            parts.append(f"fetch_k={self.fetch_k}")
        for name in ("ids", "exclude_ids"):
            given: Any = getattr(self, name)
            if given is not None:
                parts.append(f"{name}=<{len(given):,} ids>")
        return f"SearchRequest({', '.join(parts)})"


def read_filter(filter: FilterInput) -> Expression | None:
    """A filter in any form as an expression.

    Raises:
        TypeError: For a bool, a function, a dict, or anything else that is no filter.
        FilterSyntaxError: For a text that cannot be read.
    """
    if filter is None or type(filter) is Expression:
        return filter
    if isinstance(filter, str):
        from vecstore.grammar.parser import parse

        return parse(filter)
    if isinstance(filter, Mapping):
        raise _no_filter(filter)
    library = type(filter).__module__.partition(".")[0]
    if library in _LIBRARIES:
        raise TypeError(
            f"a filter of {library} is none of this library; write its text, such as "
            "filter=\"country == 'BG' AND year >= 2020\", or F.country == 'BG'"
        )
    return unwrap(filter)


_LIBRARIES = frozenset(
    "chromadb haystack langchain langchain_core llama_index pinecone psycopg pymilvus "
    "qdrant_client sqlalchemy weaviate".split()
)


def _no_filter(filter: Mapping[Any, Any]) -> TypeError:
    """The error for a dict, with what it says in the language where that can be told."""
    if "op" in filter:
        return TypeError(
            "a filter is an Expression or its text, not a dict; for the dict form write "
            "filter=Expression.from_dict({...})"
        )
    text = in_the_language(filter)
    example = "country == 'BG' AND year >= 2020" if text is None else text
    such = "such as " if text is None else ""
    return TypeError(
        f"a filter is an Expression or its text, not a dict; write {such}filter={example!r}"
    )


def read_query(text: Any) -> str:
    """A text to look for.

    Raises:
        TypeError: If it is none.
        ValueError: If it is blank.
    """
    if not isinstance(text, str):
        raise TypeError(f"query is a text, not {_a(text)}; a vector goes to search(vector=...)")
    if not text or text.isspace():
        raise ValueError(
            "the query is blank: there is nothing to look for; to read documents without "
            "searching, write store.get(filter=...)"
        )
    return text


def read_ids(ids: Iterable[str] | None, method: str) -> tuple[str, ...] | None:
    """The ids a caller asks for, in order; what could be no document's id is left out.

    Raises:
        TypeError: For a single text, and for anything in the list that is no text.
    """
    if ids is None:
        return None
    if isinstance(ids, str):
        raise TypeError(
            f"{method} takes a list of ids: {method}([{_cut(ids)}]); to select by a filter write "
            f"{method}(filter={_cut(ids)})"
        )
    if isinstance(ids, Expression | Group):
        raise TypeError(
            f"{method} takes a list of ids first; to select by a filter write {method}(filter=...)"
        )
    if isinstance(ids, Mapping | bytes) or not isinstance(ids, Iterable):
        write = f"; write {method}(['{ids}'])" if _is_number(ids) else ""
        raise TypeError(f"{method} takes a list of ids, not {_a(ids)}{write}")
    listed = list(ids)
    if _are_possible(listed):
        return tuple(listed)
    for position, item in enumerate(listed):
        if not isinstance(item, str):
            raise TypeError(
                f"{method} takes a list of ids, which are texts; item {position} is {_a(item)}"
                + (f": write '{item}'" if _is_number(item) else "")
            )
    return tuple([str.__str__(item) for item in listed if is_possible_id(item)])


def _are_possible(listed: list[Any]) -> bool:
    """Whether each is a plain text that some document can have as its id.

    All at once, as far as possible: ids come by the ten thousand.
    """
    if [*map(type, listed)].count(str) != len(listed) or not all(listed):
        return False
    together = "".join(listed)
    if "\0" in together:
        return False
    try:
        return together.isascii() or bool(together.encode())
    except UnicodeEncodeError:
        return False


def read_key_path(key: KeyInput, method: str) -> tuple[str, ...]:
    """The path of a key that a caller names.

    Raises:
        TypeError: If it is no key.
        ValueError: If no metadata can have it.
    """
    if isinstance(key, Field):
        key = key._key
    if isinstance(key, Key):
        return within_depth(key.path, method)
    if not isinstance(key, str | list | tuple):
        raise TypeError(f"{method} takes a key, such as {method}('year'), not {_a(key)}")
    try:
        return within_depth(read_key(key), method)
    except UnusableValue as fault:
        raise ValueError(f"{method}: {fault.reason}; {fault.remedy}") from None


def within_depth(path: tuple[str, ...], method: str) -> tuple[str, ...]:
    """A path that metadata can have; of thousands of names, an engine may run out of stack.

    Raises:
        ValueError: If it is deeper than any metadata.
    """
    if len(path) > MAX_METADATA_DEPTH:
        raise ValueError(
            f"{method}: the key has {len(path):,} names, and metadata is nested at most "
            f"{MAX_METADATA_DEPTH} levels deep, so that no document has it"
        )
    return path


def read_chosen(name: str, ids: Iterable[str]) -> tuple[str, ...]:
    """The ids that a search is to look among, or to leave out: each once.

    Raises:
        TypeError: For a single text, and for anything in the list that is no text.
    """
    if type(ids) is ChosenIds:
        return ids
    if isinstance(ids, str):
        raise TypeError(f"{name} is a list of ids: search(..., {name}=[{_cut(ids)}])")
    if isinstance(ids, Expression | Group):
        raise TypeError(f"{name} is a list of ids; a filter goes to search(..., filter=...)")
    return ChosenIds(dict.fromkeys(read_ids(ids, name) or ()))


class ChosenIds(tuple[str, ...]):
    """Ids that have been read: the many requests of a call share them, and hash them once."""

    def __hash__(self) -> int:
        known: int | None = self.__dict__.get("hash")
        if known is None:
            known = self.__dict__["hash"] = super().__hash__()
        return known

    def __reduce__(self) -> tuple[type[ChosenIds], tuple[tuple[str, ...]]]:
        return ChosenIds, (tuple(self),)  # another process has other hashes


MAX_COUNT = 2**31 - 1
"""The most documents that a call can ask for or pass over; every engine can count so far."""


def read_count(name: str, value: Any) -> int:
    """A whole number from 0 to :data:`MAX_COUNT`.

    Raises:
        TypeError: If it is no integer; True and False are none.
        ValueError: If it is negative or larger.
    """
    if isinstance(value, bool):
        raise TypeError(f"{name} is a whole number, not {value}")
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is a whole number, not {_a(value)}") from None
    if number < 0:
        raise ValueError(f"{name} is 0 or more, not {_number(number)}")
    if number > MAX_COUNT:
        raise ValueError(f"{name} is at most {MAX_COUNT:,}, not {_number(number)}")
    return number


def _number(value: int) -> str:
    """A number in an error; Python writes no integer of thousands of digits."""
    return f"{value:,}" if value.bit_length() < 200 else f"one of {value.bit_length():,} bits"


def read_flag(name: str, value: Any) -> bool:
    """True or False, and nothing that only counts as one of them.

    Raises:
        TypeError: If it is neither.
    """
    if value is True or value is False:
        return bool(value)
    raise TypeError(f"{name} is True or False, not {_a(value)}")


def default_fetch_k(top_k: int) -> int:
    """Of how many documents diverse results are chosen, where ``fetch_k`` does not say.

    Example:
        >>> default_fetch_k(3), default_fetch_k(10)
        (20, 50)
    """
    return max(FEWEST_CANDIDATES, CANDIDATES_EACH * top_k)


def read_diversity(value: Any) -> float | None:
    """The argument ``diversity`` of a search.

    Raises:
        TypeError: If it is no number.
        ValueError: If it is not from 0 to 1.
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"diversity is a number from 0 to 1, or None, not {_a(value)}")
    number: Any = value
    if not 0 <= number <= 1:
        raise ValueError(
            "diversity is from 0, by the score alone, to 1, as unlike each other as can be, not "
            f"{_cut(str(value))}"
        )
    return float(number)


def read_evaluation(residual: Any, limit: Any) -> Evaluation:
    """The arguments ``residual`` and ``residual_limit`` of a call.

    Raises:
        TypeError: For a limit that is no integer.
        ValueError: If they say anything else than they may.
    """
    if residual is None and limit is None:
        return AS_THE_STORE
    if residual is not None and residual not in ("refuse", "evaluate"):
        raise ValueError(residual_fault(residual))
    if limit is not None and not read_count("residual_limit", limit):
        raise ValueError("residual_limit is 1 or more, not 0")
    return Evaluation(residual, None if limit is None else operator.index(limit))


def residual_fault(value: object) -> str:
    """What is wrong with what was given for ``residual``."""
    shown = _cut(value) if isinstance(value, str) else _a(value)
    return f'residual is "refuse" or "evaluate", not {shown}'


def _threshold(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"threshold is a number or None, not {_a(value)}")
    number = float(value)
    if number != number:
        raise ValueError("threshold is NaN: no score is at least that; pass None for no threshold")
    return number


def _query_vector(value: Any) -> Any:
    from vecstore.vectors import VectorFault, to_vector

    try:
        return to_vector(value)
    except VectorFault as fault:
        raise ValueError(f"the query vector {fault}") from None


def _is_number(id: object) -> bool:
    """Whether an id is a number, as elsewhere, and short enough to be shown as the text it is."""
    return type(id) is int and abs(id) < 10**20


def _a(value: object) -> str:
    if value is None or isinstance(value, bool):
        return repr(value)
    name = type(value).__name__
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


def _cut(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:59] + "…")
