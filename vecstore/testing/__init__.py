"""The conformance kit: what proves a dialect on its engine, and a store on its contract.

.. code-block:: python

    from vecstore.testing import DialectSuite


    class TestMyDialect(DialectSuite):
        dialect = MyDialect()

        def run(
            self, compiled, rows
        ): ...  # run compiled.query on the rows, return the ids it selects


    class TestMyStore(StoreSuite):
        def make_store(self, **options): ...  # return a new, empty store

It needs pytest and hypothesis, which the extra ``testing`` brings along.
"""

from __future__ import annotations

try:
    import hypothesis as _hypothesis
    import pytest as _pytest
except ImportError as error:
    from vecstore.installing import install_line as _install_line

    raise ImportError(
        f"vecstore.testing needs {error.name}: {_install_line('testing')}", name=error.name
    ) from error
else:
    # So that a failing test shows its values in every project that runs the suite.
    _pytest.register_assert_rewrite("vecstore.testing.store_suite")

from vecstore.testing.dialect_suite import DialectSuite, SchemaDialectSuite
from vecstore.testing.examiner import Deviation, Examiner
from vecstore.testing.of_schema import SchemaCases
from vecstore.testing.random_cases import RandomCases
from vecstore.testing.report import ConformanceError
from vecstore.testing.rows import Documents, Domain, oracle, oracle_rows
from vecstore.testing.shrink import shrink
from vecstore.testing.store_suite import (
    AsyncStoreSuite,
    ObservedStoreSuite,
    PersistentStoreTests,
    ScopedStoreSuite,
    StoreSuite,
)
from vecstore.testing.strategies import filters, metadata

__all__ = [
    "AsyncStoreSuite",
    "ConformanceError",
    "Deviation",
    "DialectSuite",
    "Examiner",
    "Documents",
    "Domain",
    "ObservedStoreSuite",
    "PersistentStoreTests",
    "RandomCases",
    "SchemaCases",
    "SchemaDialectSuite",
    "ScopedStoreSuite",
    "StoreSuite",
    "filters",
    "metadata",
    "oracle",
    "oracle_rows",
    "shrink",
]

del _hypothesis, _pytest
