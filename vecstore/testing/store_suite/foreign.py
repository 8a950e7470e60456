"""Records that others wrote and that are no documents stop no call."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from vecstore.store.foreign import ForeignRecordWarning
from vecstore.testing.store_suite.base import DAMAGES, StoreSuiteBase
from vecstore.testing.store_suite.embedders import vector_of

Result = TypeVar("Result")


class Foreign(StoreSuiteBase):
    """Tests that need :meth:`~vecstore.testing.StoreSuite.damage`, skipped where there is none."""

    @pytest.mark.parametrize("kind", DAMAGES)
    def test_a_record_that_is_no_document_stops_no_call(self, kind: str) -> None:
        """One record that is no document broke a call for all the others: how rows are read.

        Leave such a record out and tell it once, by ``fault_of`` and ``ForeignRecords`` of
        ``vecstore.authoring``; where it takes a place in a page or in ``top_k``, read on.
        """
        if type(self).damage is StoreSuiteBase.damage:
            pytest.skip("the suite does not say how a record is damaged")
        store = self.new_store()
        documents = self.documents(4, embedded=True)
        store.add(documents)
        if not self.damage(self.behind(store), kind):
            pytest.skip(f"cannot be brought into this store: {kind}")
        ids = {document.id for document in documents}

        def read(call: Callable[[], Any]) -> None:
            __tracebackhide__ = True
            found, told = _told(lambda: list(call()))
            strangers = [document for document in found if document.id not in ids]
            assert len(found) - len(strangers) == len(ids), "documents are missing"
            assert len(strangers) <= 1
            assert len(told) <= 1, "told more than once"
            for stranger in strangers:
                assert not told, "told to be left out, and returned"
                assert type(stranger.text) is str
                assert type(stranger.metadata) is dict

        read(store.scan)
        read(lambda: store.scan("there NOT IN [1]", batch_size=1))
        read(lambda: store.get(filter="there IS NULL"))
        read(lambda: store.get(sorted(ids)))
        nearest = vector_of("damaged")
        read(lambda: store.search(vector=nearest, top_k=len(ids) + 1))
        found, _ = _told(lambda: store.search(vector=nearest, top_k=len(ids)))
        assert len(found) == len(ids), "what was left out has to be made up for"
        among = [*sorted(ids), "damaged"]
        read(lambda: store.search(vector=nearest, top_k=len(among), ids=among))
        found, _ = _told(lambda: store.search(vector=nearest, top_k=len(ids), ids=among))
        assert len(found) == len(ids), "what was left out has to be made up for"
        assert _told(lambda: store.count("n >= 0"))[0] == len(ids)
        assert _told(store.count)[0] in (len(ids), len(ids) + 1)

        # Changes reach the documents; of the record, only the keys that were named change.
        changed, _ = _told(lambda: store.update_metadata(filter="there IS NULL", set={"new": 1}))
        assert changed in (len(ids), len(ids) + 1)
        assert store.count("new == 1 AND n >= 0") == len(ids)
        assert _told(lambda: store.add(documents, on_conflict="skip"))[0] == [
            document.id for document in documents
        ]
        deleted, _ = _told(lambda: store.delete(filter="there IS NULL"))
        assert deleted in (len(ids), len(ids) + 1)
        assert _told(lambda: store.get(sorted(ids)))[0] == []
        _told(store.clear)


def _told(call: Callable[[], Result]) -> tuple[Result, list[Any]]:
    """What a call returns, and the records that it says it left out."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    return result, [one for one in caught if issubclass(one.category, ForeignRecordWarning)]
