"""Milvus expressions read back: what the dialect may write, and no more.

The grammar is smaller than Milvus's own on purpose. Chains stand in parentheses and mix no ``and``
with ``or``; literals stand only where the dialect puts them. A value or a key that broke out of its
quotes would leave a text that does not parse, or a tree with other operators and literals in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from lark import Lark, Token, Transformer

_GRAMMAR = r"""
?start: unit
?unit: "(" unit ")"
     | "(" unit ("and" unit)+ ")" -> all_of
     | "(" unit ("or" unit)+ ")"  -> any_of
     | "not" unit                 -> negation
     | "exists" PATH              -> exists
     | PATH SYMBOL literal        -> comparison
     | "array_contains" "(" NAME "," text ")"          -> holds
     | "array_contains_any" "(" NAME "," literals ")"  -> holds
     | "json_contains_any" "(" PATH "," literals ")"   -> contains
     | "json_contains_all" "(" PATH "," "[" "]" ")"    -> lists
     | NAME "in" literals         -> among
literals: "[" literal ("," literal)* "]"
?literal: text | number | truth
truth: TRUTH
text: STRING
number: NUMBER

NAME: /[A-Za-z_][A-Za-z0-9_]*/
TRUTH: "true" | "false"
SYMBOL: "==" | "<=" | ">=" | "<" | ">"
NUMBER: /-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?/
STRING: /"(?:[^"\\\r\n]|\\[^\r\n])*"/
PATH: /[A-Za-z_][A-Za-z0-9_]*(\[("(?:[^"\\\r\n]|\\[^\r\n])*"|[0-9]+)\])+/
%ignore " "
"""

_ESCAPES = {'"': '"', "\\": "\\", "n": "\n", "r": "\r", "t": "\t"}


@dataclass(frozen=True)
class Node:
    """One operator with its operands: nodes, paths as tuples, literals."""

    op: str
    operands: tuple[Any, ...]

    def walk(self) -> list[Node]:
        """This node and all below it."""
        waiting, found = [self], []
        while waiting:
            node = waiting.pop()
            found.append(node)
            waiting += [part for part in node.operands if isinstance(part, Node)]
        return found


def read(
    expression: str,
    text: Callable[[str], str] | None = None,
    path: Callable[[str], tuple[str, ...]] | None = None,
) -> Node:
    """The tree of an expression.

    Args:
        expression: What the dialect wrote.
        text: How the inside of a string literal is understood; by default as milvus-lite does.
        path: How a JSON path is understood, likewise.
    """
    tree = _parser().parse(expression)
    return _Reader(text or lite_text, path or lite_path).transform(tree)


def lite_text(inside: str) -> str:
    """The text between the quotes; an escape that milvus-lite does not know is an error."""
    return re.sub(r"\\(.)", lambda match: _ESCAPES[match[1]], inside)


def lite_path(token: str) -> tuple[str, ...]:
    """The segments of a path; an index keeps its brackets."""
    pieces = re.findall(r'\["((?:[^"\\]|\\.)*)"\]|(\[[0-9]+\])', token)
    return (token[: token.index("[")], *[index or lite_text(name) for name, index in pieces])


@lru_cache(maxsize=1)
def _parser() -> Lark:
    return Lark(_GRAMMAR, parser="lalr")


class _Reader(Transformer):  # type: ignore[type-arg]
    def __init__(self, text: Callable[[str], str], path: Callable[[str], tuple[str, ...]]) -> None:
        super().__init__()
        self._text = text
        self._path = path

    def __default__(self, data: Any, children: list[Any], meta: Any) -> Node:
        return Node(str(data), tuple(children))

    def PATH(self, token: Token) -> tuple[str, ...]:
        return self._path(str(token))

    def NAME(self, token: Token) -> str:
        return str(token)

    def SYMBOL(self, token: Token) -> str:
        return str(token)

    def text(self, children: list[Any]) -> str:
        return self._text(str(children[0])[1:-1])

    def number(self, children: list[Any]) -> float:
        written = str(children[0])
        return int(written) if written.lstrip("-").isdigit() else float(written)

    def truth(self, children: list[Any]) -> bool:
        return str(children[0]) == "true"

    def literals(self, children: list[Any]) -> list[Any]:
        return children
