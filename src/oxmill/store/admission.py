"""Checks that every driver makes before its first write, so that a refused call leaves no trace."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from oxmill.errors import BadInput, BadName, NotAllowed, NotSupported, TooBig
from oxmill.model.bounds import MAX_PRIORITY, Bounds
from oxmill.model.claim import Claim
from oxmill.model.fields import Fields, values_of
from oxmill.model.job import NewJob
from oxmill.model.query import Edit, Find
from oxmill.model.rule import PutRules, RuleKind, Scope
from oxmill.model.schedule import Schedule
from oxmill.model.settings import PutSettings, QueueSettings
from oxmill.model.settlement import Failure, Settlement
from oxmill.model.unique import OnConflict, Until
from oxmill.rules.rate import rate
from oxmill.store.capabilities import Capability
from oxmill.store.kinds import check_kinds
from oxmill.store.roles.installing import ExtraColumn

MAX_MICROS = 2**53
"""Moments and lengths of time stay below this: exact in every store's numbers, until year 2255."""
_MAX_WEIGHT = 1_000
_COLUMN = re.compile(r"[a-z][a-z0-9_]{0,49}")


def check_name(kind: str, name: str, limit: int) -> None:
    """Refuse what some store could not keep apart, byte for byte, from another name."""
    # The common case in one pass and without allocation: short printable ASCII.
    if name.isascii() and name.isprintable() and 0 < len(name) <= limit:
        return
    if not name:
        raise BadName(f"the {kind} is empty; give it at least one character")
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        raise BadName(
            f"the {kind} {name!r} holds half a surrogate pair, which is not text; "
            f"decode it properly first"
        ) from None
    if size > limit:
        raise BadName(
            f"the {kind} {name[:40]!r}… takes {size} bytes of UTF-8; the limit is {limit}. "
            f"Use a shorter one, such as a hash of it"
        )
    if any(character < " " or character == "\x7f" for character in name):
        raise BadName(f"the {kind} {name!r} holds a control character; use printable text")


def check_new_jobs(
    jobs: Sequence[NewJob], bounds: Bounds, able: Capability, *, in_flow: bool = False
) -> None:
    """Refuse a batch that cannot be stored faithfully, or not without holding up everybody else.
    `in_flow` if it comes with its flow, which the caller knows this store to support."""
    for job in jobs:
        check_new_job(job, bounds, able, in_flow)
    count = len(jobs)
    if count > bounds.batch_jobs:
        raise TooBig(
            f"the batch holds {count:,} jobs; the limit is {bounds.batch_jobs:,}. "
            f"Use enqueue_many, which cuts any number into batches"
        )
    if count > bounds.heavy_jobs:
        _check_weight(jobs, bounds, in_flow)


def heavy(job: NewJob) -> bool:
    """Whether storing a job takes much more than a place in line."""
    labelled = job.fields or job.group is not None or job.unique is not None
    return bool(labelled) or job.flow is not None


def _check_weight(jobs: Sequence[NewJob], bounds: Bounds, in_flow: bool) -> None:
    if in_flow:
        raise TooBig(
            f"the batch holds {len(jobs):,} jobs of a flow; this store takes {bounds.heavy_jobs:,} in "
            f"one step. Stage them in batches and publish the stage, as flows made by an app are"
        )
    count = sum(map(heavy, jobs))
    if count > bounds.heavy_jobs:
        raise TooBig(
            f"{count:,} jobs of the batch have fields, a group or a unique key; this store takes "
            f"{bounds.heavy_jobs:,} such jobs in one step. Use enqueue_many, which cuts any number "
            f"into batches"
        )


def check_new_job(job: NewJob, bounds: Bounds, able: Capability, in_flow: bool = False) -> None:
    """Refuse one job that cannot be stored faithfully."""
    try:
        _check_job(job, bounds)
    except (AttributeError, TypeError):
        check_kinds(job, f"job {job.id}")  # says what is of a wrong type
        raise
    if not in_flow and (job.flow is not None or job.parent is not None or job.after):
        need(able, Capability.FLOWS, "flows")
        raise BadInput(
            f"job {job.id} names a flow, a parent or jobs to wait for, but comes without "
            f"its flow; give the flow with every batch of its jobs"
        )


def _check_job(job: NewJob, bounds: Bounds) -> None:
    name = job.id
    if not (name.isascii() and name.isprintable() and name) or len(name) > bounds.id_bytes:
        check_name("job id", name, bounds.id_bytes)
    payload = job.payload
    if type(payload) is not bytes:
        check_kinds(job, f"job {job.id}")
    if len(payload) > bounds.payload_bytes:
        raise TooBig(
            f"the payload of job {job.id} takes {len(payload):,} bytes; the limit is "
            f"{bounds.payload_bytes:,}. Store the data elsewhere and pass a reference"
        )
    # The jobs of a task have these in common: they are looked at once, not job by job.
    if not _sound(
        bounds.name_bytes,
        job.queue,
        job.task,
        job.content_type,
        job.priority,
        job.max_attempts,
        job.crash_limit,
        job.delay,
        job.run_at,
        job.expires_in,
        job.keep,
        job.timeout,
    ):
        _check_terms(job, bounds)
    if job.group is not None or job.unique is not None or job.fields or job.tags:
        _check_labels(job, bounds)
    if job.headers:
        _check_carried(job)
    if job.join is not None or (
        (job.after or job.reads is not None)
        and (isinstance(job.after, str) or isinstance(job.reads, str))
    ):
        check_kinds(job, f"job {job.id}")


@lru_cache(maxsize=1_024, typed=True)
def _sound(name_bytes: int, queue: str, task: str, content_type: str, *numbers: int | None) -> bool:
    """Whether these terms need no closer look. What is refused is never remembered as sound, nor is
    1.0 or true for the sake of 1: each number is an argument, so that its type counts."""
    priority, max_attempts, crash_limit, *times = numbers
    return (
        all(type(text) is str for text in (queue, task, content_type))
        and all(type(number) is int for number in numbers if number is not None)
        and all(0 < len(name) <= name_bytes for name in (queue, task))
        and all(name.isascii() and name.isprintable() for name in (queue, task))
        and content_type.isascii()
        and priority is not None
        and -MAX_PRIORITY <= priority <= MAX_PRIORITY
        and all(number is not None and number >= 1 for number in (max_attempts, crash_limit))
        and all(time is None or 0 <= time < MAX_MICROS for time in times)
    )


def _check_terms(job: NewJob, bounds: Bounds) -> None:
    check_kinds(job, f"job {job.id}")
    check_name("queue name", job.queue, bounds.name_bytes)
    check_name("task name", job.task, bounds.name_bytes)
    _check_text(job, (job.content_type,))
    _check_priority(job.priority)
    _check_times(job)
    if job.max_attempts < 1 or job.crash_limit < 1:
        raise BadInput(
            f"job {job.id}: max_attempts and crash_limit must be at least 1, "
            f"not {job.max_attempts} and {job.crash_limit}"
        )


def _check_times(job: NewJob) -> None:
    for name, micros in (
        ("delay", job.delay),
        ("run_at", job.run_at),
        ("expires", job.expires_in),
        ("keep", job.keep),
        ("timeout", job.timeout),
    ):
        if micros is not None and not 0 <= micros < MAX_MICROS:
            raise BadInput(
                f"job {job.id}: {name} of {micros} microseconds is out of range; "
                f"use a time between now and the year 2255"
            )


def _check_labels(job: NewJob, bounds: Bounds) -> None:
    if job.group is not None:
        check_name("group name", job.group, bounds.name_bytes)
    if (unique := job.unique) is not None:
        check_name("unique key", unique.key, bounds.key_bytes)
        usual = type(unique.until) is Until and type(unique.on_conflict) is OnConflict
        if unique.within is not None or not usual:
            check_kinds(unique, f"the unique key of job {job.id}")
    if isinstance(job.tags, str):
        check_kinds(job, f"job {job.id}")
    for tag in job.tags:
        check_name("tag", tag, bounds.name_bytes)
    check_fields(job.fields, bounds)


def check_fields(fields: Fields, bounds: Bounds) -> None:
    """Refuse business attributes that cannot be searched by."""
    count = 0
    for name, value in fields.items():
        check_name("field name", name, bounds.name_bytes)
        for each in values_of(value):
            _check_value(name, each, bounds)
            count += 1
    if count > bounds.field_values:
        raise BadInput(
            f"there are {count:,} values in the fields; the limit is {bounds.field_values:,}. Keep "
            f"those that people search by"
        )


def _check_value(name: str, value: object, bounds: Bounds) -> None:
    if isinstance(value, str):
        if value:
            check_name(f"value of field {name!r}", value, bounds.key_bytes)
    elif isinstance(value, bool) or not isinstance(value, int) or not -(2**63) <= value < 2**63:
        raise BadInput(
            f"field {name!r} must be text or a 64-bit integer, or a list of such, not {value!r}"
        )


def _check_carried(job: NewJob) -> None:
    _check_text(job, (*job.headers.keys(), *job.headers.values()))


def _check_text(job: NewJob, texts: Iterable[str]) -> None:
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError:
            raise BadInput(
                f"job {job.id}: the header or content type {text[:40]!r} holds half a surrogate "
                f"pair, which is not text; decode it properly first"
            ) from None


def check_claim(claim: Claim, bounds: Bounds) -> None:
    """Refuse a claim that makes no sense."""
    if type(claim.limit) is not int or type(claim.lease) is not int:
        check_kinds(claim, "the claim")
    if not 1 <= claim.limit <= bounds.claim_jobs:
        raise BadInput(f"a claim may ask for 1 to {bounds.claim_jobs} jobs, not {claim.limit}")
    if not 0 < claim.lease <= bounds.lease:
        raise BadInput(
            f"a lease of {claim.lease / 1e6:g} s is out of range; use more than 0 seconds and at "
            f"most a day, and renew it"
        )
    for queue in claim.queues:
        check_name("queue name", queue, bounds.name_bytes)


def check_settlements(items: Iterable[Settlement], bounds: Bounds) -> None:
    """Refuse results that cannot be stored; the caller records a failure instead."""
    for item in items:
        if not isinstance(item.delay, int) or not isinstance(item.result, bytes | None):
            raise BadInput(
                f"job {item.id}: a result must be bytes and a delay microseconds, not "
                f"{type(item.result).__name__} and {type(item.delay).__name__}"
            )
        if item.result is not None and len(item.result) > bounds.result_bytes:
            raise TooBig(
                f"the result of job {item.id} takes {len(item.result):,} bytes; the limit is "
                f"{bounds.result_bytes:,}. Store the data elsewhere and return a reference"
            )
        if not 0 <= item.delay < MAX_MICROS:
            raise BadInput(f"job {item.id}: delay of {item.delay} microseconds is out of range")


def check_edit(request: Edit, bounds: Bounds) -> None:
    """Refuse an edit that cannot be stored faithfully."""
    check_kinds(request, "the edit")
    if request.queue is not None:
        check_name("queue name", request.queue, bounds.name_bytes)
    if request.priority is not None:
        _check_priority(request.priority)
    if request.due_in is not None and not 0 <= request.due_in < MAX_MICROS:
        raise BadInput(f"a due time {request.due_in} microseconds from now is out of range")


def check_schedule(schedule: Schedule, bounds: Bounds, able: Capability) -> None:
    """Refuse a schedule that cannot be stored faithfully."""
    check_kinds(schedule, f"schedule {schedule.name!r}")
    check_name("schedule name", schedule.name, bounds.name_bytes)
    check_new_jobs((schedule.job,), bounds, able)


def check_find(request: Find) -> int | None:
    """The number of arrival below which the page starts, if it is not the first."""
    if request.limit < 1:
        raise BadInput(f"a page holds at least 1 job, not {request.limit}")
    cursor = request.after
    if cursor is None:
        return None
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 19):
        raise BadInput(f"{cursor[:40]!r} is not the cursor of a page; use the `next` of the last")
    return int(cursor)


def _check_priority(priority: int) -> None:
    if not -MAX_PRIORITY <= priority <= MAX_PRIORITY:
        raise BadInput(
            f"priority {priority} is out of range; use -{MAX_PRIORITY} to {MAX_PRIORITY}"
        )


def check_rules(request: PutRules, bounds: Bounds, able: Capability) -> None:
    """Refuse rules the caller may not touch or the store cannot keep."""
    check_kinds(request, "the request")
    for given in request.set:
        check_kinds(given, f"the rule on {given.target!r}")
    for key in (*(rule.key for rule in request.set), *request.lift):
        check_name(f"{key.scope} name", key.target, bounds.name_bytes)
        if key.kind is RuleKind.BLOCK and not request.operator:
            raise NotAllowed(
                f"a block on {key.scope} {key.target!r} may be set and lifted by operators only; "
                f"say that you are one (operator=True, --operator), ask one, or use a pause"
            )
        if key.scope is not Scope.QUEUE or key.kind is RuleKind.THROTTLE:
            need(able, Capability.SCOPED_RULES, "throttles and rules on tasks, groups and fields")
        if key.scope is Scope.FIELD and not key.target.partition("=")[1]:
            raise BadInput(f"a rule on a field names it like 'user_id=62', not {key.target!r}")
    for rule in request.set:
        if rule.kind is not RuleKind.THROTTLE:
            continue
        if rule.rate is None:
            raise BadInput(f"a throttle on {rule.scope} {rule.target!r} needs a rate, like '10/s'")
        rate(rule.rate)


def check_settings(request: PutSettings, bounds: Bounds, able: Capability) -> None:
    """Refuse settings the store cannot hold to."""
    check_kinds(request, f"queue {request.queue!r}")
    check_name("queue name", request.queue, bounds.name_bytes)
    settings = request.settings
    for name in request.only:
        if name not in QueueSettings.__struct_fields__:
            raise BadInput(f"queue {request.queue!r}: there is no setting {name!r}")
    if min(settings.keep_succeeded, settings.keep_failed, settings.keep_cancelled) < 0:
        raise BadInput(f"queue {request.queue!r}: retention cannot be negative")
    if not settings.limits:
        return
    need(able, Capability.LIMITS, "concurrency, rate and group limits")
    for text in (settings.rate, settings.group_rate):
        if text is not None:
            rate(text)
    numbers = (settings.concurrency, settings.group_concurrency, settings.ageing)
    if any(number is not None and number < 1 for number in numbers):
        raise BadInput(
            f"queue {request.queue!r}: concurrency, group_concurrency and ageing must be at least 1; "
            f"to stop a queue, pause it"
        )
    for group, weight in settings.group_weights.items():
        check_name("group name", group, bounds.name_bytes)
        if not 1 <= weight <= _MAX_WEIGHT:
            raise BadInput(
                f"the weight of group {group!r} must be 1 to {_MAX_WEIGHT}, not {weight}"
            )


def check_columns(columns: Iterable[ExtraColumn], able: Capability) -> None:
    """Refuse columns that a table of jobs cannot have."""
    for column in columns:
        need(able, Capability.SQL, "extra columns")
        if not _COLUMN.fullmatch(column.name):
            raise BadName(
                f"{column.name!r} cannot be the name of a column; use up to 50 small letters, digits "
                f"and underscores, a letter first, and name the field likewise"
            )


def need(able: Capability, wanted: Capability, what: str) -> None:
    """Refuse what this store cannot do."""
    if wanted not in able:
        raise NotSupported(f"this store does not support {what} yet; see the capability table")


def clip(failure: Failure | None, limit: int) -> Failure | None:
    """An error that fits and is text: the message's start and the traceback's end say most."""
    if failure is None:
        return None
    whole = failure.type + failure.message + failure.traceback
    if whole.isascii() and len(whole) < limit // 4:
        return failure
    return Failure(
        type=_fit(failure.type[:200], limit // 8),
        message=_fit(failure.message, limit // 4),
        traceback=_fit(failure.traceback, limit // 2, tail=True),
    )


def storable(text: str | None, limit: int) -> str | None:
    """Text that says why a lease ended, as every store can keep it: a settlement must never fail
    because of what it says."""
    return None if text is None else _fit(text, limit)


def _fit(text: str, limit: int, *, tail: bool = False) -> str:
    data = text.encode(errors="replace")
    if len(data) <= limit:
        return data.decode()
    cut = data[-limit:] if tail else data[:limit]
    clean = cut.decode(errors="ignore")
    return f"…{clean}" if tail else f"{clean}…"
