"""The small model that lies inside wordllama's wheel: offline, on one core, in milliseconds."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vecstore.errors import BackendNotInstalledError
from vecstore.installing import install_line

if TYPE_CHECKING:
    from vecstore.vectors import Matrix, Vector


class WordLlamaEmbedder:
    """Vectors of 256 numbers from word vectors of a language model; nothing is downloaded.

    It compares what texts are about, English ones best, far below what models of a service do. The
    license of the weights is that of the package. Safe to use from several threads.

    Raises:
        BackendNotInstalledError: If the package wordllama is missing.

    Example:
        >>> embedder = WordLlamaEmbedder()
        >>> embedder.embed_documents(["bake bread", "tune a server"]).shape
        (2, 256)
    """

    fingerprint = "wordllama 256"
    """What tells its vectors from others."""

    def __init__(self) -> None:
        # On import it sets up logging for the whole program, unless somebody has done so.
        root, silent = logging.getLogger(), logging.NullHandler()
        root.addHandler(silent)
        try:
            import wordllama
        except ImportError as error:
            raise BackendNotInstalledError(
                f"the embedder wordllama needs the package wordllama\nhint: "
                f"{install_line('wordllama')}"
            ) from error
        finally:
            root.removeHandler(silent)
        # Weights and tokenizer lie in the package itself, though it looks for the second elsewhere.
        folder = Path(wordllama.__file__).parent
        self._model: Any = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)

    def embed_documents(self, texts: list[str]) -> Matrix:
        """One vector for each text, as a float32 array of shape (texts, 256)."""
        # Texts of one batch are padded to its longest: small batches take a third of the time.
        found: Matrix = self._model.embed(texts, batch_size=8)
        return found

    def embed_query(self, text: str) -> Vector:
        """The vector of a query, a float32 array of 256 numbers."""
        found: Vector = self._model.embed([text])[0]
        return found

    def __repr__(self) -> str:
        return "WordLlamaEmbedder()"
