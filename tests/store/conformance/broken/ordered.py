"""Mistakes in documents that are asked for in an order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from tests.store.conformance.broken.registry import caught_by
from vecstore import Document, SimpleVectorStore
from vecstore.authoring import Order, Position, Selection


@caught_by("test_documents_come_in_order")
class PutsWhatIsAbsentFirst(SimpleVectorStore):
    def _get_ordered(self, order: Order, filter: Any, **options: Any) -> Iterable[Document]:
        found = [*super()._get_ordered(order, filter, **{**options, "limit": None})]
        found.sort(key=lambda one: order.path is None or order.path[0] in one.metadata)
        return found[: options["limit"]]


@caught_by("test_ordered_pages_follow_each_other")
class LosesEqualValues(SimpleVectorStore):
    def _get_ordered(self, order: Order, filter: Any, **options: Any) -> Iterable[Document]:
        if order.after is not None:
            order = replace(order, after=Position(order.after.value, "\U0010ffff"))
        return super()._get_ordered(order, filter, **options)


@caught_by("test_the_order_of_ids")
class KnowsNoFallingIds(SimpleVectorStore):
    def _get_ordered(self, order: Order, filter: Any, **options: Any) -> Iterable[Document]:
        falling = order.descending and order.path is not None
        return super()._get_ordered(replace(order, descending=falling), filter, **options)


@caught_by("test_values_of_every_kind_in_order")
class TurnsEqualValuesAround(SimpleVectorStore):
    def _get_ordered(self, order: Order, filter: Any, **options: Any) -> Iterable[Document]:
        if not order.descending or order.path is None:
            return super()._get_ordered(order, filter, **options)
        rising = Order(order.path)
        found = [*super()._get_ordered(rising, filter, **{**options, "limit": None})][::-1]
        ids = [one.id for one in found]
        start = 0 if order.after is None else ids.index(order.after.id) + 1
        return found[start:][: options["limit"]]


@caught_by("test_a_page_is_of_whole_documents")
class BringsVectors(SimpleVectorStore):
    def _get_ordered(self, order: Order, filter: Any, **options: Any) -> Iterable[Document]:
        return super()._get_ordered(order, filter, **{**options, "include_embedding": True})


@caught_by("test_pages_while_others_write")
class CountsPages(SimpleVectorStore):
    passed = 0

    def _get_ordered(self, order: Order, filter: Any, **options: Any) -> Iterable[Document]:
        limit = options["limit"]
        self.passed = 0 if order.after is None else self.passed + limit - 1
        order = replace(order, after=None)
        found = [*super()._get_ordered(order, filter, **{**options, "limit": None})]
        return found[self.passed :][:limit]


@caught_by("test_pages_inside_a_scope")
class PagesThroughEveryTenant(SimpleVectorStore):
    def _get_ordered(self, order: Order, filter: Any, **options: Any) -> Iterable[Document]:
        if order.after is not None:
            filter = None
        return super()._get_ordered(order, filter, **options)


@caught_by("test_what_is_no_cursor_is_refused")
class BeginsAnewAfterAnything(SimpleVectorStore):
    def get(self, *arguments: Any, **options: Any) -> Any:
        try:
            return super().get(*arguments, **options)
        except ValueError:
            return super().get(*arguments, **{**options, "after": None})


@caught_by("test_what_is_no_order_is_refused")
class LeavesOrdersAside(SimpleVectorStore):
    def get(self, ids: Any = None, **options: Any) -> Any:
        if ids is not None:
            options.pop("order_by", None)
        return super().get(ids, **options)


@caught_by("test_pages_of_what_is_evaluated")
class LosesTheLast(SimpleVectorStore):
    def _get(self, selection: Selection, **options: Any) -> Iterable[Document]:
        return [*super()._get(selection, **options)][:2]
