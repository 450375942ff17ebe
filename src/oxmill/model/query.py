"""Questions about jobs, and steering by filter."""

from __future__ import annotations

from collections.abc import Mapping

from oxmill.model.fields import Scalar
from oxmill.model.job import Job
from oxmill.model.news import NO_NEWS, News
from oxmill.model.state import State
from oxmill.model.value import Micros, Value


class Filter(Value, frozen=True):
    """Jobs that match everything given. An empty filter matches all."""

    ids: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    states: tuple[State, ...] = ()
    group: str | None = None
    tag: str | None = None
    fields: Mapping[str, Scalar] = {}
    """A list matches if any of its values does."""
    flow: str | None = None
    since: Micros | None = None
    """Enqueued at or after this."""
    before: Micros | None = None


class Get(Value, frozen=True):
    """These jobs in full, history included; unknown ids are left out."""

    ids: tuple[str, ...]


class Find(Value, frozen=True):
    """A page of matching jobs, newest arrival first, without payloads' history."""

    filter: Filter = Filter()
    limit: int = 50
    after: str | None = None
    """The cursor of the page before."""


class Page(Value, frozen=True):
    """One page. `next` is the cursor of the following one; `None` at the end.

    A page may be short although more follow: a look through very many jobs that do not match is
    cut, so that its cost stays bounded.
    """

    jobs: tuple[Job, ...]
    next: str | None = None


class Cancel(Value, frozen=True):
    """End idle jobs as cancelled; ask running ones to stop. At most `limit` per call."""

    filter: Filter
    reason: str | None = None
    author: str = ""
    limit: int = 1_000


class Redrive(Value, frozen=True):
    """Put failed and cancelled jobs back in line with fresh counts. At most `limit` per call.

    A job whose unique key is held by another live job stays as it is.
    """

    filter: Filter
    author: str = ""
    limit: int = 1_000


class Edit(Value, frozen=True):
    """Change jobs that have not started. At most `limit` per call."""

    filter: Filter
    priority: int | None = None
    queue: str | None = None
    due_in: Micros | None = None
    """Due this long from now; 0 runs it now. Held jobs keep being held."""
    author: str = ""
    limit: int = 1_000


class Purge(Value, frozen=True):
    """Delete matching jobs that are not running. At most `limit` per call."""

    filter: Filter
    author: str = ""
    limit: int = 1_000


class Steered(Value, frozen=True):
    """What a steering call changed. With `more`, call again until it is false."""

    ids: tuple[str, ...]
    more: bool = False
    queues: tuple[str, ...] = ()
    """Queues that have gained waiting jobs."""
    asked: tuple[str, ...] = ()
    """Running jobs that were asked to stop (cancel only)."""
    news: News = NO_NEWS
    """What the call has set off in flows."""
