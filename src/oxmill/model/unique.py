"""Unique keys as the store sees them."""

from __future__ import annotations

from enum import StrEnum

from oxmill.model.value import Micros, Value


class Until(StrEnum):
    """When a unique key is given back."""

    STARTED = "started"
    FINISHED = "finished"


class OnConflict(StrEnum):
    """What an enqueue does when its unique key is taken."""

    SKIP = "skip"
    """Nothing is made; the answer names the job that holds the key."""
    RAISE = "raise"
    """The whole batch is refused."""
    REPLACE = "replace"
    """The holder takes over payload, priority, due time and options if it has not started; if it
    runs, the new content becomes the one run that follows it."""
    RERUN = "rerun"
    """If the holder runs, one more run follows it; if it has not started, it serves for both."""


class UniqueKey(Value, frozen=True):
    """At most one live job per key, compared in full."""

    key: str
    until: Until = Until.FINISHED
    within: Micros | None = None
    """Also keep the key this long after the enqueue, even when the job has ended."""
    on_conflict: OnConflict = OnConflict.SKIP
