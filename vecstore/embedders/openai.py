"""Embedding models behind OpenAI's interface: OpenAI's own, and servers that speak like it."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NoReturn, Self
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from vecstore import process
from vecstore.errors import BackendNotInstalledError, ConfigurationError, EmbeddingError
from vecstore.installing import install_line

if TYPE_CHECKING:
    from openai import AsyncOpenAI, OpenAI

    from vecstore.vectors import Matrix, Vector

_MAX_INPUTS = 2_048
"""Texts in one request, as OpenAI takes them; other servers may take fewer."""
_CODE = re.compile(r"[A-Za-z0-9_.-]{1,60}")
_HINTS = {
    400: "a text may be empty or longer than the model reads; TokenBatching(max_tokens=...) of the "
    "store bounds a request",
    401: "the key was refused: set OPENAI_API_KEY, or pass api_key=",
    403: "the key may not use this model",
    404: "there is no such model or address: compare the model's name, and base_url= up to /v1",
    413: "the request was too large: batching=CountBatching(...) of the store makes them smaller",
    429: "too many requests or the quota is used up: wait, or raise max_retries=",
}


class OpenAIEmbedder:
    """Vectors from OpenAI's embeddings API, or from a server with the same one.

    Ollama, vLLM, llama.cpp, LiteLLM, LocalAI and others are reached by ``base_url``. Awaited calls
    of a store await the request. Requests that fail for a moment are sent again by the client. Safe
    to use from several threads; a forked process opens connections of its own.

    Args:
        model: The model's name, such as ``"text-embedding-3-small"``.
        api_key: By default that of the variable ``OPENAI_API_KEY``. A local server takes any text.
        base_url: Where the API is, such as ``"http://localhost:11434/v1"``; by default that of the
            variable ``OPENAI_BASE_URL``, or OpenAI's.
        dimensions: How many numbers a vector is to have, for models that can shorten them.
        timeout: Seconds for one request.
        max_retries: How often a request is sent again.
        max_inputs: Texts in one request at most; more are sent in several.
        client: An open ``openai.OpenAI`` (or Azure's) in place of the four options of the
            connection. It stays open, and awaited calls use it in a thread.

    Raises:
        BackendNotInstalledError: If the package openai is missing.
        ConfigurationError: If there is no key, or an option cannot work.

    Example:
        >>> OpenAIEmbedder("text-embedding-3-small", api_key="secret", dimensions=256)
        OpenAIEmbedder('text-embedding-3-small', dimensions=256)
    """

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        dimensions: int | None = None,
        timeout: float = 60.0,
        max_retries: int = 2,
        max_inputs: int = _MAX_INPUTS,
        client: OpenAI | None = None,
    ) -> None:
        try:
            import openai
        except ImportError as error:
            raise BackendNotInstalledError(
                f"OpenAIEmbedder needs the package openai\nhint: {install_line('openai')}"
            ) from error
        if not isinstance(model, str) or not model:
            raise ConfigurationError("model is the model's name, such as 'text-embedding-3-small'")
        for name, number in (("dimensions", dimensions), ("max_inputs", max_inputs)):
            if number is not None and (type(number) is not int or number < 1):
                raise ConfigurationError(f"{name} is a whole number from 1 on, not {number!r}")
        self.model = model
        self.dimensions = dimensions
        self._max_inputs = max_inputs
        self._openai: Any = openai
        self._options: dict[str, Any] = {
            "api_key": api_key,
            "base_url": base_url,
            "timeout": timeout,
            "max_retries": max_retries,
        }
        self._given = client is not None
        self._lock = threading.Lock()
        self._pid = process.pid
        self._awaiting: WeakKeyDictionary[Any, AsyncOpenAI] = WeakKeyDictionary()
        self._client: OpenAI | None = client if client is not None else self._made(openai.OpenAI)
        self._host = urlsplit(str(self._client.base_url)).hostname or "the server"
        if self._given:
            # A client of somebody's has no awaited twin; the store takes a thread instead.
            self.aembed_documents = self.aembed_query = None  # type: ignore[method-assign,assignment]

    @property
    def fingerprint(self) -> str:
        """What tells its vectors from others: the model, and how many numbers were asked for."""
        return f"openai {self.model} {self.dimensions or ''}".rstrip()

    # --- texts to vectors --------------------------------------------------------------------

    def embed_documents(self, texts: list[str]) -> Matrix:
        """One vector for each text, in order, as a float32 array of shape (texts, dimensions).

        Raises:
            EmbeddingError: If the server refuses, cannot be reached, or answers otherwise.
        """
        client = self._usable()
        rows: list[Any] = []
        for part in self._parts(texts):
            try:
                answer = client.embeddings.create(input=part, **self._request())
            except Exception as error:  # what does not answer like the API, its client trips over
                self._raise(error)
            rows += self._rows(answer, len(part))
        return _matrix(rows)

    def embed_query(self, text: str) -> Vector:
        """The vector of a query, a float32 array.

        Raises:
            EmbeddingError: As for :meth:`embed_documents`.
        """
        vector: Vector = self.embed_documents([text])[0]
        return vector

    async def aembed_documents(self, texts: list[str]) -> Matrix:
        """As :meth:`embed_documents`, awaited."""
        client = self._usable_awaited()
        rows: list[Any] = []
        for part in self._parts(texts):
            try:
                answer = await client.embeddings.create(input=part, **self._request())
            except Exception as error:  # what does not answer like the API, its client trips over
                self._raise(error)
            rows += self._rows(answer, len(part))
        return _matrix(rows)

    async def aembed_query(self, text: str) -> Vector:
        """As :meth:`embed_query`, awaited."""
        vector: Vector = (await self.aembed_documents([text]))[0]
        return vector

    def _parts(self, texts: list[str]) -> Iterator[list[str]]:
        for start in range(0, len(texts), self._max_inputs):
            yield texts[start : start + self._max_inputs]

    def _request(self) -> dict[str, Any]:
        wanted: dict[str, Any] = {"model": self.model}
        if self.dimensions is not None:
            wanted["dimensions"] = self.dimensions
        return wanted

    def _rows(self, answer: Any, count: int) -> list[Any]:
        """The vectors of an answer, in the order of the texts, whatever its own is."""
        data = getattr(answer, "data", None) or []
        by_place = {one.index: one.embedding for one in data}
        if len(data) != count or set(by_place) != set(range(count)):
            raise EmbeddingError(
                f"{self.model} at {self._host} answered {len(data):,} vectors for {count:,} texts, "
                f"{len(by_place.keys() & set(range(count))):,} of them for one of these"
            )
        return [by_place[place] for place in range(count)]

    def _raise(self, error: Exception) -> NoReturn:
        """An error of the client's, without what it quotes: texts, and parts of keys."""
        place = f"{self.model} at {self._host}"
        status = getattr(error, "status_code", None)
        if status is not None:
            code = str(getattr(error, "code", None) or "")
            told = f" ({code})" if _CODE.fullmatch(code) else ""
            hint = _HINTS.get(status, "")
            raise EmbeddingError(
                f"{place} answered {status}{told}" + (f"\nhint: {hint}" if hint else "")
            ) from error
        if isinstance(error, self._openai.APITimeoutError):
            raise EmbeddingError(
                f"{place} gave no answer in time\nhint: raise timeout=, or make requests smaller"
            ) from error
        if isinstance(error, self._openai.APIConnectionError):
            raise EmbeddingError(
                f"{place} cannot be reached\nhint: is base_url= right, and the server running?"
            ) from error
        raise EmbeddingError(
            f"{place} did not answer with vectors ({type(error).__name__})\n"
            "hint: does base_url= lead to an embeddings API? It usually ends with /v1"
        ) from error

    # --- connections -------------------------------------------------------------------------

    def _made(self, kind: Any) -> Any:
        try:
            return kind(**self._options)
        except self._openai.OpenAIError:
            raise ConfigurationError(
                "OpenAIEmbedder has no key: set the variable OPENAI_API_KEY, or pass api_key= "
                "(for a local server, any text)"
            ) from None

    def _usable(self) -> OpenAI:
        self._check_process()
        with self._lock:
            if self._client is None:
                self._client = self._made(self._openai.OpenAI)
            return self._client

    def _usable_awaited(self) -> AsyncOpenAI:
        """A client for the running loop: connections belong to the loop that opened them."""
        self._check_process()
        loop = asyncio.get_running_loop()
        with self._lock:
            client = self._awaiting.get(loop)
            if client is None:
                client = self._awaiting[loop] = self._made(self._openai.AsyncOpenAI)
            return client

    def _check_process(self) -> None:
        if self._pid == process.pid:
            return
        with process.adopting:
            if self._pid == process.pid:
                return
            if self._given:
                raise ConfigurationError(
                    "the client of this OpenAIEmbedder was opened before the process was forked; "
                    "make the embedder in the child"
                )
            # The parent reads from what is open; another thread of it may have held the lock.
            _abandoned.append((self._client, self._awaiting))
            self._client, self._awaiting = None, WeakKeyDictionary()
            self._lock = threading.Lock()
            self._pid = process.pid

    def close(self) -> None:
        """Close the connections. A call after that opens new ones."""
        if self._given or self._pid != process.pid:
            return
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    async def aclose(self) -> None:
        """Close them, and those of awaited calls in the running loop."""
        self.close()
        if self._pid != process.pid:
            return
        with self._lock:
            client = self._awaiting.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()

    def __enter__(self) -> Self:
        """The embedder itself, closed at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "an OpenAIEmbedder has open connections and a key, and is not pickled; make it in the "
            f"worker: OpenAIEmbedder({self.model!r})"
        )

    def __repr__(self) -> str:
        shown = "" if self.dimensions is None else f", dimensions={self.dimensions}"
        return f"OpenAIEmbedder({self.model!r}{shown})"


_abandoned: list[Any] = []
"""Of a parent process: closing them here would speak on its connections."""


def _matrix(rows: list[Any]) -> Matrix:
    import numpy as np

    try:
        found = np.array(rows, dtype=np.float32)
    except (TypeError, ValueError):
        found = np.empty(0, dtype=np.float32)
    if rows and found.ndim != 2:
        raise EmbeddingError("the server's vectors are not lists of numbers of one length")
    return found
