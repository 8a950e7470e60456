"""Why a text is no filter: what was expected, and what the writer may have meant.

Nothing here is needed to read a filter; it runs when one has been refused. ``table.py`` has all
there is to say, row by row; ``rows.py`` finds the row and fills it in from the ``scene.py``, and
``spellings.py`` knows the words and signs of other languages.
"""

from __future__ import annotations

from vecstore.grammar.explain.rows import explain
from vecstore.grammar.explain.scene import Scene
from vecstore.grammar.explain.table import ROWS
from vecstore.grammar.faults import Fault
from vecstore.grammar.lalr import Token


def explained(text: str, tokens: list[Token], found: Token, accepted: frozenset[str]) -> Fault:
    """The fault of a text that a parser refused.

    Args:
        text: The filter text.
        tokens: What the parser took.
        found: The token it refused.
        accepted: The terminals it would have taken instead.
    """
    return explain(Scene(text, tokens, found, accepted), ROWS)
