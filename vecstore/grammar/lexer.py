"""Filter text -> tokens, by one regular expression made from the terminals of the grammar.

A token is the plain tuple ``(kind, start, end)``; its kind is the name of a terminal of
``filter.lark``, or one of :data:`END` and :data:`STRANGER`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

Token = tuple[str, int, int]

END = "$END"
STRANGER = "STRANGER"
NAME = "NAME"


class Terminal(NamedTuple):
    """A terminal of the grammar."""

    name: str
    pattern: str
    literal: str | None  # the text of a terminal that is one fixed string


class Scanner:
    """Splits texts into tokens.

    Args:
        terminals: All terminals of the grammar but white space. One that is a fixed string of
            letters is a keyword: it stands wherever a name would that spells it, in any case.
        white_space: Pattern of what stands between tokens.
    """

    def __init__(self, terminals: Iterable[Terminal], white_space: str) -> None:
        self._keywords: dict[str, str] = {}
        patterns: list[Terminal] = []
        signs: list[Terminal] = []
        for terminal in terminals:
            if terminal.literal is None:
                patterns.append(terminal)
            elif terminal.literal.isalpha():
                self._keywords[terminal.literal.upper()] = terminal.name
            else:
                signs.append(terminal)
        # `!=` is tried before `!`, and `.5` before `.`.
        signs.sort(key=lambda sign: -len(sign.pattern))
        choices = "|".join(f"(?P<{t.name}>{t.pattern})" for t in patterns + signs)
        self._next = re.compile(
            rf"(?:{white_space})*+(?:{choices}|(?P<_END>\Z)|(?P<{STRANGER}>[\s\S]))"
        ).finditer

    def scan(self, text: str) -> Iterator[Token]:
        """The tokens of a text, the last one :data:`END` at ``len(text)``.

        A character that begins no token, or that a name cannot hold, comes as a token of its
        own, :data:`STRANGER`; what is scanned after it has no meaning.
        """
        for match in self._next(text):
            kind = match.lastgroup
            assert kind is not None
            start, end = match.span(kind)
            if kind == NAME:
                word = match[kind]
                if not word.isascii() and not word.isidentifier():
                    yield from self._strange_name(text, start, end)
                    continue
                kind = self._kind_of(word)
            elif kind == "_END":
                yield END, start, start
                return
            yield kind, start, end

    def _kind_of(self, word: str) -> str:
        # Only ASCII letters spell a keyword, though the upper case of U+017F is "S".
        return self._keywords.get(word.upper(), NAME) if word.isascii() else NAME

    def _strange_name(self, text: str, start: int, end: int) -> Iterator[Token]:
        """The part of a word before its first character that no name can hold, and that one."""
        strange = start
        while strange < end and f"a{text[strange]}".isidentifier():
            strange += 1
        if strange > start and not text[start].isidentifier():
            strange = start
        if strange > start:
            yield self._kind_of(text[start:strange]), start, strange
        yield STRANGER, strange, strange + 1
