"""What other libraries call the things of this one: errors say what to write here.

One table for methods, one for keywords. They are read when Python has found no such name, and
cost nothing before.
"""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypedDict

from vecstore.errors import FilterError
from vecstore.filter.limits import Limits
from vecstore.filter.tree import Expression, Key, Op, Value
from vecstore.filter.values import shown


class NoOptions(TypedDict):
    """Of ``**unknown``: no keyword is among them, neither for Python nor for a type checker."""


_SHOWN = 60
_SHOWN_FILTER = 200
_FILTER_EXAMPLE: Final = "country == 'BG' AND year >= 2020"

_SEARCH = "search('a text', top_k=4, filter=\"year >= 2020\")"
_SEARCH_MANY = "search_many(['a text', 'another'], top_k=4)"
_ADD = "add([Document(text, metadata), ...])"
_UPSERT = f"{_ADD}, which replaces what has the same id"
_UPDATE = "update_metadata(ids, set={'key': value}, unset=['key'])"
_FILE = "open_store('memory:///folder/kb.json'), which is saved when it is closed"

METHODS: Final[dict[str, str]] = {
    "similarity_search": _SEARCH,
    "similarity_search_with_score": f"{_SEARCH}: each document has its score",
    "similarity_search_with_relevance_scores": f"{_SEARCH}: each document has its score",
    "similarity_search_by_vector": "search(vector=[...], top_k=4)",
    "search_by_vector": "search(vector=[...], top_k=4)",
    "query": _SEARCH,
    "query_points": _SEARCH,
    "query_data": _SEARCH,
    "batch_search": _SEARCH_MANY,
    "search_batch": _SEARCH_MANY,
    "query_batch": _SEARCH_MANY,
    "query_batch_points": _SEARCH_MANY,
    "find": _SEARCH,
    "near_text": _SEARCH,
    "near_vector": "search(vector=[...], top_k=4)",
    "invoke": _SEARCH,
    "add_texts": _ADD,
    "add_documents": _ADD,
    "add_document": _ADD,
    "add_text": _ADD,
    "insert": _UPSERT,
    "insert_many": _UPSERT,
    "upsert": _UPSERT,
    "upload_points": _UPSERT,
    "write_documents": _UPSERT,
    "from_texts": f"store = {{cls}}(embedder), then store.{_ADD}",
    "from_documents": f"store = {{cls}}(embedder), then store.{_ADD}",
    "from_existing_index": "open_store(url, embedder=...)",
    "get_by_ids": "get(['id', ...])",
    "fetch": "get(['id', ...])",
    "retrieve": "get(['id', ...])",
    "peek": "get(limit=10)",
    "list": "scan(), or get(limit=100)",
    "scroll": "scan()",
    "iterate": "scan()",
    "update": _UPDATE,
    "update_document": f"{_UPSERT}; for metadata alone {_UPDATE}",
    "update_documents": f"{_UPSERT}; for metadata alone {_UPDATE}",
    "max_marginal_relevance_search": "search(query, diversity=0.5)",
    "set_payload": _UPDATE,
    "overwrite_payload": _UPDATE,
    "delete_payload": "update_metadata(ids, unset=['key'])",
    "remove": "delete(['id', ...]), or delete(filter=\"year < 2020\")",
    "delete_documents": "delete(['id', ...]), or delete(filter=\"year < 2020\")",
    "delete_by_filter": 'delete(filter="year < 2020")',
    "delete_all": "clear()",
    "delete_collection": "clear()",
    "drop": "clear()",
    "reset": "clear()",
    "truncate": "clear()",
    "size": "count()",
    "get_metadata_fields_info": "fields()",
    "get_metadata_field_unique_values": "distinct('key')",
    "count_unique_metadata_by_filter": "distinct('key', filter).total",
    "unique": "distinct('key')",
    "facet": "distinct('key')",
    "facets": "distinct('key')",
    "get_metadata_field_min_max": "minmax('key')",
    "persist": _FILE,
    "save_local": _FILE,
    "load_local": _FILE,
    "with_tenant": "scoped(F.tenant == 'a')",
    "namespace": "scoped(F.tenant == 'a')",
}
"""What to write for a method that there is not."""

_AWAITED = {
    "asimilarity_search": "similarity_search",
    "asearch": "search",
    "aquery": "query",
    "aadd_texts": "add_texts",
    "aadd_documents": "add_documents",
    "aadd": "add",
    "aupsert": "upsert",
    "aget": "get",
    "aget_by_ids": "get_by_ids",
    "adelete": "delete",
    "acount": "count",
}


def _names(text: str, write: str) -> dict[str, str]:
    return dict.fromkeys(text.split(), write)


_WHERE = _names(
    "where where_filter filters expr query_filter search_filter metadata_filter conditions",
    "filter={filter}",
)
_VECTORS = _names(
    "with_vectors with_vector include_values include_vectors include include_embeddings",
    "include_embedding=True",
)
_DIVERSITY = {
    **_names("lambda_mult mmr_threshold", "diversity=..., which is 1 - lambda_mult"),
    **_names("mmr diversify diverse", "diversity=0.5, from 0 to 1"),
    **_names("prefetch_k mmr_prefetch_k candidates", "fetch_k={value}, with diversity=..."),
}
_AMONG = {
    **_names("doc_ids document_ids node_ids id_in", "ids=[...], among which to look"),
    **_names("excluded_ids not_ids without_ids ignore_ids", "exclude_ids=[...]"),
}
_SCOPE = _names("namespace tenant partition partition_names", "scoped(F.tenant == {value}) first")
_ONE_ID = _names("id doc_id document_id uuid", "[{value}], a list of ids, as the first argument")

KEYWORDS: Final[dict[str, dict[str, str]]] = {
    "search": {
        **_names("k n n_results limit topk num_results size max_results", "top_k={value}"),
        **_WHERE,
        "metadata": "filter={filter}",
        **_names(
            "score_threshold min_score similarity_threshold cutoff_score", "threshold={value}"
        ),
        **_names(
            "embedding query_embedding query_embeddings query_vector embeddings vectors data",
            "vector=[...]",
        ),
        **_names("text texts query_text query_texts q", "search({value}), the text first"),
        **_names("skip start", "offset={value}"),
        **_DIVERSITY,
        **_AMONG,
        **_VECTORS,
        **_names(
            "with_payload include_metadata output_fields",
            "nothing in its place: documents come with their text and metadata",
        ),
        **_SCOPE,
    },
    "search_many": {
        **_names("k n n_results limit topk num_results size max_results", "top_k={value}"),
        **_WHERE,
        "metadata": "filter={filter}",
        **_names(
            "embeddings embedding query_embeddings query_vectors vector data",
            "vectors=[[...], [...]]",
        ),
        **_names("texts text query query_texts", "search_many([...]), the texts first"),
        **_names("skip start", "offset={value}"),
        **_DIVERSITY,
        **_AMONG,
        **_VECTORS,
        **_SCOPE,
    },
    "add": {
        **_names("metadata metadatas payload payloads", "Document(text, metadata) for each"),
        **_names("ids id", "Document(text, metadata, id=...) for each"),
        **_names("text texts", _ADD),
        **_names(
            "embeddings embedding vectors", "Document(text, metadata, embedding=...) for each"
        ),
        **_names("upsert overwrite replace", 'on_conflict="replace", which is the default'),
        **_names(
            "skip_existing ignore_existing ignore_duplicates skip_duplicates", 'on_conflict="skip"'
        ),
        **_names("ignore_errors skip_errors raise_on_error", 'on_error="skip"'),
        "batch_size": "batching=CountBatching({value}) where the store is made",
        **_SCOPE,
    },
    "get": {
        **_WHERE,
        **_names("k n n_results top_k size", "limit={value}"),
        **_names("sort sort_by order orderby ordering", "order_by={value}"),
        **_names("cursor start_after page_token offset skip", "after=page.next, with order_by"),
        **_VECTORS,
        **_ONE_ID,
        **_SCOPE,
    },
    "update_metadata": {
        **_WHERE,
        **_names("metadata metadatas values payload new update", "set={{'key': value}}"),
        **_names("remove delete drop", "unset=['key']"),
        **_ONE_ID,
        **_SCOPE,
    },
    "delete": {**_WHERE, **_names("delete_all all", "clear()"), **_ONE_ID, **_SCOPE},
    "count": {**_WHERE, **_SCOPE},
    "explain": {**_WHERE, **_SCOPE},
    "fields": {**_WHERE, "limit": "max_fields={value}", **_SCOPE},
    "distinct": {
        **_WHERE,
        **_names("field metadata_field column", "distinct({value}), the key first"),
        **_names("k n size top_k", "limit={value}"),
        **_SCOPE,
    },
    "minmax": {
        **_WHERE,
        **_names("field metadata_field column", "minmax({value}), the key first"),
        **_SCOPE,
    },
    "scan": {
        **_WHERE,
        **_names("limit k n", "itertools.islice(store.scan(), {value})"),
        **_names("page_size chunk_size", "batch_size={value}"),
        **_VECTORS,
        **_SCOPE,
    },
    "Document": {
        **_names("page_content content body document", "Document({value}, ...), the text first"),
        **_names("metadatas payload meta properties", "metadata={{'key': value}}"),
        **_names("vector embeddings values", "embedding=[...]"),
        **_names("doc_id document_id id_ uuid", "id={value}"),
    },
    "store": {
        **_names(
            "embedding embedding_function embeddings embedding_model embed_model embed_fn encoder",
            "embedder=...",
        ),
        **_names("distance distance_metric distance_strategy similarity space", 'metric="cosine"'),
        **_names(
            "dim dims dimensions size vector_size embedding_dimension n_dim", "dimension={value}"
        ),
        "batch_size": "batching=CountBatching({value})",
    },
}
"""By method: what to write for a keyword that there is not."""

_EVALUATION: Final = ("residual", "residual_limit")
_KNOWN: Final[dict[str, tuple[str, ...]]] = {
    "search": (
        "vector",
        "top_k",
        "offset",
        "threshold",
        "filter",
        "ids",
        "exclude_ids",
        "diversity",
        "fetch_k",
        "include_embedding",
        *_EVALUATION,
    ),
    "search_many": (
        "vectors",
        "top_k",
        "offset",
        "threshold",
        "filter",
        "ids",
        "exclude_ids",
        "diversity",
        "fetch_k",
        "include_embedding",
        *_EVALUATION,
    ),
    "add": ("on_conflict", "on_error", "embed", "progress"),
    "get": ("filter", "order_by", "after", "limit", "include_embedding", *_EVALUATION),
    "update_metadata": ("filter", "set", "unset", *_EVALUATION),
    "delete": ("filter", "return_ids", *_EVALUATION),
    "count": ("filter", *_EVALUATION),
    "explain": ("filter",),
    "fields": ("filter", "max_fields", *_EVALUATION),
    "distinct": ("key", "filter", "limit", "max_values", *_EVALUATION),
    "minmax": ("key", "filter", *_EVALUATION),
    "scan": ("filter", "batch_size", "text", "include_embedding", *_EVALUATION),
    "Document": ("text", "metadata", "id", "embedding", "score", "extra"),
    "store": (
        "embedder",
        "metric",
        "dimension",
        "batching",
        "async_threads",
        "observers",
        "observe_content",
        "max_cost",
        "schema",
        *_EVALUATION,
        "embed_as",
    ),
}


def unknown_keyword(
    method: str, unknown: Mapping[str, Any], called: str | None = None
) -> TypeError:
    """The error for keywords that a method does not take; it begins as Python's own.

    Args:
        method: Whose row of the table.
        unknown: The keywords with their values.
        called: What was called, where that is not the method's name.

    Example:
        >>> print(unknown_keyword("search", {"k": 5}))
        search() got an unexpected keyword argument 'k'; write top_k=5
        >>> print(unknown_keyword("get", {"where": {"year": {"$gte": 2020}}}))
        get() got an unexpected keyword argument 'where'; write filter='year >= 2020'
    """
    name, value = next(iter(unknown.items()))
    message = f"{called or method}() got an unexpected keyword argument {name!r}"
    write = KEYWORDS[method].get(name)
    if write is None:
        close = get_close_matches(name, _KNOWN[method], 1)
        return TypeError(f"{message}; did you mean {close[0]}=?" if close else message)
    text = value if isinstance(value, str) else in_the_language(value)
    fits = text is not None and len(text) <= _SHOWN_FILTER
    plain = isinstance(value, str | int | float)
    return TypeError(
        f"{message}; write "
        + write.format(
            value=shown(value, _SHOWN) if plain else "...",
            filter=repr(text) if fits else f'"{_FILTER_EXAMPLE}"',
        )
    )


def unknown_method(owner: object, name: str, before: str = "") -> AttributeError:
    """The error for an attribute that a store has not; it begins as Python's own.

    Args:
        owner: A store, its awaited twin, or a class of stores.
        name: What was asked for.
        before: What stands before each call.
    """
    if isinstance(owner, type):
        cls = owner.__name__
        message = f"type object {cls!r} has no attribute {name!r}"
    else:
        cls = type(owner).__name__
        message = f"{cls!r} object has no attribute {name!r}"
    awaited = _AWAITED.get(name)
    if awaited is not None:
        write = METHODS.get(awaited, f"{awaited}(...)")
        message += f"; write await store.aio.{write}"
    elif name in METHODS:
        message += f"; write {before}{METHODS[name].replace('{cls}', cls)}"
    return AttributeError(message, name=name, obj=owner)


class StoreType(ABCMeta):
    """The class of store classes: it knows what other libraries call their constructors."""

    if not TYPE_CHECKING:  # a type checker would believe that there is every attribute

        def __getattr__(cls, name: str) -> NoReturn:
            """Only what Python has not found."""
            raise unknown_method(cls, name)


_OPERATORS: Final[dict[str, Op]] = {
    "$eq": Op.EQ,
    "$ne": Op.NE,
    "$gt": Op.GT,
    "$gte": Op.GTE,
    "$lt": Op.LT,
    "$lte": Op.LTE,
    "$in": Op.IN,
    "$nin": Op.NIN,
}
_JOINTS: Final[dict[str, Op]] = {"$and": Op.AND, "$or": Op.OR}
_CLAUSES: Final = frozenset({"must", "should", "must_not", "bool", "conditions", "operator"})
_FEW = Limits(nodes=20, in_values=20)


def in_the_language(filter: object) -> str | None:
    """A small filter of another library as text of this language; None for anything else.

    It reads what Chroma, Pinecone, MongoDB and LangChain's PostgreSQL store write alike, to be
    shown in an error. Nothing is searched with it.

    Example:
        >>> in_the_language({"$and": [{"lang": "en"}, {"year": {"$gte": 2020, "$lt": 2024}}]})
        "lang == 'en' AND year >= 2020 AND year < 2024"
        >>> in_the_language({"must": []}) is None
        True
    """
    try:
        text = _read(filter, 4).to_text()
    except (FilterError, TypeError, ValueError):
        return None
    return text if len(text) <= _SHOWN_FILTER else None


def _read(filter: object, depth: int) -> Expression:
    if not isinstance(filter, Mapping) or not 0 < len(filter) <= 10 or not depth:
        raise ValueError
    if "op" in filter:
        return Expression.from_dict(filter, limits=_FEW)
    parts: list[Expression] = []
    for name, value in filter.items():
        joint = _JOINTS.get(name)
        if joint is not None:
            if not isinstance(value, list) or not 0 < len(value) <= 10:
                raise ValueError
            inner = [_read(one, depth - 1) for one in value]
            parts.append(inner[0] if len(inner) == 1 else Expression(joint, *inner))
        else:
            parts += _comparisons(name, value)
    return parts[0] if len(parts) == 1 else Expression(Op.AND, *parts)


def _comparisons(name: object, value: object) -> list[Expression]:
    if not isinstance(name, str) or name.startswith("$") or name in _CLAUSES or value == []:
        raise ValueError
    key = Key(*name.split("."))
    if not isinstance(value, Mapping):
        return [Expression(Op.IN if isinstance(value, list) else Op.EQ, key, Value(value))]
    if not 0 < len(value) <= 10:
        raise ValueError
    found: list[Expression] = []
    for operator, operand in value.items():
        if operator == "$exists" and isinstance(operand, bool):
            found.append(Expression(Op.ISNOTNULL if operand else Op.ISNULL, key))
        elif operator in _OPERATORS:
            found.append(Expression(_OPERATORS[operator], key, Value(operand)))
        else:
            raise ValueError
    return found
