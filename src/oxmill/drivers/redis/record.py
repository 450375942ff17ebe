"""A job as Redis keeps it: a frame, its id, its standing, its description, its payload.

The standing is a msgpack array that the scripts read and write; whatever trails at its default is
left out, so a job that only waits takes few bytes. The description is written here and passes
through the scripts unread, but for filters. A payload above `ASIDE_BYTES` stands aside, so that
leases and settlements do not rewrite it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, TypeVar

import msgspec

from oxmill.model.fields import Fields, Scalar, values_of
from oxmill.model.flow import Join, JoinPolicy, OnFailure
from oxmill.model.job import JSON, Attempt, Job, LeasedJob, NewJob
from oxmill.model.settings import QueueSettings
from oxmill.model.settlement import Failure
from oxmill.model.state import State
from oxmill.model.token import Token

T = TypeVar("T", bound=msgspec.Struct)

ASIDE_BYTES: Final = 1024
STATES: Final = (None, *State)
"""A state's number in scripts is its place here."""
_STATE: Final = dict(enumerate(State, 1))
_CODES: Final = {state: number for number, state in enumerate(STATES)}
_FRAME: Final = 7
_ID_BYTES: Final = 16
_PART: Final = "\x1f"
_LIST: Final = "l"
"""Stands before the values of a list."""
POLICIES: Final = tuple(JoinPolicy)
ON_FAILURE: Final = tuple(OnFailure)
"""Their numbers in scripts are their places here."""
_JOIN_BYTES: Final = 14
"""The join stands before what a job is after."""
_WITHOUT_FLOW: Final = 3


def code_of(state: State) -> int:
    """The number that stands for a state in scripts."""
    return _CODES[state]


class Standing(msgspec.Struct, array_like=True, gc=False):
    """What changes in a job's life; the order is that of job.lua."""

    state: int
    queue: str
    priority: int = 0
    enqueued_at: int = 0
    due: int = 0
    """Counted from the enqueue."""
    max_attempts: int = 20
    crash_limit: int = 3
    keep: int = -1
    expires_at: int = 0
    key: str = ""
    until: int = 0
    within: int = -1
    aside: str = ""
    place: int = 0
    attempt: int = 0
    failures: int = 0
    crashes: int = 0
    nonce: str = ""
    worker: str = ""
    claimed_at: int = 0
    lease: int = 0
    lease_until: int = 0
    finished_at: int = 0
    """When the newest attempt ended, unless the history has it."""
    outcome: str = ""
    mark: int = 0
    error_of: int = 0
    """The attempt that left the newest error."""
    ended_at: int = 0
    reason: str = ""
    cancel: int = 0
    flow: str = ""
    parent: str = ""
    stage: str = ""
    reads: str = ""
    """Fields of the flow's state, as `reads_text` puts them."""
    resume: str = ""
    wait: Any = ""
    """The join it is held for; only scripts look at it."""


class About(msgspec.Struct, array_like=True, gc=False):
    """What a job is, apart from its payload."""

    task: str
    content_type: str = ""
    timeout: int = -1
    headers: Mapping[str, str] = {}
    group: str = ""
    tags: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    """Names and marked values in turn."""


_encode: Final = msgspec.msgpack.Encoder().encode
_standing: Final = msgspec.msgpack.Decoder(Standing).decode
_about: Final = msgspec.msgpack.Decoder(About).decode
_attempt: Final = msgspec.msgpack.Decoder(tuple[int, str, int, int, str, str]).decode
_failure: Final = msgspec.json.Decoder(Failure).decode
_BROKEN: Final = (msgspec.DecodeError, RecursionError, UnicodeError)

_READING: Final[dict[type, tuple[Callable[[bytes], Any], dict[str, Any]]]] = {
    Standing: (_standing, {"state": code_of(State.FAILED), "queue": ""}),
    About: (_about, {"task": ""}),
}
"""How each kind of record is read, and what it is at the least if it cannot be."""


def _told(kind: type[T], packed: bytes) -> tuple[T, str | None]:
    """A record and what of it cannot be read, which is then at its default. One job's damage must
    not be that of the claim or the list that it is part of."""
    decode, least = _READING[kind]
    try:
        return decode(packed), None
    except _BROKEN as error:
        fault = str(error)
    whole = dict(least)
    try:
        parts = msgspec.msgpack.decode(packed, type=list[Any])
    except _BROKEN:
        parts = []
    for field, part in zip(msgspec.structs.fields(kind), parts, strict=False):
        try:
            whole[field.name] = msgspec.convert(part, field.type)
        except msgspec.ValidationError:
            continue
    return kind(**whole), fault


def pack_id(job_id: str) -> bytes:
    """An id as kept: 32 hex digits take 17 bytes, any other text itself."""
    if len(job_id) == 2 * _ID_BYTES:
        try:
            packed = bytes.fromhex(job_id)
        except ValueError:
            return job_id.encode()
        if packed.hex() == job_id:
            return b"\1" + packed
    return job_id.encode()


def unpack_id(packed: bytes) -> str:
    """The id that `pack_id` packed."""
    return packed[1:].hex() if packed[0] == 1 else packed.decode()


def field_words(fields: Fields) -> tuple[str, ...]:
    """Names and values in turn; a mark tells text from numbers, and one of its own comes before the
    values of a list."""
    words: list[str] = []
    for name, value in fields.items():
        if isinstance(value, tuple):
            words += (name, _LIST)
        for each in values_of(value):
            words += (name, f"s{each}" if isinstance(each, str) else f"i{each}")
    return tuple(words)


def fields_of(words: Sequence[str]) -> dict[str, Scalar | tuple[Scalar, ...]]:
    """The fields that `field_words` put into words."""
    fields: dict[str, Scalar | tuple[Scalar, ...]] = {}
    for name, word in zip(words[::2], words[1::2], strict=True):
        if word == _LIST:
            fields[name] = ()
            continue
        value = word[1:] if word[0] == "s" else int(word[1:])
        before = fields.get(name)
        fields[name] = (*before, value) if isinstance(before, tuple) else value
    return fields


def describe(job: NewJob) -> bytes:
    """The description of a new job; what trails at its default is left out."""
    labelled = job.group is not None or job.fields or job.tags or job.headers
    if not labelled and job.timeout is None and job.content_type == JSON:
        return _encode((job.task,))
    timeout = -1 if job.timeout is None else job.timeout
    content_type = "" if job.content_type == JSON else job.content_type
    plain = (job.task, content_type, timeout, job.headers, job.group or "", job.tags)
    return _encode((*plain, field_words(job.fields)))


def pack(value: object) -> bytes:
    """Terms and filters as scripts read them."""
    return _encode(value)


def settings_in(packed: bytes) -> QueueSettings:
    """The settings of a queue that scripts keep."""
    return msgspec.json.decode(msgspec.msgpack.decode(packed)[3], type=QueueSettings)


def error_text(failure: Failure) -> bytes:
    """An error as kept; what is not text is replaced."""
    try:
        return msgspec.json.encode(failure)
    except UnicodeEncodeError:
        return msgspec.json.encode(
            Failure(
                type=_clean(failure.type),
                message=_clean(failure.message),
                traceback=_clean(failure.traceback),
            )
        )


def _clean(text: str) -> str:
    return text.encode(errors="replace").decode()


def _split(blob: bytes) -> tuple[str, tuple[Standing, str | None], bytes, bytes]:
    start = _FRAME + blob[0]
    middle = start + (blob[1] << 16 | blob[2] << 8 | blob[3])
    end = middle + (blob[4] << 16 | blob[5] << 8 | blob[6])
    packed = blob[start:middle]
    standing: tuple[Standing, str | None]
    try:
        standing = _standing(packed), None
    except _BROKEN:
        standing = _told(Standing, packed)
    return unpack_id(blob[_FRAME:start]), standing, blob[middle:end], blob[end:]


def pack_ids(ids: Iterable[str]) -> bytes:
    """Several ids, each after its length."""
    return b"".join(bytes((len(each),)) + each for each in map(pack_id, ids))


def unpack_ids(packed: bytes) -> tuple[str, ...]:
    """The ids that `pack_ids` packed."""
    ids: list[str] = []
    at = 0
    while at < len(packed):
        end = at + 1 + packed[at]
        ids.append(unpack_id(packed[at + 1 : end]))
        at = end
    return tuple(ids)


def reads_text(reads: Sequence[str] | None) -> str:
    """What a job reads of its flow's state; empty if it does not ask for it. No name holds the
    byte 31."""
    return "" if reads is None else "=" + _PART.join(reads)


def _flow_state(
    reads: str, values: Sequence[bytes | None], known: dict[str, tuple[str, ...]]
) -> dict[str, bytes]:
    names = known.get(reads)
    if names is None:
        names = known[reads] = tuple(filter(None, reads[1:].split(_PART)))
    pairs = zip(names, values, strict=True)
    return {name: value for name, value in pairs if value is not None}


_Told = tuple[bytes, bytes | None, bytes | None, bytes | None, Sequence[bytes | None]]


def _parts(told: Iterable[Any]) -> Iterator[_Told]:
    """Of each job, as claim.lua tells it: record, payload and progress that stand aside, joined jobs, values of
    the fields that are read."""
    rest = iter(told)
    for first in rest:
        if type(first) is bytes:
            yield first, None, None, None, ()
        elif type(first) is int:
            yield next(rest), None, None, None, tuple(islice(rest, first))
        elif len(first) == _WITHOUT_FLOW:
            blob, aside, progress = first
            yield blob, aside, progress, None, ()
        else:
            blob, aside, progress, joined, *values = first
            yield blob, aside, progress, joined, values


def leased(told: Iterable[Any], nonce: int) -> Iterator[LeasedJob]:
    """What a holder gets. Jobs of one task mostly share their description. The values are given by place:
    by name they take six times as long. The record of a job that starts for the first time may be as it was before
    it did: without an attempt."""
    known: dict[bytes, tuple[About, str | None]] = {}
    names: dict[str, tuple[str, ...]] = {}
    token = Token(1, nonce)
    for blob, aside, progress, joined, values in _parts(told):
        job_id, (s, worse), described, payload = _split(blob)
        read = known.get(described)
        if read is None:
            read = known[described] = _told(About, described)
        about, fault = read
        yield LeasedJob(
            job_id,
            s.queue,
            about.task,
            payload if aside is None else aside,
            about.content_type or JSON,
            token if s.attempt <= 1 else Token(s.attempt, nonce),
            s.priority,
            s.failures,
            s.crashes,
            s.max_attempts,
            s.enqueued_at,
            None if about.timeout < 0 else about.timeout,
            about.group or None,
            about.headers,
            s.flow or None,
            s.parent or None,
            progress,
            s.key or None,
            s.resume or None,
            () if joined is None else unpack_ids(joined),
            _flow_state(s.reads, values, names) if s.reads else None,
            worse or fault,
        )


def recorded(told: Sequence[bytes | None], *, whole: bool) -> Job:
    """What a reader gets; those who ask for the `whole` of it are told more."""
    blob, aside, progress, result, error, *relations = (*told, *(None,) * 6)[: max(7, len(told))]
    assert blob is not None  # noqa: S101 - a record is always there
    job_id, (s, _), described, payload = _split(blob)
    failure = None if error is None else _failure(error)
    return Job(
        id=job_id,
        queue=s.queue,
        state=_STATE[s.state],
        payload=payload if aside is None else aside,
        priority=s.priority,
        attempt=s.attempt,
        failures=s.failures,
        crashes=s.crashes,
        max_attempts=s.max_attempts,
        crash_limit=s.crash_limit,
        enqueued_at=s.enqueued_at,
        due_at=s.enqueued_at + s.due,
        expires_at=s.expires_at or None,
        claimed_at=s.claimed_at or None,
        lease_until=s.lease_until or None,
        ended_at=s.ended_at or None,
        worker=s.worker or None,
        reason=s.reason or None,
        cancel_requested=bool(s.cancel),
        result=b"null" if "n" in s.aside else result,
        error=failure,
        progress=progress,
        unique=s.key or None,
        history=_history(s, relations[2:], failure) if relations[2:] else (),
        **_described(_told(About, described)[0]),
        **_relations(s, *relations[:2]),
        **(_wait(s) if whole else {}),
    )


def _described(about: About) -> dict[str, Any]:
    """What a job is, apart from its payload."""
    try:
        fields = fields_of(about.fields)
    except (ValueError, IndexError):  # of a store that took what it should not have
        fields = {}
    return {
        "task": about.task,
        "content_type": about.content_type or JSON,
        "timeout": None if about.timeout < 0 else about.timeout,
        "group": about.group or None,
        "fields": fields,
        "tags": about.tags,
        "headers": dict(about.headers),
    }


def _relations(s: Standing, after: bytes | None, joined: bytes | None) -> dict[str, Any]:
    """What a job has to do with others of its flow."""
    return {
        "flow": s.flow or None,
        "parent": s.parent or None,
        "after": () if after is None else unpack_ids(after[_JOIN_BYTES:]),
        "joined": () if joined is None else unpack_ids(joined),
        "resume": s.resume or None,
    }


def _wait(s: Standing) -> dict[str, Any]:
    """The join that a job is held for, as edges.lua writes it."""
    if _STATE[s.state] is not State.HELD or not s.wait:
        return {}
    *_, late, policy, quorum, on_failure, deadline = s.wait[:9]
    join = Join(
        policy=POLICIES[policy],
        quorum=quorum,
        on_failure=ON_FAILURE[on_failure],
        deadline=None if deadline < 0 else deadline,
    )
    return {"join": join, "join_until": late or None}


def _history(s: Standing, past: Sequence[bytes | None], error: Failure | None) -> tuple[Any, ...]:
    told = [_past(_attempt(entry)) for entry in past if entry is not None]
    if s.finished_at or _STATE[s.state] is State.RUNNING:
        newest = Attempt(
            attempt=s.attempt,
            worker=s.worker,
            claimed_at=s.claimed_at,
            ended_at=s.finished_at or None,
            outcome=s.outcome if s.finished_at else None,
            error=error if s.finished_at and s.error_of == s.attempt else None,
        )
        told.append(newest)
    return tuple(told)


def _past(entry: tuple[int, str, int, int, str, str]) -> Attempt:
    attempt, worker, claimed_at, ended_at, outcome, error = entry
    return Attempt(
        attempt=attempt,
        worker=worker,
        claimed_at=claimed_at,
        ended_at=ended_at,
        outcome=outcome,
        error=_failure(error) if error else None,
    )
