"""Claims and renewals."""

from __future__ import annotations

from enum import StrEnum

from oxmill.model.job import LeasedJob
from oxmill.model.news import NO_NEWS, News
from oxmill.model.token import Token
from oxmill.model.value import Micros, Value


class Claim(Value, frozen=True):
    """Ask for up to `limit` due jobs of these queues, best rank first.

    Rank is (priority, place in line) across all queues named.
    """

    queues: tuple[str, ...]
    limit: int
    lease: Micros
    worker: str
    nonce: int
    """Random per call; becomes part of every token it grants."""


class ClaimIds(Value, frozen=True):
    """Ask for these very jobs, as far as they may be claimed now (broker-carried hints)."""

    ids: tuple[str, ...]
    lease: Micros
    worker: str
    nonce: int


class Claimed(Value, frozen=True):
    """The jobs granted. `until` is the end of the leases by the store's clock."""

    jobs: tuple[LeasedJob, ...]
    now: Micros
    until: Micros
    next_due: Micros | None = None
    """When fewer than `limit` were granted: the earliest moment at which a scheduled job of the
    open queues named falls due or a lease on one of their running jobs ends, those just granted
    included, so that the caller can sleep until then; a store may name an earlier one. Otherwise
    `None`."""
    gained: tuple[str, ...] = ()
    """Queues in which jobs of flows began to wait because of jobs that expired or crashed too often."""
    news: News = NO_NEWS
    """What else the ends of such jobs have set off in flows."""


class Renewal(Value, frozen=True):
    """Prolong one lease, and save progress with it if there is any."""

    id: str
    token: Token
    progress: bytes | None = None


class Renew(Value, frozen=True):
    """A batch of renewals, each for `lease` from now."""

    items: tuple[Renewal, ...]
    lease: Micros


class Hold(StrEnum):
    """What became of a lease at renewal."""

    KEPT = "kept"
    CANCEL = "cancel"
    """Kept, and the job is asked to stop."""
    LOST = "lost"


class Renewed(Value, frozen=True):
    """The answers in the order asked."""

    holds: tuple[Hold, ...]
    now: Micros
    until: Micros
