"""JSON, JSON lines and CSV: a document for each record."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from vecstore.document import Document
from vecstore.errors import SourceError
from vecstore.indexing.pipeline import fingerprint
from vecstore.indexing.readers.base import Reader, decoded, document
from vecstore.indexing.sources import Source

_RENAME: Final = 'name it otherwise: rename={"source": "origin"}'


@dataclass(frozen=True, slots=True)
class _Records:
    format: str
    text: tuple[str, ...] | None
    id: str | None
    rename: tuple[tuple[str, str], ...]
    pointer: str
    delimiter: str
    encoding: str

    @property
    def fingerprint(self) -> str:
        return fingerprint(
            self.format,
            text=self.text,
            id=self.id,
            rename=self.rename,
            pointer=self.pointer,
            delimiter=self.delimiter,
            encoding=self.encoding,
        )

    def __call__(self, source: Source) -> Iterator[Document]:
        records = {"json": _of_json, "jsonl": _of_lines, "csv": _of_csv}[self.format]
        part = 0
        for place, record in records(source, self):
            made = self._document(source, part, place, record)
            if made is not None:
                yield made
                part += 1

    def _document(self, source: Source, part: int, place: str, record: Any) -> Document | None:
        if not isinstance(record, dict):
            text = record if isinstance(record, str) else _shown(record)
            return document(source, part, text, own={}, place=place) if text.strip() else None
        needed = [*(self.text or ()), *([] if self.id is None else [self.id])]
        missing = [key for key in needed if key not in record]
        if missing:
            keys = ", ".join(repr(key) for key in [*record][:10]) or "none"
            raise _fault(source, place, f"it has no key {missing[0]!r}; it has {keys}")
        if self.text is None:
            text = "\n".join(
                f"{key}: {_shown(value)}"
                for key, value in record.items()
                if value not in (None, "")
            )
        else:
            text = "\n".join(_shown(record[key]) for key in self.text if record[key] is not None)
        names: dict[str, str] = dict(self.rename)
        kept: list[str] = [key for key in record if key not in needed]
        said = {names.get(key, key): record[key] for key in kept}
        if len(said) < len(kept):
            raise _fault(source, place, f"rename={names!r} gives two of its keys one name")
        given = (
            None if self.id is None else _shown("" if record[self.id] is None else record[self.id])
        )
        if given is not None and not given.strip():
            raise _fault(source, place, f"its key {self.id!r} is empty, which is no id")
        if not text.strip():
            return None
        return document(
            source, part, text, own={}, said=said, place=place, remedy=_RENAME, id=given
        )


def read_json(
    text: str | Sequence[str] | None = None,
    id: str | None = None,
    pointer: str = "",
    *,
    rename: Mapping[str, str] | None = None,
    encoding: str = "utf-8",
) -> Reader:
    """A reader of JSON: a document for each element of an array, or one of anything else.

    Args:
        text: The key, or keys, whose values are the text, a line each; the other keys are
            metadata. Left out, the text is the whole record, a line for each key, and metadata
            holds them as well. A record without text gives no document.
        id: The key whose value is the id of the document.
        pointer: Where the array stands, as a JSON Pointer, such as ``"/data/items"``.
        rename: Other names for keys of metadata. A record may not name its own ``source``, say.
        encoding: Of the bytes, unless they begin with a byte order mark; ``"detect"`` guesses.

    Example:
        >>> from vecstore.indexing import text_source
        >>> source = text_source("a", '{"rows": [{"n": 1, "body": "Rain"}]}', "json")
        >>> [*read_json("body", pointer="/rows")(source)]
        [Document('Rain', {'source': 'a', 'n': 1}, id='a#0')]
    """
    return _Records("json", _keys(text), id, _pairs(rename), pointer, "", encoding)


def read_jsonl(
    text: str | Sequence[str] | None = None,
    id: str | None = None,
    *,
    rename: Mapping[str, str] | None = None,
    encoding: str = "utf-8",
) -> Reader:
    r"""A reader of JSON lines: a document for each line; see :func:`read_json`.

    Example:
        >>> from vecstore.indexing import text_source
        >>> source = text_source(
        ...     "a", '{"n": 1, "body": "Rain"}\n\n{"n": 2, "body": "Sun"}', "jsonl"
        ... )
        >>> [document.metadata["n"] for document in read_jsonl("body")(source)]
        [1, 2]
    """
    return _Records("jsonl", _keys(text), id, _pairs(rename), "", "", encoding)


def read_csv(
    text: str | Sequence[str] | None = None,
    id: str | None = None,
    *,
    delimiter: str = ",",
    rename: Mapping[str, str] | None = None,
    encoding: str = "utf-8",
) -> Reader:
    r"""A reader of CSV whose first row names the columns: a document for each row after it.

    Values are texts, as they stand; see :func:`read_json` for the arguments.

    Example:
        >>> from vecstore.indexing import text_source
        >>> [*read_csv("body")(text_source("a", 'n,body\n1,"Rain, hail"\n', "csv"))]
        [Document('Rain, hail', {'source': 'a', 'n': '1'}, id='a#0')]
    """
    return _Records("csv", _keys(text), id, _pairs(rename), "", delimiter, encoding)


def _of_json(source: Source, reader: _Records) -> Iterator[tuple[str, Any]]:
    text = decoded(source, reader.encoding)
    if not text.strip():
        return
    value = _pointed(source, _loaded(source, text, 1), reader.pointer)
    if isinstance(value, list):
        for place, one in enumerate(value):
            yield f"element {place}", one
    else:
        yield "", value


def _of_lines(source: Source, reader: _Records) -> Iterator[tuple[str, Any]]:
    # Not by splitlines: characters that it takes for ends of lines may stand in texts of JSON.
    for number, line in enumerate(decoded(source, reader.encoding).split("\n"), 1):
        if line.strip():
            yield f"line {number:,}", _loaded(source, line, number)


def _of_csv(source: Source, reader: _Records) -> Iterator[tuple[str, Any]]:
    text = decoded(source, reader.encoding)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=reader.delimiter, strict=True)
    names: list[str] | None = None
    before = 0
    while True:
        place = f"line {before + 1:,}"
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            what = str(error)
            if "limit" in what:
                what = f"a field of more than {csv.field_size_limit():,} characters"
            raise _fault(source, place, f"the row that begins there is no CSV: {what}") from None
        before = rows.line_num
        if not any(cell.strip() for cell in row):
            continue
        if names is None:
            names = [name.strip() for name in row]
            twice = [name for place, name in enumerate(names) if not name or name in names[:place]]
            if twice:
                raise _fault(
                    source, place, f"the name of a column is empty or there twice: {twice[0]!r}"
                )
            continue
        if len(row) != len(names):
            raise _fault(
                source, place, f"the row has {len(row)} fields, and there are {len(names)} columns"
            )
        yield place, dict(zip(names, row, strict=True))


def _loaded(source: Source, text: str, line: int) -> Any:
    try:
        return json.loads(text, parse_constant=_refused_constant)
    except json.JSONDecodeError as error:
        number = line + error.lineno - 1
        place = f"line {number:,}, column {error.colno:,}"
        raise _fault(source, place, f"it is no JSON: {error.msg}") from None
    except RecursionError:
        raise _fault(source, f"line {line:,}", "it is nested too deep to be read") from None
    except ValueError as error:
        raise _fault(source, f"line {line:,}", f"it cannot be read: {error}") from None


def _refused_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _pointed(source: Source, value: Any, pointer: str) -> Any:
    """What a JSON Pointer (RFC 6901) points at."""
    if pointer and not pointer.startswith("/"):
        raise _fault(source, "", f"the pointer {pointer!r} begins with no slash: '/{pointer}'")
    for step in pointer.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isascii() and key.isdigit() and int(key) < len(value):
            value = value[int(key)]
        else:
            raise _fault(source, "", f"the pointer {pointer!r} leads nowhere: there is no {key!r}")
    return value


def _fault(source: Source, place: str, what: str) -> SourceError:
    where = f"{source.id}, {place}" if place else source.id
    return SourceError(f"{where}: {what}", source=source.id, place=place or None)


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def _keys(text: str | Sequence[str] | None) -> tuple[str, ...] | None:
    return None if text is None else (text,) if isinstance(text, str) else tuple(text)


def _pairs(rename: Mapping[str, str] | None) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((rename or {}).items()))
