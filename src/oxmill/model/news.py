"""Who may want to know what an operation has set off, besides those whom its answer is about."""

from __future__ import annotations

from oxmill.model.value import Value


class News(Value, frozen=True):
    """What was set off. Only hints: a store that rings by itself may leave them out."""

    ended: tuple[str, ...] = ()
    """Jobs and flows that ended."""
    asked: bool = False
    """Whether running jobs were asked to stop."""
    left: bool = False
    """Whether a part of what was set off is left for a sweep."""


NO_NEWS = News()
