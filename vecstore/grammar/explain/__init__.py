"""Why a text is no filter: what was expected, and what the writer may have meant.

Nothing here is needed to read a filter; it runs when one has been refused. Each module looks at
one kind of place in the text and gives a :class:`~vecstore.grammar.faults.Fault`, or None for
what it has nothing special to say about.
"""

from __future__ import annotations

from vecstore.grammar.explain.conditions import (
    explain_condition,
    explain_end,
    explain_segment,
)
from vecstore.grammar.explain.joints import explain_after_item, explain_joint
from vecstore.grammar.explain.operators import (
    explain_in_word,
    explain_null_word,
    explain_operator,
)
from vecstore.grammar.explain.scene import Place, Scene
from vecstore.grammar.explain.strangers import explain_stranger
from vecstore.grammar.explain.values import explain_dated, explain_value
from vecstore.grammar.explain.words import explain_statement
from vecstore.grammar.faults import Fault
from vecstore.grammar.lexer import END, STRANGER, Token

_BY_PLACE = {
    Place.CONDITION: explain_condition,
    Place.SEGMENT: explain_segment,
    Place.OPERATOR: explain_operator,
    Place.IN_WORD: explain_in_word,
    Place.NULL_OR_NOT: explain_null_word,
    Place.NULL_WORD: explain_null_word,
    Place.VALUE: explain_value,
    Place.CHOICES: explain_value,
    Place.FIRST_ITEM: explain_value,
    Place.ITEM: explain_value,
    Place.AFTER_ITEM: explain_after_item,
    Place.DATED: explain_dated,
    Place.JOINT: explain_joint,
    Place.JOINT_INSIDE: explain_joint,
}


def explained(text: str, tokens: list[Token], found: Token, accepted: frozenset[str]) -> Fault:
    """The fault of a text that a parser refused.

    Args:
        text: The filter text.
        tokens: What the parser took.
        found: The token it refused.
        accepted: The terminals it would have taken instead.
    """
    scene = Scene(text, tokens, found, accepted)
    statement = explain_statement(scene)
    if statement is not None:
        return statement
    if scene.kind == STRANGER:
        return explain_stranger(scene)
    explain = explain_end if scene.kind == END else _BY_PLACE[scene.place]
    return explain(scene) or scene.fault(scene.expected())
