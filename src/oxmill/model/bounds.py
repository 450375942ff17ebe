"""How long and how big things may be, on every store alike."""

from __future__ import annotations

from typing import Final

from oxmill.model.value import Micros, Value

MAX_PRIORITY: Final = 1_000_000
"""Priorities lie between minus and plus this, so that every store can rank by one number."""


class Bounds(Value, frozen=True):
    """Limits checked before anything is written."""

    name_bytes: int = 200
    """Queue, task, group, schedule, tag and field names, in UTF-8 bytes."""
    id_bytes: int = 200
    """Job, flow and worker ids."""
    key_bytes: int = 1_000
    """Unique keys and field values."""
    field_values: int = 1_000
    """Values in the fields of one job or flow; each value of a list counts."""
    payload_bytes: int = 8 * 1024 * 1024
    result_bytes: int = 8 * 1024 * 1024
    error_bytes: int = 64 * 1024
    """Messages and tracebacks; longer ones are cut, never refused."""
    batch_jobs: int = 10_000
    """Jobs in one enqueue, settlements in one settle, ids in one look-up."""
    heavy_jobs: int = 10_000
    """Of these the ones that cost most: jobs of flows, and those with fields, a group or a unique key.
    More children than this are staged, larger graphs too, which keeps them atomic."""
    edges: int = 10_000
    """Jobs that one job of a flow may be after."""
    claim_jobs: int = 1_000
    """Jobs that one claim may ask for."""
    turn_jobs: int = 1_000
    """Jobs that a worker had better ask for at once, however many slots it has."""
    cleanup_jobs: int = 500
    """Due, lapsed and expired jobs, each, that one claim sees to."""
    lease: Micros = 86_400_000_000
    """The longest lease."""
    page_jobs: int = 1_000


DEFAULT_BOUNDS: Final = Bounds()
