"""How a worker process ends."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What the worker tells the shell, systemd or its supervisor."""

    OK = 0
    FAULT = 1
    """A part of it died, or outcomes could not be stored. Start it again."""
    STORE = 4
    """A drain, and the store has not answered for too long."""
    RECYCLE = 75
    """It reached `max_jobs` or `max_rss` and drained. Start it again at once."""
