"""Filter text -> raw expressions, by lark's LALR parser over ``filter.lark``.

The parser is fed token by token: that gives the place of a fault exactly, stops at the limits
before the tree is built, and lets no nesting reach Python's stack.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from lark import Lark, Transformer
from lark import Token as LarkToken
from lark.exceptions import UnexpectedToken
from lark.lexer import PatternStr

from vecstore.filter.tree import Op
from vecstore.grammar.budget import Budget
from vecstore.grammar.lexer import END, STRANGER, Scanner, Terminal, Token
from vecstore.grammar.meaning import GROUP, LIST, SYMBOLS, Raw, RawList, RawScalar


class Refusal(Exception):
    """A token that cannot stand where it stands.

    Attributes:
        tokens: What was read before it.
        found: The token.
        accepted: The terminals that could stand in its place.
    """

    def __init__(self, tokens: list[Token], found: Token, accepted: frozenset[str]) -> None:
        super().__init__(found)
        self.tokens = tokens
        self.found = found
        self.accepted = accepted


def read(text: str, budget: Budget | None = None) -> Raw:
    """Parse a text.

    Args:
        text: The filter text.
        budget: Counts what is read against the limits.

    Raises:
        Refusal: At the first token that does not fit.
        FilterLimitError: If the budget is used up.
    """
    machine = _grammar().parse_interactive()
    feed = machine.feed_token
    tokens: list[Token] = []
    for token in scanner().scan(text):
        kind, start, end = token
        if kind == STRANGER:
            break
        try:
            result = feed(LarkToken(kind, text[start:end], start, end_pos=end))
        except UnexpectedToken:
            break
        if kind == END:
            raw: Raw = result
            return raw
        tokens.append(token)
        if budget is not None:
            budget.spend(token)
    raise Refusal(tokens, token, _accepted_after(text, tokens))


@cache
def scanner() -> Scanner:
    """The scanner of the grammar's terminals."""
    grammar = _grammar()
    terminals = []
    white_space = []
    for definition in grammar.terminals:
        pattern = definition.pattern.to_regexp()
        if definition.name in grammar.ignore_tokens:
            white_space.append(pattern)
        else:
            literal = definition.pattern.value if type(definition.pattern) is PatternStr else None
            terminals.append(Terminal(definition.name, pattern, literal))
    return Scanner(terminals, "|".join(white_space))


@cache
def _grammar() -> Lark:
    return Lark.open_from_package(
        "vecstore.grammar",
        "filter.lark",
        parser="lalr",
        lexer="basic",
        maybe_placeholders=False,
        transformer=_Raw(),
    )


def _accepted_after(text: str, tokens: list[Token]) -> frozenset[str]:
    # A new parser is asked: the one that refused may have gone on before it noticed.
    machine = _grammar().parse_interactive()
    for kind, start, end in tokens:
        machine.feed_token(LarkToken(kind, text[start:end], start, end_pos=end))
    accepted: set[str] = machine.accepts()  # type: ignore[no-untyped-call]
    return frozenset(accepted)


def _plain(token: LarkToken) -> Token:
    assert token.start_pos is not None
    assert token.end_pos is not None
    return token.type, token.start_pos, token.end_pos


def _atom(op: Op, segments: list[Token], literal: Any, first: LarkToken, last: LarkToken) -> Raw:
    end = last.end_pos if literal is None else literal[2]
    return op, segments[0][1], end, segments, literal, first.start_pos, last.end_pos


class _Raw(Transformer[LarkToken, Raw]):
    """Rules of the grammar -> raw expressions; a method for each rule or alias."""

    def start(self, children: list[Any]) -> Raw:
        raw: Raw = children[-1]
        return raw

    def disjunction(self, operands: list[Raw]) -> Raw:
        return Op.OR, operands[0][1], operands[-1][2], operands

    def conjunction(self, operands: list[Raw]) -> Raw:
        return Op.AND, operands[0][1], operands[-1][2], operands

    def complement(self, children: list[Any]) -> Raw:
        sign, operand = children
        return Op.NOT, sign.start_pos, operand[2], operand

    def group(self, children: list[Any]) -> Raw:
        opening, content, closing = children
        return GROUP, opening.start_pos, closing.end_pos, content

    def comparison(self, children: list[Any]) -> Raw:
        segments, sign, literal = children
        return _atom(SYMBOLS[sign.value], segments, literal, sign, sign)

    def member(self, children: list[Any]) -> Raw:
        segments, word, literal = children
        return _atom(Op.IN, segments, literal, word, word)

    def not_member(self, children: list[Any]) -> Raw:
        return _atom(Op.NIN, children[0], children[-1], children[1], children[-2])

    def null(self, children: list[Any]) -> Raw:
        return _atom(Op.ISNULL, children[0], None, children[1], children[-1])

    def not_null(self, children: list[Any]) -> Raw:
        return _atom(Op.ISNOTNULL, children[0], None, children[1], children[-1])

    def key(self, segments: list[LarkToken]) -> list[Token]:
        return [_plain(segment) for segment in segments]

    def square(self, children: list[Any]) -> RawList:
        opening, *scalars, closing = children
        return LIST, opening.start_pos, closing.end_pos, scalars

    round = square

    def scalar(self, tokens: list[LarkToken]) -> RawScalar:
        kind, start, end = _plain(tokens[0])
        if len(tokens) == 1:
            return kind, start, end, start
        string = _plain(tokens[1])
        return kind, start, string[2], string[1]
