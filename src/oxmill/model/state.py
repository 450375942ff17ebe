"""The states of a job and the one table of legal transitions."""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    """Where a job is in its life."""

    HELD = "held"
    """Waits for other jobs: its children, its dependencies, or the live job of its unique key."""
    SCHEDULED = "scheduled"
    """Waits for its due time: a delay, a retry or a snooze."""
    WAITING = "waiting"
    """Stands in line and may be claimed now."""
    RUNNING = "running"
    """Held under a lease."""
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Change(StrEnum):
    """What moves a job from one state to another."""

    ENQUEUE = "enqueue"
    FREE = "free"
    DUE = "due"
    CLAIM = "claim"
    COMPLETE = "complete"
    RETRY = "retry"
    SNOOZE = "snooze"
    RELEASE = "release"
    SPAWN = "spawn"
    LAPSE = "lapse"
    """The lease ran out: the holder crashed, froze or was cut off."""
    RESUME = "resume"
    """The holder of a lapsed lease came back before anyone else claimed the job."""
    FAIL = "fail"
    POISON = "poison"
    """The lease ran out once too often."""
    CANCEL = "cancel"
    EXPIRE = "expire"
    """`expires` passed before the job started."""
    POSTPONE = "postpone"
    """An edit moved the due time."""
    REDRIVE = "redrive"


TERMINAL = frozenset({State.SUCCEEDED, State.FAILED, State.CANCELLED})
"""Final until an explicit redrive."""

LIVE = frozenset(State) - TERMINAL
"""Everything else. Uniqueness, flows and limits use this one definition."""

IDLE = frozenset({State.HELD, State.SCHEDULED, State.WAITING})
"""Live and not under a lease: may be cancelled, edited or purged at once."""

TRANSITIONS: dict[Change, tuple[frozenset[State | None], frozenset[State]]] = {
    Change.ENQUEUE: (
        frozenset({None}),
        frozenset({State.HELD, State.SCHEDULED, State.WAITING}),
    ),
    Change.FREE: (frozenset({State.HELD}), frozenset({State.SCHEDULED, State.WAITING})),
    Change.DUE: (frozenset({State.SCHEDULED}), frozenset({State.WAITING})),
    Change.CLAIM: (frozenset({State.WAITING}), frozenset({State.RUNNING})),
    Change.COMPLETE: (frozenset({State.RUNNING}), frozenset({State.SUCCEEDED})),
    Change.RETRY: (frozenset({State.RUNNING}), frozenset({State.SCHEDULED, State.WAITING})),
    Change.SNOOZE: (frozenset({State.RUNNING}), frozenset({State.SCHEDULED, State.WAITING})),
    Change.RELEASE: (frozenset({State.RUNNING}), frozenset({State.WAITING})),
    Change.SPAWN: (frozenset({State.RUNNING}), frozenset({State.HELD})),
    Change.LAPSE: (frozenset({State.RUNNING}), frozenset({State.WAITING})),
    Change.RESUME: (frozenset({State.WAITING}), frozenset({State.RUNNING})),
    Change.FAIL: (frozenset({State.RUNNING, State.HELD}), frozenset({State.FAILED})),
    Change.POISON: (frozenset({State.RUNNING}), frozenset({State.FAILED})),
    Change.CANCEL: (frozenset(LIVE), frozenset({State.CANCELLED})),
    Change.EXPIRE: (frozenset(IDLE), frozenset({State.CANCELLED})),
    Change.POSTPONE: (
        frozenset({State.SCHEDULED, State.WAITING}),
        frozenset({State.SCHEDULED, State.WAITING}),
    ),
    Change.REDRIVE: (
        frozenset({State.FAILED, State.CANCELLED}),
        frozenset({State.HELD, State.WAITING}),
    ),
}
"""change → (states it may start from, states it may lead to); `None` is "no such job yet"."""


def allowed(change: Change, before: State | None, after: State) -> bool:
    """Whether the table allows this move."""
    sources, targets = TRANSITIONS[change]
    return before in sources and after in targets
