"""A plugin for pytest: of a class, only the tests that were named are collected.

There are a hundred broken stores with hundreds of tests each; to make them all takes far longer than
to run the hundred that are looked at.
"""

from __future__ import annotations

from typing import Any

import pytest


class _OnlyNamed:
    def __init__(self, arguments: list[str]) -> None:
        named = [one.partition("[")[0].split("::") for one in arguments]
        self._named = {(parts[-2], parts[-1]) for parts in named if len(parts) > 2}

    def pytest_pycollect_makeitem(self, collector: Any, name: str, obj: object) -> list[Any] | None:
        if not isinstance(collector, pytest.Class) or not name.startswith("test_"):
            return None
        return None if (collector.name, name) in self._named else []


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(_OnlyNamed(config.args))
