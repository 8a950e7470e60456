"""Text -> tree, or the error that says what is wrong with the text. Nothing is remembered."""

from __future__ import annotations

from vecstore.errors import FilterLimitError
from vecstore.filter.ast import Expression
from vecstore.filter.limits import DEFAULT_LIMITS, Limits
from vecstore.grammar.budget import Budget, check_length
from vecstore.grammar.explain import explained
from vecstore.grammar.faults import Fault, syntax_error
from vecstore.grammar.lalr import Refusal, read
from vecstore.grammar.meaning import build


def read_filter(text: str, limits: Limits | None) -> Expression:
    """Read a filter text.

    Raises:
        FilterSyntaxError: If the text is no filter.
        FilterLimitError: If the filter is larger than the limits.
    """
    budget = None
    if limits is not None:
        check_length(text, limits)
        budget = Budget(text, limits)
    try:
        tree = _tree(text, budget)
    except Fault as found:
        fault = found
    else:
        return tree if budget is None else budget.check(tree)
    raise syntax_error(text, fault, _fault_of)


def _tree(text: str, budget: Budget | None) -> Expression:
    try:
        raw = read(text, budget)
    except Refusal as refusal:
        raise explained(text, refusal.tokens, refusal.found, refusal.accepted) from None
    return build(text, raw)


def _fault_of(text: str) -> Fault | None:
    """What is wrong with the correction that an error is about to show."""
    try:
        _tree(text, Budget(text, DEFAULT_LIMITS))
    except Fault as fault:
        return fault
    except FilterLimitError as error:
        return Fault(error.message, 0, 0)
    return None
