"""What other distributions add to vecstore by declaring entry points."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from vecstore.errors import ConfigurationError
from vecstore.frozen import frozen

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_OURS = "vecstore-dialects"


@frozen
class PlugIns:
    """The entry points of one group.

    Attributes:
        group: As distributions declare it.
        built_in: Names of our own, which no distribution can take.
        offered: Says what is offered under a name, with its verb, such as ``stores for x: are``.
        purpose: Says what a name is for, such as ``stores at x:``.

    Example:
        >>> PlugIns("vecstore.none", frozenset(), "{} is".format, "the name {}".format).names()
        []
    """

    group: str
    built_in: frozenset[str]
    offered: Callable[[str], str]
    purpose: Callable[[str], str]

    def names(self) -> list[str]:
        """The names that are offered, sorted.

        Raises:
            ConfigurationError: If a name is offered twice, or is one of our own.
        """
        return sorted(_found(self, tuple(sys.path)))

    def load(self, name: str, base: type, misfit: str) -> Any:
        """The class that is offered under a name, or None.

        Args:
            name: The name.
            base: What it has to be a subclass of.
            misfit: What an error says, after ``for``, when it is none.

        Raises:
            ConfigurationError: If it is no such class, or a name is offered twice.
            ImportError: If it cannot be imported; it never disappears silently.
        """
        point = _found(self, tuple(sys.path)).get(name)
        if point is None:
            return None
        try:
            loaded = point.load()
        except Exception as error:
            error.add_note(
                f"entry point {point.value!r} of {_owner(point)}, for {self.purpose(name)}"
            )
            raise
        if not (isinstance(loaded, type) and issubclass(loaded, base)):
            raise ConfigurationError(f"the entry point {point.value!r} for {misfit}")
        return loaded


@lru_cache(maxsize=8)
def _found(plug_ins: PlugIns, path: tuple[str, ...]) -> dict[str, EntryPoint]:
    """The entry points found along ``path``, by name."""
    # It takes as long to import as all else that compiles a filter.
    from importlib.metadata import entry_points

    return _by_name(plug_ins, entry_points(group=plug_ins.group))


def _by_name(plug_ins: PlugIns, points: Iterable[EntryPoint]) -> dict[str, EntryPoint]:
    found: dict[str, EntryPoint] = {}
    for point in points:
        owner = _owner(point)
        first = found.setdefault(point.name, point)
        rival = _OURS if point.name in plug_ins.built_in else _owner(first)
        if point.name in plug_ins.built_in or rival != owner:
            raise ConfigurationError(
                f"{plug_ins.offered(point.name)} offered by two distributions, {rival} and "
                f"{owner}; uninstall one: pip uninstall {owner}"
            )
        if first.value != point.value:
            raise ConfigurationError(
                f"{plug_ins.offered(point.name)} offered twice by {owner}, as {first.value!r} and "
                f"{point.value!r}; one of the two entry points needs another name"
            )
    return found


def _owner(point: EntryPoint) -> str:
    return "an unnamed distribution" if point.dist is None else point.dist.name
