"""Where an engine is known not to keep the rules, and the dialect cannot know it: the one table.

Each line is a strict expected failure in the class of its engine: it announces itself when the
engine comes to keep the rules. Filters that a line covers are left out of that class's other tests.
What a dialect can know, it refuses instead, and then it does not belong here.
"""

from __future__ import annotations

from vecstore import Expression, Op
from vecstore.testing import Deviation


def _negative(node: Expression) -> bool:
    return node.op in (Op.NE, Op.NIN)


DEVIATIONS = [
    Deviation(
        dialect="pinecone",
        engine="Pinecone, if $ne passes over values of another type",
        filter="k != 'a'",
        document={"k": 1},
        reason="No page says whether $ne and $nin select a record whose field holds another type "
        "than the literal. The dialect takes it that they do; records in the exact layout hold "
        "texts alone, and do not depend on it.",
        covers=_negative,
    ),
    Deviation(
        dialect="pinecone",
        engine="Pinecone of early 2024, if $or wants every field that it names",
        filter="k == 'a' OR x == 'b'",
        document={"k": "a"},
        reason="For a while $or left out records that lack one of the fields it names, according "
        "to users; no page says so, and there is no other way to write OR. Records in the exact "
        "layout all have the field that filters name, unless numbers are ordered.",
        covers=lambda node: node.op is Op.OR or _negative(node),
    ),
]


def deviations_of(engine: str) -> tuple[Deviation, ...]:
    """Those of one engine."""
    found = tuple(one for one in DEVIATIONS if one.engine == engine)
    assert found, engine
    return found
