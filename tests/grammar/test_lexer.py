from __future__ import annotations

import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lark import Lark
from lark.exceptions import UnexpectedCharacters

from vecstore import FilterSyntaxError, parse
from vecstore.filter.text import RESERVED_WORDS
from vecstore.grammar.lalr import END, STRANGER, Token, scan
from vecstore.grammar.tables import KEYWORDS


def scanned(text: str) -> list[Token]:
    """Tokens up to the end, or to the first character that is no part of one."""
    tokens = []
    for token in scan(text):
        tokens.append(token)
        if token[0] == STRANGER:
            break
    return tokens


def kinds(text: str) -> list[str]:
    return [kind for kind, _, _ in scanned(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", [END]),
        ("a.b!=1", ["NAME", "_DOT", "NAME", "COMPARISON", "INTEGER", END]),
        ("a != !b", ["NAME", "COMPARISON", "BANG", "NAME", END]),
        ("a<>b<=c>=d", ["NAME", "COMPARISON"] * 3 + ["NAME", END]),
        ("=== =", ["COMPARISON", "COMPARISON", "COMPARISON", END]),
        ("a&&b||c", ["NAME", "_AND_SIGN", "NAME", "_OR_SIGN", "NAME", END]),
        ("AnD oR nOt iN NiN iS nUlL", ["_AND", "_OR", "NOT", "IN", "NIN", "IS", "NULL", END]),
        ("True FALSE Where date TimeStamp", ["TRUE", "FALSE", "WHERE", "DATE", "TIMESTAMP", END]),
        ("android order nullable", ["NAME"] * 3 + [END]),
        ("AND_ _AND AND1 ANDé", ["NAME"] * 4 + [END]),
        ("'x'AND\"y\"", ["STRING", "_AND", "STRING", END]),
        (r"'a\'b' 'a\\' '\n'", ["STRING"] * 3 + [END]),
        ("'a\nb'", ["STRING", END]),
        ("5 -5 +5 007 5L 5l", ["INTEGER"] * 6 + [END]),
        ("5. .5 -5.5 1e3 1E-3 5.e3 .5e+3", ["DECIMAL"] * 7 + [END]),
        ("1-2", ["INTEGER", "INTEGER", END]),
        ("1.2.3", ["DECIMAL", "DECIMAL", END]),
        ("a.5", ["NAME", "DECIMAL", END]),
        ("5.AND", ["DECIMAL", "_AND", END]),
        ("1AND", ["INTEGER", STRANGER]),
        ("5Lx", ["INTEGER", STRANGER]),
        ("1e", ["INTEGER", STRANGER]),
        ("1.5L", ["DECIMAL", STRANGER]),
        ("- 1", [STRANGER]),
        ("'abc", [STRANGER]),
        ("'abc\\'", [STRANGER]),
        ("a²", ["NAME", STRANGER]),
        ("²", [STRANGER]),
        ("\ufeffa", [STRANGER]),
        ("AND\u201c", ["_AND", STRANGER]),
    ],
)
def test_tokens(text: str, expected: list[str]) -> None:
    assert kinds(text) == expected


def test_places() -> None:
    assert scanned("  ab >=\t'x' ") == [
        ("NAME", 2, 4),
        ("COMPARISON", 5, 7),
        ("STRING", 8, 11),
        (END, 12, 12),
    ]


def test_the_reserved_words_of_the_printer_are_the_keywords_of_the_grammar() -> None:
    keywords = {word for word in RESERVED_WORDS if kinds(word) != ["NAME", END]}
    assert keywords == RESERVED_WORDS
    # DATE and TIMESTAMP are keywords that are no reserved words: they may stand in a key.
    assert KEYWORDS.keys() - RESERVED_WORDS == {"DATE", "TIMESTAMP"}


@pytest.mark.parametrize("word", ["\u0131n", "i\u017f", "\u212anown", "ＡＮＤ", "nıll"])
def test_keyword_letters_are_ascii_only(word: str) -> None:
    assert word.isidentifier()
    assert kinds(word) == ["NAME", END]
    assert parse(f"{word} == 1").key.path == (word,)


def test_a_name_is_what_isidentifier_accepts() -> None:
    # Every character of the first three planes, at the start of a key and inside of one.
    starts = inside = 0
    for code in (*range(0x80, 0x33480), *range(0x33480, sys.maxunicode + 1, 997)):
        character = chr(code)
        if character.isspace():
            continue
        first, *_ = scanned(character + "b")
        assert (first == ("NAME", 0, 2)) is character.isidentifier(), hex(code)
        starts += first[0] == "NAME"
        tokens = scanned("a" + character + "b")
        if f"a{character}".isidentifier():
            assert tokens[0] == ("NAME", 0, 3), hex(code)
            inside += 1
        else:
            assert tokens == [("NAME", 0, 1), (STRANGER, 1, 2)], hex(code)
    assert 100_000 < starts < inside < 200_000


def test_white_space_is_what_isspace_accepts() -> None:
    spaces = [chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace()]
    assert "\xa0" in spaces
    assert "\u3000" in spaces
    for space in spaces:
        text = f"{space}a{space}=={space}1{space}"
        assert parse(text).to_text() == "a == 1"
        assert re.fullmatch(r"\s", space)
    for other in "\u200b\u2060\ufeff\x00\x08\u180e":
        with pytest.raises(FilterSyntaxError):
            parse(f"a{other} == 1")


pieces = st.lists(
    st.one_of(
        st.sampled_from(
            "a ab AND or Not in NIN is null TRUE where date TIMESTAMP 1 -1 .5 5. 1e3 1L 5.5e-3 "
            "'x' \"y\" '' 'a\\'b' == = != <> < <= > >= ! && || ( ) [ ] . , é 名 5x - + & ' \"".split()
        ),
        st.sampled_from([" ", "\n", "\xa0"]),
    ),
    max_size=12,
).map("".join)


@given(pieces)
def test_the_scanner_splits_like_larks_own_lexer(text: str) -> None:
    ours = scanned(text)
    theirs = []
    try:
        for token in LARK.lex(text):
            start, end = token.start_pos, token.end_pos
            assert start is not None
            assert end is not None
            if token[0].isalpha() and re.match(r"\w", text[max(0, start - 1) : start]):
                # Lark finds a keyword at the end of a number; ours are whole words.
                theirs.append((STRANGER, start, start + 1))
                break
            theirs.append((token.type, start, end))
        else:
            theirs.append((END, len(text), len(text)))
    except UnexpectedCharacters as error:
        theirs.append((STRANGER, error.pos_in_stream, error.pos_in_stream + 1))
    assert ours == theirs


LARK = Lark.open_from_package(
    "vecstore.grammar", "filter.lark", parser="lalr", lexer="basic", maybe_placeholders=False
)
