"""The values and keys that the conformance kit tries, each here because some engine got it wrong.

The fixed rows, the random generator and the hypothesis strategies all draw from these pools, so
that filters and documents meet: a literal that no document holds tells little.
"""

from __future__ import annotations

from typing import Any, Final

from vecstore.filter.values import Scalar

BOOLS: Final[tuple[bool, ...]] = (True, False)

NUMBERS: Final[tuple[int | float, ...]] = (
    0,
    1,
    -1,
    2,
    7,
    -0.0,
    1.0,
    1.5,
    -1.5,
    1.000001,
    0.1,
    0.30000000000000004,
    1767225600000,
    # float64 keeps integers apart up to 2**53 - 1.
    2**53 - 1,
    2**53,
    2**53 + 1,
    -(2**53) + 1,
    -(2**53) - 1,
    2**63 - 1,
    -(2**63),
    2**63,
    2**64,
    # Integral floats that are written with an exponent, and the integers beside them.
    10**16 + 1,
    1e16,
    1e22,
    10**23,
    1e23,
    10**30,
    1e300,
    -1.7976931348623157e308,
    # Numbers that underflow when an engine is careless.
    5e-324,
    -5e-324,
    2.2250738585072014e-308,
)

PLAIN_TEXTS: Final[tuple[str, ...]] = (
    "",
    " ",
    "a",
    "A",
    "b",
    "ab",
    "a ",
    " a",
    "Z",
    # Texts that look like values of another type.
    "0",
    "1",
    "1.0",
    "00123",
    "true",
    "false",
    "null",
    "None",
    "NaN",
    "[]",
    "[1]",
    '{"k": 1}',
    # Dates are texts like any other unless a key is declared to hold them.
    "2024-01-01",
    "2024-01-01T00:00:00.000000Z",
    "2024-01-01T00:00:00.000001Z",
    "2024-06-30T23:59:59.999999Z",
    "2024-01-01T00:00:00Z",
    "2024-01-01 05:00:00",
    # Composed and decomposed are different texts; code points order otherwise than UTF-16 units.
    "é",
    "e\u0301",
    "ß",
    "ss",
    "ё",
    "日本",
    "\ue000",
    "\uffff",
    "😀",
    "😀\U0010ffff",
    "x" * 300,
)

HOSTILE_TEXTS: Final[tuple[str, ...]] = (
    "it's",
    'say "hi"',
    "back\\slash",
    "trailing\\",
    "\\",
    "'",
    '"',
    "tab\there",
    "line\nbreak\r",
    "\u2028",
    "\x01\x1f\x7f",
    "%",
    "_",
    "%s",
    "%(p0)s",
    ":p0",
    "$1",
    "?",
    "{v}",
    "${k}",
    "{{k}}",
    "#{k}",
    "x' OR '1'='1",
    'x" || $.k == "a',
    'x") or (1 == 1',
    'x\\" or 1 == 1 --',
    "'; DROP TABLE documents; --",
    "*) OR k:*",
    "x}) RETURN n //",
    "__import__('os').getcwd()",
    "/* */ -- #",
)

TEXTS: Final[tuple[str, ...]] = PLAIN_TEXTS + HOSTILE_TEXTS

SCALARS: Final[tuple[Scalar, ...]] = (*BOOLS, *NUMBERS, *TEXTS)

LISTS: Final[tuple[list[Any], ...]] = (
    ["a"],
    ["a", "b"],
    ["b", "ab", "b"],
    [""],
    ["A", " a", "é"],
    ["1", "true"],
    ["it's", 'say "hi"', "back\\slash"],
    ['x" || $.k == "a', "a"],
    [1],
    [1.0, 2],
    [0, -1, 0.1],
    [2**53 + 1, 1e23],
    [1.5, 1.000001],
    [True],
    [False, True],
)

OBJECTS: Final[tuple[dict[str, Any], ...]] = (
    {},
    {"k": 1},
    {"k": "a", "x": {"k": True}},
    {"k": None},
    {"k": []},
    {"k": ["a", "b"]},
)

KEYS: Final[tuple[str, ...]] = ("k", "x", "y")
"""Few, so that filters hit documents."""

ODD_KEYS: Final[tuple[str, ...]] = (
    "a.b",
    ".",
    "a.",
    "a b",
    " ",
    "a ",
    "K",
    "k1",
    "1k",
    "0",
    "-1",
    "k-1",
    "k:1",
    "a/b",
    "a[0]",
    "a[]",
    "[0]",
    "*",
    "?",
    "%",
    "%s",
    "%(p0)s",
    ":p0",
    "$1",
    "$k",
    "$where",
    "@k",
    "#k",
    "{k}",
    "${k}",
    "a`b",
    "a'b",
    'a"b',
    "a\\b",
    "\\",
    "a\nb",
    "a\tb",
    "\x01",
    "and",
    "NOT",
    "null",
    "true",
    "in",
    "id",
    "_id",
    "_additional",
    "text",
    "metadata",
    "vector",
    "tags",
    "__proto__",
    "inventory",
    "tb_9.6.1-1",
    "é",
    "e\u0301",
    "ключ",
    "日本",
    "\uffff",
    "😀",
    "long" * 50,
    'k"] == 1 or metadata["x',
    "k' OR 1=1 --",
    "k}) RETURN n //",
    "k:1 OR x",
    "__import__('os')",
)

PATHS: Final[tuple[tuple[str, ...], ...]] = (
    ("n", "k"),
    ("n", "x", "k"),
    ("n", "y"),
    ("k", "k"),
)
"""Keys inside objects."""

ODD_PATHS: Final[tuple[tuple[str, ...], ...]] = (
    ("a", "b"),
    ("a.b", "c"),
    ("n", "a.b"),
    ("n", "a b"),
    ("n", 'a"b'),
    ("n", "a'b"),
    ("n", "a\\b"),
    ("n", "%s"),
    ("n", "0"),
    ("n", "$k"),
    ("n", "é"),
    ("n", "K"),
    ("n", "[]"),
)
