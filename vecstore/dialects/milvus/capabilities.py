"""What Milvus answers exactly, with tags and without, and why it does not answer the rest."""

from __future__ import annotations

from typing import Final

from vecstore.dialects.milvus.expression import ADDRESSABLE
from vecstore.filter.convert import ALL_LITERALS, SAFE_DOUBLE, Capabilities, KeyRule, Refusal
from vecstore.filter.tree import NULL_TESTS, ORDERINGS, Op
from vecstore.filter.values import Kind

# Servers may stop at 100 nested parentheses, milvus-lite at some 120. A level takes one pair, and
# a second where its chain is cut into groups.
_DEPTH = 40
_ATOMS = 10_000

_TAGGED = (
    "declare what the key holds: schema=Schema({'key': str}); or write the documents through our "
    "own store, with its field of tags: Milvus(tags='vecstore_tags')"
)
_PRESENCE: Final = Refusal(
    "without tags, what a negation or a null test says of a missing key, of null and of [] differs "
    "between versions",
    _TAGGED,
)
_BOOL: Final = Refusal("without tags true and 1 are one to milvus-lite", _TAGGED)
TRUTH: Final = Refusal(
    "without tags milvus-lite would take true for 1 here, or false for 0", _TAGGED
)
ABSENCE: Final = Refusal(
    "to milvus-lite [] exists, and to servers it does not, which tells no number or text from it",
    "say which one is asked: Milvus(schema=..., target='lite') or target='server'",
)
INDEX: Final = Refusal("without tags the server takes digits in a path for a list's index", _TAGGED)
PATH: Final = Refusal(
    "it cannot reach into JSON under a key that holds a quote, a backslash, a control character, "
    "][ or a Han character past U+FFFF",
    "rename the key; with tags, == and IN work on any key",
)
HAN: Final = Refusal(
    "the server misreads Han characters past U+FFFF", "filter on another key, such as a hash"
)
LARGE: Final = Refusal(
    f"it orders numbers exactly only up to {SAFE_DOUBLE} in magnitude (max_number)",
    "store such numbers as text of one width, and compare with a quoted value",
)

EXACT: Final = Capabilities(max_depth=_DEPTH, max_atoms=_ATOMS)
_EQUALITY = frozenset({Kind.NUMBER, Kind.STRING})
PLAIN: Final = Capabilities(
    literals={op: ALL_LITERALS[op] & _EQUALITY for op in (Op.EQ, Op.IN, *ORDERINGS)},
    refusals={
        **{(op, kind): _PRESENCE for op in (Op.NE, Op.NIN, *NULL_TESTS) for kind in (*Kind, None)},
        **{(op, Kind.BOOL): _BOOL for op in (Op.EQ, Op.IN)},
    },
    key_rule=KeyRule(ADDRESSABLE, PATH),
    max_number=SAFE_DOUBLE,
    max_depth=_DEPTH,
    max_atoms=_ATOMS,
)
