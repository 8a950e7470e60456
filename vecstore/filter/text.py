"""Expression -> canonical filter text."""

from __future__ import annotations

from vecstore.filter.tree import LOGICAL, NULL_TESTS, Expression, Op, rule
from vecstore.filter.values import Scalar

RESERVED_WORDS = frozenset(
    {"AND", "OR", "NOT", "IN", "NIN", "IS", "NULL", "TRUE", "FALSE", "WHERE"}
)

_TIGHTNESS = {Op.OR: 0, Op.AND: 1, Op.NOT: 2}
_NAMED_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


@rule("to_text")
def expression_text(expression: Expression) -> str:
    """The canonical text of a tree, without recursion."""
    parts: list[str] = []
    # An int on the stack is how tightly the surrounding operator binds.
    stack: list[str | tuple[Expression, int]] = [(expression, 0)]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            parts.append(item)
            continue
        node, around = item
        if node.op not in LOGICAL:
            parts.append(_atom_text(node))
            continue
        tightness = _TIGHTNESS[node.op]
        if tightness < around:
            parts.append("(")
            stack.append(")")
        if node.op is Op.NOT:
            parts.append("NOT ")
            stack.append((node.operands[0], tightness))
            continue
        joint = f" {node.op.symbol} "
        for child in reversed(node.operands[1:]):
            stack.extend(((child, tightness), joint))
        stack.append((node.operands[0], tightness))
    return "".join(parts)


@rule("key_text")
def key_text(path: tuple[str, ...]) -> str:
    """A key as it stands in a filter text, each segment quoted only when it has to be.

    Example:
        >>> key_text(("author", "first name")), key_text(("in",))
        ('author."first name"', '"in"')
    """
    return ".".join([_segment_text(segment) for segment in path])


def literal_text(value: Scalar) -> str:
    """A literal as it stands in a filter text.

    Example:
        >>> literal_text("BG"), literal_text(True), literal_text(1e16)
        ("'BG'", 'true', '1e+16')
    """
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, str):
        return f"'{_escaped(value)}'"
    return repr(value)


def _atom_text(node: Expression) -> str:
    left = key_text(node.key.path)
    if node.op in NULL_TESTS:
        return f"{left} {node.op.symbol}"
    literal = node.value.value
    if isinstance(literal, tuple):
        right = f"[{', '.join([literal_text(item) for item in literal])}]"
    else:
        right = literal_text(literal)
    return f"{left} {node.op.symbol} {right}"


def _segment_text(segment: str) -> str:
    if segment.isidentifier() and not is_reserved(segment):
        return segment
    return '"' + _escaped(segment).replace("\\'", "'").replace('"', '\\"') + '"'


def is_reserved(word: str) -> bool:
    """Whether a word is a keyword of the text language; keyword letters are ASCII only."""
    return word.isascii() and word.upper() in RESERVED_WORDS


def _escaped(text: str) -> str:
    if text.isalnum() and text.isascii():
        return text
    return "".join([_escaped_character(character) for character in text])


def _escaped_character(character: str) -> str:
    named = _NAMED_ESCAPES.get(character)
    if named is not None:
        return named
    if character.isprintable() or character == " ":
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
