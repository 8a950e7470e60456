"""Telling others what a store does: OpenTelemetry where it is set up, and the caller's observers.

Nothing here imports OpenTelemetry before the application has, and no failure of a tracer, an
exporter or an observer reaches a caller.
"""

from __future__ import annotations

from vecstore.observation.operation import (
    Observer,
    Place,
    is_observed,
    observed,
    observed_embedding,
    read_observers,
)

__all__ = [
    "Observer",
    "Place",
    "is_observed",
    "observed",
    "observed_embedding",
    "read_observers",
]
