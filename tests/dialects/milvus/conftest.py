"""A folder for the milvus-lite files of a test, and stores in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from vecstore.dialects.milvus.store import MilvusStore


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The path of a milvus-lite file that the tests of a module share."""
    from milvus_lite.server_manager import server_manager_instance

    path = str(tmp_path_factory.mktemp("milvus") / "docs.db")
    yield path
    server_manager_instance.release_server(path)


@pytest.fixture
def open_milvus(file: str, request: pytest.FixtureRequest) -> Iterator[Callable[..., MilvusStore]]:
    """Open stores on collections of the file; by default one of the test's own."""
    opened: list[MilvusStore] = []
    own = "c_" + "".join(one if one.isalnum() else "_" for one in request.node.name)

    def make(collection: str = own, **options: Any) -> MilvusStore:
        opened.append(MilvusStore(collection, uri=file, **options))
        return opened[-1]

    yield make
    for store in opened:
        store.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder for files that a test opens and closes itself."""
    return tmp_path
