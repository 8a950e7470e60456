"""The examples of the pages on other libraries, beside those libraries."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.examples import check_examples


@pytest.mark.parametrize(
    ("page", "package"),
    [
        ("adapters.md", "haystack"),
        ("coming-from-chroma.md", "chromadb"),
        ("coming-from-haystack.md", "haystack"),
        ("coming-from-langchain.md", "langchain_core"),
        ("coming-from-qdrant.md", "qdrant_client"),
    ],
)
def test_the_examples_print_what_they_claim(page: str, package: str, tmp_path: Path) -> None:
    pytest.importorskip(package)
    check_examples(f"docs/{page}", tmp_path)
