"""Markdown: a document for each section, which is the text below one heading, to the character."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from vecstore.document import Document
from vecstore.errors import BackendNotInstalledError, SourceError
from vecstore.filter.values import MAX_METADATA_DEPTH
from vecstore.indexing.pipeline import fingerprint
from vecstore.indexing.readers.base import Reader, decoded, document
from vecstore.indexing.sources import Source
from vecstore.installing import install_line

_MAX_FRONT_MATTER: Final = 65_536
_FRONT_MATTER: Final = re.compile(
    r"(---|\+\+\+)[ \t]*\r?\n(.*?)^(?:\1|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.S | re.M
)


@dataclass(frozen=True, slots=True)
class _MarkdownReader:
    level: int
    front_matter: bool
    encoding: str

    @property
    def fingerprint(self) -> str:
        return fingerprint(
            "markdown", level=self.level, front=self.front_matter, encoding=self.encoding
        )

    def __call__(self, source: Source) -> Iterator[Document]:
        text = decoded(source, self.encoding)
        said: dict[str, Any] = {}
        start = 0
        if self.front_matter:
            said, start = _front_matter(source, text)
        own: dict[str, Any] = {name: said.pop(name) for name in ("title", "lang") if name in said}
        sections = _sections(text, start, self.level)
        if "title" not in own:
            own["title"] = next((title for level, title, _, _ in sections if level == 1), None)
        path: list[tuple[int, str]] = []
        part = 0
        for level, title, begin, end in sections:
            if level:
                path = [*((above, name) for above, name in path if above < level), (level, title)]
            body = text[begin:end]
            begin += len(body) - len(body.lstrip())
            body = body.strip()
            if not body:
                continue
            headings = [name for _, name in path if name]
            yield document(
                source,
                part,
                body,
                own={**own, "headings": headings, "span": [begin, begin + len(body)]},
                said=said,
                place="front matter",
                remedy="take it out, or read_markdown(front_matter=False) leaves it in the text",
            )
            part += 1


def read_markdown(level: int = 6, front_matter: bool = True, encoding: str = "utf-8") -> Reader:
    r"""A reader of Markdown: a document for each section.

    A section is a heading with what stands below it, up to the next heading; each is the text of
    the source, to the character, with its tables, links and code. ``headings`` is the path to it,
    the outermost first; ``title`` the first heading of level 1, or what the front matter says.

    Args:
        level: Headings of deeper levels begin no section; 0 gives one document of the whole.
        front_matter: Whether YAML between lines of ``---``, or TOML between lines of ``+++``, at
            the top is metadata instead of text.
        encoding: Of the bytes, unless they begin with a byte order mark; ``"detect"`` guesses.

    Raises:
        BackendNotInstalledError: If the packages of the extra ``markdown`` are missing.

    Example:
        >>> from vecstore.indexing import text_source
        >>> page = text_source("a.md", "# Bread\nFlour.\n\n## Rye\nSour.\n", "markdown")
        >>> for section in read_markdown()(page):
        ...     print(repr(section.text), section.metadata["headings"])
        '# Bread\nFlour.' ['Bread']
        '## Rye\nSour.' ['Bread', 'Rye']
    """
    return _MarkdownReader(level, front_matter, encoding)


def _sections(text: str, start: int, deepest: int) -> list[tuple[int, str, int, int]]:
    """Level, title, start and end of each section; 0 and "" of what stands before the first."""
    try:
        from markdown_it import MarkdownIt
    except ImportError as error:
        raise _missing("Markdown") from error
    lines = _line_starts(text, start)
    found = [(0, "", start)]
    # Blocks alone, since a fence may hold lines that look like headings; what is in them only where
    # it is a heading, for that takes much longer.
    blocks, inline = MarkdownIt("commonmark").disable("inline"), MarkdownIt("commonmark")
    names: dict[str, Any] = {}
    tokens = blocks.parse(text[start:], names)
    for place, token in enumerate(tokens):
        if token.type != "heading_open" or token.level or token.map is None:
            continue
        level = int(token.tag[1:])
        if level <= deepest:
            (title,) = inline.parseInline(tokens[place + 1].content, names)
            found.append((level, _plain(title), lines[token.map[0]]))
    ends = [begin for _, _, begin in found[1:]]
    return [(*one, end) for one, end in zip(found, [*ends, len(text)], strict=True)]


def _line_starts(text: str, start: int) -> list[int]:
    # markdown-it takes \r\n and \r for \n, and knows no other end of a line.
    return [start, *(match.end() for match in re.compile(r"\r\n|\n|\r").finditer(text, start))]


def _plain(inline: Any) -> str:
    """The words of a heading, without marks, links and pictures; what code says is a word."""
    words = []
    for token in inline.children or ():
        if token.type in ("softbreak", "hardbreak"):
            words.append(" ")
        elif token.type in ("text", "code_inline"):
            words.append(token.content)
        elif token.type == "image":
            words.append(_plain(token))
    return " ".join("".join(words).split())


def _front_matter(source: Source, text: str) -> tuple[dict[str, Any], int]:
    match = _FRONT_MATTER.match(text)
    if match is None:
        return {}, 0
    fault = SourceError(
        f"{source.id}, front matter: it cannot be read; read_markdown(front_matter=False) leaves "
        "it in the text",
        source=source.id,
        place="front matter",
    )
    end = match.end()
    if end > _MAX_FRONT_MATTER:
        raise fault
    if match[1] == "+++":
        import tomllib

        try:
            return _plain_object(tomllib.loads(match[2])), end
        except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
            raise fault from error
    try:
        import yaml
    except ImportError as error:
        raise _missing("front matter") from error

    class Loader(yaml.SafeLoader):
        """Without aliases: a few lines of these can stand for gigabytes. Nor is it ever deep."""

        depth = 0

        def compose_node(self, parent: Any, index: Any) -> Any:
            self.depth += 1
            if self.check_event(yaml.AliasEvent) or self.depth > MAX_METADATA_DEPTH:
                raise yaml.YAMLError("aliases, or nested too deep")
            node = super().compose_node(parent, index)
            self.depth -= 1
            return node

    try:
        loaded = yaml.load(match[2], Loader)  # a SafeLoader, and less
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise fault from error
    if loaded is None:
        return {}, end
    if not isinstance(loaded, dict):
        return {}, 0  # a line between two rules
    return _plain_object(loaded), end


def _plain_object(loaded: dict[Any, Any]) -> dict[str, Any]:
    return {str(key): value for key, value in loaded.items() if value is not None}


def _missing(what: str) -> BackendNotInstalledError:
    return BackendNotInstalledError(
        f"reading {what} needs the packages of the extra markdown\nhint: {install_line('markdown')}"
    )
