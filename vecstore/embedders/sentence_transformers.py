"""Models of the package sentence-transformers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vecstore.errors import BackendNotInstalledError, ConfigurationError
from vecstore.installing import install_line

if TYPE_CHECKING:
    from vecstore.vectors import Matrix, Vector


class SentenceTransformersEmbedder:
    """Vectors of a ``SentenceTransformer``, by name or as an object.

    Models that know queries from documents (``encode_query`` and ``encode_document``, since version
    5 of the package) are asked for the one that is meant; prompts are those of the model.

    Args:
        model: A name such as ``"all-MiniLM-L6-v2"``, which the package finds on disk or downloads;
            or a ``SentenceTransformer``.
        device: Where the model runs, such as ``"cpu"`` or ``"cuda"``; by default the package's
            choice. Only with a name.
        batch_size: How many texts go through the model at once.

    Raises:
        BackendNotInstalledError: If the package is missing, for a name.
        ConfigurationError: If ``model`` is neither.

    Example:
        Any object with its methods will do::

            from sentence_transformers import SentenceTransformer

            embedder = SentenceTransformersEmbedder(SentenceTransformer("all-MiniLM-L6-v2"))
    """

    def __init__(self, model: Any, *, device: str | None = None, batch_size: int = 32) -> None:
        if type(batch_size) is not int or batch_size < 1:
            raise ConfigurationError(f"batch_size is a whole number from 1 on, not {batch_size!r}")
        # A model that is loaded does not say which one it is.
        self.fingerprint = f"sentence-transformers {model}" if isinstance(model, str) else None
        if isinstance(model, str):
            model = _loaded(model, device)
        elif device is not None:
            raise ConfigurationError("device goes with a model's name; this model is loaded")
        if not callable(getattr(model, "encode", None)):
            raise ConfigurationError(
                "model is a name such as 'all-MiniLM-L6-v2', or a SentenceTransformer, not a "
                f"{type(model).__name__}"
            )
        self.model = model
        self._options: dict[str, Any] = {"batch_size": batch_size, "show_progress_bar": False}
        self._encode_documents = getattr(model, "encode_document", model.encode)
        self._encode_query = getattr(model, "encode_query", model.encode)

    def embed_documents(self, texts: list[str]) -> Matrix:
        """One vector for each text, as a float32 array of shape (texts, dimensions)."""
        import numpy as np

        found = self._encode_documents(texts, convert_to_numpy=True, **self._options)
        return np.asarray(found, dtype=np.float32)

    def embed_query(self, text: str) -> Vector:
        """The vector of a query, a float32 array."""
        import numpy as np

        [found] = self._encode_query([text], convert_to_numpy=True, **self._options)
        return np.asarray(found, dtype=np.float32)

    def __repr__(self) -> str:
        return f"SentenceTransformersEmbedder({type(self.model).__name__})"


def _loaded(name: str, device: str | None) -> Any:
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise BackendNotInstalledError(
            "SentenceTransformersEmbedder needs the package sentence-transformers\n"
            f"hint: {install_line('sentence-transformers')}"
        ) from error
    try:
        return SentenceTransformer(name, device=device)
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"sentence-transformers cannot load the model {name!r}: it is neither a folder here "
            "nor one that can be downloaded"
        ) from error
