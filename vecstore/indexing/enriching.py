"""Steps that add metadata to documents: keywords, summaries, and what you write yourself."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final, Literal, cast

from vecstore.document import Document, shown_id
from vecstore.errors import ConfigurationError
from vecstore.indexing.pipeline import Transform, fingerprint, fingerprint_of

Kind = Literal["previous", "current", "next"]

CHUNK: Final = "chunk"
"""The key of metadata under which sync keeps what it knows of a chunk."""

_SUMMARIES: Final[dict[str, tuple[str, int]]] = {
    "previous": ("prev_section_summary", -1),
    "current": ("section_summary", 0),
    "next": ("next_section_summary", 1),
}


@dataclass(frozen=True, slots=True)
class _Keywords:
    extract: Callable[[str], Iterable[str]]
    key: str

    @property
    def keys(self) -> tuple[str, ...]:
        return (self.key,)

    @property
    def fingerprint(self) -> str:
        return fingerprint("keywords", extract=fingerprint_of(self.extract), key=self.key)

    def __call__(self, documents: Iterable[Document]) -> Iterator[Document]:
        for document in documents:
            found: Any = self.extract(document.text)
            if isinstance(found, str):
                raise ConfigurationError(
                    "extract gives a list of keywords, not one text; split it: "
                    "lambda text: mine(text).split(', ')"
                )
            if not isinstance(found, Iterable):
                raise ConfigurationError(
                    f"extract gives a list of keywords, not {type(found).__name__}; one that is "
                    "asynchronous is called by asyncio.run in a function of your own"
                )
            words = list(dict.fromkeys(found))
            yield document.replace(metadata={**document.metadata, self.key: words})


def keywords(extract: Callable[[str], Iterable[str]], key: str = "keywords") -> Transform:
    """A step that puts keywords into metadata, as a list under ``key``; each of them once.

    Args:
        extract: Any function from a text to its keywords: of a library, or around a model.
        key: Where they go.

    Example:
        >>> long_words = keywords(lambda text: [word for word in text.split() if len(word) > 4])
        >>> [*long_words([Document("Rye needs sourdough")])][0].metadata
        {'keywords': ['needs', 'sourdough']}
    """
    return _Keywords(extract, key)


@dataclass(frozen=True, slots=True)
class _Summaries:
    summarise: Callable[[str], str]
    kinds: tuple[Kind, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple([_SUMMARIES[kind][0] for kind in self.kinds])

    @property
    def whole(self) -> bool:
        """Whether what it says of a document depends on the one before it or after it."""
        return self.kinds != ("current",)

    @property
    def fingerprint(self) -> str:
        return fingerprint(
            "summaries", summarise=fingerprint_of(self.summarise), kinds=list(self.kinds)
        )

    def __call__(self, documents: Iterable[Document]) -> Iterator[Document]:
        for _, group in groupby(documents, key=lambda one: one.metadata.get("source")):
            if self.kinds == ("current",):
                yield from map(self._with_its_own, group)
                continue
            section = list(group)
            said = [self._summary(document) for document in section]
            for place, document in enumerate(section):
                metadata = {**document.metadata}
                for kind in self.kinds:
                    key, step = _SUMMARIES[kind]
                    if 0 <= place + step < len(said):
                        metadata[key] = said[place + step]
                yield document.replace(metadata=metadata)

    def _with_its_own(self, document: Document) -> Document:
        key = _SUMMARIES["current"][0]
        return document.replace(metadata={**document.metadata, key: self._summary(document)})

    def _summary(self, document: Document) -> str:
        said: Any = self.summarise(document.text)
        if not isinstance(said, str):
            raise ConfigurationError(
                f"summarise gives a text, not {type(said).__name__} (document "
                f"{shown_id(document.id)})"
            )
        return said


def summaries(summarise: Callable[[str], str], kinds: Sequence[Kind] = ("current",)) -> Transform:
    """A step that puts summaries into metadata.

    They go under ``section_summary``, and those of the neighbours under ``prev_section_summary``
    and ``next_section_summary``: never those of another source.

    Args:
        summarise: Any function from a text to a shorter one; it is asked once for each document.
        kinds: ``"current"``, ``"previous"`` and ``"next"``, in any number. With the neighbours',
            :func:`sync` summarises all chunks of a changed source again.

    Example:
        >>> first_words = summaries(lambda text: text.split()[0], ["current", "next"])
        >>> documents = [Document("Rye is sour.", id="a"), Document("Oats are not.", id="b")]
        >>> [document.metadata for document in first_words(documents)]
        [{'section_summary': 'Rye', 'next_section_summary': 'Oats'}, {'section_summary': 'Oats'}]
    """
    chosen = tuple(dict.fromkeys([kinds] if isinstance(kinds, str) else kinds))
    unknown = [kind for kind in chosen if kind not in _SUMMARIES]
    if unknown or not chosen:
        raise ConfigurationError(
            f"kinds are 'previous', 'current' and 'next', not {list(unknown or chosen)}"
        )
    return _Summaries(summarise, cast("tuple[Kind, ...]", chosen))


@dataclass(frozen=True, slots=True)
class Enricher:
    """A step that adds metadata, with what :func:`sync` has to know of it.

    Attributes:
        step: Gets documents, and gives the same ones back, in order, with more metadata.
        keys: The keys that it writes. Chunks that are stored already keep what is there.
        fingerprint: Changes whenever it would say something else.
        whole: Whether it has to see all chunks of a source, since what it says of one depends on
            others.

    Example:
        >>> def shouting(documents):
        ...     for one in documents:
        ...         yield one.replace(metadata={**one.metadata, "loud": one.text.isupper()})
        >>> Enricher(shouting, ("loud",), "shouting 1").keys
        ('loud',)
    """

    step: Transform
    keys: tuple[str, ...]
    fingerprint: str
    whole: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.keys, str) or CHUNK in self.keys:
            raise ConfigurationError(
                f"keys are those that a step writes, such as ('topic',), without {CHUNK!r}, which "
                f"is that of sync; not {self.keys!r}"
            )

    @classmethod
    def of(cls, step: Any) -> Enricher:
        """An enricher, made of a step that has the attributes.

        Raises:
            ConfigurationError: If it does not say which keys it writes.
        """
        if isinstance(step, Enricher):
            return step
        keys = getattr(step, "keys", None)
        if not callable(step) or isinstance(keys, str) or not isinstance(keys, Collection):
            raise ConfigurationError(
                "a step of enrich= says which keys it writes, since stored chunks keep those: "
                "Enricher(step, keys=('topic',), fingerprint='topic 1')"
            )
        return cls(step, tuple(keys), fingerprint_of(step), bool(getattr(step, "whole", False)))

    def __call__(self, documents: Iterable[Document]) -> Iterable[Document]:
        """The documents with their metadata."""
        return self.step(documents)

    def taken_over(self, metadata: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
        """Metadata, with the keys of this step as they are known, or without."""
        others = {key: value for key, value in metadata.items() if key not in self.keys}
        return {**others, **{key: known[key] for key in self.keys if key in known}}


def enriched(
    documents: Sequence[Document], stored: Collection[str], step: Enricher
) -> list[Document]:
    """The chunks of a source after a step, which sees those that are new, or has to see all.

    Raises:
        ConfigurationError: If it did anything but write its keys.
    """
    asked = list(documents) if step.whole else [one for one in documents if one.id not in stored]
    if not asked:
        return list(documents)
    # Copies: a step that changes documents in place would change what it is compared with.
    made = list(step([one.replace() for one in asked]))
    if [one.id for one in made] != [one.id for one in asked]:
        raise ConfigurationError(
            "a step of enrich= gives each document back, in order and with its id; this one "
            f"({step.fingerprint}) gave {len(made):,} for {len(asked):,}"
        )
    answers = {}
    for before, after in zip(asked, made, strict=True):
        others = [
            {key: value for key, value in one.metadata.items() if key not in step.keys}
            for one in (before, after)
        ]
        moved = after.extra is not None and after.extra != before.extra
        if before.text != after.text or others[0] != others[1] or moved:
            raise ConfigurationError(
                f"a step of enrich= changes its keys alone, which are {list(step.keys)}; this one "
                f"({step.fingerprint}) changed more of document {shown_id(before.id)}"
            )
        metadata = step.taken_over(before.metadata, after.metadata)
        answers[before.id] = before.replace(metadata=metadata)
    return [answers.get(one.id, one) for one in documents]
