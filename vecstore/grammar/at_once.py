"""What is read at one go: texts of plain conditions, which are most.

A condition is a regular language, and so is what may stand between two of them. One regular
expression therefore cuts a whole text into conditions and what joins them, with the work of a dozen
tokens in each step, and a stack of open parentheses does the rest. It reads what the tables read,
or nothing: whatever is less plain, or wrong, is left to them, and a test compares the two on random
texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from typing import Any

from vecstore.filter.checking import check_tree
from vecstore.filter.limits import Limits
from vecstore.filter.tree import SYMBOLS, Expression, Key, Op, read_comparison
from vecstore.filter.tree import read as node
from vecstore.filter.values import RESERVED_PREFIX, Kind, Scalar
from vecstore.grammar.faults import Fault
from vecstore.grammar.tables import KEYWORDS, PATTERNS, SPACE

# Nothing that has matched is tried again in another way. Only letters of ASCII spell a keyword,
# whatever `i` alone takes them for; and a keyword counts only where its neighbours leave no doubt.
_one = {name: f"(?>{pattern})" for name, pattern in PATTERNS.items()}
_space, _blank = f"(?:{SPACE})*+", f"(?:{SPACE})++"
_ended = r"(?=[\s,)\]]|\Z)"
_between = rf"{_space}(?:(?:(?<![^\s()\]])(?ai:AND|OR|NOT)(?=[\s(])|[!()]|&&|\|\|){_space})*+"
_word = f"(?:{_one['NAME']}|{_one['STRING']})"
_scalar = (
    f"(?:(?:(?ai:DATE|TIMESTAMP){_space})?+{_one['STRING']}|{_one['INTEGER']}|{_one['DECIMAL']}"
    f"|(?ai:TRUE|FALSE){_ended})"
)

# Groups: what stands before a condition; its key, operator and literal; or a null test in place of
# the last two. Last, all of the text that follows the last condition that could be read. What keys
# and lists consist of in detail is looked at later, in a key only once.
_conditions = re.compile(
    rf"({_between})((?:{_word}\.?+)++)"
    rf"(?:({_space}(?:{_one['COMPARISON']}{_space}"
    rf"|(?:(?ai:NOT){_blank})?(?ai:N?IN){_space}(?=[\[(])))"
    rf"({_scalar}|[\[(](?:[^\[\]()'\"]++|{_one['STRING']})*+[\])])"
    rf"|({_space}(?ai:IS){_blank}(?:(?ai:NOT){_blank})?(?ai:NULL)){_ended})"
    r"|([\s\S]+)"
).findall


# Taken out of their class once: each way there costs as much as making a small object.
_AND, _OR, _NOT, _IN, _NIN = Op.AND, Op.OR, Op.NOT, Op.IN, Op.NIN
_BOOL, _NUMBER, _STRING, _LIST = Kind.BOOL, Kind.NUMBER, Kind.STRING, Kind.LIST
_KINDS = {bool: _BOOL, int: _NUMBER, float: _NUMBER, str: _STRING}
_EQUALITIES = (Op.EQ, Op.NE)
_OPERATORS = {
    **SYMBOLS,
    "IN": _IN,
    "NIN": _NIN,
    "NOT IN": _NIN,
}
_TESTS = {" IS NULL": Op.ISNULL, " IS NOT NULL": Op.ISNOTNULL}
_TOKENS: dict[str, Op | int]
_TOKENS = {"AND": _AND, "&&": _AND, "OR": _OR, "||": _OR, "NOT": _NOT, "!": _NOT, "(": 1, ")": 0}
# As most people write them.
_SIGNS = {f" {word} ": _OPERATORS[word.upper()] for word in (*_OPERATORS, "in", "not in")}
_JOINTS = {" AND ": _AND, " and ": _AND, " OR ": _OR, " or ": _OR}
_QUOTES = frozenset("'\"")

_DEEPEST = 64  # parentheses and NOTs: at each, the operands of an AND in an AND are copied
_SHORT = 640  # digits that any interpreter converts, whatever it is set to
_REMEMBERED = 64  # characters of a key, or of what joins two conditions
_KEYWORDS = KEYWORDS.keys() - {"DATE", "TIMESTAMP"}  # these two are names as well
_PARTED = frozenset({",", ", "})
_FRACTION = frozenset(".eE")
_INFINITE = (float("inf"), float("-inf"))


class NotPlain(Exception):
    """The text has to be read token by token, be it to find out what is wrong with it."""


def read_at_once(text: str, limits: Limits | None) -> tuple[Expression, int, int, int] | None:
    """The tree of a text, and how much is in it.

    Args:
        text: A filter.
        limits: Bounds on its size.

    Returns:
        The tree, with how many conditions, parentheses and NOTs, and literals in lists there are.
        None where the text is not plain, passes a limit, or is no filter.

    Raises:
        FilterLimitError: If the tree is too large, and the text alone does not say so.
    """
    if limits is not None and len(text) > limits.text:
        return None
    found = _conditions(text)
    conditions = len(found) - (1 if found and found[-1][-1] else 0)
    if limits is not None and conditions > limits.nodes:
        return None
    reader = _Reader(text, limits)
    try:
        tree = reader.read(found)
    except (NotPlain, Fault):
        return None
    # A parenthesis holds at most an OR over ANDs: most texts are too small to need a walk.
    if limits is not None and (
        2 * reader.deepest + 2 > limits.depth or 2 * conditions + reader.opened > limits.nodes
    ):
        check_tree(tree, limits)
    return tree, conditions, reader.opened, reader.values


class _Open:
    """What has been read behind a parenthesis or a NOT, or of the whole."""

    __slots__ = ("alternatives", "begin", "negates", "operands", "place", "start")

    def __init__(self, place: int, negates: bool) -> None:
        self.place = place  # of the parenthesis or NOT
        self.negates = negates
        self.operands: list[Expression] = []  # of the AND that is being read
        self.start = 0  # of the same
        self.alternatives: list[Expression] = []  # those of an OR that stand before it
        self.begin = 0  # of the first of them


class _Reader:
    """Reads one text."""

    def __init__(self, text: str, limits: Limits | None) -> None:
        self.opened = self.deepest = self.values = 0
        self._text = text
        self._most_nested = _DEEPEST if limits is None else min(limits.nesting, _DEEPEST)
        self._most_values = len(text) if limits is None else limits.in_values
        self._is_simple = text.isascii() and "\\" not in text and "\0" not in text
        self._inner = _Open(0, False)
        self._outer: list[_Open] = []
        self._end = 0  # of what has been taken last

    def read(self, found: list[tuple[str, str, str, str, str, str]]) -> Expression:
        """The tree of what the pattern has found."""
        text, is_simple = self._text, self._is_simple
        at = 0
        for before, key, sign, literal, test, rest in found:
            if rest:
                if self._pass(rest, at):
                    raise NotPlain
                break
            joint = _JOINTS.get(before) if self._inner.operands else None
            if joint is None:
                if not self._pass(before, at):
                    raise NotPlain
            elif joint is _OR:
                self._alternate()
            start = at + len(before)
            stop = start + len(key)
            path = _path(key) if len(key) <= _REMEMBERED else _path.__wrapped__(key)
            if test:
                at = stop + len(test)
                operands = (Key.of_path(path, (text, start, stop)),)
                op = _TESTS.get(test) or _TESTS[" " + " ".join(test.upper().split())]
                self._take(node(op, operands, (text, start, at), True), start, at)
                continue
            op = _SIGNS.get(sign) or _operator(sign)
            begin = stop + len(sign)
            at = begin + len(literal)
            first = literal[0]
            value: Any
            if first in _QUOTES:
                value, kind = literal[1:-1] if is_simple else _string(literal), _STRING
            elif literal.isdigit() and len(literal) < _SHORT:
                value, kind = int(literal), _NUMBER
            elif first == "[" or first == "(":
                if op is not _IN and op is not _NIN:
                    raise NotPlain
                value, kind = self._list(literal), _LIST
            else:
                value = _scalar_of(literal)
                kind = _KINDS[type(value)]
                if kind is _BOOL and op not in _EQUALITIES:
                    raise NotPlain
            places = start, stop, begin, at
            self._take(read_comparison(op, path, value, kind, text, places), start, at)
        if self._outer or not self._inner.operands:
            raise NotPlain
        return self._whole()

    def _pass(self, between: str, at: int) -> bool:
        """Read what stands between two conditions, or around all of them.

        Returns:
            Whether a condition has to follow.
        """
        is_due = not self._inner.operands
        tokens = _joint(between) if len(between) <= _REMEMBERED else _tokens(between)
        for token, place in tokens:
            if token is _AND or token is _OR:
                if is_due:
                    raise NotPlain
                is_due = True
                if token is _OR:
                    self._alternate()
            elif token == 0:
                if is_due or not self._outer:
                    raise NotPlain
                content, opening = self._whole(), self._inner.place
                self._inner = self._outer.pop()
                self._take(content, opening, at + place + 1)
            else:
                if not is_due:
                    raise NotPlain
                self._outer.append(self._inner)
                self._inner = _Open(at + place, token is _NOT)
                self.opened += 1
                if len(self._outer) > self.deepest:
                    self.deepest = len(self._outer)
                    if self.deepest > self._most_nested:
                        raise NotPlain
        return is_due

    def _take(self, item: Expression, start: int, end: int) -> None:
        inner = self._inner
        while inner.negates:
            start = inner.place
            item = node(_NOT, (item,), (self._text, start, end), False)
            inner = self._inner = self._outer.pop()
        if not inner.operands:
            inner.start = start
        inner.operands.append(item)
        self._end = end

    def _alternate(self) -> None:
        inner = self._inner
        if not inner.alternatives:
            inner.begin = inner.start
        inner.alternatives.append(self._joined(_AND, inner.operands, inner.start))
        inner.operands = []

    def _whole(self) -> Expression:
        inner = self._inner
        last = self._joined(_AND, inner.operands, inner.start)
        if not inner.alternatives:
            return last
        return self._joined(_OR, [*inner.alternatives, last], inner.begin)

    def _joined(self, op: Op, parts: list[Expression], start: int) -> Expression:
        if len(parts) == 1:
            return parts[0]
        if self.opened:
            parts = [one for part in parts for one in (part.operands if part.op is op else (part,))]
        return node(op, tuple(parts), (self._text, start, self._end), False)

    def _list(self, literal: str) -> tuple[Scalar, ...]:
        if (literal[0] == "[") is not (literal[-1] == "]"):
            raise NotPlain
        items: list[Any] | None = None
        if self._is_simple and "'" in literal and '"' not in literal:
            # Between two quotes stands a text or, each second time, what parts two of them.
            first, *pieces, last = literal[1:-1].split("'")
            if _PARTED.issuperset(pieces[1::2]) and not first + last:
                items = pieces[::2]
        if items is None:
            is_list, scalars = _lists()
            if not is_list(literal):
                raise NotPlain
            items = [_scalar_of(one) for one in scalars(literal)]
        if len(items) > self._most_values:
            raise NotPlain
        self.values += len(items)
        return tuple(items)


@cache
def _lists() -> tuple[Callable[[str], Any], Callable[[str], list[str]]]:
    """What matches a list, and finds the literals in it; many a program never needs it."""
    comma = f"{_space}{_one['_COMMA']}{_space}"
    listed = rf"[\[(]{_space}(?:{_scalar}(?:{comma}{_scalar})*+{_space})?+[\])]"
    return re.compile(listed).fullmatch, re.compile(_scalar).findall


@lru_cache(maxsize=1_024)
def _path(key: str) -> tuple[str, ...]:
    """The segments of a key."""
    is_plain = key.isascii() and "'" not in key and '"' not in key
    names = key.split(".") if is_plain else _segments(key)
    for name in names:
        if not name or name.upper() in _KEYWORDS or name.startswith(RESERVED_PREFIX):
            raise NotPlain
    return tuple(names)


def _segments(key: str) -> list[str]:
    if not re.fullmatch(rf"{_word}(?:\.{_word})*+", key):
        raise NotPlain
    names = []
    for name in re.findall(_word, key):
        if name[0] in _QUOTES:
            name = _string(name)
        elif not name.isidentifier():
            raise NotPlain
        names.append(name)
    return names


@lru_cache(maxsize=1_024)
def _joint(between: str) -> list[tuple[Op | int, int]]:
    return list(_tokens(between))


def _tokens(between: str) -> Iterator[tuple[Op | int, int]]:
    """What stands between two conditions, and where."""
    for match in re.finditer(r"&&|\|\||[()!&|]|[^\s()!&|]++", between):
        token = _TOKENS.get(match[0].upper())
        if token is None:
            raise NotPlain
        yield token, match.start()


def _operator(sign: str) -> Op:
    op = _OPERATORS.get(" ".join(sign.upper().split()))
    if op is None:
        raise NotPlain
    return op


def _scalar_of(literal: str) -> Scalar:
    """What a literal means that stands for one value."""
    first, last = literal[0], literal[-1]
    if first in _QUOTES:
        return _string(literal)
    if last in _QUOTES:
        from vecstore.grammar.meaning import read_date, read_timestamp

        string = literal.index(last)
        read = read_date if first in "dD" else read_timestamp
        return read(literal, 0, len(literal), string)
    if first in "tTfF":
        return first in "tT"
    if last in "lL" or literal.isdigit() or not _FRACTION & {*literal}:
        if len(literal) < _SHORT:
            return int(literal.rstrip("lL"))
        from vecstore.grammar.meaning import read_integer

        return read_integer(literal, 0, len(literal))
    number = float(literal)
    if number in _INFINITE:
        raise NotPlain
    return number


def _string(literal: str) -> str:
    if literal.isascii() and "\\" not in literal and "\0" not in literal:
        return literal[1:-1]
    from vecstore.grammar.meaning import read_string

    return read_string(literal, 0, len(literal))
