"""Turning texts into vectors: embedders, batches, and what may come back."""

from __future__ import annotations

import string
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from vecstore.cancelling import current
from vecstore.document import shown_id
from vecstore.errors import (
    ConfigurationError,
    DimensionMismatchError,
    DocumentError,
    EmbeddingError,
    VecstoreError,
)
from vecstore.filter.values import shown

if TYPE_CHECKING:
    from vecstore.vectors import Matrix, Vector


@runtime_checkable
class Embedder(Protocol):
    """What turns texts into vectors.

    The names are LangChain's, so its embedding classes fit as they are. Where ``aembed_documents``
    and ``aembed_query`` exist, asynchronous calls await them. Retries, rate limits and timeouts
    are the embedder's own affair: it knows its provider.

    Example:
        >>> class Lengths:
        ...     def embed_documents(self, texts):
        ...         return [[len(text), 1.0] for text in texts]
        ...
        ...     def embed_query(self, text):
        ...         return [len(text), 1.0]
        >>> isinstance(Lengths(), Embedder)
        True
    """

    def embed_documents(self, texts: list[str], /) -> Any:
        """One vector for each text, in order: lists, or a matrix."""

    def embed_query(self, text: str, /) -> Any:
        """The vector of a query."""


EmbedderInput = Embedder | Callable[[list[str]], Any]
"""An embedder, or a plain function from a list of texts to vectors."""


class TextToEmbed(Protocol):
    """What a batching strategy looks at: a :class:`~vecstore.Document`, for one."""

    @property
    def id(self) -> str:
        """Names the document in errors."""

    @property
    def text(self) -> str:
        """What will be embedded."""


Item = TypeVar("Item", bound=TextToEmbed)

_ASCII_BYTES = bytes(range(128))
_CHEAP_BYTES = string.ascii_letters.encode() + b" \n"


class BatchingStrategy(ABC):
    """How documents are cut into the lists that one call of the embedder takes."""

    @abstractmethod
    def split(self, documents: Sequence[Item]) -> Iterator[Sequence[Item]]:
        """Cut ``documents`` into consecutive parts; every document once, in order.

        Raises:
            DocumentError: Naming the document that fits no batch.
        """


class CountBatching(BatchingStrategy):
    """Batches of a fixed number of documents. The default of every store, with 256.

    Example:
        >>> from vecstore import Document
        >>> batches = CountBatching(2).split([Document(text) for text in "abc"])
        >>> [[document.text for document in batch] for batch in batches]
        [['a', 'b'], ['c']]
    """

    def __init__(self, max_documents: int = 256) -> None:
        self.max_documents = _positive("max_documents", max_documents)

    def split(self, documents: Sequence[Item]) -> Iterator[Sequence[Item]]:
        """Cut after every ``max_documents`` documents."""
        for start in range(0, len(documents), self.max_documents):
            yield documents[start : start + self.max_documents]

    def __repr__(self) -> str:
        return f"CountBatching({self.max_documents})"


class TokenBatching(BatchingStrategy):
    """Batches of at most so many tokens, for providers that limit the tokens of a request.

    Args:
        max_tokens: What one request may hold.
        reserve: The part of it that is left free, since the counter may differ a little from
            the provider's own.
        count_tokens: Tokens of a text. By default tiktoken's ``cl100k_base`` where tiktoken is
            installed, else :func:`estimate_tokens`.
        max_documents: Texts that one request may hold, or None.

    Example:
        >>> from vecstore import Document
        >>> words = TokenBatching(max_tokens=4, reserve=0, count_tokens=lambda t: len(t.split()))
        >>> documents = [Document(text) for text in ("one two", "three", "four five", "six")]
        >>> [[document.text for document in batch] for batch in words.split(documents)]
        [['one two', 'three'], ['four five', 'six']]
    """

    def __init__(
        self,
        max_tokens: int = 8_191,
        reserve: float = 0.10,
        count_tokens: Callable[[str], int] | None = None,
        max_documents: int | None = None,
    ) -> None:
        self.max_tokens = _positive("max_tokens", max_tokens)
        if not 0 <= reserve < 1:
            raise ValueError(f"reserve is a part from 0 to below 1, not {reserve}")
        self.reserve = reserve
        self.max_documents = (
            None if max_documents is None else _positive("max_documents", max_documents)
        )
        self.budget = int(max_tokens * (1 - reserve))
        """Tokens that a batch holds at most."""
        self._count_tokens = count_tokens

    def split(self, documents: Sequence[Item]) -> Iterator[Sequence[Item]]:
        """Cut before the document that would pass the budget."""
        count_tokens = self._count_tokens or _default_counter()
        start = used = 0
        for position, document in enumerate(documents):
            tokens = count_tokens(document.text)
            if tokens > self.budget:
                raise DocumentError(
                    f"document {shown_id(document.id)} has {tokens:,} tokens, more than the "
                    f"{self.budget:,} that a batch holds; split its text into several documents, "
                    "or raise max_tokens of TokenBatching",
                    document_id=document.id,
                )
            full = self.max_documents is not None and position - start >= self.max_documents
            if position > start and (full or used + tokens > self.budget):
                yield documents[start:position]
                start, used = position, 0
            used += tokens
        if start < len(documents):
            yield documents[start:]

    def __repr__(self) -> str:
        return f"TokenBatching(max_tokens={self.max_tokens}, reserve={self.reserve})"


def estimate_tokens(text: str) -> int:
    """Tokens of a text, on the high side for prose and program code in any language.

    A token for every three ASCII letters or spaces, one for every other ASCII character, and
    three for every four bytes of the rest. Long runs of random letters may have more.

    Example:
        >>> estimate_tokens("How many tokens are these?")
        10
    """
    encoded = text.encode()
    others = encoded.translate(None, _CHEAP_BYTES)
    rest = len(others.translate(None, _ASCII_BYTES))
    cheap = len(encoded) - len(others)
    return -(-cheap // 3) + (len(others) - rest) + -(-rest * 3 // 4)


class BoundEmbedder:
    """An embedder of either shape, called in one way, its answers checked.

    Raises:
        ConfigurationError: If it is neither a function nor has both methods.
    """

    def __init__(self, embedder: EmbedderInput) -> None:
        if isinstance(embedder, type) or not (isinstance(embedder, Embedder) or callable(embedder)):
            if isinstance(embedder, type):
                shown = f"the class {embedder.__name__}; pass an instance: {embedder.__name__}(...)"
            elif isinstance(embedder, str):  # not shown: it might be somebody's key
                shown = (
                    "a text; vecstore.embedders.open_embedder makes one of a name: "
                    'embedder=open_embedder("wordllama"), or "openai:text-embedding-3-small"'
                )
            else:
                shown = f"a {type(embedder).__name__}"
            raise ConfigurationError(
                "an embedder has the methods embed_documents(list of texts) and "
                f"embed_query(text), or is a function from a list of texts to vectors; this is "
                f"{shown}"
            )
        self.embedder = embedder
        self._embed_documents: Callable[[list[str]], Any]
        self._embed_query: Callable[[str], Any] | None = None
        self._async_documents = _coroutine_function(embedder, "aembed_documents")
        self._async_query = _coroutine_function(embedder, "aembed_query")
        if isinstance(embedder, Embedder):
            self._embed_documents = embedder.embed_documents
            self._embed_query = embedder.embed_query
        else:
            self._embed_documents = embedder

    def documents(self, documents: Sequence[TextToEmbed], dimension: int | None) -> Matrix:
        """The vectors of a batch, one a row; NaN and infinities are left to the caller.

        Args:
            documents: Not empty.
            dimension: Dimensions the store expects, or None.

        Raises:
            EmbeddingError: If the embedder fails, or returns anything but one vector for each
                text, all of one length.
            DimensionMismatchError: If the vectors are not of the store's dimension.
        """
        texts = [document.text for document in documents]
        function = _on_the_loop(self._async_documents) or self._embed_documents
        answer = _ask(function, texts, _batch_name(documents))
        return checked_answer(answer, documents, dimension)

    def query(self, text: str) -> Vector:
        """The vector of a query.

        Raises:
            EmbeddingError: If the embedder fails, or returns anything but one finite vector.
        """
        return self.queries([text])[0]

    def queries(self, texts: list[str]) -> list[Vector]:
        """The vectors of queries: one call where the embedder is a function, else one for each.

        Raises:
            EmbeddingError: If the embedder fails, or returns anything but finite vectors.
        """
        from vecstore.vectors import VectorFault, to_vector

        if self._embed_query is None:
            function = _on_the_loop(self._async_documents) or self._embed_documents
            answers = _ask(function, texts, "the query")
            _check_count(answers, len(texts), "the query" if len(texts) == 1 else "the queries")
        else:
            function = _on_the_loop(self._async_query) or self._embed_query
            answers = [_ask(function, text, "the query") for text in texts]
        try:
            return [to_vector(answer) for answer in answers]
        except VectorFault as fault:
            raise EmbeddingError(f"the vector of the query {fault}") from None


def _coroutine_function(embedder: object, name: str) -> Callable[[Any], Any] | None:
    found = getattr(embedder, name, None)
    return found if callable(found) else None


def _on_the_loop(function: Callable[[Any], Any] | None) -> Callable[[Any], Any] | None:
    """An asynchronous method as a function that waits for it, in calls that are awaited."""
    call = None if function is None else current()
    return None if call is None or function is None else partial(call.wait_for, function)


def _ask(function: Callable[[Any], Any], argument: Any, name: str) -> Any:
    try:
        answer = function(argument)
        if isinstance(answer, Iterator):  # some models yield their vectors
            answer = list(answer)
    except VecstoreError:
        raise
    except Exception as error:
        # Only the type: a provider's message may quote the request, keys included.
        raise EmbeddingError(
            f"the embedder failed on {name} with {type(error).__name__}; "
            "its own error is the cause of this one"
        ) from error
    if isinstance(answer, Coroutine):
        answer.close()
        raise ConfigurationError(
            "the embedder is asynchronous: it returned a coroutine in place of vectors; give the "
            "store a function, or methods, that return the vectors themselves"
        )
    return answer


def checked_answer(answer: Any, documents: Sequence[TextToEmbed], dimension: int | None) -> Matrix:
    """An embedder's answer to a batch as a matrix; see :meth:`BoundEmbedder.documents`."""
    from vecstore.vectors import VectorFault, to_matrix

    _check_count(answer, len(documents), _batch_name(documents))
    try:
        matrix = to_matrix(answer)
    except VectorFault as fault:
        raise _name_odd_vector(answer, documents, fault) from None
    if not matrix.shape[1]:
        raise EmbeddingError(
            f"the embedder returned an empty vector for document {shown_id(documents[0].id)}"
        )
    check_dimension(matrix.shape[1], dimension, f"document {shown_id(documents[0].id)}")
    return matrix


def _check_count(answer: Any, expected: int, name: str) -> None:
    """Refuse anything but a list of ``expected`` vectors, as far as that shows from outside."""
    if isinstance(answer, str | bytes) or not hasattr(answer, "__len__"):
        raise EmbeddingError(
            f"the embedder returned {type(answer).__name__} for {name}, not a list of vectors"
        )
    if len(answer) and not isinstance(answer, Mapping) and not hasattr(answer[0], "__len__"):
        raise EmbeddingError(
            f"the embedder returned one flat list of {len(answer):,} for {name}, not a list of "
            "vectors; for one text it returns [vector]"
        )
    if len(answer) != expected:
        raise EmbeddingError(
            f"the embedder returned {len(answer):,} vectors for {expected:,} texts ({name}); none "
            "of them was stored"
        )


def check_dimension(actual: int, expected: int | None, what: str) -> None:
    """Refuse a vector of another length than the store's.

    Raises:
        DimensionMismatchError: Naming both and the usual cause.
    """
    if expected is not None and actual != expected:
        raise DimensionMismatchError(
            f"the vector of {what} has {actual} dimensions, but this store holds vectors of "
            f"{expected}; was the store filled with another embedding model?",
            expected=expected,
            actual=actual,
        )


def _name_odd_vector(
    answer: Any, documents: Sequence[TextToEmbed], fault: ValueError
) -> EmbeddingError:
    """The error for the first vector that is none, or is as long as no other."""
    from vecstore.vectors import VectorFault, to_vector

    usual: int | None = None
    for document, row in zip(documents, answer if hasattr(answer, "__len__") else (), strict=False):
        try:
            length = len(to_vector(row))
        except VectorFault as row_fault:
            return EmbeddingError(
                f"the embedder's vector of document {shown_id(document.id)} {row_fault}"
            )
        if usual is None:
            usual = length
        elif length != usual:
            return EmbeddingError(
                f"the embedder's vector of document {shown_id(document.id)} has {length} "
                f"dimensions, but the one of document {shown_id(documents[0].id)} has {usual}"
            )
    return EmbeddingError(f"the embedder's vectors for {_batch_name(documents)} {fault}")


def _batch_name(documents: Sequence[TextToEmbed]) -> str:
    first = f"document {shown_id(documents[0].id)}"
    if len(documents) == 1:
        return first
    return f"{len(documents)} documents, from {shown_id(documents[0].id)} to " + shown_id(
        documents[-1].id
    )


def _positive(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} is a whole number, not {shown(value)}")
    if value < 1:
        raise ValueError(f"{name} is 1 or more, not {value}")
    return value


@cache
def _default_counter() -> Callable[[str], int]:
    try:
        import tiktoken  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        return estimate_tokens
    try:
        encoding = tiktoken.get_encoding("cl100k_base")
    except Exception as error:
        raise ConfigurationError(
            "tiktoken is installed but could not load its encoding cl100k_base (it downloads it "
            "on first use); pass count_tokens=vecstore.embedding.estimate_tokens to "
            "TokenBatching to do without"
        ) from error
    return lambda text: len(encoding.encode(text, disallowed_special=()))
