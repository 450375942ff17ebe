"""How a lease ends."""

from __future__ import annotations

from enum import StrEnum

from oxmill.model.flow import FlowStep
from oxmill.model.news import NO_NEWS, News
from oxmill.model.rule import Scope
from oxmill.model.state import State
from oxmill.model.token import Token
from oxmill.model.value import Micros, Value


class Outcome(StrEnum):
    """What the holder says about its lease."""

    COMPLETE = "complete"
    RETRY = "retry"
    """It raised: uses up an attempt; with none left the store ends it as failed."""
    FAIL = "fail"
    SNOOZE = "snooze"
    """Run again later; uses up nothing."""
    RELEASE = "release"
    """Give it back to its old place in line; uses up nothing."""
    CANCEL = "cancel"


class Failure(Value, frozen=True):
    """An error as recorded."""

    type: str
    message: str = ""
    traceback: str = ""


def poison(crashes: int) -> Failure:
    """The error of a job whose lease lapsed once too often."""
    return Failure(
        type="Poison",
        message=f"the lease lapsed {crashes} times: each time the worker crashed, froze or was cut "
        f"off while it ran this job",
    )


class Settlement(Value, frozen=True, gc=False):
    """One lease's end, fenced by its token."""

    id: str
    token: Token
    outcome: Outcome
    result: bytes | None = None
    error: Failure | None = None
    delay: Micros = 0
    """For retry and snooze, and for how long a release closes a gate."""
    reason: str | None = None
    closes: Scope | None = None
    """With a release: close the job's group in its queue (or its queue, also if it has no group)
    for `delay`."""
    flow: FlowStep | None = None
    """With a completion: what happens to the flow in the same step."""


class Settle(Value, frozen=True):
    """A batch of settlements. Each is judged on its own: one lost lease does not harm the rest."""

    items: tuple[Settlement, ...]


class Ruling(StrEnum):
    """The store's answer to a settlement."""

    WON = "won"
    """It took effect now, or had taken effect before under this very token."""
    LOST = "lost"
    """The token is superseded or the job has ended otherwise; nothing changed."""
    GONE = "gone"
    """There is no such job: purged, or deleted at its end. Nothing changed."""


class Settled(Value, frozen=True, gc=False):
    """The answer for one settlement; `state` is the job's state after it."""

    id: str
    ruling: Ruling
    state: State | None
    queue: str | None = None
    gained: tuple[str, ...] = ()
    """Queues in which other jobs may start because of it. What the batch as a whole has set off in
    flows stands on its last answer."""
    news: News = NO_NEWS
    """What the batch has set off; on its last answer."""
