"""Finding a Pinecone index, holding it to what a store wants, and making one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from vecstore.dialects.pinecone.client import Calls
from vecstore.dialects.pinecone.retries import Deadline
from vecstore.errors import BackendError
from vecstore.store.capabilities import Metric
from vecstore.store.drivers import misfit

METRICS: Final[dict[Metric, str]] = {
    "cosine": "cosine",
    "dot": "dotproduct",
    "euclidean": "euclidean",
}
"""The metrics as Pinecone names them."""

_FAILED = frozenset({"InitializationFailed", "Terminating", "Disabled"})
_FIRST_LOOK = 0.05
_LONGEST_LOOK = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexPlan:
    """What an index is to be like.

    Attributes:
        name: Of the index; None where only its host is known.
        metric: How it compares.
        cloud: Where it is made.
        region: In which region of the cloud.
    """

    name: str | None
    metric: Metric
    cloud: str
    region: str

    def make(self, call: Calls, dimension: int) -> None:
        """Make the index; no matter if somebody else is quicker."""
        from pinecone import ConflictError, ServerlessSpec

        def create(client: Any) -> None:
            try:
                client.indexes.create(
                    name=self.name,
                    dimension=dimension,
                    metric=METRICS[self.metric],
                    spec=ServerlessSpec(cloud=self.cloud, region=self.region),
                    timeout=-1,
                )
            except ConflictError:
                return

        call.control("add", create)

    def find(self, call: Calls, operation: str, dimension: int | None) -> int | None:
        """Look for the index, wait until it is ready, and hold it to the plan.

        Args:
            call: Gets the client of the index.
            operation: What the caller of the store asked for.
            dimension: How long its vectors are to be, or None.

        Returns:
            The length of its vectors; None where there is no such index.

        Raises:
            SchemaMismatchError: Listing every difference.
            BackendError: If it is not ready before the deadline.
        """
        if call.client is None:
            model = self._described(call, operation)
            if model is None:
                return None
            kind, metric, length = _told(lambda name: getattr(model, name))
            self._check(kind, metric, length, dimension)
            call.connect(model.host)
        else:
            stats = call(
                operation, lambda index, timeout: index.describe_index_stats(timeout=timeout)
            )
            kind, metric, length = _told(lambda name: getattr(stats, name))
            self._check(kind, metric, length, dimension)
        return length

    def _described(self, call: Calls, operation: str) -> Any:
        """The index as the control plane describes it, once it is ready; None if there is none."""
        from pinecone import NotFoundError

        assert self.name is not None
        name = self.name

        def describe(client: Any) -> Any:
            try:
                return client.indexes.describe(name)
            except NotFoundError:
                return None

        deadline = Deadline(call.deadline)
        pause = _FIRST_LOOK
        while True:
            model = call.control(operation, describe)
            if model is None:
                return None
            state = model.status.state
            if model.status.ready and model.host:
                return model
            if state in _FAILED:
                raise BackendError(
                    f"Pinecone refused {operation}: the index {name!r} is in the state {state}",
                    operation=operation,
                )
            if deadline.left <= pause:
                raise BackendError(
                    f"Pinecone has not made the index {name!r} ready within {call.deadline:g} s "
                    f"(deadline); its state is {state}",
                    operation=operation,
                    retryable=True,
                )
            deadline.wait(pause)
            pause = min(2 * pause, _LONGEST_LOOK)

    def _check(
        self, kind: str | None, metric: str | None, length: int | None, dimension: int | None
    ) -> None:
        title = "the index" if self.name is None else f"the index {self.name!r}"
        if kind not in (None, "dense") or not length:
            what = f"its vectors are {kind}" if kind not in (None, "dense") else "it has a schema"
            raise misfit(
                title, [f"{what}, and this store wants an index of one dense vector a record"]
            )
        faults: list[str] = []
        if metric is not None and metric != METRICS[self.metric]:
            ours: dict[str, str] = {theirs: name for name, theirs in METRICS.items()}
            faults.append(f"it compares by {ours.get(metric, metric)}, not {self.metric}")
        if dimension is not None and length != dimension:
            faults.append(f"its vectors have {length} dimensions, not {dimension}")
        if faults:
            raise misfit(title, faults)


def _told(read: Callable[[str], Any]) -> tuple[str | None, str | None, int | None]:
    """Kind, metric and length of the vectors, as far as the index has one kind."""
    told: list[Any] = []
    for name in ("vector_type", "metric", "dimension"):
        try:
            told.append(read(name))
        except AttributeError:  # several vectors in a record, or none
            told.append(None)
    kind, metric, length = told
    return kind, metric, length
