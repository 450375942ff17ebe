"""Jobs: as asked for, as leased, as recorded."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from msgspec.structs import replace

from oxmill.model.fields import FieldValue
from oxmill.model.flow import Join, NewFlow
from oxmill.model.news import NO_NEWS, News
from oxmill.model.settlement import Failure
from oxmill.model.state import State
from oxmill.model.token import Token
from oxmill.model.unique import UniqueKey
from oxmill.model.value import Micros, Value

JSON = "application/json"
BYTES = "application/octet-stream"


class NewJob(Value, frozen=True, gc=False):
    """A job as asked for. The id is made by the caller, so that an enqueue may be repeated."""

    id: str
    queue: str
    task: str
    payload: bytes
    content_type: str = JSON
    priority: int = 0
    """Smaller runs first."""
    delay: Micros = 0
    """Counted from the store's time of the enqueue; ignored when `run_at` is given."""
    run_at: Micros | None = None
    expires_in: Micros | None = None
    """If it has not started this long after the enqueue it ends as cancelled, reason *expired*."""
    max_attempts: int = 20
    """Runs that may end in an exception; releases, snoozes and crashes are counted apart."""
    crash_limit: int = 3
    """Leases that may lapse before the job ends as failed, reason *poison*."""
    timeout: Micros | None = None
    keep: Micros | None = None
    """How long to keep it once ended; `None` follows the queue's settings, 0 deletes at once."""
    group: str | None = None
    fields: Mapping[str, FieldValue] = {}
    """Business attributes that people search by."""
    tags: tuple[str, ...] = ()
    headers: Mapping[str, str] = {}
    """Carried along unseen: correlation id, trace context."""
    unique: UniqueKey | None = None
    flow: str | None = None
    parent: str | None = None
    """The job that spawned it and waits for it."""
    after: tuple[str, ...] = ()
    """Held until the join over these jobs of its flow fires."""
    join: Join | None = None
    """How `after` is joined; `None` is the default join."""
    reads: tuple[str, ...] | None = None
    """The fields of the flow's state that its lease comes with; `None` for none."""


class Verdict(StrEnum):
    """What an enqueue did about one job."""

    CREATED = "created"
    DUPLICATE = "duplicate"
    """Nothing was made: `id` names the job that stands for it."""
    REPLACED = "replaced"
    """The job `id`, which had not started, took over the new content."""
    CONFLICT = "conflict"
    """The unique key is held by `id` and the caller asked to be told; nothing was written."""
    ID_CONFLICT = "id_conflict"
    """The id is taken by a job with other content; nothing was written."""


class Enqueue(Value, frozen=True):
    """A batch of jobs, all or nothing."""

    jobs: tuple[NewJob, ...]
    flow: NewFlow | None = None
    """The flow that all these jobs belong to. It is made unless it is there."""
    stage: str | None = None
    """Hold these jobs until this stage is published."""
    publish: str | None = None
    """Publish this stage: what was staged under it, before or with this batch, will run."""


class EnqueueOne(Value, frozen=True, gc=False):
    """One job, of a kind for which the store is prepared."""

    like: NewJob
    """The job but for its id and payload; all jobs of the kind share it."""
    id: str
    payload: bytes

    @property
    def jobs(self) -> tuple[NewJob, ...]:
        """The same as a batch has it."""
        return (replace(self.like, id=self.id, payload=self.payload),)


class Enqueued(Value, frozen=True, gc=False):
    """The answer for one job of an enqueue."""

    id: str
    verdict: Verdict
    state: State | None
    """The state of the job that `id` names; `None` if it is no longer there."""
    gained: tuple[str, ...] = ()
    """Queues in which other jobs may start, by a publication; on the last answer of the batch."""
    news: News = NO_NEWS
    """What the batch has set off; on its last answer."""


class LeasedJob(Value, frozen=True, gc=False):
    """One job under a lease: everything a run needs."""

    id: str
    queue: str
    task: str
    payload: bytes
    content_type: str
    token: Token
    priority: int
    failures: int
    crashes: int
    max_attempts: int
    enqueued_at: Micros
    timeout: Micros | None
    group: str | None
    headers: Mapping[str, str]
    flow: str | None
    parent: str | None
    progress: bytes | None
    """What the last run saved with its renewals; a new run may go on from there."""
    unique: str | None
    resume: str | None = None
    """The continuation that runs now, because the children of an earlier run have ended."""
    joined: tuple[str, ...] = ()
    """Those children, in the order in which they were spawned."""
    flow_state: Mapping[str, bytes] | None = None
    """The fields of the flow's state that the job reads, as far as they are there."""
    fault: str | None = None
    """What of its description the store holds but cannot read, and so is missing here. Such a job is
    not run: it ends as failed and says this."""


class Reason(StrEnum):
    """Why a job is in its state, where the state alone does not tell."""

    POISON = "poison"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    EXHAUSTED = "exhausted"
    """An exception, and no attempts left."""
    REFUSED = "refused"
    """An exception that is not to be tried again."""
    RERUN = "rerun"
    """Held until the live job of its unique key has ended."""
    STAGED = "staged"
    """Held until its stage is published."""
    CHILDREN = "children"
    """Held until the children it spawned have ended."""
    DEPENDENCY = "dependency"
    """A job it waited for failed or was cancelled."""
    DEADLINE = "deadline"
    """The jobs it waited for had not ended in time."""
    SIBLING = "sibling"
    """Cancelled because the only job that waited for it needs it no longer."""


class Attempt(Value, frozen=True):
    """One lease of a job, from claim to end."""

    attempt: int
    worker: str
    claimed_at: Micros
    ended_at: Micros | None = None
    outcome: str | None = None
    """The settlement's outcome, or `lapse`; `None` while it runs."""
    error: Failure | None = None


class Job(Value, frozen=True):
    """A job as recorded."""

    id: str
    queue: str
    task: str
    state: State
    payload: bytes
    content_type: str
    priority: int
    attempt: int
    """Claims so far; the fencing number of the newest lease."""
    failures: int
    crashes: int
    max_attempts: int
    crash_limit: int
    enqueued_at: Micros
    due_at: Micros
    expires_at: Micros | None = None
    claimed_at: Micros | None = None
    lease_until: Micros | None = None
    ended_at: Micros | None = None
    worker: str | None = None
    reason: str | None = None
    cancel_requested: bool = False
    result: bytes | None = None
    error: Failure | None = None
    """The newest error, whether or not it was the last."""
    progress: bytes | None = None
    timeout: Micros | None = None
    group: str | None = None
    fields: Mapping[str, FieldValue] = {}
    tags: tuple[str, ...] = ()
    headers: Mapping[str, str] = {}
    unique: str | None = None
    flow: str | None = None
    parent: str | None = None
    after: tuple[str, ...] = ()
    """The jobs it waited for before it first ran. Only `get` fills it."""
    joined: tuple[str, ...] = ()
    """The children it spawned last. Only `get` fills it."""
    join: Join | None = None
    """How these become its start, while it is held for them. Only `get` fills it."""
    join_until: Micros | None = None
    """The moment of the join's deadline. Only `get` fills it."""
    resume: str | None = None
    history: tuple[Attempt, ...] = ()
    """Every attempt, oldest first. Only `get` fills it."""
