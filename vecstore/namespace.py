"""Modules that are doors: they hand out names of other modules, each loaded on first use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def door(
    module: str, names: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """What makes a module a door: its ``__getattr__``, ``__dir__`` and ``__all__``.

    A stub beside the module tells type checkers the same names, for they run nothing of this.

    Args:
        module: The door's own ``__name__``.
        names: By the module that defines them, names with blanks between.

    Example:
        >>> load, _, names = door("vecstore", {"vecstore.errors": "FilterError ScopeError"})
        >>> names, load("ScopeError")
        (['FilterError', 'ScopeError'], <class 'vecstore.errors.ScopeError'>)
    """
    homes = {name: home for home, listed in names.items() for name in listed.split()}

    def load(name: str) -> object:
        home = homes.get(name)
        if home is None:
            # With these, Python says which name was meant.
            said = f"module {module!r} has no attribute {name!r}"
            raise AttributeError(said, name=name, obj=sys.modules[module])
        value: object = getattr(import_module(home), name)
        setattr(sys.modules[module], name, value)  # the next time, nobody asks here
        return value

    def listed() -> list[str]:
        return sorted({*vars(sys.modules[module]), *homes})

    return load, listed, sorted(homes)
