"""The worked example of a plug-in, on a real SQLite.

Its own test in ``examples/`` is what an outsider writes; here it runs under the same harness as the
others, so that the long runs reach it.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

from tests.dialects.conformance.conformance import Conformance, Server
from tests.engines.rows import Rows
from tests.engines.sqlite import SqliteRows
from vecstore import Expression

EXAMPLE = Path(__file__).parents[3] / "examples" / "vecstore-lite" / "src" / "vecstore_lite"


def example_dialect() -> Any:
    """The class, without the package having to be installed."""
    spec = importlib.util.spec_from_file_location("vecstore_lite_dialect", EXAMPLE / "dialect.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Lite


class TestLite(Conformance):
    dialect = example_dialect()()

    @classmethod
    def open(cls, server: Server) -> Rows:
        return SqliteRows()

    def also_refuses(self, atom: Expression) -> bool:
        return len(atom.key.path) > 60
