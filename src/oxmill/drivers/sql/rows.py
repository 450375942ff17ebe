"""Rows of the jobs table and the values they stand for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import msgspec

from oxmill.model.fields import FieldValue, pairs_of
from oxmill.model.job import JSON, Attempt, Job, LeasedJob, NewJob
from oxmill.model.settlement import Failure
from oxmill.model.state import State
from oxmill.model.token import Token
from oxmill.model.unique import Until
from oxmill.model.value import Micros

TAG: Final = ""
"""Tags are found like fields, under this name, which no field can have."""

_STATES: Final = {state.value: state for state in State}
_HALF, _WHOLE = 2**63, 2**64


class Extras(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What a job seldom has and no statement decides by: one column, NULL when all is default."""

    content_type: str = JSON
    timeout: Micros | None = None
    headers: Mapping[str, str] = {}
    fields: Mapping[str, FieldValue] = {}
    tags: tuple[str, ...] = ()
    until: Until = Until.FINISHED
    within: Micros | None = None
    flow: str | None = None
    parent: str | None = None
    fault: str | None = None
    """What could not be read of it. Nothing writes it but a change of what was read so."""
    reads: tuple[str, ...] | None = None
    """So that a first lease can be told without a look at the job's part in its flow. `None` also for
    jobs that were stored when it was not written here."""


_PLAIN: Final = Extras()
_encode: Final = msgspec.json.Encoder().encode
_extras_of: Final = msgspec.json.Decoder(Extras).decode
_failure_of: Final = msgspec.json.Decoder(Failure).decode


def extras_of(job: NewJob) -> str | None:
    """What is unusual about a new job, as stored."""
    if (
        job.content_type == JSON
        and job.timeout is None
        and job.unique is None
        and job.flow is None
        and not (job.headers or job.fields or job.tags)
    ):
        return None
    unique = job.unique
    extras = Extras(
        content_type=job.content_type,
        timeout=job.timeout,
        headers=job.headers,
        fields=job.fields,
        tags=job.tags,
        until=Until.FINISHED if unique is None else unique.until,
        within=None if unique is None else unique.within,
        flow=job.flow,
        parent=job.parent,
        reads=job.reads,
    )
    return None if extras == _PLAIN else _encode(extras).decode()


def extras_in_flow(job: NewJob, flow: str) -> str:
    """The same of a next step that is to be of this flow, whatever else it says."""
    if (
        job.content_type == JSON
        and job.timeout is None
        and not (job.headers or job.fields or job.tags)
    ):
        return _encode(Extras(flow=flow, reads=job.reads)).decode()
    extras = Extras(
        content_type=job.content_type,
        timeout=job.timeout,
        headers=job.headers,
        fields=job.fields,
        tags=job.tags,
        flow=flow,
        reads=job.reads,
    )
    return _encode(extras).decode()


@lru_cache(maxsize=1_024)
def _parsed(text: str) -> Extras:
    try:
        return _extras_of(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        return _salvaged(text, error)


def _salvaged(text: str, error: Exception) -> Extras:
    """What can be read of it. One job's damage must not be that of the claim, the settlement or the
    list that it is part of."""
    try:
        parts = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        parts = {}
    whole: dict[str, Any] = {}
    for name, part in parts.items():
        try:
            read = msgspec.json.decode(b'{"%b":%b}' % (name.encode(), part), type=Extras)
        except (msgspec.DecodeError, RecursionError, UnicodeError):
            continue
        whole |= {name: getattr(read, name, None)} if name in Extras.__struct_fields__ else {}
    whole["fault"] = str(error)
    return Extras(**whole)


def extras_in(text: str | None) -> Extras:
    """What is unusual about a stored job. Not to be changed by the caller."""
    return _PLAIN if text is None else _parsed(text)


def labels(extras: Extras, seq: int) -> list[tuple[str, str | int, int]]:
    """The rows by which a job is found: its fields, and its tags under the empty name."""
    found = [(name, value, seq) for name, value in pairs_of(extras.fields)]
    return found + [(TAG, tag, seq) for tag in extras.tags]


def in_flow(text: str | None, flow: str) -> str:
    """What is unusual about a stored job, and that it belongs to this flow."""
    return _encode(msgspec.structs.replace(extras_in(text), flow=flow)).decode()


def stored_nonce(nonce: int) -> int:
    """A 64-bit nonce as SQLite's signed integer."""
    return nonce - _WHOLE if nonce >= _HALF else nonce


def nonce_in(number: int) -> int:
    """The nonce that was stored."""
    return number + _WHOLE if number < 0 else number


def json_text(values: Iterable[Any]) -> str:
    """One parameter that holds a whole batch."""
    return _encode(list(values)).decode()


def failure_text(failure: Failure | None) -> str | None:
    """An error as stored. Recording it must never fail, so text that is none is mended."""
    if failure is None:
        return None
    try:
        return _encode(failure).decode()
    except UnicodeEncodeError:
        mended = [
            text.encode(errors="replace").decode()
            for text in (failure.type, failure.message, failure.traceback)
        ]
        return _encode(Failure(type=mended[0], message=mended[1], traceback=mended[2])).decode()


def failure_in(text: str | None) -> Failure | None:
    """The error that was stored."""
    return None if text is None else _failure_of(text)


@dataclass(slots=True)
class Standing:
    """What is needed to decide about one job, in the order of the statements' columns.

    Operations change it and write it back; see `oxmill.drivers.sql.changes`.
    """

    seq: int
    id: str
    queue: str
    state: State
    priority: int
    place: int
    due_at: Micros
    enqueued_at: Micros
    expires_at: Micros | None
    attempt: int
    nonce: int
    failures: int
    crashes: int
    max_attempts: int
    crash_limit: int
    claimed_at: Micros | None
    worker: str | None
    reason: str | None
    cancel_requested: int
    last_outcome: str | None
    keep: Micros | None
    unique_key: str | None
    extras: str | None
    group: str | None
    ended_at: Micros | None = None
    prune_at: Micros | None = None
    error: str | None = None
    """A new error; `None` leaves the one that is stored."""
    result: bytes | None = None

    def held_under(self, token: Token) -> bool:
        """Whether this token is the newest one."""
        return self.attempt == token.attempt and self.nonce == stored_nonce(token.nonce)

    def written(self) -> tuple[Any, ...]:
        """The parameters of the statement that writes it back."""
        return (
            self.queue,
            self.state.value,
            self.priority,
            self.place,
            self.due_at,
            self.failures,
            self.crashes,
            self.reason,
            self.cancel_requested,
            self.last_outcome,
            self.ended_at,
            self.prune_at,
            self.error,
            self.result,
            self.seq,
        )


def standings(rows: Iterable[Sequence[Any]]) -> list[Standing]:
    """Rows as standings."""
    found = [Standing(*row) for row in rows]
    for each in found:
        each.state = _STATES[each.state]
    return found


ID_OF_LEASE, ATTEMPT_OF_LEASE, EXTRAS_OF_LEASE = 1, 5, 12
"""Where these stand among the columns of a lease."""


def leased(
    row: Sequence[Any],
    extras: Extras,
    token: Token,
    flow_state: Mapping[str, bytes] | None = None,
) -> LeasedJob:
    """A row read just before it was granted, and what is unusual about it, as its holder gets it."""
    # fmt: off
    (_, job_id, queue, task, payload, _, priority, failures, crashes, max_attempts,
     enqueued_at, group, _, progress, unique_key) = row
    # fmt: on
    return LeasedJob(
        id=job_id,
        queue=queue,
        task=task,
        payload=payload,
        content_type=extras.content_type,
        token=token,
        priority=priority,
        failures=failures,
        crashes=crashes,
        max_attempts=max_attempts,
        enqueued_at=enqueued_at,
        timeout=extras.timeout,
        group=group,
        headers=dict(extras.headers) if extras.headers else {},
        flow=extras.flow,
        parent=extras.parent,
        progress=progress,
        unique=unique_key,
        flow_state=flow_state,
        fault=extras.fault,
    )


_JOB_COLUMNS: Final = (
    "id",
    "queue",
    "task",
    "state",
    "payload",
    "priority",
    "attempt",
    "failures",
    "crashes",
    "max_attempts",
    "crash_limit",
    "enqueued_at",
    "due_at",
    "expires_at",
    "claimed_at",
    "lease_until",
    "ended_at",
    "worker",
    "reason",
    "result",
    "progress",
    "group",
    "unique",
)


def job_of(row: Sequence[Any], history: Sequence[Attempt] = ()) -> Job:
    """A job as readers get it, from the columns of `jobs_by_seq`."""
    _, cancel_requested, error, text, _, *plain = row
    values = dict(zip(_JOB_COLUMNS, plain, strict=True))
    values["state"] = _STATES[values["state"]]
    extras = extras_in(text)
    return Job(
        **values,
        content_type=extras.content_type,
        timeout=extras.timeout,
        headers=dict(extras.headers),
        fields=dict(extras.fields),
        tags=extras.tags,
        flow=extras.flow,
        parent=extras.parent,
        cancel_requested=bool(cancel_requested),
        error=failure_in(error),
        history=tuple(history),
    )


def attempt_of(row: Sequence[Any]) -> Attempt:
    """One past attempt, from the columns of `attempts_of`."""
    _, attempt, worker, claimed_at, ended_at, outcome, error = row
    return Attempt(
        attempt=attempt,
        worker=worker,
        claimed_at=claimed_at,
        ended_at=ended_at,
        outcome=outcome,
        error=failure_in(error),
    )
