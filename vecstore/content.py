"""Which metadata goes into the text that is embedded, or shown to a model."""

from __future__ import annotations

import enum
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from vecstore.document import Document
from vecstore.errors import ConfigurationError
from vecstore.filter.keys import read_key
from vecstore.filter.values import UnusableValue
from vecstore.prompting import Template

Path = tuple[str, ...]

_PLACES: Final = frozenset[Path]({("chunk",), ("span",)})
"""Keys under which indexing keeps where a text stands in its source: shown only where all is, or a
text would be another as soon as something before it grows."""


class MetadataMode(enum.Enum):
    """Which metadata is shown with a text."""

    ALL = "all"
    """All of it."""
    EMBED = "embed"
    """What an embedding model should see."""
    INFERENCE = "inference"
    """What a model that answers should see."""
    NONE = "none"
    """Nothing: the text alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentFormatter:
    r"""Writes a document's metadata above its text.

    Keys come in the order of their code points, since not every store keeps another; those of
    objects are joined by dots, the values of lists by commas. Nulls, empty lists and empty objects
    are left out, and so is where a text stands in its source (``chunk`` and ``span``), but with
    ``MetadataMode.ALL``. Where nothing is left to show, the text comes alone, unchanged.

    Args:
        hide_embed: Keys that are not embedded, as a filter names them: ``"author"`` hides all of an
            object, ``"author.name"`` one value of it.
        hide_inference: Keys that are not shown to a model that answers.
        line: How one value is written.
        separator: What stands between two of them.
        layout: How metadata and text are put together.

    Raises:
        ConfigurationError: If a key or a template cannot be read.

    Example:
        >>> formatter = ContentFormatter(hide_embed={"year"})
        >>> document = Document("Rye is sour.", {"year": 2020, "tags": ["bread", "rye"]})
        >>> formatter.for_embedding(document)
        'tags: bread, rye\n\nRye is sour.'
    """

    hide_embed: frozenset[str] = frozenset()
    hide_inference: frozenset[str] = frozenset()
    line: str = "{key}: {value}"
    separator: str = "\n"
    layout: str = "{metadata}\n\n{content}"
    _hidden: dict[MetadataMode, frozenset[Path]] = field(init=False, repr=False, compare=False)
    _line: Template = field(init=False, repr=False, compare=False)
    _layout: Template = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        put = object.__setattr__
        paths = {}
        for name, mode in (
            ("hide_embed", MetadataMode.EMBED),
            ("hide_inference", MetadataMode.INFERENCE),
        ):
            keys = getattr(self, name)
            if isinstance(keys, str):
                raise ConfigurationError(f"{name} is a set of keys: write {name}={{{keys!r}}}")
            put(self, name, frozenset(keys))
            try:
                paths[mode] = _PLACES.union(map(read_key, keys))
            except UnusableValue as fault:
                raise ConfigurationError(f"{name}: {fault.reason}; {fault.remedy}") from None
        if not isinstance(self.separator, str):
            raise ConfigurationError(
                f"separator is a text, not a value of type {type(self.separator).__name__}"
            )
        put(self, "_hidden", {**paths, MetadataMode.ALL: frozenset()})
        put(self, "_line", Template(self.line, needs=("key", "value")))
        put(self, "_layout", Template(self.layout, needs=("metadata", "content")))

    def format(self, document: Document, mode: MetadataMode) -> str:
        """The text of a document with its metadata above.

        Args:
            document: It is left as it is.
            mode: Which metadata.
        """
        if mode is MetadataMode.NONE:
            return document.text
        lines = [
            self._line.fill(key=".".join(path), value=value)
            for path, value in _shown(document.metadata, self._hidden[MetadataMode(mode)])
        ]
        if not lines:
            return document.text
        return self._layout.fill(metadata=self.separator.join(lines), content=document.text)

    def for_embedding(self, document: Document) -> str:
        """The text that is embedded: ``embed_as=formatter.for_embedding`` of a store."""
        return self.format(document, MetadataMode.EMBED)

    def for_inference(self, document: Document) -> str:
        """The text that a model gets that answers from it."""
        return self.format(document, MetadataMode.INFERENCE)

    @property
    def fingerprint(self) -> str:
        """The same for formatters that write the same, in every process.

        Example:
            >>> ContentFormatter().fingerprint == ContentFormatter(hide_embed={"a"}).fingerprint
            False
        """
        settings = [
            sorted(self.hide_embed),
            sorted(self.hide_inference),
            self.line,
            self.separator,
            self.layout,
        ]
        return hashlib.sha256(json.dumps(settings).encode()).hexdigest()


def _shown(metadata: Mapping[str, Any], hidden: frozenset[Path]) -> Iterator[tuple[Path, str]]:
    """What is shown: each path with its value as a text, in order."""
    waiting: list[tuple[Path, Any]] = [((), metadata)]
    while waiting:
        path, value = waiting.pop()
        if path in hidden or value is None or value in ([], {}):
            continue
        if isinstance(value, Mapping):
            waiting += [((*path, name), value[name]) for name in sorted(value, reverse=True)]
        elif isinstance(value, list):
            yield path, ", ".join([_text(one) for one in value])
        else:
            yield path, _text(value)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    # As JSON writes them; what another program left in a list is shown like that as well.
    return json.dumps(value, ensure_ascii=False)
