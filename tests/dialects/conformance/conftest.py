from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.dialects.conformance.conformance import Conformance
from tests.engines.fixtures import former_weaviate_address as former_weaviate_address
from tests.engines.fixtures import milvus_uri as milvus_uri
from tests.engines.fixtures import weaviate_address as weaviate_address


@pytest.fixture(scope="class", autouse=True)
def engine_of_the_class(request: pytest.FixtureRequest) -> Iterator[None]:
    suite = request.cls
    if suite is None or not issubclass(suite, Conformance):
        yield
        return
    with suite.opened(request.getfixturevalue):
        yield
