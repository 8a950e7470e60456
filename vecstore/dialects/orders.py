"""Orderings as integers and as short texts, for engines that order neither numbers nor texts well.

Where an engine has exact ranges of integers, a number is one integer (:func:`sortable_integer`),
and a text is several (:func:`text_integers`). Where it has ranges of texts in a field of many, a
number or text is one more text there (:func:`ordered_term`). And where it has nothing but "the list
holds this text", a value is the list of its prefixes, and an ordering asks for the prefixes that
first go past its literal (:func:`trie_tokens`, :func:`trie_query`). The key and the type are part
of each such text, so that neither other keys nor other types are among what is compared.
"""

from __future__ import annotations

import struct
from hashlib import sha256
from typing import Final

from vecstore.dialects.tokens import Path, nearest_double
from vecstore.filter.tree import Op

LONGEST_TERM: Final = 1_000
"""Characters of a text in an ordered term; the rest is cut off."""

BYTES_OF_AN_INTEGER: Final = 7
"""Bytes of UTF-8 in each integer of a text; with an end mark for each of them it has 57 bits."""

_DIGITS: Final = "0123456789abcdef"
_SIGNED: Final = struct.Struct(">q")
_DOUBLE: Final = struct.Struct(">d")
_END: Final = "."
"""Comes after the digits of a text that is whole; a digit never is that."""


def sortable_integer(value: int | float) -> int:
    """A signed 64-bit integer for a number, in the order of the numbers as doubles.

    Example:
        >>> sorted([2.5, -1, 0, -0.5, 10**400], key=sortable_integer)[:4]
        [-1, -0.5, 0, 2.5]
        >>> sortable_integer(-0.0) == sortable_integer(0)
        True
    """
    bits: int = _SIGNED.unpack(_DOUBLE.pack(nearest_double(value)))[0]
    return bits if bits >= 0 else -(bits & 0x7FFF_FFFF_FFFF_FFFF)


def text_integers(text: str, most: int) -> list[int]:
    """Integers of 57 bits for a text, in the order of texts by code point.

    Lists of them compare as the texts do, as far as their first ``most`` integers tell: a text of
    fewer than ``7 * most`` bytes compares so with every other. The last of them, and it alone, says
    that the text ends there, so that nothing behind it is ever looked at.

    Example:
        >>> text_integers("2024-01-31", 9) < text_integers("2024-02", 9)
        True
        >>> len(text_integers("seven b", 9)), len(text_integers("more than that", 1))
        (2, 1)
    """
    encoded = text.encode("utf-8", "surrogatepass")[: BYTES_OF_AN_INTEGER * most]
    found = []
    for start in range(0, len(encoded) + 1, BYTES_OF_AN_INTEGER):
        number = 0
        for place in range(start, start + BYTES_OF_AN_INTEGER):
            number = 257 * number + (encoded[place] + 1 if place < len(encoded) else 0)
        found.append(number)
    return found[:most]


def ordered_term(path: Path, value: int | float | str) -> str:
    """A text for a number or text under a key, in the order of the values by code point.

    Terms of other keys, and of the other type, have another beginning: see :func:`term_range`.
    A literal of fewer than :data:`LONGEST_TERM` characters compares so with every text; two that
    differ after these alone have one term.

    Example:
        >>> ordered_term(("n",), 1) < ordered_term(("n",), 1.5) < ordered_term(("n",), 10)
        True
        >>> ordered_term(("n",), "b") > ordered_term(("n",), "a z")
        True
    """
    if isinstance(value, str):
        return f"{_beginning('s', path)}{value[:LONGEST_TERM]}"
    return f"{_beginning('n', path)}{_number_digits(value)}"


def term_range(path: Path, value: int | float | str) -> tuple[str, str]:
    """Between which texts all terms of a key and of the type of a value lie, the second left out.

    Example:
        >>> lowest, beyond = term_range(("n",), 1)
        >>> lowest < ordered_term(("n",), -1e300) < ordered_term(("n",), 1e300) < beyond
        True
    """
    lowest = _beginning("s" if isinstance(value, str) else "n", path)
    return lowest, f"{lowest[:-1]};"  # which follows the colon


def trie_tokens(path: Path, value: int | float | str, most_bytes: int) -> list[str]:
    """The prefixes of a value under a key, which :func:`trie_query` looks for.

    Args:
        path: The key.
        value: A number, which has 16 tokens; or a text, which has two for each byte of UTF-8 and
            one for its end.
        most_bytes: Bytes of a text that count; of a longer one these alone are looked at.

    Example:
        >>> [token.partition(":")[2] for token in trie_tokens(("k",), "ab", 8)]
        ['6', '61', '616', '6162', '6162.']
    """
    if not isinstance(value, str):
        start, digits = _beginning("n", path), _number_digits(value)
        return [start + digits[:length] for length in range(1, len(digits) + 1)]
    start, encoded = _beginning("s", path), value.encode("utf-8", "surrogatepass")
    digits = encoded[:most_bytes].hex()
    tokens = [start + digits[:length] for length in range(1, len(digits) + 1)]
    return tokens if len(encoded) > most_bytes else [*tokens, start + digits + _END]


def trie_query(path: Path, op: Op, value: int | float | str) -> list[str]:
    """The tokens of which a document has one if, and only if, its value compares so.

    At most 240 for a number, and some 15 for each hexadecimal digit of a text, whose UTF-8 must
    have fewer bytes than were made tokens of.

    Args:
        path: The key.
        op: GT, GTE, LT or LTE.
        value: The literal.

    Example:
        >>> wanted = set(trie_query(("k",), Op.GT, "ab"))
        >>> [bool(wanted & set(trie_tokens(("k",), text, 8))) for text in ("abc", "ab", "a", "b")]
        [True, False, False, True]
    """
    up = op in (Op.GT, Op.GTE)
    is_text = isinstance(value, str)
    digits = (
        value.encode("utf-8", "surrogatepass").hex()
        if isinstance(value, str)
        else _number_digits(value)
    )
    start = _beginning("s" if is_text else "n", path)
    found = [
        start + digits[:place] + digit
        for place in range(len(digits))
        for digit in _DIGITS
        if digit != digits[place] and (digit > digits[place]) == up
    ]
    if is_text and up:  # those that go on after the literal
        found += [start + digits + digit for digit in _DIGITS]
    elif is_text:  # those that end before it does
        found += [start + digits[:place] + _END for place in range(0, len(digits), 2)]
    if op in (Op.GTE, Op.LTE):
        found.append(start + digits + (_END if is_text else ""))
    return found


def _beginning(kind: str, path: Path) -> str:
    # Segments are hashed one by one, so that a.b and "a.b" differ.
    whole = sha256(b"".join([sha256(segment.encode()).digest() for segment in path]))
    return f"{kind}{whole.hexdigest()[:16]}:"


def _number_digits(value: int | float) -> str:
    return f"{sortable_integer(value) + 2**63:016x}"
