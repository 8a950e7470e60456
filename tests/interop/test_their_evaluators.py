"""Random filters and documents, decided by the other system's own code and by ours."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.engines.pinecone_rules import PineconeRules
from tests.interop import writing
from tests.interop.specs import (
    NUMBERS,
    ORDERINGS,
    SCHEMA,
    TEXTS,
    VALUES,
    Spec,
    atoms,
    documents,
    specs,
)
from vecstore import Expression
from vecstore.interop import (
    from_chroma,
    from_haystack,
    from_llama_index,
    from_mongo,
    from_pinecone,
    from_qdrant,
    from_sql,
)

Documents = list[dict[str, Any]]

_dates = st.sampled_from(["2023-12-31", "2024-01-31", "2024-02-01"])


def check(filter: Expression, found: list[dict[str, Any]], theirs: list[bool]) -> None:
    """Where an unknown comparison is false, document by document and as a tree of its own."""
    assert [filter.matches(one, unknown=False) for one in found] == theirs
    tree = filter.two_valued(SCHEMA)
    assert [tree.matches(one) for one in found] == theirs


# --- SQL, by SQLite -----------------------------------------------------------------------------

_with_null = st.one_of(
    st.tuples(st.just("null"), st.sampled_from(list(VALUES)), st.none()),
    st.sampled_from(list(NUMBERS)).flatmap(
        lambda key: st.tuples(
            st.just("between"), st.just(key), st.tuples(NUMBERS[key], NUMBERS[key])
        )
    ),
    st.sampled_from(list(VALUES)).flatmap(
        lambda key: st.tuples(
            st.sampled_from(["in", "nin"]),
            st.just(key),
            st.lists(st.one_of(st.none(), VALUES[key]), min_size=1, max_size=3),
        )
    ),
)


@given(specs(st.one_of(atoms, _with_null)), documents())
def test_sql_selects_what_sqlite_does(spec: Spec, found: Documents) -> None:
    pytest.importorskip("sqlglot")
    where = writing.sql(spec)
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute("CREATE TABLE t (id INTEGER, n INTEGER, f REAL, s TEXT, b BOOLEAN)")
        rows = [(at, *(one.get(key) for key in "nfsb")) for at, one in enumerate(found)]
        database.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", rows)
        theirs = {row[0] for row in database.execute(f"SELECT id FROM t WHERE {where}")}
    filter = from_sql(where)
    assert {at for at, one in enumerate(found) if filter.matches(one)} == theirs


# --- Pinecone, by the rules of its documentation ------------------------------------------------


def _pinecone(spec: Spec) -> dict[str, Any]:
    op, *rest = spec
    if op in ("and", "or"):
        return {f"${op}": [_pinecone(one) for one in rest[0]]}
    key, value = rest
    return {key: {"$exists": value} if op == "exists" else {f"${op}": value}}


_for_pinecone = st.one_of(
    atoms,
    st.tuples(st.just("exists"), st.sampled_from([*VALUES, "tags"]), st.booleans()),
    st.tuples(st.sampled_from(["eq", "ne"]), st.just("tags"), st.sampled_from("abc")),
)
_tags = st.lists(st.sampled_from("abc"), min_size=1, max_size=3)


@given(specs(_for_pinecone, negation=False), documents(nulls=False, lists=_tags))
def test_pinecone_selects_what_its_documentation_says(spec: Spec, found: Documents) -> None:
    written = _pinecone(spec)
    rules = PineconeRules(lenient_members=True)
    for at, one in enumerate(found):
        rules.upsert(str(at), one)
    filter = from_pinecone(written)
    theirs = rules.query(written)
    assert {str(at) for at, one in enumerate(found) if filter.matches(one)} == theirs


# --- Qdrant, by its client ----------------------------------------------------------------------


@given(specs(), documents())
def test_qdrant_selects_what_its_client_does(spec: Spec, found: Documents) -> None:
    models = pytest.importorskip("qdrant_client.models")
    local = pytest.importorskip("qdrant_client.local.payload_filters")
    written = writing.qdrant(spec)
    if "key" in written:
        written = {"must": [written]}
    model = models.Filter.model_validate(written)
    theirs = [local.check_filter(model, one, 0, {}) for one in found]
    check(from_qdrant(written), found, theirs)
    check(from_qdrant(model), found, theirs)


_on_tags = st.tuples(st.just("in"), st.just("tags"), _tags)


@given(specs(_on_tags), documents(lists=st.lists(st.sampled_from("abc"), max_size=3)))
def test_qdrant_looks_into_lists_as_we_do(spec: Spec, found: Documents) -> None:
    models = pytest.importorskip("qdrant_client.models")
    local = pytest.importorskip("qdrant_client.local.payload_filters")
    written = {"must": [writing.qdrant(spec)]}
    model = models.Filter.model_validate(written)
    check(from_qdrant(written), found, [local.check_filter(model, one, 0, {}) for one in found])


# --- MongoDB, by mongomock ----------------------------------------------------------------------


_in_mongo = st.one_of(
    atoms,
    st.tuples(st.sampled_from(["eq", "ne"]), st.just("tags"), st.sampled_from("abc")),
    st.tuples(st.sampled_from(["in", "nin", "all"]), st.just("tags"), _tags),
    st.tuples(st.sampled_from(["eq", "ne"]), st.sampled_from(list(VALUES)), st.none()),
    st.tuples(st.sampled_from(["in", "nin"]), st.sampled_from(list(VALUES)), st.just([None])),
)


@given(specs(_in_mongo), documents(lists=_tags))
def test_mongo_selects_what_mongomock_does(spec: Spec, found: Documents) -> None:
    filtering = pytest.importorskip("mongomock.filtering")
    written = writing.mongo(spec)
    check(from_mongo(written), found, [filtering.filter_applies(written, one) for one in found])


# --- Haystack and LlamaIndex, by themselves -----------------------------------------------------


_in_haystack = st.one_of(
    atoms,
    st.tuples(st.sampled_from(["eq", "ne", *ORDERINGS]), st.sampled_from(list(VALUES)), st.none()),
    st.sampled_from(list(VALUES)).flatmap(
        lambda key: st.tuples(
            st.sampled_from(["in", "nin"]),
            st.just(key),
            st.lists(st.one_of(st.none(), VALUES[key]), max_size=3),
        )
    ),
    # ISO dates in one form; dates in several are ordered as moments there.
    st.tuples(st.sampled_from(["eq", "ne", *ORDERINGS]), st.just("at"), _dates),
    # Of several conditions NOT says that not all of them hold.
    st.tuples(st.just("not"), st.lists(atoms, min_size=2, max_size=3)),
)


@given(specs(_in_haystack), documents(at=_dates))
def test_haystack_selects_what_its_memory_store_does(spec: Spec, found: Documents) -> None:
    filters = pytest.importorskip("haystack.utils.filters")
    document = pytest.importorskip("haystack").Document
    written = writing.haystack(spec)
    theirs = [filters.document_matches_filter(written, document(meta=one)) for one in found]
    check(from_haystack(written), found, theirs)


@given(specs(), documents())
def test_haystack_steps_into_objects_as_we_do(spec: Spec, found: Documents) -> None:
    filters = pytest.importorskip("haystack.utils.filters")
    document = pytest.importorskip("haystack").Document
    inside = writing.mapped(spec, lambda op, key, value: (op, f"one.two.{key}", value))
    written = writing.haystack(inside)
    nested: Documents = [{"one": {"two": one}} for one in found]
    theirs = [filters.document_matches_filter(written, document(meta=one)) for one in nested]
    filter = from_haystack(written)
    assert [filter.matches(one, unknown=False) for one in nested] == theirs


_tag_lists = st.lists(st.sampled_from("abc"), max_size=3)
_of_lists = st.one_of(
    st.tuples(st.just("any"), st.just("tags"), _tag_lists),
    st.tuples(st.just("all"), st.just("tags"), _tags),
)
_contains = st.tuples(st.just("contains"), st.just("tags"), st.sampled_from("abc"))
_is_empty = st.tuples(st.just("is_empty"), st.sampled_from(["n", "f", "tags"]), st.none())
_ordered_texts = st.tuples(st.sampled_from(ORDERINGS), st.just("s"), TEXTS)
_in_llama_index = st.one_of(atoms, _of_lists, _contains, _is_empty, _ordered_texts)


def _llama_index(spec: Spec, found: Documents) -> list[bool]:
    """What its own filter function says of each comparison, put together: it takes no groups."""
    op, *rest = spec
    if op in ("and", "or"):
        parts = [_llama_index(one, found) for one in rest[0]]
        return [(all if op == "and" else any)(one) for one in zip(*parts, strict=True)]
    if op == "not":
        return [not one for one in _llama_index(rest[0], found)]
    return _by_llama_index({"filters": [writing.llama_index(spec)]}, found)


def _by_llama_index(written: dict[str, Any], found: Documents) -> list[bool]:
    stores = pytest.importorskip("llama_index.core.vector_stores")
    by_itself = pytest.importorskip("llama_index.core.vector_stores.utils")
    model = stores.MetadataFilters.model_validate(written)
    decide = by_itself.build_metadata_filter_fn(lambda at: found[int(at)], model)
    return [decide(str(at)) for at in range(len(found))]


@given(
    st.tuples(
        st.sampled_from(["and", "or", "not"]), st.lists(_in_llama_index, min_size=1, max_size=4)
    ),
    documents(lists=_tag_lists),
)
def test_llama_index_selects_what_its_simple_store_does(spec: Spec, found: Documents) -> None:
    stores = pytest.importorskip("llama_index.core.vector_stores")
    condition, inner = spec
    filters = [writing.llama_index(one) for one in inner]
    # Its models take no bools.
    filters = [one for one in filters if not _has_bool(one["value"])]
    written = {"condition": condition, "filters": filters}
    theirs = _by_llama_index(written, found)
    check(from_llama_index(written), found, theirs)
    check(from_llama_index(stores.MetadataFilters.model_validate(written)), found, theirs)


@given(specs(_in_llama_index.filter(lambda leaf: leaf[1] != "b")), documents(lists=_tag_lists))
def test_groups_of_llama_index_are_put_together(spec: Spec, found: Documents) -> None:
    check(from_llama_index(writing.llama_index(spec)), found, _llama_index(spec, found))


def _has_bool(value: Any) -> bool:
    return any(isinstance(one, bool) for one in (value if isinstance(value, list) else [value]))


# --- Chroma, by itself --------------------------------------------------------------------------


_in_chroma = st.tuples(
    st.sampled_from(["contains", "not_contains"]), st.just("tags"), st.sampled_from("abc")
)


@pytest.mark.heavy
@given(specs(st.one_of(atoms, _in_chroma), negation=False), documents(nulls=False, lists=_tags))
def test_chroma_selects_what_it_does(spec: Spec, found: Documents) -> None:
    chromadb = pytest.importorskip("chromadb")
    # A name of its own: one that is made anew may hold on to lists of the one before.
    collection = chromadb.EphemeralClient().create_collection(
        f"filters-{uuid4()}", embedding_function=None
    )
    collection.add(
        ids=[str(at) for at in range(len(found))],
        embeddings=[[1.0, 0.0]] * len(found),
        metadatas=[{**one, "all": 1} for one in found],
    )
    written = writing.chroma(spec)
    theirs = set(collection.get(where=written)["ids"])
    filter = from_chroma(written)
    assert {str(at) for at, one in enumerate(found) if filter.matches(one)} == theirs
