"""The collection behind a Weaviate store: how it is made, and what it has to look like."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

from vecstore.dialects.declared import Declaration, ordered_keys
from vecstore.dialects.tokens import Path
from vecstore.dialects.weaviate.client import Calls
from vecstore.dialects.weaviate.layout import (
    EXTRA,
    ID,
    METADATA,
    TEXT,
    TOKENS,
    number_property,
    text_property,
)
from vecstore.dialects.weaviate.plain import PlainNames, PlainObjects, plain_objects
from vecstore.errors import ConfigurationError, SchemaMismatchError
from vecstore.filter.text import key_text
from vecstore.filter.values import Kind
from vecstore.store.capabilities import Metric
from vecstore.store.drivers import misfit

Index = Literal["hnsw", "flat"]
INDEXES: Final = ("hnsw", "flat")

LAYOUT_VERSION: Final = 1

VECTOR: Final = "default"
"""What the server itself calls the vector of a collection that names none."""

_NAME = re.compile(r"[A-Z][_0-9A-Za-z]{0,254}")
_TENANT = re.compile(r"[A-Za-z0-9\-_]{1,64}")
_DISTANCES: Final[dict[Metric, str]] = {
    "cosine": "cosine",
    "dot": "dot",
    "euclidean": "l2-squared",
}
_OWN_TEXTS: Final = (ID, TEXT, METADATA, EXTRA)
_PLAIN_TYPES = frozenset({"text", "text[]"})


def collection_name(given: object) -> str:
    """A name of a collection as the server spells it, with a capital.

    Raises:
        ConfigurationError: For one that the server refuses, with one that it takes.

    Example:
        >>> collection_name("docs")
        'Docs'
    """
    if not isinstance(given, str) or not given:
        raise ConfigurationError(f"a collection has a name, not {given!r}")
    name = given[0].upper() + given[1:]
    if _NAME.fullmatch(name) is None:
        better = re.sub(r"[^0-9A-Za-z]+", "_", given).strip("_")
        hint = f", such as {better.capitalize()!r}" if better and better[0].isalpha() else ""
        raise ConfigurationError(
            f"the name of a Weaviate collection starts with a letter and has letters, digits and _ "
            f"of ASCII, up to 255 of them{hint}; not {given!r:.60}"
        )
    return name


def check_tenant(tenant: object) -> None:
    """Refuse what no tenant can be called.

    Raises:
        ConfigurationError: Saying what one can.
    """
    if not isinstance(tenant, str) or _TENANT.fullmatch(tenant) is None:
        raise ConfigurationError(
            f"the name of a tenant has up to 64 letters, digits, _ and - of ASCII, not "
            f"{tenant!r:.60}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a collection is like.

    Attributes:
        vector_name: Of its vectors; None where they have no name.
        dimension: How long they are; None where it does not say.
        exact: Whether it compares with every vector.
        ordered: Keys whose numbers, and keys whose texts it orders.
        extras: Whether it has a place for what stands beside metadata.
        plain: What its objects are, in one that another program made.
    """

    vector_name: str | None
    dimension: int | None
    exact: bool
    ordered: tuple[frozenset[Path], frozenset[Path]]
    extras: bool
    plain: PlainObjects | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionPlan:
    """What a store wants its collection to be.

    Attributes:
        name: Of the collection.
        metric: How its vectors are compared.
        vector_name: Which of its vectors is meant, or None where there is one.
        index: How they are found, in a collection that is made.
        tenant: Whose objects are meant; None in a collection without tenants.
        schema: What the keys hold; says which ones are ordered.
        plain: In a collection that another program made, which properties are no metadata.
    """

    name: str
    metric: Metric
    vector_name: str | None
    index: Index
    tenant: str | None
    schema: Declaration | None
    plain: PlainNames | None = None

    @property
    def ordered(self) -> tuple[frozenset[Path], frozenset[Path]]:
        """The keys whose numbers, and those whose texts are ordered in one that is made."""
        return ordered_keys(self.schema, Kind.NUMBER), ordered_keys(self.schema, Kind.STRING)

    def handle(self, client: Any) -> Any:
        """The client's object for the collection, or for the tenant's part of it."""
        collection = client.collections.use(self.name, skip_argument_validation=True)
        return collection if self.tenant is None else collection.with_tenant(self.tenant)

    # --- making ------------------------------------------------------------------------------

    def make(self, call: Calls, dimension: int) -> None:
        """Make the collection, and the tenant; no matter if somebody else is quicker."""
        from weaviate.classes.config import Configure, VectorDistances

        distance = VectorDistances(_DISTANCES[self.metric])
        kinds = Configure.VectorIndex
        # Some servers compress what does not say; rounded vectors are not exactly the nearest.
        index: Any = (
            kinds.flat(distance_metric=distance, quantizer=kinds.Quantizer.none())
            if self.index == "flat"
            else kinds.hnsw(distance_metric=distance)
        )
        vector = Configure.Vectors.self_provided(name=self.vector_name, vector_index_config=index)

        def make(client: Any) -> None:
            if client.collections.exists(self.name):
                return
            try:
                client.collections.create(
                    self.name,
                    properties=list(self._properties(dimension)),
                    vector_config=vector,
                    inverted_index_config=Configure.inverted_index(index_null_state=True),
                    multi_tenancy_config=Configure.multi_tenancy(enabled=self.tenant is not None),
                )
            except Exception:
                if not client.collections.exists(self.name):
                    raise

        call("add", make, writing=True)
        if self.tenant is not None:
            tenant = self.tenant
            call(
                "add",
                lambda client: client.collections.use(self.name).tenants.create([tenant]),
                writing=True,
            )

    def _properties(self, dimension: int) -> Iterator[Any]:
        from weaviate.classes.config import DataType, Property, Tokenization

        field = Tokenization.FIELD
        note = json.dumps({"vecstore": LAYOUT_VERSION, "dimension": dimension})
        yield Property(
            name=TOKENS,
            data_type=DataType.TEXT_ARRAY,
            tokenization=field,
            index_searchable=False,
            description=note,
        )
        for name in _OWN_TEXTS:
            yield Property(
                name=name,
                data_type=DataType.TEXT,
                tokenization=field,
                index_filterable=False,
                index_searchable=False,
            )
        numbers, texts = self.ordered
        for path in sorted(numbers):
            yield Property(
                name=number_property(path), data_type=DataType.NUMBER, description=_note(path)
            )
        for path in sorted(texts):
            yield Property(
                name=text_property(path),
                data_type=DataType.TEXT,
                tokenization=field,
                index_searchable=False,
                description=_note(path),
            )

    # --- looking -----------------------------------------------------------------------------

    def find(self, call: Calls, operation: str, dimension: int | None) -> Found | None:
        """What the collection is like; None where it, or the tenant, is missing.

        Args:
            call: The client.
            operation: What the caller of the store asked for.
            dimension: How long its vectors are to be, or None.

        Raises:
            SchemaMismatchError: Listing every difference.
        """
        if not self.exists(call, operation):
            return None
        name = self.name
        config = call(operation, lambda client: client.collections.use(name).config.get())
        place = f"the collection {name!r}"
        faults: list[str] = []
        divided = bool(config.multi_tenancy_config.enabled)
        if divided and self.tenant is None:
            faults.append("it is divided among tenants: name one, tenant=...")
        elif self.tenant is not None and not divided:
            faults.append("it has no tenants: leave tenant=... out")
        vector_name, index = self._vector(config, faults)
        properties = {one.name: one for one in config.properties}
        plain, noted = None, None
        if self.plain is None:
            noted = self._check_properties(properties, faults)
        else:

            def version() -> str:
                return str(call(operation, lambda client: client.get_meta()["version"]))

            plain = plain_objects(config, self.plain, self.schema, version, faults)
        if getattr(index, "multi_vector", None) is not None:
            faults.append("an object there has several vectors under one name")
        elif index is not None:
            distance = str(getattr(index.distance_metric, "value", index.distance_metric))
            if distance != _DISTANCES[self.metric]:
                names = {theirs: ours for ours, theirs in _DISTANCES.items()}
                told = names.get(distance, distance)
                faults.append(f"it compares by {told}, not {self.metric}")
        if noted is not None and dimension is not None and noted != dimension:
            faults.append(f"its vectors have {noted} dimensions, not {dimension}")
        if faults:
            raise misfit(place, faults)
        if self.tenant is not None and not self._has_tenant(call, operation):
            return None
        size = noted if noted is not None else self._measured(call, operation, vector_name)
        if size is not None and dimension is not None and size != dimension:
            raise misfit(place, [f"its vectors have {size} dimensions, not {dimension}"])
        return Found(
            vector_name=vector_name,
            dimension=size,
            exact=index is not None
            and type(index).__name__ == "_VectorIndexConfigFlat"
            and index.quantizer is None,
            ordered=(_ordered(properties, number_property), _ordered(properties, text_property)),
            extras=plain is None and EXTRA in properties,
            plain=plain,
        )

    def exists(self, call: Calls, operation: str) -> bool:
        """Whether there is such a collection."""
        return bool(call(operation, lambda client: client.collections.exists(self.name)))

    def has_extras(self, call: Calls, operation: str) -> bool:
        """Whether it has a place for what stands beside metadata by now."""
        config = call(operation, lambda client: client.collections.use(self.name).config.get())
        return any(one.name == EXTRA for one in config.properties)

    def _has_tenant(self, call: Calls, operation: str) -> bool:
        name, tenant = self.name, self.tenant
        return bool(
            call(operation, lambda client: client.collections.use(name).tenants.exists(tenant))
        )

    def _vector(self, config: Any, faults: list[str]) -> tuple[str | None, Any]:
        """The name of the vector that is meant, and its index."""
        named = config.vector_config
        if not named:
            if self.vector_name is not None:
                faults.append("its vector has no name: leave vector_name=... out")
            return None, config.vector_index_config
        wanted = self.vector_name or (next(iter(named)) if len(named) == 1 else VECTOR)
        if wanted not in named:
            known = ", ".join(map(repr, sorted(named)))
            faults.append(f"it has the vectors {known}: name one, vector_name=...")
            return None, None
        return wanted, named[wanted].vector_index_config

    def _check_properties(self, properties: dict[str, Any], faults: list[str]) -> int | None:
        """Note what the properties lack; return the dimension that they tell."""
        tokens = properties.get(TOKENS)
        if tokens is None or not {ID, TEXT, METADATA} <= properties.keys():
            faults.append(
                "no store of this library made it: to read it as it is, open the store with "
                'layout="plain"'
            )
            return None
        if not _is_whole(tokens, "text[]"):
            faults.append(
                f"the property {TOKENS} is no filterable text[] with the tokenization field"
            )
        beside = properties.get(EXTRA)
        if beside is not None and (told := _type(beside)) != "text":
            faults.append(f"the property {EXTRA} is {told}, not text")
        noted = _read(tokens.description)
        if not isinstance(noted, dict):
            noted = {}
        version = noted.get("vecstore", LAYOUT_VERSION)
        if version != LAYOUT_VERSION:
            raise SchemaMismatchError(
                f"the collection {self.name!r} is of layout version {version!r}, and this version "
                f"of vecstore reads {LAYOUT_VERSION}; move it with the version that wrote it: "
                "write old.scan(include_embedding=True) to a file there, and add() it to a new "
                "collection here"
            )
        kinds = ((number_property, "number"), (text_property, "text"))
        for paths, (made, data_type) in zip(self.ordered, kinds, strict=True):
            for path in sorted(paths):
                found = properties.get(made(path))
                if found is None:
                    faults.append(
                        f"it was made without ordering the {data_type}s of {key_text(path)}, and "
                        "its documents hold nothing to order: copy them into a collection that is "
                        "made with this schema"
                    )
                elif not _is_whole(found, data_type):
                    faults.append(f"the property {made(path)} is no filterable {data_type}")
        dimension = noted.get("dimension")
        return dimension if type(dimension) is int else None

    def _measured(self, call: Calls, operation: str, vector_name: str | None) -> int | None:
        """How long the vectors are that are stored; None where there is none."""

        def first(client: Any) -> Any:
            return self.handle(client).query.fetch_objects(
                limit=10, include_vector=True, return_properties=False
            )

        for one in call(operation, first).objects:
            vector = one.vector.get(vector_name or VECTOR)
            if vector:
                return len(vector)
        return None


def _type(prop: Any) -> str:
    return str(getattr(prop.data_type, "value", prop.data_type))


def _is_whole(prop: Any, data_type: str) -> bool:
    """Whether a property is what the layout makes of it."""
    tokenization = str(getattr(prop.tokenization, "value", prop.tokenization))
    whole = data_type not in _PLAIN_TYPES or tokenization == "field"
    return _type(prop) == data_type and bool(prop.index_filterable) and whole


def _note(path: Path) -> str:
    """The description of the property that orders a key: the key, which a long name hides."""
    return json.dumps(path, ensure_ascii=False)


def _read(description: object) -> Any:
    try:
        return json.loads(description) if isinstance(description, str) else None
    except ValueError:
        return None


def _ordered(properties: dict[str, Any], made: Any) -> frozenset[Path]:
    """The keys that a collection orders by properties of a type."""
    paths = set()
    for name, prop in properties.items():
        read = _read(prop.description)
        if isinstance(read, list) and read and all(isinstance(one, str) for one in read):
            path = tuple(read)
            if made(path) == name:
                paths.add(path)
    return frozenset(paths)
