"""HTML: a document for each section of a page, in the words that a reader of the page sees."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from vecstore.document import Document
from vecstore.errors import BackendNotInstalledError, ConfigurationError, SourceError
from vecstore.indexing.pipeline import fingerprint
from vecstore.indexing.readers.base import Reader, decoded, document
from vecstore.indexing.sources import Source
from vecstore.installing import install_line

_UNSEEN: Final = frozenset(
    "script style noscript template head iframe object svg math canvas audio video select".split()
)
_INLINE: Final = frozenset(
    (
        "a abbr acronym b bdi bdo big button cite code data del dfn em font i ins kbd label mark "
        "output q s samp small span strike strong sub sup time tt u var wbr img input"
    ).split()
)
_HEADINGS: Final = {f"h{level}": level for level in range(1, 7)}
_CHARSET: Final = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.I)
_TAG: Final = re.compile(r"<(/?)([a-zA-Z][^\s>/]*)")
# The parser takes the square of the depth, so that a megabyte of opening tags would stop a program.
_MAX_DEPTH: Final = 2_000
_NEVER_DEEP: Final = frozenset(
    (
        "area base br col embed hr img input link meta param source track wbr "
        "p li dt dd td th tr thead tbody tfoot option optgroup colgroup"
    ).split()
)
# What themes put behind headings to link to them.
_ANCHOR_CLASSES: Final = frozenset({"headerlink", "anchor", "anchor-link"})


@dataclass(frozen=True, slots=True)
class _HtmlReader:
    selector: str
    main: bool
    links: bool
    meta: tuple[str, ...]
    encoding: str

    @property
    def fingerprint(self) -> str:
        return fingerprint(
            "html",
            selector=self.selector,
            main=self.main,
            links=self.links,
            meta=self.meta,
            encoding=self.encoding,
        )

    def __call__(self, source: Source) -> Iterator[Document]:
        try:
            from selectolax.lexbor import LexborHTMLParser
        except ImportError as error:
            raise BackendNotInstalledError(
                f"reading HTML needs the package selectolax\nhint: {install_line('html')}"
            ) from error
        declared = _CHARSET.search(source.read_bytes(), 0, 4_096)
        encoding = self.encoding
        if encoding == "declared":
            encoding = declared[1].decode().lower() if declared else "utf-8"
        page = decoded(source, encoding)
        _check_depth(source, page)
        tree: Any = LexborHTMLParser(page)
        own: dict[str, Any] = {}
        if (title := tree.css_first("head > title")) is not None:
            own["title"] = _words(title.text())
        if (root := tree.css_first("html")) is not None:
            own["lang"] = (root.attributes.get("lang") or "").strip()
        said = {}
        for tag in tree.css("meta[name]"):
            name = (tag.attributes.get("name") or "").lower()
            content = _words(tag.attributes.get("content") or "")
            if name in self.meta and content:
                said[name] = content
        sections: Iterable[tuple[tuple[str, ...], str]]
        if self.main:
            sections = [((), _main_text(page))]
        else:
            try:
                nodes = tree.css(self.selector)
            except Exception as error:
                raise ConfigurationError(
                    f"{self.selector!r} cannot be read as a CSS selector"
                ) from error
            sections = _sections(_outermost(nodes), self.links)
        part = 0
        for headings, text in sections:
            if text.strip():
                yield document(
                    source,
                    part,
                    text,
                    own={**own, "headings": list(headings)},
                    said=said,
                    place="meta",
                    remedy="name the tags you want in read_html(meta=...)",
                )
                part += 1


def read_html(
    selector: str = "body",
    main: bool = False,
    links: bool = False,
    meta: tuple[str, ...] = ("description", "keywords"),
    encoding: str = "declared",
) -> Reader:
    r"""A reader of HTML: a document for each section, the text between one heading and the next.

    The text is what a reader of the page sees, a line for each block, preformatted text as it
    stands. ``headings`` is the path to the section, the outermost first; ``title`` and ``lang`` are
    the page's.

    Args:
        selector: CSS for the part of the page to read, such as ``"main, article"``.
        main: Whether to look for the main text instead, without menus and footers, by
            trafilatura, of the extra ``html-main``: one document without headings.
        links: Whether addresses stand behind the words that link to them.
        meta: Which tags ``<meta name=... content=...>`` become metadata.
        encoding: Of the bytes, unless they begin with a byte order mark: by default what the page
            declares, else UTF-8.

    Raises:
        BackendNotInstalledError: If the packages of the extra are missing.

    Example:
        >>> from vecstore.indexing import text_source
        >>> page = text_source(
        ...     "a", "<h1>Bread</h1><p>Flour, <b>water</b>.<h2>Rye</h2>Sour.", "html"
        ... )
        >>> for section in read_html()(page):
        ...     print(repr(section.text), section.metadata["headings"])
        'Bread\nFlour, water.' ['Bread']
        'Rye\nSour.' ['Bread', 'Rye']
    """
    return _HtmlReader(selector, main, links, tuple(meta), encoding)


def _check_depth(source: Source, page: str) -> None:
    depth = 0
    for match in _TAG.finditer(page):
        if match[2].lower() in _NEVER_DEEP:
            continue
        depth = max(0, depth - 1) if match[1] else depth + 1
        if depth > _MAX_DEPTH:
            line = page.count("\n", 0, match.start()) + 1
            raise SourceError(
                f"{source.id}, line {line:,}: more than {_MAX_DEPTH:,} elements are open there, "
                "which no page needs",
                source=source.id,
                place=f"line {line:,}",
            )


def _outermost(nodes: list[Any]) -> list[Any]:
    """Without those that lie in others: a selector may name both."""
    ids = {node.mem_id for node in nodes}
    found = []
    for node in nodes:
        above = node.parent
        while above is not None and above.mem_id not in ids:
            above = above.parent
        if above is None:
            found.append(node)
    return found


def _sections(nodes: list[Any], links: bool) -> Iterator[tuple[tuple[str, ...], str]]:
    """Headings and text of each section, in the order of the page.

    Walks without recursion, for a page may be nested as deep as its author likes.
    """
    path: list[tuple[int, str]] = []
    lines = _Lines()
    for node in nodes:
        heading: tuple[int, int] | None = None  # level, and where its words begin
        depth_of_pre = 0
        waiting: list[tuple[Any, bool]] = [(node, False)]
        while waiting:
            one, leaving = waiting.pop()
            tag = one.tag
            if tag == "-text":
                lines.add(one.text_content or "", preformatted=depth_of_pre > 0)
                continue
            if leaving:
                if tag in _HEADINGS and heading is not None:
                    level, place = heading
                    title = _words(lines.since(place))
                    path = [*((above, name) for above, name in path if above < level)]
                    path.append((level, title))
                    heading = None
                elif tag == "pre":
                    depth_of_pre -= 1
                elif tag == "a" and links and (address := one.attributes.get("href")):
                    lines.add(f" ({address})")
                if tag in ("td", "th"):
                    lines.add(" ")
                elif tag not in _INLINE:
                    lines.end()
                continue
            if tag in _UNSEEN or tag.startswith("-") or _is_anchor(one):
                continue
            if tag == "br":
                lines.end()
                continue
            if tag in _HEADINGS and heading is None:
                text = lines.taken()
                if text:
                    yield tuple(name for _, name in path if name), text
                heading = (_HEADINGS[tag], lines.place())
            elif tag == "pre":
                lines.end()
                depth_of_pre += 1
            elif tag not in _INLINE and tag not in ("td", "th"):
                lines.end()
            waiting.append((one, True))
            child = one.last_child
            while child is not None:
                waiting.append((child, False))
                child = child.prev
    text = lines.taken()
    if text:
        yield tuple(name for _, name in path if name), text


class _Lines:
    """Text on its way into lines, white space as browsers show it."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._fresh = True  # at the start of a line
        self._blank = False  # a space is due before the next word

    def add(self, text: str, preformatted: bool = False) -> None:
        if preformatted:
            if text:
                self._parts.append(text)
                self._fresh = text.endswith("\n")
                self._blank = False
            return
        words = text.split()
        if not words:
            self._blank = self._blank or (bool(text) and not self._fresh)
            return
        if not self._fresh and (self._blank or text[0].isspace()):
            self._parts.append(" ")
        self._parts.append(" ".join(words))
        self._fresh, self._blank = False, text[-1].isspace()

    def end(self) -> None:
        if not self._fresh:
            self._parts.append("\n")
        self._fresh, self._blank = True, False

    def place(self) -> int:
        return len(self._parts)

    def since(self, place: int) -> str:
        return "".join(self._parts[place:])

    def taken(self) -> str:
        text = "".join(self._parts).strip()
        self._parts.clear()
        self._fresh, self._blank = True, False
        return text


def _is_anchor(node: Any) -> bool:
    if node.tag != "a":
        return False
    return bool(_ANCHOR_CLASSES & {*(node.attributes.get("class") or "").split()})


def _words(text: str) -> str:
    return " ".join(text.split())


def _main_text(page: str) -> str:
    try:
        import trafilatura
    except ImportError as error:
        raise BackendNotInstalledError(
            f"the main text of pages needs trafilatura\nhint: {install_line('html-main')}"
        ) from error
    found: str | None = trafilatura.extract(page)
    return found or ""
