"""The collection: what is written into a new one, and whether one that is there fits."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from vecstore.dialects.chroma.layout import ExactLayout, Target
from vecstore.dialects.declared import Path
from vecstore.errors import ConfigurationError
from vecstore.store.capabilities import Metric
from vecstore.store.drivers import misfit

SPACES: Final[Mapping[Metric, str]] = {"cosine": "cosine", "dot": "ip", "euclidean": "l2"}
NOTE: Final = "vecstore"
"""Where a collection's own metadata says, as JSON, how it is laid out."""

_TARGETS: Final[Mapping[str, Target]] = {"local": "local", "cloud": "cloud"}
_NAME: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{1,510}[a-zA-Z0-9]")


@dataclass(frozen=True, slots=True)
class Found:
    """What a collection is like.

    Attributes:
        dimension: Of its vectors, if that is known.
        layout: How metadata is laid out in it, where it is ours.
    """

    dimension: int | None
    layout: ExactLayout | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionPlan:
    """What a collection has to be.

    Attributes:
        name: Its name.
        metric: How its vectors are compared.
        exact: Whether it is in the exact layout.
        index_options: Of its index, for one that is made.
        texts: The keys whose texts can be ordered, for one that is made.
        numbers: The keys whose numbers can be in the cloud, for one that is made.
        target: The engine, for one that is made.
    """

    name: str
    metric: Metric
    exact: bool
    index_options: Mapping[str, Any]
    texts: frozenset[Path]
    numbers: frozenset[Path]
    target: Target

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise ConfigurationError(
                f"Chroma has no collection {self.name!r}: a name has 3 to 512 letters of ASCII, "
                "digits, and dots, hyphens and underscores between them"
            )

    def make(self, client: Any, dimension: int) -> None:
        """Make the collection, or leave it as it is if somebody else was quicker."""
        note = {
            "layout": "exact" if self.exact else "plain",
            "dimension": dimension,
            "texts": sorted(self.texts),
            "numbers": sorted(self.numbers),
            "target": self.target,
        }
        client.get_or_create_collection(
            self.name,
            embedding_function=None,
            metadata={NOTE: json.dumps(note)} if self.exact else None,
            configuration={"hnsw": {"space": SPACES[self.metric], **self.index_options}},
        )

    def check(self, collection: Any, dimension: int | None) -> Found:
        """What a collection is like that is there.

        Raises:
            SchemaMismatchError: If it does not fit.
        """
        model = collection._model
        faults = []
        space = _space(model)
        if space != SPACES[self.metric]:
            named = {value: key for key, value in SPACES.items()}.get(space, space)
            faults.append(f"it compares vectors by {named} and not by {self.metric}")
        note = _note(model)
        if self.exact and note is None:
            faults.append('it is not in vecstore\'s layout (open it with layout="plain")')
        elif not self.exact and note is not None:
            faults.append('it is in vecstore\'s layout (open it with layout="exact")')
        held = model.dimension or (note or {}).get("dimension")
        if held and dimension and held != dimension:
            faults.append(f"its vectors have {held} dimensions and not {dimension}")
        if faults:
            raise misfit(f"the collection {self.name!r}", faults)
        if note is None:
            return Found(held or dimension)
        try:
            texts, numbers = ({tuple(path) for path in note[name]} for name in ("texts", "numbers"))
            layout = ExactLayout(frozenset(texts), frozenset(numbers), _TARGETS[note["target"]])
        except (KeyError, TypeError):
            fault = "what it says of its layout was written by another version"
            raise misfit(f"the collection {self.name!r}", [fault]) from None
        return Found(held or dimension, layout)


def _space(model: Any) -> str:
    """The name of the metric; the client's own property for it loads embedding functions."""
    configuration = model.configuration_json or {}
    for index in ("hnsw", "spann"):
        space = (configuration.get(index) or {}).get("space")
        if space:
            return str(space)
    return str((model.metadata or {}).get("hnsw:space", "l2"))


def _note(model: Any) -> dict[str, Any] | None:
    try:
        note = json.loads((model.metadata or {}).get(NOTE) or "null")
    except (TypeError, ValueError):
        return None
    return note if isinstance(note, dict) and note.get("layout") == "exact" else None
