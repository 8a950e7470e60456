"""Cutting texts into exact slices of at most so many tokens."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, Protocol
from unicodedata import category

from vecstore.document import Document, shown_id, stored_extra, with_stored_extra
from vecstore.errors import ConfigurationError, DocumentError
from vecstore.indexing.pipeline import fingerprint, fingerprint_of
from vecstore.indexing.tokens import Tokens, tokens_of

SENTENCE_ENDS: Final = re.compile(
    # A full stop in 3.14 or example.com ends nothing: white space follows, behind quotes perhaps.
    r"""[.?!]+["'”’»)\]]*(?=\s|\Z)"""
    # Those of Chinese and Japanese, Arabic and Urdu, Hindi and Amharic need no space behind them.
    r"""|[。？！；｡．…؟۔।॥።]+["'”’»）」』》】)\]]*"""
    r"""|\n+"""
)
"""Where sentences end, in most languages: after a match."""

_JOINING: Final = {"\u200d", *map(chr, range(0x1F3FB, 0x1F400))}
_MOST_JOINED: Final = 32


class Splitter(Protocol):
    """What cuts texts into slices: what :func:`sync` asks of one."""

    @property
    def fingerprint(self) -> str:
        """Changes whenever it would cut otherwise."""

    def spans(self, text: str, /) -> Sequence[tuple[int, int]]:
        """Where the slices of a text start and end, in order."""


class TokenSplitter:
    """Cuts documents into slices of at most ``size`` tokens, where sentences end.

    Each slice is a part of the text, to the character: nothing is decoded from tokens, so no
    character is ever cut or replaced, and nothing but white space between slices is left out. A
    slice ends with the last sentence that fits, if that is not too early, else with the last word,
    else with the last character.

    Called with documents, it yields a document for each slice. That carries the metadata of the
    whole, and under ``chunk`` its ``index``, the ``count`` of slices, and where in the text of the
    whole it starts and ends; ``span``, if there is one, is narrowed to the slice. Its id is that
    of the whole, a slash and the index.

    Args:
        size: Tokens of a slice, at most.
        overlap: Tokens that a slice repeats from the end of the one before it, at most.
        tokens: What counts: the name of an encoding of tiktoken's such as ``"cl100k_base"``, a
            ``tiktoken.Encoding``, a ``tokenizers.Tokenizer``, or anything with a method
            ``starts``; see :class:`Tokens`. Left out, tokens are estimated, on the high side.
        min_chars: So many characters at least stand before the mark that ends a slice. Half of
            what fits into it, when left out.
        ends: What ends a sentence: each of the characters of a text, or a compiled regular
            expression, behind whose matches slices may end.
        min_length: A last slice of fewer characters joins the one before it, if both fit
            together; it is never left out.
        max_chunks: Slices of one document, at most.

    Raises:
        ConfigurationError: If the numbers do not fit together.

    Example:
        >>> split = TokenSplitter(6)
        >>> split.spans("It rains. It pours. We stay in.")
        [(0, 9), (10, 19), (20, 31)]
        >>> [document.text for document in split([Document("It rains. It pours. We stay in.")])]
        ['It rains.', 'It pours.', 'We stay in.']
    """

    def __init__(
        self,
        size: int = 800,
        *,
        overlap: int = 0,
        tokens: Tokens | str | Any = None,
        min_chars: int | None = None,
        ends: str | re.Pattern[str] = SENTENCE_ENDS,
        min_length: int = 1,
        max_chunks: int = 10_000,
    ) -> None:
        self.size = _whole("size", size, 1)
        self.overlap = _whole("overlap", overlap, 0)
        if overlap >= size:
            raise ConfigurationError(
                f"an overlap of {overlap:,} leaves no room for anything new in {size:,} tokens; "
                f"write overlap={size // 8}, say"
            )
        self.min_chars = None if min_chars is None else _whole("min_chars", min_chars, 0)
        self.min_length = _whole("min_length", min_length, 0)
        self.max_chunks = _whole("max_chunks", max_chunks, 1)
        self.tokens = tokens_of(tokens)
        self.ends = _pattern(ends)
        self._count: Callable[[str], int] = getattr(self.tokens, "count", self._counted)

    @classmethod
    def spring(cls, **changes: Any) -> TokenSplitter:
        r"""A splitter with the marks and numbers of Spring AI's ``TokenTextSplitter``.

        800 tokens of ``cl100k_base``, a mark of ``.?!`` or a new line after 350 characters, and
        what has no more than 5 characters joins what stands before it: there, it is lost.

        Args:
            **changes: Arguments of :class:`TokenSplitter` to set otherwise.

        Raises:
            BackendNotInstalledError: If tiktoken is missing, and no ``tokens`` are given.

        Example:
            >>> TokenSplitter.spring(tokens=None)
            TokenSplitter(800, min_chars=350, ends='[\\.\\?!\\\n]', min_length=6)
        """
        settings = {
            "size": 800,
            "tokens": "cl100k_base",
            "min_chars": 350,
            "ends": ".?!\n",
            "min_length": 6,
        }
        return cls(**{**settings, **changes})

    @property
    def fingerprint(self) -> str:
        """Changes with every setting, and with the tokens.

        Raises:
            ConfigurationError: If the tokens have no attribute ``fingerprint``.
        """
        return fingerprint(
            "tokens",
            size=self.size,
            overlap=self.overlap,
            tokens=fingerprint_of(self.tokens),
            min_chars=self.min_chars,
            ends=[self.ends.pattern, self.ends.flags],
            min_length=self.min_length,
            max_chunks=self.max_chunks,
            revision=1,
        )

    def __call__(self, documents: Iterable[Document]) -> Iterator[Document]:
        """The slices of documents, as documents, in order; each is cut when it is asked for.

        Raises:
            DocumentError: If a document has been cut before, or cannot be cut to the size.
        """
        for document in documents:
            yield from self.split(document)

    def split(self, document: Document) -> list[Document]:
        """The slices of one document; none of one that is white space alone.

        Raises:
            DocumentError: If it has been cut before, or cannot be cut to the size.
        """
        metadata = document.metadata
        if "chunk" in metadata:
            raise DocumentError(
                f"document {shown_id(document.id)} has the key chunk already, as slices have: cut "
                "the whole, not its slices",
                document_id=document.id,
                key="chunk",
            )
        try:
            spans = self.spans(document.text)
        except DocumentError as error:
            raise DocumentError(
                f"document {shown_id(document.id)}: {error}", document_id=document.id
            ) from None
        whole, extra = metadata.get("span"), stored_extra(document)
        made = []
        for index, (start, end) in enumerate(spans):
            chunk = {"index": index, "count": len(spans), "start": start, "end": end}
            own: dict[str, Any] = {**metadata, "chunk": chunk}
            if isinstance(whole, list) and len(whole) == 2:
                own["span"] = [whole[0] + start, whole[0] + end]
            text, id = document.text[start:end], f"{document.id}/{index}"
            made.append(with_stored_extra(Document(text, own, id, score=document.score), extra))
        return made

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where the slices of a text start and end; they neither start nor end with white space.

        Raises:
            DocumentError: If one character has more tokens than a slice, or there would be more
                slices than ``max_chunks``.
        """
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise DocumentError(
                f"character {error.start:,} of the text is half of a pair (a lone surrogate), and "
                "no text; decode it with errors='replace'"
            ) from None
        if not text or text.isspace():
            return []
        starts = self.tokens.starts(text)
        if len(starts) <= self.size:
            span = _trimmed(text, 0, len(text))
            if span == (0, len(text)) or self._fits(text, *span):
                return [span]
        return self._cut(text, starts, [match.end() for match in self.ends.finditer(text)])

    def _cut(self, text: str, starts: Sequence[int], ends: Sequence[int]) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        start = reached = 0
        while reached < len(text):
            start, end = self._next(text, starts, ends, start, reached)
            span = _trimmed(text, start, end)
            # White space is no slice, nor is what an overlap repeats before it.
            if span[0] < span[1] and (not found or span[1] > found[-1][1]):
                if found and span[1] - span[0] < self.min_length:
                    joined = _trimmed(text, found[-1][0], end)
                    if self._fits(text, *joined):
                        span = joined
                        found.pop()
                if len(found) == self.max_chunks:
                    raise DocumentError(
                        f"the text has more than {self.max_chunks:,} slices of {self.size:,} "
                        "tokens; raise size or max_chunks, or cut it into several documents"
                    )
                found.append(span)
            reached = end
            start = end
            if self.overlap and found:
                start = self._overlapping(text, starts, found[-1][0], end)
        return found

    def _next(
        self, text: str, starts: Sequence[int], ends: Sequence[int], start: int, reached: int
    ) -> tuple[int, int]:
        """Where the next slice, or the white space in its place, starts and ends.

        It ends behind ``reached``, where the one before it ended. If what it was to repeat of that
        one leaves no room for anything new, it repeats nothing.
        """
        first = bisect_left(starts, start)
        room = self.size
        tries = 0
        while True:
            hard = starts[first + room] if first + room < len(starts) else len(text)
            if room < 1 or hard <= reached:
                if start < reached:
                    start, first, room, tries = reached, bisect_left(starts, reached), self.size, 0
                    continue
                # In its place a character may share its tokens with the one before or behind it.
                if self._fits(text, start, start + 1):
                    return start, start + 1
                raise DocumentError(
                    f"character {start:,} of the text, {text[start]!r}, alone has more than "
                    f"{self.size:,} tokens; raise size"
                )
            end = self._end(text, ends, start, reached, hard)
            count = self._count(text[slice(*_trimmed(text, start, end))])
            if count <= self.size:
                return start, end
            # A slice may have more tokens alone than where it stands: it loses as many at its end,
            # half of what it has at most, and after a few times half, so that no text takes long.
            left = min(room, bisect_left(starts, end, first) - first)
            tries += 1
            room = max(left - (count - self.size), left // 2) if tries < 4 else left // 2

    def _end(self, text: str, ends: Sequence[int], start: int, reached: int, hard: int) -> int:
        """The best place to end a slice that may go up to ``hard``."""
        if hard == len(text):
            return hard
        least = start + ((hard - start) // 2 if self.min_chars is None else self.min_chars + 1)
        least = max(least, reached)
        place = bisect_right(ends, hard) - 1
        if place >= 0 and ends[place] > least:
            return ends[place]
        if text[hard].isspace() or text[hard - 1].isspace():
            return hard
        # A word cut in two is worse than a slice that is rather short.
        least = max(start + (hard - start) // 4, reached)
        words = text[least:hard].rsplit(None, 1)
        if len(words) == 2:
            return hard - len(words[1])
        # What belongs to the character before it, such as an accent or a skin tone, stays with it.
        for end in range(hard, max(least, hard - _MOST_JOINED), -1):
            if not _joined(text, end):
                return end
        return hard

    def _overlapping(self, text: str, starts: Sequence[int], start: int, end: int) -> int:
        """Where the slice after one that ends at ``end`` starts: with a word, if there is one."""
        place = bisect_left(starts, end) - self.overlap
        back = 0
        if place > 0:
            # All of the tokens of a character, or none.
            back = starts[place] + (starts[place - 1] == starts[place])
        back = max(back, start + 1)
        if back >= end:
            return end
        if not text[back - 1].isspace():
            blank = re.compile(r"\s").search(text, back, end)
            if blank is not None:
                return blank.start()
            if _joined(text, back):
                return end
        return back

    def _fits(self, text: str, start: int, end: int) -> bool:
        return self._count(text[start:end]) <= self.size

    def _counted(self, text: str) -> int:
        return len(self.tokens.starts(text))

    def __repr__(self) -> str:
        parts = [str(self.size)]
        if self.overlap:
            parts.append(f"overlap={self.overlap}")
        if type(self.tokens).__name__ != "EstimatedTokens":
            parts.append(f"tokens={self.tokens!r}")
        if self.min_chars is not None:
            parts.append(f"min_chars={self.min_chars}")
        if self.ends is not SENTENCE_ENDS:
            parts.append(f"ends={self.ends.pattern!r}")
        if self.min_length != 1:
            parts.append(f"min_length={self.min_length}")
        if self.max_chunks != 10_000:
            parts.append(f"max_chunks={self.max_chunks}")
        return f"TokenSplitter({', '.join(parts)})"


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    part = text[start:end]
    end = start + len(part.rstrip())
    return min(end, start + len(part) - len(part.lstrip())), end


def _joined(text: str, place: int) -> bool:
    """Whether the character at a place belongs to the one before it."""
    if not 0 < place < len(text):
        return False
    character = text[place]
    return category(character)[0] == "M" or character in _JOINING or text[place - 1] == "\u200d"


def _pattern(ends: Any) -> re.Pattern[str]:
    if isinstance(ends, re.Pattern) and isinstance(ends.pattern, str):
        return ends
    if isinstance(ends, str):
        return re.compile(f"[{re.escape(ends)}]") if ends else re.compile(r"(?!)")
    raise ConfigurationError(
        "ends is a text of the characters that end a sentence, or a compiled regular expression, "
        f"not {type(ends).__name__}"
    )


def _whole(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ConfigurationError(f"{name} of a splitter is a whole number, not {value!r}")
    if value < least:
        raise ConfigurationError(f"{name} of a splitter is {least} or more, not {value}")
    return value
