"""No fault of the common kinds gets past the conformance suite."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.dialects.conformance.conformance import Conformance
from tests.dialects.mutations import FAULTS, Mutation, mutations, noticed_by
from tests.engines.fixtures import milvus_uri as milvus_uri

MUTATIONS = mutations()
SUITES = list(dict.fromkeys(mutation.suite for mutation in MUTATIONS))


@pytest.fixture(scope="module", params=SUITES, ids=lambda suite: suite.__name__)
def suite(request: pytest.FixtureRequest) -> Iterator[type[Conformance]]:
    with request.param.opened(request.getfixturevalue):
        yield request.param


def mutation_of(suite: type[Conformance], fault: str) -> Mutation:
    (found,) = [one for one in MUTATIONS if one.suite is suite and one.fault == fault]
    return found


def test_where_nothing_is_broken_nothing_is_noticed(suite: type[Conformance]) -> None:
    suite().test_keys_inside_objects()  # the classes of the suites run the others


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_noticed(suite: type[Conformance], fault: str) -> None:
    assert noticed_by(mutation_of(suite, fault), all_tests=False)


@pytest.mark.heavy
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_noticed_by_several_tests(suite: type[Conformance], fault: str) -> None:
    assert len(noticed_by(mutation_of(suite, fault), all_tests=True)) >= 4


def test_what_was_broken_is_whole_again() -> None:
    for mutation in MUTATIONS:
        for where, name, replacement in mutation.patches:
            assert getattr(where, name) is not replacement
