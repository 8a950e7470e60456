"""The conformance kit: what proves that a dialect keeps the rules of the filter language.

.. code-block:: python

    from vecstore.testing import DialectSuite


    class TestMyDialect(DialectSuite):
        dialect = MyDialect()

        def run(
            self, compiled, rows
        ): ...  # run compiled.query on the rows, return the ids it selects

It needs pytest and hypothesis, which the extra ``testing`` brings along.
"""

from __future__ import annotations

try:
    import hypothesis as _hypothesis
    import pytest as _pytest
except ImportError as error:
    raise ImportError(
        f"vecstore.testing needs {error.name}: pip install 'vecstore-dialects[testing]'",
        name=error.name,
    ) from error

from vecstore.testing.dialect_suite import DialectSuite
from vecstore.testing.examiner import Deviation, Examiner
from vecstore.testing.random_cases import RandomCases
from vecstore.testing.report import ConformanceError
from vecstore.testing.rows import Documents, Domain, oracle, oracle_rows
from vecstore.testing.shrink import shrink
from vecstore.testing.strategies import filters, metadata

__all__ = [
    "ConformanceError",
    "Deviation",
    "DialectSuite",
    "Examiner",
    "Documents",
    "Domain",
    "RandomCases",
    "filters",
    "metadata",
    "oracle",
    "oracle_rows",
    "shrink",
]

del _hypothesis, _pytest
