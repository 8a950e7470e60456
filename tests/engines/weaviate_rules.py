"""Weaviate's ``where`` filters, as its documentation tells them.

Weaviate runs only as a server, so this strict little interpreter stands in for it. It refuses what
neither the documentation nor the server's own checks let through, and where both are silent, or the
answer depends on the version, a switch of the constructor decides, so that a test can run under
both.

Each rule names where it comes from, pages of Weaviate's documentation first:

- "Conditional filters" (operators, value types, null state, ContainsAny/All/None)
- "Filters" (the search guide)
- "Properties" (names, reserved words, tokenization, properties added later)
- "Inverted index" (indexFilterable, indexNullState, stopwords)
- "Property data types"
- the server's source, where the pages stop: ``filterext`` (how a filter is read), the filter
  validator, ``searcher`` (how it is answered), ``tokenizer``, ``analyzer``, the schema handler
"""

from __future__ import annotations

import bisect
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.engines.weaviate_text import STOPWORDS, nanoseconds, tokens_of

_NAME = re.compile(r"[_A-Za-z][_0-9A-Za-z]{0,230}")
_RESERVED = {"_additional", "_id", "id"}
_INTERNAL = {"_creationTimeUnix", "_lastUpdateTimeUnix"}

_SCALARS = ("text", "int", "number", "boolean", "date")
_TOKENIZATIONS = ("word", "lowercase", "whitespace", "field")

# Of the value fields, those of one value and those of several, and the data type each speaks of.
_VALUES = {f"value{kind.capitalize()}": kind for kind in _SCALARS}
_ARRAYS = {f"{name}Array": kind for name, kind in _VALUES.items()}

_COMPOUND = ("And", "Or", "Not")
_CONTAINS = ("ContainsAny", "ContainsAll", "ContainsNone")
_ORDERINGS = ("GreaterThan", "GreaterThanEqual", "LessThan", "LessThanEqual")
_OPERATORS = {*_COMPOUND, *_CONTAINS, *_ORDERINGS, "Equal", "NotEqual", "IsNull"}
_FIELDS = {"operator", "operands", "path", *_VALUES, *_ARRAYS}

_INT64 = range(-(2**63), 2**63)


class WeaviateRejected(ValueError):
    """Weaviate refuses this property, object or filter, or does not promise to take it."""


@dataclass
class _Property:
    data_type: str
    tokenization: str
    filterable: bool
    # What the inverted index holds: term -> ids, and the ids under either null state.
    terms: dict[Any, set[str]] = field(default_factory=dict)
    null: dict[bool, set[str]] = field(default_factory=lambda: {True: set(), False: set()})

    @property
    def base(self) -> str:
        return self.data_type.removesuffix("[]")

    @property
    def is_array(self) -> bool:
        return self.data_type.endswith("[]")


class WeaviateRules:
    """One collection: ``add_property``, ``insert`` objects, ``query`` with a ``where`` tree.

    Args:
        index_null_state: The collection's ``indexNullState``, without which ``IsNull`` is an error.
            It is false unless asked for ("Inverted index").
        negation: Whether the server knows ``Not`` and ``ContainsNone``; it does from 1.33 on.
        contains_on_scalars: Whether the three ``Contains`` operators take properties other than
            texts and arrays. "Conditional filters" promises only those; the searcher takes all.
        empty_text_is_a_term: Whether an empty text, under ``field`` tokenization, is a term that
            ``Equal`` can find. The tokenizer gives one; no page says that it is indexed.
        stopwords_everywhere: Whether stopwords are taken out of the literals of every tokenization.
            "Inverted index" says of ``word`` alone; the searcher of older servers did it for all.
        ints_pass_through_doubles: Whether an ``int`` is a 64-bit float on its way into the index,
            as the analyzer has it of objects that arrive as JSON.
    """

    def __init__(
        self,
        *,
        index_null_state: bool = False,
        negation: bool = True,
        contains_on_scalars: bool = False,
        empty_text_is_a_term: bool = True,
        stopwords_everywhere: bool = False,
        ints_pass_through_doubles: bool = False,
    ) -> None:
        self.index_null_state = index_null_state
        self.negation = negation
        self.contains_on_scalars = contains_on_scalars
        self.empty_text_is_a_term = empty_text_is_a_term
        self.stopwords_everywhere = stopwords_everywhere
        self.ints_pass_through_doubles = ints_pass_through_doubles
        self._properties: dict[str, _Property] = {}
        self._ids: set[str] = set()

    # -- schema and objects -------------------------------------------------------------------

    def add_property(
        self,
        name: str,
        data_type: str,
        *,
        tokenization: str | None = None,
        index_filterable: bool = True,
    ) -> None:
        """Adds a property; objects already there are not indexed for it.

        Names ("Properties", and their length in the schema handler): GraphQL names of at most 231
        characters, the first letter lower-cased by the server, three of them reserved; two names
        that differ in case alone are in conflict (schema handler). Texts are tokenized as ``word``
        unless told otherwise ("Properties").
        """
        if not _NAME.fullmatch(name):
            raise WeaviateRejected(f"{name!r} is not a valid property name")
        name = _lower_first(name)
        if name in _RESERVED or name in _INTERNAL:
            raise WeaviateRejected(f"{name!r} is a reserved property name")
        if name.lower() in {other.lower() for other in self._properties}:
            raise WeaviateRejected(f"{name!r} is already in use")
        if data_type.removesuffix("[]") not in _SCALARS:
            raise WeaviateRejected(f"{name}: no data type {data_type!r}")
        is_text = data_type.removesuffix("[]") == "text"
        if tokenization is not None and not is_text:
            raise WeaviateRejected(f"{name}: tokenization is for texts, not {data_type}")
        if is_text and (tokenization or "word") not in _TOKENIZATIONS:
            raise WeaviateRejected(f"{name}: no tokenization {tokenization!r}")
        self._properties[name] = _Property(data_type, tokenization or "word", index_filterable)

    def insert(self, id: str, properties: Mapping[str, Any]) -> None:
        """Writes an object, replacing one with the same id.

        Every property of the schema gets its terms and its null state now: the state of one that
        is added later does not exist for this object ("Inverted index", adding a property after
        importing objects). An unknown property would be created by auto-schema, with a type of the
        server's choice; here it is refused.
        """
        values: dict[str, Any] = {}
        for given, value in properties.items():
            name = _lower_first(given) if isinstance(given, str) and given else given
            if name not in self._properties:
                raise WeaviateRejected(f"no property {given!r}")
            if name in values:
                raise WeaviateRejected(f"{given!r} is given twice")
            values[name] = self._checked(name, value)
        for prop in self._properties.values():
            for holders in (*prop.terms.values(), *prop.null.values()):
                holders.discard(id)
        self._ids.add(id)
        for name, prop in self._properties.items():
            value = values.get(name)
            # "Conditional filters", by null state: empty texts and empty arrays count as null.
            is_null = value is None or value == "" or value == []
            prop.null[is_null].add(id)
            for term in self._terms(prop, value):
                prop.terms.setdefault(term, set()).add(id)

    def _checked(self, name: str, value: Any) -> Any:
        prop = self._properties[name]
        if value is None:
            return None
        if not prop.is_array:
            return _typed(prop.base, value, name)
        if not isinstance(value, list):
            raise WeaviateRejected(f"{name}: a list is expected, got {value!r}")
        return [_typed(prop.base, item, name) for item in value]

    def _terms(self, prop: _Property, value: Any) -> Iterable[Any]:
        """What of a value goes into the inverted index (the analyzer)."""
        values = value if isinstance(value, list) else [] if value is None else [value]
        for one in values:
            if prop.base == "text":
                for token in tokens_of(prop.tokenization, one):
                    if token or self.empty_text_is_a_term:
                        yield token.encode()
            elif prop.base == "int" and self.ints_pass_through_doubles:
                rounded = int(float(one))
                yield rounded if rounded in _INT64 else -(2**63)
            else:
                yield one

    # -- queries ------------------------------------------------------------------------------

    def query(self, where: Mapping[str, Any] | None) -> set[str]:
        """The ids that the filter selects; ``None`` is no filter.

        The whole filter is read and checked before any of it is answered (``filterext`` and the
        filter validator do so before the searcher).
        """
        if where is None:
            return set(self._ids)
        return self._read(where, "where")()

    def _read(self, node: Any, at: str) -> Callable[[], set[str]]:
        if not isinstance(node, Mapping):
            raise WeaviateRejected(f"{at}: an object is expected, got {node!r}")
        if unknown := sorted(set(map(str, node)) - _FIELDS):
            raise WeaviateRejected(f"{at}: unknown fields {unknown}")
        operator = node.get("operator")
        if operator not in _OPERATORS:
            raise WeaviateRejected(f"{at}: unrecognized operator {operator!r}")
        if operator in ("Not", "ContainsNone") and not self.negation:
            raise WeaviateRejected(f"{at}: {operator} needs a server of version 1.33 or later")
        if operator in _COMPOUND:
            return self._read_compound(operator, node, f"{at}.{operator}")
        return self._read_condition(operator, node, f"{at}.{operator}")

    def _read_compound(
        self, operator: str, node: Mapping[str, Any], at: str
    ) -> Callable[[], set[str]]:
        """Operators over operands ("Conditional filters", "Filters").

        An empty list of operands, and a path or value beside it, are errors (``filterext``); Not
        takes exactly one (searcher).
        """
        if extra := sorted(set(node) - {"operator", "operands"}):
            raise WeaviateRejected(f"{at}: not compatible with {extra}")
        operands = node.get("operands")
        if not isinstance(operands, list) or not operands:
            raise WeaviateRejected(f"{at}: no operands set, add at least one")
        if operator == "Not" and len(operands) != 1:
            raise WeaviateRejected(f"{at}: expected 1 operand, given {len(operands)}")
        parts = [self._read(operand, f"{at}[{i}]") for i, operand in enumerate(operands)]
        if operator == "And":
            return lambda: set.intersection(*(part() for part in parts))
        if operator == "Or":
            return lambda: set().union(*(part() for part in parts))
        return lambda: self._ids - parts[0]()

    def _read_condition(
        self, operator: str, node: Mapping[str, Any], at: str
    ) -> Callable[[], set[str]]:
        if "operands" in node:
            raise WeaviateRejected(f"{at}: not compatible with operands")
        prop = self._read_path(node.get("path"), at)
        kind, value = _read_value(node, at)
        if operator == "IsNull":
            return self._read_is_null(prop, kind, value, at)
        if not prop.filterable:
            # "Inverted index": without indexFilterable a property cannot be filtered by. (Texts may
            # still be served by the searchable index, a table that is not built for it.)
            raise WeaviateRejected(f"{at}: the property has no filterable index")
        if kind != prop.base:
            # The filter validator: the value field has to be that of the property's type.
            raise WeaviateRejected(
                f"{at}: cannot use value{kind.capitalize()} on type {prop.data_type}"
            )
        if operator in _CONTAINS:
            return self._read_contains(operator, prop, value, at)
        if isinstance(value, list):
            raise WeaviateRejected(f"{at}: a single value is expected, got {value!r}")
        if operator in _ORDERINGS and kind == "boolean":
            raise WeaviateRejected(f"{at}: nothing is said of an order of booleans")
        terms = self._terms_of_literal(prop, _typed(kind, value, at), at)
        return lambda: set.intersection(*(self._holders(operator, prop, term) for term in terms))

    def _read_path(self, path: Any, at: str) -> _Property:
        """One property name ("Conditional filters"); cross-references are not part of this."""
        if not isinstance(path, list) or len(path) != 1 or not isinstance(path[0], str):
            raise WeaviateRejected(f"{at}: a path of one property name is expected, got {path!r}")
        if path[0] not in self._properties:
            raise WeaviateRejected(f"{at}: no such property {path[0]!r}")
        return self._properties[path[0]]

    def _read_is_null(
        self, prop: _Property, kind: str, value: Any, at: str
    ) -> Callable[[], set[str]]:
        """``IsNull`` takes a boolean and needs ``indexNullState`` ("Conditional filters")."""
        if not self.index_null_state:
            raise WeaviateRejected(f"{at}: the null state is not indexed, set indexNullState")
        if kind != "boolean" or not isinstance(value, bool):
            raise WeaviateRejected(f"{at}: valueBoolean is expected")
        return lambda: set(prop.null[value])

    def _read_contains(
        self, operator: str, prop: _Property, values: Any, at: str
    ) -> Callable[[], set[str]]:
        """``ContainsAny``, ``ContainsAll``, ``ContainsNone`` ("Conditional filters").

        They take a list of values and stand for Or, And, and Not Or of as many ``Equal``
        (searcher): so a text of several tokens has to be there with all of them.
        """
        if not (prop.is_array or prop.base == "text" or self.contains_on_scalars):
            raise WeaviateRejected(f"{at}: only for texts and arrays, not {prop.data_type}")
        if not isinstance(values, list):
            raise WeaviateRejected(f"{at}: a list of values is expected, got {values!r}")
        wanted = [self._terms_of_literal(prop, _typed(prop.base, v, at), at) for v in values]

        def found() -> set[str]:
            each = [
                set.intersection(*(self._holders("Equal", prop, term) for term in terms))
                for terms in wanted
            ]
            if operator == "ContainsAll":
                return set.intersection(*each)
            union = set().union(*each)
            return self._ids - union if operator == "ContainsNone" else union

        return found

    def _terms_of_literal(self, prop: _Property, value: Any, at: str) -> list[Any]:
        """A literal text is tokenized like the property ("Properties", tokenization and filtering).

        Under ``word``, stopwords are taken out of it ("Inverted index"); when nothing is left the
        searcher calls it an error.
        """
        if prop.base != "text":
            return [value]
        tokens = tokens_of(prop.tokenization, value)
        if prop.tokenization == "word" or self.stopwords_everywhere:
            tokens = [token for token in tokens if token not in STOPWORDS]
        if not tokens:
            raise WeaviateRejected(f"{at}: invalid search term, only stopwords provided: {value!r}")
        return [token.encode() for token in tokens]

    def _holders(self, operator: str, prop: _Property, term: Any) -> set[str]:
        """The ids under one term, or under all terms before or after it.

        ``NotEqual`` is everything but ``Equal``, objects without the property included; and with
        several terms it is asked of each of them (searcher). An ordering holds when some element is
        in the range; texts go by the bytes of their tokens (searcher, a cursor over the terms).
        """
        equal = prop.terms.get(term, set())
        if operator == "Equal":
            return set(equal)
        if operator == "NotEqual":
            return self._ids - equal
        ordered = sorted(prop.terms)
        if operator == "GreaterThan":
            chosen: Sequence[Any] = ordered[bisect.bisect_right(ordered, term) :]
        elif operator == "GreaterThanEqual":
            chosen = ordered[bisect.bisect_left(ordered, term) :]
        elif operator == "LessThan":
            chosen = ordered[: bisect.bisect_left(ordered, term)]
        else:
            chosen = ordered[: bisect.bisect_right(ordered, term)]
        return set().union(*(prop.terms[one] for one in chosen))


def _read_value(node: Mapping[str, Any], at: str) -> tuple[str, Any]:
    """Exactly one value field, and its data type (``filterext``).

    Several values go into the array field, or as a list into the single one, which "Conditional
    filters" allows in searches. An empty list is no value at all.
    """
    given = {name: value for name, value in node.items() if name in _VALUES or name in _ARRAYS}
    if len(given) > 1:
        raise WeaviateRejected(f"{at}: found more than one value {sorted(given)}")
    for name, value in given.items():
        if name in _ARRAYS and not isinstance(value, list):
            raise WeaviateRejected(f"{at}: {name} takes a list, got {value!r}")
        if value is not None and value != []:
            return _ARRAYS.get(name) or _VALUES[name], value
    raise WeaviateRejected(f"{at}: no value<Type> field set")


def _typed(kind: str, value: Any, at: str) -> Any:
    """A value of one data type, in the form in which it is compared ("Property data types").

    Integers have 64 bits, numbers are 64-bit floats, dates are RFC 3339 with an offset.
    """
    if kind == "text" and isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise WeaviateRejected(f"{at}: {value!r} is not text") from error
        return value
    if kind == "boolean" and isinstance(value, bool):
        return value
    if kind == "int" and isinstance(value, int) and not isinstance(value, bool):
        if value not in _INT64:
            raise WeaviateRejected(f"{at}: {value} does not fit into 64 bits")
        return value
    if kind == "number" and isinstance(value, int | float) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise WeaviateRejected(f"{at}: no 64-bit float holds {value!r}")
        # The index compares bytes, and those of -0.0 come before the bytes of any other number.
        # (Seen on servers of 1.37.)
        return -math.inf if number == 0 and math.copysign(1, number) < 0 else number
    if kind == "date" and isinstance(value, str):
        try:
            return nanoseconds(value)
        except ValueError as error:
            raise WeaviateRejected(f"{at}: {error}") from error
    raise WeaviateRejected(f"{at}: {kind} is expected, got {value!r}")


def _lower_first(name: str) -> str:
    return name[:1].lower() + name[1:]
