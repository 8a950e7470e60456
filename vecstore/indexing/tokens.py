"""At which character each token of a text starts: all that a splitter asks of a tokenizer."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, Protocol, runtime_checkable

from vecstore.embedding import estimate_tokens
from vecstore.errors import BackendNotInstalledError, ConfigurationError
from vecstore.indexing.pipeline import fingerprint
from vecstore.installing import install_line

_WINDOW: Final = 65_536
"""Characters that a tokenizer is given at once: some take more than linear time, or fail, on a
text of millions without a space."""

_BREAK: Final = re.compile(r"\S(?=\s)")


@runtime_checkable
class Tokens(Protocol):
    r"""What knows where tokens start. One of your own may count words, or bytes.

    A method ``count(text)``, where there is one, returns how many tokens a text has, in less time.

    Example:
        >>> class Words:
        ...     def starts(self, text):
        ...         return [word.start() for word in re.finditer(r"\S+", text)]
        >>> isinstance(Words(), Tokens)
        True
    """

    def starts(self, text: str, /) -> Sequence[int]:
        """For each token, in order, the position of the character in which it starts."""


class EstimatedTokens:
    """Tokens by a rule of thumb that is on the high side, in any language, without a vocabulary.

    Counts as :func:`~vecstore.embedding.estimate_tokens` does.

    Example:
        >>> EstimatedTokens().starts("How many?")
        [0, 3, 6, 8]
    """

    fingerprint = "estimate-1"

    def starts(self, text: str) -> list[int]:
        """For each token, the position of its first character."""
        import numpy as np

        points = np.frombuffer(text.encode("utf-32-le"), np.uint32)
        letters = points | 32
        cheap = ((letters >= 97) & (letters <= 122) & (points < 128)) | (points == 32)
        cheap |= points == 10
        rest = points >= 128
        # 3 tokens for 4 bytes, and none for what the other two sorts are.
        size = np.where(rest, 2 + (points >= 0x800) + (points >= 0x10000).astype(np.int64), 0)
        total = -(-np.cumsum(cheap) // 3) + np.cumsum(~cheap & ~rest) - (-np.cumsum(size) * 3 // 4)
        counts = np.diff(total, prepend=0)
        found: list[int] = np.repeat(np.arange(len(points)), counts).tolist()
        return found

    def count(self, text: str) -> int:
        """How many tokens a text has."""
        return estimate_tokens(text)

    def __repr__(self) -> str:
        return "EstimatedTokens()"


class TiktokenTokens:
    """Tokens of an encoding of tiktoken's.

    Args:
        encoding: A ``tiktoken.Encoding``, or the name of one, such as ``"cl100k_base"``.

    Raises:
        BackendNotInstalledError: If tiktoken is missing.
        ConfigurationError: If the encoding cannot be loaded.
    """

    def __init__(self, encoding: Any) -> None:
        self._encoding: Any = (
            _tiktoken_encoding(encoding) if isinstance(encoding, str) else encoding
        )
        self._lengths: dict[int, int] = {}

    @property
    def fingerprint(self) -> str:
        """Tells this encoding from others."""
        encoding = self._encoding
        return fingerprint("tiktoken", encoding=encoding.name, tokens=encoding.n_vocab)

    def starts(self, text: str) -> list[int]:
        """For each token, the position of the character in which its first byte lies."""
        import numpy as np

        lengths = self._lengths
        measured: list[int] = []
        for window in _windows(text):
            for token in self._encoding.encode_ordinary(window):
                length = lengths.get(token)
                if length is None:
                    length = len(self._encoding.decode_single_token_bytes(token))
                    lengths[token] = length
                measured.append(length)
        if not measured:
            return []
        first_bytes = np.cumsum([0, *measured[:-1]])
        if text.isascii():
            return first_bytes.tolist()  # type: ignore[no-any-return]
        # A byte lies in the character of which it, or the last one before it, is the first byte.
        data = np.frombuffer(text.encode(), np.uint8)
        character = np.cumsum((data & 0xC0) != 0x80) - 1
        found: list[int] = character[first_bytes].tolist()
        return found

    def count(self, text: str) -> int:
        """How many tokens a text has."""
        return sum(len(self._encoding.encode_ordinary(window)) for window in _windows(text))

    def __repr__(self) -> str:
        return f"TiktokenTokens({self._encoding.name!r})"


class HuggingFaceTokens:
    """Tokens of a ``tokenizers.Tokenizer``, or of a fast tokenizer of transformers'.

    It is copied: what truncates or pads in yours does not here, and nothing of yours is changed.
    """

    def __init__(self, tokenizer: Any) -> None:
        tokenizer = getattr(tokenizer, "backend_tokenizer", tokenizer)
        written = tokenizer.to_str()
        self._tokenizer: Any = type(tokenizer).from_str(written)
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        plain = self._tokenizer.to_str().encode()
        self.fingerprint = f"tokenizers-{hashlib.sha256(plain).hexdigest()[:8]}"

    def starts(self, text: str) -> list[int]:
        """For each token, the position of its first character."""
        found: list[int] = []
        offset = latest = 0
        for window in _windows(text):
            encoded = self._tokenizer.encode(window, add_special_tokens=False)
            for start, _ in encoded.offsets:
                # Some say of a token that stands for nothing in the text that it starts at 0.
                latest = max(latest, start + offset)
                found.append(latest)
            offset += len(window)
        return found

    def count(self, text: str) -> int:
        """How many tokens a text has."""
        encode = self._tokenizer.encode
        return sum(len(encode(window, add_special_tokens=False)) for window in _windows(text))

    def __repr__(self) -> str:
        return f"HuggingFaceTokens({self.fingerprint.removeprefix('tokenizers-')})"


def tokens_of(given: Any) -> Tokens:
    """What a caller means by tokens: None, the name of an encoding, a tokenizer, or Tokens.

    Raises:
        ConfigurationError: If it is none of these.

    Example:
        >>> tokens_of(None)
        EstimatedTokens()
    """
    if given is None:
        return EstimatedTokens()
    if isinstance(given, type):
        raise ConfigurationError(
            f"tokens is the class {given.__name__}; pass an instance: {given.__name__}(...)"
        )
    if isinstance(given, Tokens):
        return given
    if isinstance(given, str) or hasattr(given, "encode_ordinary"):
        return TiktokenTokens(given)
    if hasattr(given, "backend_tokenizer") or hasattr(given, "no_truncation"):
        return HuggingFaceTokens(given)
    raise ConfigurationError(
        "tokens is the name of an encoding of tiktoken's, a tiktoken.Encoding, a "
        "tokenizers.Tokenizer, or has a method starts(text) that returns the position at which "
        f"each token starts; this is a {type(given).__name__}"
    )


def _tiktoken_encoding(name: str) -> Any:
    try:
        import tiktoken  # type: ignore[import-not-found,unused-ignore]
    except ImportError as error:
        raise BackendNotInstalledError(
            f"the tokens {name!r} need the package tiktoken\nhint: {install_line('tiktoken')}"
        ) from error
    if name not in tiktoken.list_encoding_names():
        known = ", ".join(sorted(tiktoken.list_encoding_names()))
        raise ConfigurationError(f"tiktoken has no encoding {name!r}; there are {known}")
    try:
        return tiktoken.get_encoding(name)
    except Exception as error:
        raise ConfigurationError(
            f"tiktoken could not load its encoding {name} (it downloads it on first use); leave "
            "tokens out to estimate them"
        ) from error


def _windows(text: str) -> Iterator[str]:
    """A text in parts, each cut before white space if there is any."""
    if len(text) <= _WINDOW:
        yield text
        return
    start = 0
    while start < len(text):
        end = start + _WINDOW
        if end < len(text):
            # The last place nearby: half a window without a space is cut wherever it ends.
            near = max(start + 1, end - 1_000)
            for match in _BREAK.finditer(text, near, end):
                end = match.end()
        yield text[start:end]
        start = end
