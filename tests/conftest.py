"""What every test module shares: hypothesis profiles and one real PostgreSQL.

Hypothesis profiles (pick another with ``HYPOTHESIS_PROFILE`` or ``--hypothesis-profile``):

- ``local``: new examples on every run, remembered failures first. The default.
- ``ci``: the same examples on every run. The default where ``CI`` is set.
- ``heavy``: ten times as many. ``make test-heavy`` uses it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

pytest.register_assert_rewrite("vecstore.testing")

# How long an example takes says more about the machine's other guests than about the code.
settings.register_profile(
    "local", deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "ci", settings.get_profile("local"), derandomize=True, database=None, print_blob=True
)
settings.register_profile("heavy", settings.get_profile("local"), max_examples=1000)
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if "CI" in os.environ else "local")
)


@pytest.fixture(scope="session")
def postgres_dsn() -> Iterator[str]:
    """The address of a real PostgreSQL with the extension ``vector``; the tests own it.

    ``VECSTORE_PG_DSN`` names any server; without it an embedded PostgreSQL runs for the session
    (one for each pytest worker). Tests keep to tables of their own and drop them.
    """
    from tests.engines.postgres import running_postgres

    with running_postgres() as dsn:
        yield dsn
