"""The conformance suite for stores: one class that proves the contract on an engine."""

from __future__ import annotations

from vecstore.testing.store_suite.adding import Adding
from vecstore.testing.store_suite.awaiting import Awaiting, Observing
from vecstore.testing.store_suite.chosen import Chosen
from vecstore.testing.store_suite.closing import Closing
from vecstore.testing.store_suite.deleting import Deleting
from vecstore.testing.store_suite.diverse import Diverse
from vecstore.testing.store_suite.embedded import Embedded
from vecstore.testing.store_suite.embedding import Embedding
from vecstore.testing.store_suite.evaluating import Evaluating
from vecstore.testing.store_suite.extra import Extra
from vecstore.testing.store_suite.filtering import Filtering
from vecstore.testing.store_suite.foreign import Foreign
from vecstore.testing.store_suite.ids import Ids
from vecstore.testing.store_suite.lengths import Lengths
from vecstore.testing.store_suite.lifecycle import Lifecycle
from vecstore.testing.store_suite.limits import Limits
from vecstore.testing.store_suite.lives import Lives
from vecstore.testing.store_suite.metadata import Metadata
from vecstore.testing.store_suite.ordered import Ordered
from vecstore.testing.store_suite.paging import Paging
from vecstore.testing.store_suite.persistent import PersistentStoreTests
from vecstore.testing.store_suite.processes import Processes
from vecstore.testing.store_suite.reading import Reading
from vecstore.testing.store_suite.refusing import Refusing
from vecstore.testing.store_suite.scopes import Scopes
from vecstore.testing.store_suite.searching import Searching
from vecstore.testing.store_suite.shared_values import SharedValues
from vecstore.testing.store_suite.statistics import Statistics
from vecstore.testing.store_suite.threads import Threads
from vecstore.testing.store_suite.updating import Updating
from vecstore.testing.store_suite.variants import Awaited, Observed, Scoped
from vecstore.testing.store_suite.vectorless import Vectorless

__all__ = [
    "AsyncStoreSuite",
    "ObservedStoreSuite",
    "PersistentStoreTests",
    "ScopedStoreSuite",
    "StoreSuite",
]


class StoreSuite(
    Adding,
    Refusing,
    Ids,
    Metadata,
    Searching,
    Paging,
    Chosen,
    Diverse,
    Lengths,
    Filtering,
    Evaluating,
    Reading,
    Statistics,
    Ordered,
    Updating,
    Deleting,
    Foreign,
    Limits,
    Embedding,
    Embedded,
    Vectorless,
    Extra,
    Lifecycle,
    Closing,
    Processes,
    Scopes,
    SharedValues,
    Awaiting,
    Observing,
    Threads,
    Lives,
):
    """Subclass it, say how a store is made: pytest does the rest.

    What the store declares in its ``capabilities`` is tested on both sides: it works up to the
    limit, and past it is refused, naming the limit, before the engine is called. Where a test
    fails, its docstring says what usually breaks it and where to look.

    Attributes:
        metric: The metric that most tests use.
        dialect: What the store turns filters into: a dialect object, a dialect class that needs no
            options, or a registered name. Filters that it does not answer must be refused. None
            for a store that answers every filter.
        domain: Which metadata the engine can hold; what it cannot must be refused. By default
            everything within ``capabilities``.
        deviations: Known differences; see :class:`~vecstore.testing.Deviation`.
        forks: Whether a forked child can go on with a store: True, False where it is refused, or
            None where either will do.
        secrets: Texts, such as a password of the test server, that no store may show.
        many: How many documents the largest test uses.
        seed: Of everything random.

    Example:
        A whole conformance test::

            class TestMyStore(StoreSuite):
                def make_store(self, **options):
                    return MyStore(self.folder / uuid4().hex, **options)

        Fixtures reach ``make_store`` through one of the class's own::

            class TestMyStore(StoreSuite):
                dialect = "mystore"

                @pytest.fixture(autouse=True)
                def server(self, my_server):
                    self.url = my_server.url
    """


class AsyncStoreSuite(Awaited, StoreSuite):
    """:class:`StoreSuite` on the asynchronous twin of a store; see there what to write."""


class ScopedStoreSuite(Scoped, StoreSuite):
    """:class:`StoreSuite` inside a scope of a store that holds other documents, too."""


class ObservedStoreSuite(Observed, StoreSuite):
    """:class:`StoreSuite` under an observer that fails at everything."""
