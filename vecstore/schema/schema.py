"""A declaration of metadata: which keys there are and what each holds, checked on both sides."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from vecstore.errors import ConfigurationError, DocumentError, FilterTypeError
from vecstore.filter.keys import read_key
from vecstore.filter.text import key_text, literal_text
from vecstore.filter.tree import (
    FALSE,
    LOGICAL,
    MEMBERSHIPS,
    NULL_TESTS,
    ORDERINGS,
    TRUE,
    Expression,
    Value,
    trusted,
)
from vecstore.filter.values import Scalar, UnusableValue, shown, to_metadata
from vecstore.schema.kinds import KeyType, Misfit, Others, written
from vecstore.schema.reading import keys_of_json_schema, keys_of_model, read_type

if TYPE_CHECKING:
    from pathlib import Path

Found = TypeVar("Found")

_KEYS_IN_AN_ERROR = 12
_KEY_WIDTH = 80


class CoercedFilterWarning(UserWarning):
    """A filter was read with ``coerce=True``, and literals in it were taken for other ones.

    Attributes:
        changes: What was changed.
    """

    def __init__(self, message: str, *, changes: Iterable[Change] = ()) -> None:
        super().__init__(message)
        self.changes = list(changes)


@dataclass(frozen=True, slots=True)
class Change:
    """One literal that was taken for another.

    Attributes:
        key: The key beside it.
        before: As it was written.
        after: As it was read.
    """

    key: str
    before: Scalar
    after: Scalar

    def __str__(self) -> str:
        return f"{self.key}: {literal_text(self.before)} was read as {literal_text(self.after)}"


class Schema:
    """Which keys metadata has, and what each of them holds.

    A declared key holds values of its kind, a list of them where it says so, or is absent. Filters
    are checked against it before any backend is asked, and documents when they are added, so that
    neither a misspelt key nor a text in the place of a number can select nothing unnoticed.

    Args:
        keys: The kind of each key: ``bool``, ``int``, ``float``, ``str``, ``Decimal``,
            ``datetime``, ``date``, ``time``, ``UUID``, ``Path``, an Enum, ``Literal["a", "b"]``,
            ``Any``, ``list[...]`` of one of these, the name of one as a text, or a mapping for an
            object. A key is written as in a filter: ``"author.name"`` is a step into an object.
        others: What keys that are not declared are: refused, in filters and in documents, or
            allowed and not looked at.

    Raises:
        ConfigurationError: For anything that declares no key.

    Example:
        >>> from vecstore import parse
        >>> schema = Schema({"year": int, "tags": list[str], "author": {"name": str}})
        >>> schema
        Schema({'year': 'int', 'tags': 'list[str]', 'author.name': 'str'})
        >>> parse("yaer >= 2020", schema=schema)
        Traceback (most recent call last):
        ...
        vecstore.errors.FilterTypeError: the schema has no key yaer
          line 1, column 1
            yaer >= 2020
            ^^^^
        hint: did you mean year? its keys are: year, tags, author.name
    """

    __slots__ = ("_keys", "_objects", "others")

    _keys: dict[tuple[str, ...], KeyType]
    _objects: frozenset[tuple[str, ...]]
    others: Others

    def __init__(self, keys: Mapping[Any, Any], *, others: Others = "refuse") -> None:
        if not isinstance(keys, Mapping):
            raise ConfigurationError(
                f"a schema is made of a mapping of keys, not a {type(keys).__name__}; for a class "
                "write Schema.of(Model)"
            )
        if others not in ("refuse", "allow"):
            raise ConfigurationError(f'others is "refuse" or "allow", not {shown(others)}')
        found: dict[tuple[str, ...], KeyType] = {}
        waiting: list[tuple[tuple[str, ...], Mapping[Any, Any]]] = [((), keys)]
        while waiting:
            path, mapping = waiting.pop(0)
            for name, declared in mapping.items():
                inner = (*path, *_path(name))
                if isinstance(declared, Mapping):
                    if not declared:
                        raise ConfigurationError(
                            f"{key_text(inner)} declares an object without keys"
                        )
                    waiting.append((inner, declared))
                    continue
                if inner in found:
                    raise ConfigurationError(f"the schema declares {key_text(inner)} twice")
                found[inner] = read_type(declared, key_text(inner))
        if not found:
            raise ConfigurationError("a schema declares at least one key: Schema({'year': int})")
        objects = {path[:length] for path in found for length in range(1, len(path))}
        for path in objects & found.keys():
            raise ConfigurationError(
                f"the schema declares {_shown_key(path)} as {found[path]} and as an object"
            )
        self._take(found, frozenset(objects), others)

    def _take(
        self,
        keys: dict[tuple[str, ...], KeyType],
        objects: frozenset[tuple[str, ...]],
        others: Others,
    ) -> None:
        put = object.__setattr__
        put(self, "_keys", keys)
        put(self, "_objects", objects)
        put(self, "others", others)

    @classmethod
    def of(cls, model: type, *, others: Others = "refuse") -> Schema:
        """The schema of a class: a dataclass, a TypedDict, a NamedTuple or a pydantic model.

        Args:
            model: The class; its annotations are what :class:`Schema` takes, nested classes are
                objects, and what may be None may be absent.
            others: See :class:`Schema`.

        Raises:
            ConfigurationError: If an annotation says nothing that metadata could hold.

        Example:
            >>> from typing import TypedDict
            >>> Page = TypedDict("Page", {"number": int, "lang": str | None})
            >>> Schema.of(Page)
            Schema({'number': 'int', 'lang': 'str'})
        """
        return cls(keys_of_model(model), others=others)

    @classmethod
    def from_json_schema(cls, schema: Mapping[str, Any], *, others: Others = "refuse") -> Schema:
        """The schema of objects that a JSON Schema describes.

        Args:
            schema: Of ``"type": "object"``; ``$ref`` is followed within it. ``"format"`` tells
                timestamps, dates, times and UUIDs, ``"enum"`` the values there can be.
            others: See :class:`Schema`.

        Raises:
            ConfigurationError: If it describes what metadata cannot hold, with the place.

        Example:
            >>> Schema.from_json_schema(
            ...     {"type": "object", "properties": {"year": {"type": "integer"}}}
            ... )
            Schema({'year': 'int'})
        """
        return cls(keys_of_json_schema(schema), others=others)

    @classmethod
    def infer(cls, source: Any) -> Schema:
        """The schema that all documents of a store, or of a list, fit.

        :class:`vecstore.schema.Inference` says besides what was seen under each key.

        Args:
            source: A store, whose documents are scanned; or documents, or their metadata; or
                what an ``Inference`` has found.

        Raises:
            ConfigurationError: If there is nothing to infer a schema from.

        Example:
            >>> Schema.infer([{"year": 2020, "tags": ["a"]}, {"year": 2021.5}])
            Schema({'year': 'float', 'tags': 'list[str]'})
        """
        from vecstore.schema.inference import Inference

        found = source if isinstance(source, Inference) else Inference.of(source)
        declared = found.declared
        if not declared:
            left_out = found.left_out
            raise ConfigurationError(
                f"there is nothing to infer a schema from: {found.documents:,} documents, and no "
                "key that can be declared"
                + (f"; {len(left_out):,} cannot be stored: {left_out[0]}" if left_out else "")
            )
        return cls(declared, others=found.others)

    @classmethod
    def from_file(cls, path: str | Path) -> Schema:
        """Read a schema from a TOML file.

        Its table ``keys`` has the kinds by name, lists for the values there can be, and tables or
        dotted keys for objects; ``others`` stands before it. :meth:`to_toml` writes one.

        Raises:
            ConfigurationError: If the file cannot be read, or declares none.
        """
        import tomllib

        try:
            with open(path, "rb") as file:
                content = tomllib.load(file)
        except OSError as error:
            raise ConfigurationError(f"{path}: {error.strerror or error}") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ConfigurationError(f"{path} is no TOML: {error}") from None
        unknown = sorted(content.keys() - {"keys", "others"})
        if unknown or not isinstance(content.get("keys"), dict):
            raise ConfigurationError(
                f"{path}: a schema has the table [keys], and others before it"
                + (f"; not {unknown[0]!r}" if unknown else "")
            )
        return cls(_as_names(content["keys"]), others=content.get("others", "refuse"))

    def to_toml(self) -> str:
        """The schema as :meth:`from_file` reads it."""
        lines = [f'others = "{self.others}"', "", "[keys]"]
        for path, declared in self._keys.items():
            name = ".".join(_toml_key(segment) for segment in path)
            if declared.choices is None:
                shown_type = _toml_text(str(declared))
            else:
                choices = ", ".join(_toml_scalar(one) for one in declared.choices)
                shown_type = f"[[{choices}]]" if declared.many else f"[{choices}]"
            lines.append(f"{name} = {shown_type}")
        return "\n".join(lines) + "\n"

    # --- what it declares ---------------------------------------------------------------------

    @property
    def keys(self) -> dict[tuple[str, ...], KeyType]:
        """What each key holds, by its path."""
        return dict(self._keys)

    def __getitem__(self, key: str | Iterable[str]) -> KeyType:
        """What a key holds, written as in a filter.

        Raises:
            KeyError: If it is not declared.
        """
        return self._keys[_path(key)]

    def __contains__(self, key: object) -> bool:
        try:
            return _path(key) in self._keys
        except ConfigurationError:
            return False

    def __len__(self) -> int:
        return len(self._keys)

    # --- filters ------------------------------------------------------------------------------

    def check(self, filter: Expression, /, *, coerce: bool = False) -> Expression:
        """Check a filter before any backend is asked.

        Args:
            filter: Any filter.
            coerce: Whether literals of another kind are read as what they must mean: ``"2020"``
                as 2020, an ISO text as a timestamp. A :class:`CoercedFilterWarning` tells of it.

        Returns:
            The filter itself, or with ``coerce`` the one that it was read as.

        Raises:
            FilterTypeError: For an unknown key, with the closest one, and for a literal or an
                operator that no document of this schema could match; with the place in the text.

        Example:
            >>> from vecstore import F
            >>> schema = Schema({"year": int})
            >>> schema.check(F.year >= 2020).to_text()
            'year >= 2020'
            >>> schema.coerced(F.year >= "2020")[0].to_text()
            'year >= 2020'
        """
        if not coerce:
            for node in filter.walk():
                if node.op not in LOGICAL:
                    self._checked_atom(node, None)
            return filter
        filter, changes = self.coerced(filter)
        if changes:
            listed = "; ".join(map(str, changes[:3]))
            more = f"; and {len(changes) - 3:,} more" if len(changes) > 3 else ""
            warnings.warn(
                CoercedFilterWarning(
                    f"literals of this filter did not fit the schema: {listed}{more}",
                    changes=changes,
                ),
                stacklevel=2,
            )
        return filter

    def coerced(self, filter: Expression) -> tuple[Expression, list[Change]]:
        """A filter with literals of another kind read as what they must mean, and what changed.

        Raises:
            FilterTypeError: As :meth:`check` does, for what cannot be read so.
        """
        changes: list[Change] = []
        return _rebuilt(filter, lambda atom: self._checked_atom(atom, changes)), changes

    def _checked_atom(self, atom: Expression, changes: list[Change] | None) -> Expression:
        path = atom.key.path
        declared = self._keys.get(path)
        if declared is None:
            if atom in (TRUE, FALSE):
                return atom
            self._check_undeclared(atom, path)
            return atom
        if atom.op in NULL_TESTS:
            return atom
        if atom.op in ORDERINGS and not declared.ordered:
            self._refuse_ordering(atom, declared)
        value = atom.value
        items = list(value.items)
        for place, item in enumerate(items):
            try:
                declared.checked_literal(item)
            except Misfit as misfit:
                guess = None if changes is None else declared.guessed(item)
                if guess is None or changes is None:
                    raise FilterTypeError(
                        f"{_shown_key(path)} {misfit.reason}",
                        span=value.span or atom.span,
                        hint=self._hint(atom, declared, item, misfit),
                    ) from None
                changes.append(Change(key_text(path), item, guess))
                items[place] = guess
        if changes is None or items == list(value.items):
            return atom
        literal: Any = items if atom.op in MEMBERSHIPS else items[0]
        return trusted(
            atom.op,
            (atom.key, Value(literal, span=value.span)),
            atom.span,
            atom.written_op,
            from_outside=atom.from_outside,
        )

    def _check_undeclared(self, atom: Expression, path: tuple[str, ...]) -> None:
        if path in self._objects:
            if atom.op in NULL_TESTS:
                return
            inner = next(one for one in self._keys if one[: len(path)] == path)
            raise FilterTypeError(
                f"{_shown_key(path)} holds an object, which is compared with nothing",
                span=atom.key.span or atom.span,
                hint=f"name a key inside it: {key_text(inner)}",
            )
        outer = next((path[:n] for n in range(1, len(path)) if path[:n] in self._keys), None)
        if outer is not None and self._keys[outer].kind != "any":
            raise FilterTypeError(
                f"{_shown_key(outer)} holds {self._keys[outer].held}: there is no key inside it",
                span=atom.key.span or atom.span,
                hint=f"write {_shown_key(outer)}",
            )
        if outer is None and self.others == "refuse":
            raise FilterTypeError(
                f"the schema has no key {_shown_key(path)}",
                span=atom.key.span or atom.span,
                hint=self._closest(path),
            )

    def _closest(self, path: tuple[str, ...]) -> str:
        names = [key_text(one) for one in self._keys]
        close = get_close_matches(_shown_key(path), names, n=1)
        if not close:
            last = [
                name for name, one in zip(names, self._keys, strict=True) if one[-1] == path[-1]
            ]
            close = last[:1]
        listed = ", ".join(names[:_KEYS_IN_AN_ERROR])
        left = len(names) - _KEYS_IN_AN_ERROR
        listed += f" and {left:,} more" if left > 0 else ""
        return (
            f"did you mean {close[0]}? its keys are: {listed}"
            if close
            else f"its keys are: {listed}"
        )

    def _refuse_ordering(self, atom: Expression, declared: KeyType) -> NoReturn:
        key = key_text(atom.key.path)
        symbol = atom.written_op.symbol
        if declared.many:
            raise FilterTypeError(
                f"{symbol} orders one value, and {key} holds {declared.held}",
                span=atom.span,
                hint=f"{key} == {written(declared.example, declared.kind)} asks whether some "
                "element is equal",
            )
        raise FilterTypeError(
            f"{symbol} orders numbers and texts, and {key} holds {declared.held}",
            span=atom.span,
            hint=f"write {key} == {written(declared.example, declared.kind)}",
        )

    def _hint(self, atom: Expression, declared: KeyType, item: Scalar, misfit: Misfit) -> str:
        guess = declared.guessed(item)
        if guess is None or atom.op in MEMBERSHIPS:
            return misfit.remedy
        symbol = atom.written_op.symbol
        return f"write {key_text(atom.key.path)} {symbol} {written(guess, declared.kind)}"

    # --- documents ----------------------------------------------------------------------------

    def check_metadata(
        self, metadata: Mapping[str, Any], document_id: str | None = None
    ) -> dict[str, Any]:
        """The metadata of a document in the form in which it is stored.

        Args:
            metadata: As a :class:`~vecstore.Document` takes it.
            document_id: Whose metadata it is; None for new values of any document.

        Returns:
            A new dict; an integral number of an ``int`` key has become an int.

        Raises:
            DocumentError: Naming the document, the key and the remedy.

        Example:
            >>> Schema({"year": int, "price": float}).check_metadata({"year": 2020.0, "price": 3})
            {'year': 2020, 'price': 3.0}
        """
        try:
            settled = to_metadata(metadata)
        except UnusableValue as fault:
            self._refuse(fault.path, f"cannot be stored: {fault.reason}", fault.remedy, document_id)
        return self._fitted(settled, document_id)

    def _fitted(self, metadata: Mapping[str, Any], document_id: str | None) -> dict[str, Any]:
        """The same of metadata as a document holds it, where dates are texts already."""
        result: dict[str, Any] = {}
        waiting: list[tuple[tuple[str, ...], Mapping[str, Any], dict[str, Any]]] = [
            ((), metadata, result)
        ]
        while waiting:
            outer, mapping, target = waiting.pop()
            for name, value in mapping.items():
                path = (*outer, name)
                declared = self._keys.get(path)
                if declared is not None:
                    target[name] = self._checked_value(path, declared, value, document_id)
                elif path in self._objects:
                    if type(value) is dict:
                        target[name] = {}
                        waiting.append((path, value, target[name]))
                    elif value is None or value == []:
                        target[name] = value  # absent
                    else:
                        self._refuse(
                            path,
                            f"holds an object, not {shown(value)}",
                            "write {'key': value}",
                            document_id,
                        )
                elif self.others == "refuse":
                    self._refuse(path, "is not declared", self._closest(path), document_id)
                else:
                    target[name] = value
        return result

    def _checked_value(
        self, path: tuple[str, ...], declared: KeyType, value: Any, document_id: str | None
    ) -> Any:
        if value is None or value == []:
            return value  # absent
        try:
            return declared.settled_value(value)
        except Misfit as misfit:
            self._refuse(path, misfit.reason, misfit.remedy, document_id)

    def _refuse(
        self, path: tuple[str, ...], reason: str, remedy: str, document_id: str | None
    ) -> NoReturn:
        key = _shown_key(path)
        owner = "the metadata" if document_id is None else f"document {shown(document_id)}"
        raise DocumentError(
            f"{owner} does not fit the schema: {f'{key} ' if key else ''}{reason}; {remedy}",
            document_id=document_id,
            key=key or None,
        )

    def load(self, metadata: Mapping[str, Any]) -> dict[str, Any]:
        """Metadata with the types that the schema declares.

        What does not fit, where others wrote it, stays as it is stored.

        Args:
            metadata: Of a document that a store has returned.

        Example:
            >>> from datetime import date
            >>> Schema({"day": date}).load({"day": "2024-01-05"})
            {'day': datetime.date(2024, 1, 5)}
        """
        result: dict[str, Any] = {}
        waiting: list[tuple[tuple[str, ...], Mapping[str, Any], dict[str, Any]]] = [
            ((), metadata, result)
        ]
        while waiting:
            outer, mapping, target = waiting.pop()
            for name, value in mapping.items():
                path = (*outer, name)
                declared = self._keys.get(path)
                if type(value) is dict:
                    target[name] = {}
                    waiting.append((path, value, target[name]))
                elif declared is None or value is None:
                    target[name] = value
                else:
                    target[name] = declared.loaded(value)
        return result

    # --- for models, forms and people ---------------------------------------------------------

    def json_schema(self) -> dict[str, Any]:
        """The JSON Schema of filters in dict form, for structured output and tool calls.

        What it admits, :meth:`vecstore.Expression.from_dict` reads and :meth:`check` takes.

        Example:
            >>> schema = Schema({"year": int}).json_schema()
            >>> sorted(schema)
            ['$defs', '$ref', '$schema']
        """
        from vecstore.schema.describing import json_schema

        return json_schema(self)

    def describe(self) -> str:
        """A paragraph that tells a language model, or a person, how to filter by these keys.

        Example:
            >>> print(Schema({"year": int}).describe().splitlines()[0])
            Filters compare the keys of a document's metadata.
        """
        from vecstore.schema.describing import describe

        return describe(self)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a schema is not changed in place; make a new one")

    def __eq__(self, other: object) -> bool:
        if type(other) is not Schema:
            return NotImplemented
        return self.others == other.others and self._keys == other._keys

    def __hash__(self) -> int:
        return hash((self.others, frozenset(self._keys.items())))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (dict(self._keys), self.others)

    def __repr__(self) -> str:
        keys = {_shown_key(path): str(declared) for path, declared in self._keys.items()}
        others = ", others='allow'" if self.others == "allow" else ""
        return f"Schema({keys!r}{others})"


def _as_names(table: Mapping[str, Any]) -> dict[tuple[str, ...], Any]:
    """A table whose keys are names as they stand; TOML has taken dotted ones apart."""
    return {
        (name,): _as_names(value) if isinstance(value, dict) else value
        for name, value in table.items()
    }


def _restored(keys: dict[tuple[str, ...], KeyType], others: Others) -> Schema:
    objects = frozenset(path[:length] for path in keys for length in range(1, len(path)))
    schema = Schema.__new__(Schema)
    schema._take(keys, objects, others)
    return schema


def _shown_key(path: tuple[str, ...]) -> str:
    """A key as messages name it: a stranger's may be very long."""
    text = key_text(path)
    return text if len(text) <= _KEY_WIDTH else f"{text[: _KEY_WIDTH - 1]}…"


def _path(key: Any) -> tuple[str, ...]:
    try:
        return read_key(key)
    except UnusableValue as error:
        raise ConfigurationError(
            f"the schema cannot declare this key: {error.reason}; {error.remedy}"
        ) from None


def _rebuilt(root: Expression, atom: Callable[[Expression], Expression]) -> Expression:
    """A tree with other atoms, built from the leaves up without recursion."""
    built: list[Expression] = []
    waiting: list[tuple[Expression, bool]] = [(root, False)]
    while waiting:
        node, opened = waiting.pop()
        if node.op not in LOGICAL:
            built.append(atom(node))
        elif not opened:
            waiting.append((node, True))
            waiting.extend((child, False) for child in reversed(node.operands))
        else:
            count = len(node.operands)
            parts = tuple(built[-count:])
            del built[-count:]
            same = all(new is old for new, old in zip(parts, node.operands, strict=True))
            built.append(node if same else trusted(node.op, parts, node.span, node.written_op))
    return built[0]


def _toml_key(name: str) -> str:
    bare = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
    return name if bare else _toml_text(name)


def _toml_text(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    escaped = "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in escaped)
    return f'"{escaped}"'


def _toml_scalar(value: Scalar) -> str:
    if isinstance(value, str):
        return _toml_text(value)
    return str(value).lower() if isinstance(value, bool) else repr(value)
