"""Collections on a Weaviate server that other programs made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.dialects.weaviate.test_store import OnServer, reach
from tests.engines.weaviate_server import Address, running_weaviate
from tests.store.choices import SCOPED
from vecstore import (
    BackendError,
    ConfigurationError,
    Document,
    DocumentError,
    Expression,
    ForeignRecordWarning,
    Op,
    ResidualWarning,
    Schema,
    SchemaMismatchError,
    UnsupportedFilterError,
    VectorStore,
)
from vecstore.dialects.weaviate import Weaviate
from vecstore.dialects.weaviate.layout import property_types_of
from vecstore.dialects.weaviate.store import WeaviateStore
from vecstore.testing import Domain, PersistentStoreTests, ScopedStoreSuite, StoreSuite
from vecstore.testing.store_suite.adding import Adding
from vecstore.testing.store_suite.deleting import Deleting
from vecstore.testing.store_suite.evaluating import Evaluating
from vecstore.testing.store_suite.filtering import Filtering
from vecstore.testing.store_suite.ids import Ids
from vecstore.testing.store_suite.lifecycle import Lifecycle
from vecstore.testing.store_suite.metadata import Metadata
from vecstore.testing.store_suite.paging import Paging
from vecstore.testing.store_suite.reading import Reading
from vecstore.testing.store_suite.scopes import Scopes
from vecstore.testing.store_suite.searching import Searching
from vecstore.testing.store_suite.shared_values import SharedValues
from vecstore.testing.store_suite.statistics import Statistics
from vecstore.testing.store_suite.threads import Threads
from vecstore.testing.store_suite.updating import Updating
from vecstore.testing.store_suite.vectorless import Vectorless

pytestmark = pytest.mark.servers

_INTS = (
    *("a", "b", "empty", "fine", "g", "inside", "keep", "later", "level", "m", "mark", "n", "new"),
    *("none", "old", "one", "other", "process", "thread", "touched", "u0", "version"),
    *(f"key_{number}" for number in range(30)),
)
_TEXTS = (
    *("content", "day", "document", "embedding", "group", "k", "kind", "metadata", "of_ours"),
    *("of_theirs", "score", "source", "suite_tenant", "tenant", "text", "u1", "who"),
)
_BOOLS = ("kept", "last", "seen", "y")
SUITE = Schema(
    {
        **dict.fromkeys(_INTS, int),
        **dict.fromkeys(_TEXTS, str),
        **dict.fromkeys(_BOOLS, bool),
        **dict.fromkeys(("v", "x"), float),
        "again": list[int],
        "p": list[int],
        "tags": list[str],
        "u2": list[str],
    }
)
_KEY = "10000000-0000-4000-8000-{:012d}"


def properties(types: dict[str, str], **options: Any) -> list[Any]:
    """Properties of these types, texts with the tokenization field."""
    from weaviate.classes.config import DataType, Property, Tokenization

    return [
        Property(
            name=name,
            data_type=DataType(kind),
            tokenization=Tokenization.FIELD if kind.startswith("text") else None,
            **options,
        )
        for name, kind in types.items()
    ]


class InThePlain(OnServer):
    """A collection that the client made, with a property for each key of the tests."""

    dialect = Weaviate(layout="plain", schema=SUITE)

    @staticmethod
    def _accepts(path: tuple[str, ...], value: Any) -> bool:
        declared = SUITE.keys.get(path)
        if declared is None or value in (None, []) or declared.many is not isinstance(value, list):
            return False
        kind = {"str": str, "int": int, "float": float, "bool": bool}[declared.kind]
        items = value if declared.many else [value]
        return all(type(one) is kind and (kind is not str or (one and one == one.strip()))
                   for one in items)  # fmt: skip

    domain = Domain(nested=False, integers=(1 - 2**53, 2**53 - 1), accepts=_accepts)

    def make_store(self, **options: Any) -> VectorStore:
        from weaviate.classes.config import Configure, VectorDistances

        metric = options.get("metric", "cosine")
        theirs = {"euclidean": "l2-squared"}.get(metric, metric)
        name = f"Plain_{uuid4().hex}"
        types = {"body": "text", "ref": "text"}
        for key, held in property_types_of(SUITE).items():
            types[key] = f"{held.base}{'[]' if held.several else ''}"
        with WeaviateStore("Another", create=True, **self.address()) as other:
            made = other.native.collections.create(
                name,
                properties=properties(types),
                vector_config=Configure.Vectors.self_provided(
                    vector_index_config=Configure.VectorIndex.flat(
                        distance_metric=VectorDistances(theirs),
                        quantizer=Configure.VectorIndex.Quantizer.none(),
                    )
                ),
                inverted_index_config=Configure.inverted_index(index_null_state=True),
                multi_tenancy_config=Configure.multi_tenancy(enabled=self.tenant is not None),
            )
            if self.tenant is not None:
                made.tenants.create([self.tenant, "another"])
        return self.opened(name, **options)

    def opened(self, collection: str, **options: Any) -> WeaviateStore:
        store = WeaviateStore(
            collection,
            tenant=self.tenant,
            layout="plain",
            text_property="body",
            id_property=self.id_property,
            schema=SUITE,
            **self.address(),
            **options,
        )
        # Tests ask for other kinds as well, of which the declaration would not let them.
        store._schema = None
        return store

    id_property: str | None = "ref"
    tenant: str | None = None

    def refuses(self, filter: Expression) -> bool:
        if filter.op in (Op.AND, Op.OR, Op.NOT, Op.ISNULL, Op.ISNOTNULL):
            return False
        declared = SUITE.keys.get(filter.key.path)
        texts = [one for one in filter.value.items if isinstance(one, str)]
        padded = any(not one or one != one.strip() for one in texts)
        return padded and declared is not None and declared.kind == "str"

    def damage(self, store: VectorStore, kind: str) -> bool:
        return False

    # Under a key they have one kind of value and then another, empty texts, or keys of no property.
    test_by_filter_and_by_both = None  # type: ignore[assignment]
    test_a_change_of_one_key_counts_the_lists_of_the_others = None  # type: ignore[assignment]
    test_a_list_within_the_allowed_values_belongs = None  # type: ignore[assignment]
    test_a_scope_goes_to_the_engine_as_it_is = None  # type: ignore[assignment]
    test_each_can_be_replaced_and_changed = None  # type: ignore[assignment]
    test_null_and_empty_list_come_back_as_declared = None  # type: ignore[assignment]
    test_set_and_unset = None  # type: ignore[assignment]
    test_texts_and_vectors_stay = None  # type: ignore[assignment]
    test_they_are_changed_and_deleted = None  # type: ignore[assignment]
    test_values_of_every_kind_in_order = None  # type: ignore[assignment]
    # No filter steps into a property; and what the types of properties make true of every document
    # is refused by delete, where the suite expects it to be asked.
    test_keys_inside_objects_and_odd_keys = None  # type: ignore[assignment]
    test_delete_selects_the_same = None  # type: ignore[assignment]


class TestPlain(InThePlain, StoreSuite):
    """Ids stand in a property."""

    chosen = (Filtering, Searching, Paging, SharedValues, Deleting, "test_a_random_life")

    # Among their ids are some with a blank at an end.
    test_each_is_its_own = None  # type: ignore[assignment]
    test_deleting_one_leaves_the_others = None  # type: ignore[assignment]


class TestPlainByObjectIds(InThePlain, StoreSuite):
    """Ids are the objects' own."""

    chosen = (
        *(Adding, Deleting, Evaluating, Ids, Lifecycle, Metadata, Reading, Scopes, Statistics),
        *(Threads, Updating, Vectorless, "test_a_random_life", "test_the_order_of_ids"),
    )
    id_property = None


class TestPlainScoped(InThePlain, ScopedStoreSuite):
    chosen = SCOPED[:4] + SCOPED[5:]


class TestPlainOfATenant(InThePlain, StoreSuite):
    chosen = (*SCOPED[1:4], *SCOPED[5:], "test_known_scores", "test_update_many")
    id_property = None
    tenant = "one"


class TestPlainOutliving(InThePlain, PersistentStoreTests):
    def open_again(self, store: VectorStore, **options: Any) -> VectorStore:
        assert isinstance(store, WeaviateStore)
        return self.opened(store._collection, **options)


Make = Callable[..., tuple[str, Any]]


@pytest.fixture
def at(weaviate_address: Address) -> dict[str, Any]:
    """How a store gets to the server."""
    where = weaviate_address
    return {"url": where.url, "grpc_port": where.grpc_port, "api_key": where.api_key}


@pytest.fixture
def make(at: dict[str, Any]) -> Iterator[Make]:
    """Makes collections as another program does; returns the name, and the client's handle."""
    from weaviate.classes.config import Configure

    made: list[str] = []
    with WeaviateStore("Another", create=True, **at) as other:

        def make(types: dict[str, str], *, more: Any = (), nulls: bool = True, **options: Any):  # type: ignore[no-untyped-def]
            made.append(f"Theirs_{uuid4().hex}")
            options.setdefault("vector_config", Configure.Vectors.self_provided())
            handle = other.native.collections.create(
                made[-1],
                properties=[*properties(types), *more],
                inverted_index_config=Configure.inverted_index(index_null_state=nulls),
                **options,
            )
            return made[-1], handle

        yield make
        for name in made:
            other.native.collections.delete(name)


def document(number: int, metadata: dict[str, Any], text: str = "text") -> Document:
    return Document(text, metadata, id=_KEY.format(number), embedding=[1, number])


def test_objects_are_documents_by_their_own_ids(make: Make, at: dict[str, Any]) -> None:
    types = {"text": "text", "year": "int", "tags": "text[]", "made": "date", "part": "uuid"}
    name, handle = make({**types, "place": "geoCoordinates"})
    from weaviate.classes.data import GeoCoordinate

    handle.data.insert(
        {
            "text": "Hello",
            "year": 2020,
            "tags": ["a", "b"],
            "made": datetime(2020, 1, 2, tzinfo=UTC),
            "part": UUID(int=7),
            "place": GeoCoordinate(latitude=1.5, longitude=2.5),
        },
        uuid=_KEY.format(1),
        vector=[1.0, 0.0],
    )
    handle.data.insert({}, uuid=_KEY.format(2))  # no text, no vector
    schema = Schema({"year": int, "tags": list[str]})
    with WeaviateStore(name, layout="plain", schema=schema, **at) as store:
        held = {
            "made": "2020-01-02T00:00:00+00:00",
            "part": str(UUID(int=7)),
            "place": {"latitude": 1.5, "longitude": 2.5},
            "tags": ["a", "b"],
            "year": 2020,
        }
        ids = [_KEY.format(1), _KEY.format(2), "no UUID", _KEY.format(1).replace("-", "")]
        assert [one.id for one in store.get(ids)] == ids[:2]
        assert store.get(ids[:1])[0].metadata == held
        assert [
            (one.id, one.text) for one in store.search(vector=[1, 0], filter="tags == 'b'")
        ] == [(ids[0], "Hello")]
        assert store.count("year IS NULL") == store.count("year != 2020") == 1
        # What is changed is changed, and what this layout cannot write stays.
        assert store.update_metadata(ids[:1], set={"tags": ["c"]}, unset=["year"]) == 1
        del held["year"]
        [found] = store.get(ids[:1], include_embedding=True)
        assert found.metadata == {**held, "tags": ["c"]}
        assert list(found.embedding) == [1, 0]
        assert found.text == "Hello"
        assert store.delete(ids) == 2
        assert store.delete(ids[2:]) == 0


def test_a_change_leaves_references_and_other_vectors(make: Make, at: dict[str, Any]) -> None:
    from weaviate.classes.config import Configure, ReferenceProperty
    from weaviate.classes.query import QueryReference

    other, others = make({"text": "text"})
    others.data.insert({"text": "it"}, uuid=_KEY.format(9))
    name, handle = make(
        {"text": "text", "n": "int"},
        references=[ReferenceProperty(name="about", target_collection=other)],
        vector_config=[
            Configure.Vectors.self_provided(name="body"),
            Configure.Vectors.self_provided(name="title"),
        ],
    )
    handle.data.insert(
        {"text": "Hello", "n": 1},
        uuid=_KEY.format(1),
        references={"about": _KEY.format(9)},
        vector={"body": [1.0, 0.0], "title": [0.0, 0.0, 1.0]},
    )
    with pytest.raises(SchemaMismatchError, match="it has the vectors 'body', 'title': name one"):
        WeaviateStore(name, layout="plain", **at)
    schema = Schema({"n": int}, others="allow")
    with WeaviateStore(name, layout="plain", vector_name="body", schema=schema, **at) as store:
        assert store.dimension == 2
        assert store.update_metadata(filter="n == 1", set={"n": 2}) == 1
        with pytest.raises(UnsupportedFilterError, match="this property is a cross-reference"):
            store.count("about == 'x'")
        with pytest.raises(DocumentError, match="key about is a cross-reference there"):
            store.add([document(3, {"about": "x"})])
    found = handle.query.fetch_object_by_id(
        _KEY.format(1),
        include_vector=True,
        return_references=QueryReference(link_on="about", return_properties=["text"]),
    )
    assert found.properties["n"] == 2
    assert found.vector == {"body": [1.0, 0.0], "title": [0.0, 0.0, 1.0]}
    assert [str(one.uuid) for one in found.references["about"].objects] == [_KEY.format(9)]


def test_objects_older_than_a_property_are_found_as_such_without_it(
    make: Make, at: dict[str, Any]
) -> None:
    name, handle = make({"text": "text"})
    handle.data.insert({"text": "older"}, uuid=_KEY.format(1))
    handle.config.add_property(properties({"n": "int"})[0])
    handle.data.insert({"text": "with", "n": 1}, uuid=_KEY.format(2))
    handle.data.insert({"text": "without"}, uuid=_KEY.format(3))
    with WeaviateStore(name, layout="plain", schema=Schema({"n": int}), **at) as store:
        assert sorted(one.text for one in store.scan("n IS NULL")) == ["older", "without"]
        assert store.count("n IS NULL") == 2
        assert [one.text for one in store.scan("n IS NOT NULL")] == ["with"]
        assert store.delete(filter="n IS NULL") == 2
        assert store.count("n IS NULL") == 0


def test_settings_that_answer_otherwise_are_refused_by_name(make: Make, at: dict[str, Any]) -> None:
    from weaviate.classes.config import DataType, Property

    words = Property(name="title", data_type=DataType.TEXT)
    [unread] = properties({"hidden": "int"}, index_filterable=False)
    name, handle = make(
        {"text": "text", "n": "int", "other": "number[]"}, more=[words, unread], nulls=False
    )
    handle.data.insert({"text": "a", "title": "Big Book", "n": 1, "hidden": 1})
    schema = Schema({"title": str, "hidden": int, "n": int}, others="allow")
    with WeaviateStore(name, layout="plain", schema=schema, **at) as store:
        refused = {
            "title == 'big'": "tokenization 'word', which compares the words",
            "title < 'c'": "tokenization 'word'",
            "hidden > 0": "no filterable index",
            "n IS NULL": "does not index what is null",
            "n IS NOT NULL": "does not index what is null",
            "other == 1": r"the collection has it as number\[\]",
            "Year == 1": "no property has this name",
        }
        for filter, reason in refused.items():
            with pytest.raises(UnsupportedFilterError, match=reason):
                store.count(filter)
        with pytest.raises(UnsupportedFilterError, match=r"Schema\(\{'other': list\[float\]\}\)"):
            store.count("other == 1")
        assert store.count("n == 1") == 1
    residual = WeaviateStore(name, layout="plain", schema=schema, residual="evaluate", **at)
    with residual as store:
        with pytest.warns(ResidualWarning):
            assert len(store.get(filter="title == 'Big Book' AND n == 1")) == 1
        assert store.get(filter="title == 'big'") == []


def test_a_schema_that_the_collection_does_not_have_is_told_whole(
    make: Make, at: dict[str, Any]
) -> None:
    name, _ = make({"text": "text", "n": "number", "made": "date", "tags": "text[]"})
    schema = Schema({"n": int, "made": datetime, "tags": str, "none": int, "text": str})
    with pytest.raises(SchemaMismatchError) as told:
        WeaviateStore(name, layout="plain", schema=schema, **at)
    for said in (
        "'n' is number, and the schema declares what int holds: declare 'n' as float",
        "'made' is date, and the schema declares what text holds: leave it out of the schema",
        "'tags' is text[], and the schema declares what text holds: declare 'tags' as list[str]",
        "no property 'none'",
        "'text' is no metadata",
    ):
        assert said in str(told.value)
    with pytest.raises(SchemaMismatchError, match=r"'body' for the text .* such as 'text'"):
        WeaviateStore(name, layout="plain", text_property="body", **at)
    with pytest.raises(SchemaMismatchError, match="'n' for the id of documents is number"):
        WeaviateStore(name, layout="plain", id_property="n", **at)
    with pytest.raises(SchemaMismatchError, match='open the store with layout="plain"'):
        WeaviateStore(name, **at)


def test_what_a_property_cannot_hold_is_refused_before_anything_is_written(
    make: Make, at: dict[str, Any]
) -> None:
    name, _ = make({"text": "text", "n": "int", "x": "number", "tags": "text[]", "made": "date"})
    with WeaviateStore(name, layout="plain", **at) as store:
        for metadata, reason in (
            ({"n": 1.5}, "key n is int there and cannot hold 1.5"),
            ({"n": "a"}, "key n is int there and cannot hold 'a'"),
            ({"n": True}, "key n is int there and cannot hold True"),
            ({"n": 2**53}, "max_integer"),
            ({"x": "1"}, "key x is number there"),
            ({"tags": "a"}, r"key tags is text\[\] there and takes lists"),
            ({"tags": ["a", ""]}, "an empty text, which Weaviate takes for null"),
            ({"tags": ["a "]}, "begins or ends with white space"),
            ({"n": [1]}, "takes no list"),
            ({"made": "2020-01-01T00:00:00Z"}, "is date there, which this layout reads"),
            ({"other": 1}, "is no property of the collection; add it there first"),
            ({"Other": 1}, "is no name of a property"),
            ({"text": "a"}, "is the property that holds the document's text"),
        ):
            with pytest.raises(DocumentError, match=reason):
                store.add([document(1, {"x": 1.0}), document(2, metadata)])
            if "max_integer" not in reason:
                with pytest.raises(DocumentError, match=reason):
                    store.update_metadata([_KEY.format(1)], set=metadata)
        assert store.count() == 0
        with pytest.raises(DocumentError, match="is not a UUID in its canonical form"):
            store.add([Document("a", {}, id="readme", embedding=[1, 0])])
        store.add([document(1, {"x": 3, "n": 3, "tags": ["a"], "made": None})])
        assert store.get([_KEY.format(1)])[0].metadata == {"x": 3.0, "n": 3, "tags": ["a"]}
        assert "other" not in [
            one.name for one in store.native.collections.use(name).config.get().properties
        ]


def test_ids_in_a_property(make: Make, at: dict[str, Any]) -> None:
    name, handle = make({"text": "text", "ref": "text", "n": "int"})
    handle.data.insert({"text": "theirs", "ref": "a", "n": 1}, uuid=_KEY.format(1), vector=[1, 0])
    handle.data.insert({"text": "no id", "n": 1}, uuid=_KEY.format(2), vector=[1, 0])
    handle.data.insert({"text": "padded", "ref": " b", "n": 1}, uuid=_KEY.format(3), vector=[1, 0])
    schema = Schema({"n": int})
    options: dict[str, Any] = {"layout": "plain", "id_property": "ref", "schema": schema, **at}
    with WeaviateStore(name, **options) as store:
        with pytest.warns(ForeignRecordWarning, match="it has no id|begins or ends with white"):
            assert [one.id for one in store.search(vector=[1, 0])] == ["a"]
        assert store.get(["a", "b", " b"]) == [Document("theirs", {"n": 1}, id="a")]
        # The engine takes a padded id for the other one.
        assert store.get([" a", "a "]) == []
        assert store.delete([" a"]) == 0
        assert store.search(vector=[1, 0], ids=["a "]) == []
        # The object that is there is written, and no second one beside it.
        store.add([Document("ours", {"n": 2}, id="a", embedding=[0, 1])])
        store.add([Document("new", {"n": 3}, id="b", embedding=[0, 1])], on_conflict="skip")
        assert handle.query.fetch_object_by_id(_KEY.format(1)).properties["text"] == "ours"
        assert [one.text for one in store.get(["a", "b"])] == ["ours", "new"]
        with pytest.warns(ForeignRecordWarning):
            assert store.update_metadata(filter="n < 3", set={"n": 5}) == 1
        assert store.delete(["b"]) == 1  # and not what has the id with a blank
        with pytest.warns(ForeignRecordWarning):
            assert store.delete(filter="n > 0") == 1
        assert len(handle.query.fetch_objects().objects) == 2
        with pytest.raises(DocumentError, match="begins or ends with white space"):
            store.add([Document("x", {}, id="c ", embedding=[0, 1])])


def test_what_was_acknowledged_is_there_after_the_server_was_killed() -> None:
    """Under a store that stays open; what is not acknowledged is told, and can be done again."""
    from weaviate.classes.config import Configure

    with running_weaviate() as server:
        at = server.address
        where = {"url": at.url, "grpc_port": at.grpc_port, "api_key": at.api_key}
        with WeaviateStore("Another", create=True, dimension=2, **where) as other:
            other.native.collections.create(
                "Theirs",
                properties=properties({"text": "text", "n": "int", "m": "int"}),
                vector_config=Configure.Vectors.self_provided(),
                inverted_index_config=Configure.inverted_index(index_null_state=True),
            )
        schema = Schema({"n": int, "m": int})
        with WeaviateStore("Theirs", layout="plain", schema=schema, timeout=2, **where) as store:
            for round in range(3):
                store.add([document(n, {"n": n}) for n in range(300)])
                assert store.update_metadata(filter="n < 100", set={"m": round}) == 100
                assert store.delete(filter="n >= 280") == 20
                server.kill()
                with pytest.raises(BackendError) as told:
                    store.update_metadata([_KEY.format(200)], set={"m": 7})
                assert told.value.retryable
                server.start()
                reach(store)
                kept = {one.id: one for one in store.scan(include_embedding=True)}
                assert len(kept) == store.count() == 280
                assert store.count(f"m == {round}") == 100
                for n in range(280):
                    one = kept[_KEY.format(n)]
                    assert one.metadata in ({"n": n, "m": round}, {"n": n}), n
                    assert ("m" in one.metadata) == (n < 100)
                    assert list(one.embedding) == [1, n]
                assert store.update_metadata([_KEY.format(200)], set={"m": 7}) == 1


def test_options_that_do_not_go_together() -> None:
    for options, reason in (
        ({"layout": "plain", "create": True}, "leave create=True out"),
        ({"id_property": "ref"}, 'go with layout="plain"'),
        ({"layout": "plain", "id_property": "text"}, "either the text of documents or their id"),
        ({"layout": "loose"}, 'layout is "exact" or "plain"'),
    ):
        with pytest.raises(ConfigurationError, match=reason):
            WeaviateStore("Docs", url="http://127.0.0.1:9", **options)
