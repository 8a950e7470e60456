"""Text -> tree, or the error that says what is wrong with the text. Nothing is remembered."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from vecstore.errors import FilterLimitError
from vecstore.filter.limits import Limits
from vecstore.filter.tree import Expression
from vecstore.grammar.budget import Budget, check_length
from vecstore.grammar.explain import explained
from vecstore.grammar.faults import Fault, syntax_error
from vecstore.grammar.lalr import Refusal, read
from vecstore.grammar.meaning import build


def read_text(text: str, limits: Limits | None) -> Expression:
    """Read a filter text.

    Raises:
        FilterSyntaxError: If the text is no filter.
        FilterLimitError: If the filter is larger than the limits.
    """
    try:
        return _tree(text, limits)
    except Fault as found:
        fault = found
    raise syntax_error(text, fault, partial(_fault_of, limits))


def _tree(text: str, limits: Limits | None) -> Expression:
    budget = None
    if limits is not None:
        check_length(text, limits)
        budget = Budget(text, limits)
    try:
        raw = read(text, budget)
    except Refusal as refusal:
        raise explained(text, refusal.tokens, refusal.found, refusal.accepted) from None
    tree = build(text, raw)
    return tree if budget is None else budget.check(tree)


def _fault_of(limits: Limits | None, text: str, pieces: Sequence[tuple[int, int]]) -> Fault | None:
    """What is wrong with the correction that an error is about to show."""
    try:
        tree = _tree(text, limits)
    except Fault as fault:
        return fault
    except FilterLimitError as error:
        return Fault(error.message, 0, 0)
    written = [
        (end - len(text[start:end].lstrip()), start + len(text[start:end].rstrip()))
        for start, end in pieces
    ]
    for node in tree.walk():
        span = node.span
        if span is not None and any(_torn(span.start, span.end, *piece) for piece in written):
            return Fault("another operator takes a part of what was corrected", 0, 0)
    return None


def _torn(start: int, end: int, first: int, last: int) -> bool:
    """Whether two places overlap and neither holds the other."""
    return start < first < end < last or first < start < last < end
