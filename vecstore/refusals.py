"""Documents that ``add`` cannot store: all of them in one error, or left out and told of."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

from vecstore.capabilities import OnError
from vecstore.conflicts import SHOWN, listed
from vecstore.document import shown_id
from vecstore.errors import ScopeError, VecstoreError

_KEPT_ERRORS = 1_000


class SkippedDocumentsWarning(UserWarning):
    """``add(..., on_error="skip")`` left out documents that cannot be stored.

    Attributes:
        ids: Their ids, in the order given, as far as they have usable ones.
        errors: What ``on_error="raise"`` would have raised for each; of the first 1,000.
    """

    def __init__(
        self, message: str, *, ids: Sequence[str] = (), errors: Sequence[VecstoreError] = ()
    ) -> None:
        super().__init__(message)
        self.ids = list(ids)
        self.errors = list(errors)


@dataclass(frozen=True, slots=True)
class Refusal:
    """One document that cannot be stored.

    Attributes:
        position: Where it stands among those given to ``add``.
        id: Its id; None where that is what is wrong.
        error: Why.
    """

    position: int
    id: str | None
    error: VecstoreError


class Refusals:
    """What one ``add`` finds wrong with documents, collected check by check.

    Args:
        on_error: Whether documents that cannot be stored are left out, or stop the call.
    """

    def __init__(self, on_error: OnError) -> None:
        self._skipping = on_error == "skip"
        self._noted: list[Refusal] = []
        self._left_out: list[Refusal] = []

    def note(self, position: int, id: str | None, error: VecstoreError) -> None:
        """One document cannot be stored; what becomes of it, :meth:`settle` decides."""
        # What hangs on a traceback would be kept with it: the document, its embedding.
        error.__traceback__ = None
        if error.__cause__ is None:
            error.__context__ = None
        self._noted.append(Refusal(position, id, error))

    def settle(self, count: int) -> None:
        """After a check of ``count`` documents: raise what was noted, or leave those out.

        Raises:
            VecstoreError: The error of the first of them, which tells of the others as well.
                Documents outside a scope always raise: nobody meant to have them left out.
        """
        noted, self._noted = self._noted, []
        if not noted:
            return
        if self._skipping:
            stopping = [one for one in noted if isinstance(one.error, ScopeError)]
        else:
            stopping = noted
        if stopping:
            raise _error_of_all(stopping, count, skippable=not self._skipping)
        self._left_out += noted

    @property
    def left_out(self) -> set[int]:
        """Where the documents that were left out stood."""
        return {one.position for one in self._left_out}

    def tell(self, count: int) -> None:
        """At the end of the call, which was given ``count`` documents: warn of what was left out.

        Raises:
            VecstoreError: Where warnings are errors.
        """
        left_out = sorted(self._left_out, key=lambda one: one.position)
        if not left_out:
            return
        first = left_out[0].error
        warning = SkippedDocumentsWarning(
            f"{_how_many(left_out, count)} left out, since they cannot be stored: "
            f"{_names(left_out)}; the first: {first}",
            ids=_ids(left_out),
            errors=[one.error for one in left_out[:_KEPT_ERRORS]],
        )
        try:
            warnings.warn(warning, stacklevel=_level_of_the_caller())
        except SkippedDocumentsWarning:
            raise _error_of_all(left_out, count, skippable=False) from None


def _error_of_all(refusals: Sequence[Refusal], count: int, *, skippable: bool) -> VecstoreError:
    """The first error; of several, its text tells how many there are and names the next."""
    refusals = sorted(refusals, key=lambda one: one.position)
    error = refusals[0].error
    error.faulty_ids = _ids(refusals)
    if len(refusals) > 1:
        remedy = '; to store the others, write add(..., on_error="skip")'
        belonging = all(isinstance(one.error, ScopeError) for one in refusals)
        error.args = (
            f"{_how_many(refusals, count)} cannot be stored: {_names(refusals)}; the first: "
            f"{error}{remedy if skippable and not belonging else ''}",
        )
    return error


def _how_many(refusals: Sequence[Refusal], count: int) -> str:
    return f"{len(refusals):,} of {count:,} documents"


def _names(refusals: Sequence[Refusal]) -> str:
    first = [
        f"item {one.position}" if one.id is None else shown_id(one.id) for one in refusals[:SHOWN]
    ]
    return listed(first, len(refusals))


def _ids(refusals: Sequence[Refusal]) -> list[str]:
    return [one.id for one in refusals if one.id is not None]


def _level_of_the_caller() -> int:
    """Which ``stacklevel`` points at the line that called this library."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__", "")):
        frame, level = frame.f_back, level + 1
    return level


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == "vecstore"
