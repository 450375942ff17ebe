"""A job as the memory driver keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from oxmill.drivers.memory.flows import Wait
from oxmill.model.fields import Fields
from oxmill.model.flow import Join
from oxmill.model.job import Attempt, Job, LeasedJob, NewJob
from oxmill.model.rule import RuleKey
from oxmill.model.settlement import Failure
from oxmill.model.state import State
from oxmill.model.token import Token
from oxmill.model.unique import UniqueKey
from oxmill.model.value import Micros

LAPSE: Final = "lapse"
"""The outcome of an attempt whose lease ran out."""


@dataclass(slots=True)
class Record:
    """Everything known about one job."""

    seq: int
    """Order of arrival."""
    place: int
    """Place in line; drawn anew whenever the job joins the end of the line."""
    id: str
    queue: str
    task: str
    state: State
    payload: bytes
    content_type: str
    priority: int
    enqueued_at: Micros
    due_at: Micros
    expires_at: Micros | None
    max_attempts: int
    crash_limit: int
    timeout: Micros | None
    keep: Micros | None
    group: str | None
    fields: Fields
    tags: tuple[str, ...]
    headers: Mapping[str, str]
    unique: UniqueKey | None
    attempt: int = 0
    nonce: int = 0
    failures: int = 0
    crashes: int = 0
    lease: Micros = 0
    """Length of the newest lease, as granted or renewed."""
    lease_until: Micros | None = None
    claimed_at: Micros | None = None
    worker: str | None = None
    ended_at: Micros | None = None
    prune_at: Micros | None = None
    reason: str | None = None
    cancel_requested: bool = False
    result: bytes | None = None
    error: Failure | None = None
    progress: bytes | None = None
    last_outcome: str | None = None
    """How the newest token's lease ended; `None` while it runs and after a redrive."""
    aside: RuleKey | None = None
    """The closed gate of its own behind which it waits, out of its lane."""
    past: list[Attempt] = field(default_factory=list)
    """Attempts that have ended."""
    flow: str | None = None
    parent: str | None = None
    after: tuple[str, ...] = ()
    join: Join | None = None
    reads: tuple[str, ...] | None = None
    stage: str | None = None
    """The stage it came with, published or not."""
    wait: Wait | None = None
    """The join it is held for, or was held for when it ended."""
    resume: str | None = None
    joined: tuple[str, ...] = ()

    @property
    def token(self) -> Token:
        """The newest token."""
        return Token(self.attempt, self.nonce)

    def take_content(self, job: NewJob, now: Micros) -> None:
        """Take over everything a replacement says, except identity and arrival."""
        self.queue = job.queue
        self.task = job.task
        self.payload = job.payload
        self.content_type = job.content_type
        self.priority = job.priority
        self.due_at = due_of(job, now)
        self.expires_at = None if job.expires_in is None else now + job.expires_in
        self.max_attempts = job.max_attempts
        self.crash_limit = job.crash_limit
        self.timeout = job.timeout
        self.keep = job.keep
        self.group = job.group
        self.fields = job.fields
        self.tags = job.tags
        self.headers = job.headers
        self.unique = job.unique
        if self.last_outcome == LAPSE:
            # Whoever ran the old content must not come back and complete the new one.
            self.last_outcome = None

    def leased(self, state: Mapping[str, bytes]) -> LeasedJob:
        """What a holder gets; `state` is that of the job's flow."""
        reads = self.reads
        return LeasedJob(
            id=self.id,
            queue=self.queue,
            task=self.task,
            payload=self.payload,
            content_type=self.content_type,
            token=self.token,
            priority=self.priority,
            failures=self.failures,
            crashes=self.crashes,
            max_attempts=self.max_attempts,
            enqueued_at=self.enqueued_at,
            timeout=self.timeout,
            group=self.group,
            headers=self.headers,
            flow=self.flow,
            parent=self.parent,
            progress=self.progress,
            unique=None if self.unique is None else self.unique.key,
            resume=self.resume,
            joined=self.joined,
            flow_state=None if reads is None else {k: state[k] for k in reads if k in state},
        )

    def job(self, *, history: bool) -> Job:
        """What a reader gets; with `history` in full."""
        return Job(
            id=self.id,
            queue=self.queue,
            task=self.task,
            state=self.state,
            payload=self.payload,
            content_type=self.content_type,
            priority=self.priority,
            attempt=self.attempt,
            failures=self.failures,
            crashes=self.crashes,
            max_attempts=self.max_attempts,
            crash_limit=self.crash_limit,
            enqueued_at=self.enqueued_at,
            due_at=self.due_at,
            expires_at=self.expires_at,
            claimed_at=self.claimed_at,
            lease_until=self.lease_until,
            ended_at=self.ended_at,
            worker=self.worker,
            reason=self.reason,
            cancel_requested=self.cancel_requested,
            result=self.result,
            error=self.error,
            progress=self.progress,
            timeout=self.timeout,
            group=self.group,
            fields=dict(self.fields),
            tags=self.tags,
            headers=dict(self.headers),
            unique=None if self.unique is None else self.unique.key,
            flow=self.flow,
            parent=self.parent,
            resume=self.resume,
            **(self._more() if history else {}),
        )

    def _more(self) -> dict[str, Any]:
        """What only those learn who ask for this very job."""
        told: dict[str, Any] = {
            "after": self.after,
            "joined": self.joined,
            "history": self._history(),
        }
        if self.state is State.HELD and self.wait is not None:
            told |= {"join": self.wait.join, "join_until": self.wait.deadline_at}
        return told

    def _history(self) -> tuple[Attempt, ...]:
        if self.state is not State.RUNNING:
            return tuple(self.past)
        current = Attempt(
            attempt=self.attempt, worker=self.worker or "", claimed_at=self.claimed_at or 0
        )
        return (*self.past, current)


def due_of(job: NewJob, now: Micros) -> Micros:
    """When a new job falls due."""
    return now + job.delay if job.run_at is None else job.run_at


def record_of(job: NewJob, seq: int, now: Micros) -> Record:
    """A new job's record, not yet in any line."""
    return Record(
        seq=seq,
        place=seq,
        id=job.id,
        queue=job.queue,
        task=job.task,
        state=State.HELD,
        payload=job.payload,
        content_type=job.content_type,
        priority=job.priority,
        enqueued_at=now,
        due_at=due_of(job, now),
        expires_at=None if job.expires_in is None else now + job.expires_in,
        max_attempts=job.max_attempts,
        crash_limit=job.crash_limit,
        timeout=job.timeout,
        keep=job.keep,
        group=job.group,
        fields=job.fields,
        tags=job.tags,
        headers=job.headers,
        unique=job.unique,
        flow=job.flow,
        parent=job.parent,
        after=tuple(dict.fromkeys(job.after)),
        join=job.join,
        reads=job.reads,
    )
