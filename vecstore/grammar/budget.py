"""The limits that are noticed while a text is being read, before it has cost anything."""

from __future__ import annotations

from vecstore.filter.limits import TOO_MANY, TOO_MANY_VALUES, Limits, limit_error
from vecstore.filter.tree import Expression, Span, check_tree
from vecstore.grammar.lexer import Token

_TOO_LONG = "the filter text is longer than {} characters"
_TOO_NESTED = "more than {} parentheses and NOTs are open at once"

_KEY_ENDS = frozenset({"NAME", "STRING", "DATE", "TIMESTAMP"})
_ATOMS = frozenset({"COMPARISON", "IN", "NIN", "IS"})
_SCALAR_ENDS = frozenset({"STRING", "INTEGER", "DECIMAL", "TRUE", "FALSE"})


def check_length(text: str, limits: Limits) -> None:
    """Refuse a text past the limit ``text``.

    Raises:
        FilterLimitError: At the first character too many.
    """
    if len(text) > limits.text:
        span = Span(text, limits.text, limits.text + 1)
        raise limit_error("text", limits.text, _TOO_LONG, span)


class Budget:
    """What a text has used up of its limits; fed with every token that the parser took.

    Args:
        text: The filter text.
        limits: The bounds.
    """

    def __init__(self, text: str, limits: Limits) -> None:
        self._text = text
        self._limits = limits
        self._previous = ""
        self._waiting = [0]  # NOTs that wait for their operand, outside and in each parenthesis
        self._open = 0
        self._deepest = 0
        self._atoms = 0
        self._nots = 0
        self._in_list = False
        self._values = 0

    def spend(self, token: Token) -> None:
        """Count one token.

        Raises:
            FilterLimitError: If it passes one of ``nesting``, ``nodes`` and ``in_values``.
        """
        kind = token[0]
        previous, self._previous = self._previous, kind
        if kind == "NOT" or kind == "BANG":
            if previous not in _KEY_ENDS and previous != "IS":
                self._waiting[-1] += 1
                self._nots += 1
                self._nest(token)
        elif kind == "LPAR":
            if previous == "IN" or previous == "NIN":
                self._in_list, self._values = True, 0
            else:
                self._waiting.append(0)
                self._nest(token)
        elif kind == "LSQB":
            self._in_list, self._values = True, 0
        elif kind == "RSQB" or (kind == "RPAR" and self._in_list):
            self._in_list = False
        elif kind == "RPAR":
            self._open -= 1 + self._waiting.pop()
        elif kind.startswith(("_AND", "_OR")):
            # The operand that the NOTs of this level were waiting for is complete.
            self._open -= self._waiting[-1]
            self._waiting[-1] = 0
        elif kind in _ATOMS:
            self._atoms += 1
            if self._atoms > self._limits.nodes:
                raise self._exceeded("nodes", self._limits.nodes, TOO_MANY, token)
        elif self._in_list and kind in _SCALAR_ENDS:
            self._values += 1
            if self._values > self._limits.in_values:
                raise self._exceeded("in_values", self._limits.in_values, TOO_MANY_VALUES, token)

    def check(self, expression: Expression) -> Expression:
        """Return the finished tree when it keeps within ``depth`` and ``nodes``.

        Raises:
            FilterLimitError: At the expression that passes one of them.
        """
        # A parenthesis holds at most an OR over ANDs: most texts are too small to need a walk.
        if (
            2 * self._deepest + 2 <= self._limits.depth
            and 2 * self._atoms + self._nots <= self._limits.nodes
        ):
            return expression
        return check_tree(expression, self._limits)

    def _nest(self, token: Token) -> None:
        self._open += 1
        self._deepest = max(self._deepest, self._open)
        if self._open > self._limits.nesting:
            raise self._exceeded("nesting", self._limits.nesting, _TOO_NESTED, token)

    def _exceeded(self, name: str, bound: int, message: str, token: Token) -> Exception:
        return limit_error(name, bound, message, Span(self._text, token[1], token[2]))
