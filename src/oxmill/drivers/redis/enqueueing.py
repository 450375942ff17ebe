"""Enqueueing on Redis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from oxmill.drivers.redis.record import (
    ASIDE_BYTES,
    STATES,
    code_of,
    describe,
    pack,
    pack_id,
    unpack_id,
)
from oxmill.drivers.redis.script import ENQUEUE
from oxmill.drivers.redis.space import Space
from oxmill.model.job import Enqueue, Enqueued, NewJob, Verdict
from oxmill.model.state import State
from oxmill.model.unique import OnConflict, Until
from oxmill.store.flow_admission import check_enqueue
from oxmill.store.plan import Plan, Steps, Together, ask, plan

_VERDICTS: Final = (None, *Verdict)
_REFUSED: Final = frozenset({Verdict.CONFLICT, Verdict.ID_CONFLICT})
_CONFLICTS: Final = {word: number for number, word in enumerate(OnConflict)}
_LOOK, _WRITE = "look", "write"
_PLAIN, _LATER, _GROUPED, _KEYED = "plain", "later", "grouped", "keyed"
_FORMS_KEPT: Final = 1_000

Form = tuple[bytes, bytes, bytes]
"""Of a plain job: the sizes for its frame, and what stands before and after the time of enqueue."""
Forms = dict[tuple[Any, ...], Form]
"""The forms that jobs of one kind share."""


class RedisEnqueueing:
    """Takes jobs in."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._forms: Forms = {}

    def enqueue(self, request: Enqueue) -> Plan[tuple[Enqueued, ...]]:
        """All jobs of the batch are stored, or none. Over several shards each stores its part in
        one step, once all have found nothing to refuse."""
        check_enqueue(request, self._space.bounds, self._space.able)
        return self._enqueue(request)

    @plan("enqueue")
    def _enqueue(self, request: Enqueue) -> Steps[tuple[Enqueued, ...]]:
        jobs, space = request.jobs, self._space
        if not jobs:
            return ()
        shards = [0] if space.shards == 1 else [space.shard_of(job) for job in jobs]
        if len(set(shards)) == 1:
            if len(self._forms) > _FORMS_KEPT:
                self._forms = {}
            way, plain = way_of(jobs[0]), plain_args(jobs, self._forms)
            if way is None or plain is None:
                call = space.call(ENQUEUE, _WRITE, *job_args(jobs), shard=shards[0])
            else:
                call = space.call(ENQUEUE, way, *plain, shard=shards[0])
            reply = yield from ask(call)
            return answers_of(jobs, reply)
        answers = yield from self._ask_all(jobs, shards, _LOOK)
        if any(answer.verdict in _REFUSED for answer in answers):
            return answers
        return (yield from self._ask_all(jobs, shards, _WRITE))

    def _ask_all(
        self, jobs: Sequence[NewJob], shards: Sequence[int], mode: str
    ) -> Steps[tuple[Enqueued, ...]]:
        places: dict[int, list[int]] = {}
        for place, shard in enumerate(shards):
            places.setdefault(shard, []).append(place)
        calls = tuple(
            self._space.call(ENQUEUE, mode, *job_args(jobs[p] for p in part), shard=shard)
            for shard, part in places.items()
        )
        replies = yield from ask(Together(calls))
        answers: dict[int, Enqueued] = {}
        for part, reply in zip(places.values(), replies, strict=True):
            answers.update(zip(part, answers_of([jobs[p] for p in part], reply), strict=True))
        return tuple(answers[place] for place in range(len(jobs)))


def plain_args(jobs: Sequence[NewJob], forms: Forms | None = None) -> list[Any] | None:
    """New jobs as the short way takes them; `None` if they need the long one."""
    queue, way = jobs[0].queue, way_of(jobs[0])
    args: list[Any] = [queue]
    known = {} if forms is None else forms
    for job in jobs:
        if job.queue != queue or way_of(job) != way or not is_short(job):
            return None
        packed = pack_id(job.id)
        if job.tags or job.headers or job.unique is not None:
            sizes, head, tail = plain_form(job)
        else:
            kind = (
                *(queue, job.task, job.priority, job.delay, job.keep, job.timeout),
                *(job.max_attempts, job.crash_limit, job.group, job.content_type),
            )
            form = known.get(kind)
            if form is None:
                form = known[kind] = plain_form(job)
            sizes, head, tail = form
        record = b"%c%b%b%b" % (len(packed), sizes, packed, head)
        args += (job.delay or job.priority, record, tail + job.payload)
        if way == _GROUPED:
            args.append(job.group)
        elif job.unique is not None:
            args += (job.unique.key, _or(job.unique.within, -1), _CONFLICTS[job.unique.on_conflict])
    return args if _all_differ(jobs) else None


def is_short(job: NewJob) -> bool:
    """Whether a short way may take this job at all."""
    return not (
        job.run_at is not None
        or job.expires_in is not None
        or job.fields
        or len(job.payload) > ASIDE_BYTES
    )


def way_of(job: NewJob) -> str | None:
    """The short way that may take this job, as enqueue_plain.lua calls it."""
    if job.unique is None:
        return _LATER if job.delay else _PLAIN if job.group is None else _GROUPED
    return None if job.delay or job.group is not None else _KEYED


def _all_differ(jobs: Sequence[NewJob]) -> bool:
    """Whether no two of the jobs share an id or a unique key."""
    if len(jobs) == 1:
        return True
    keys = [job.unique.key for job in jobs if job.unique is not None]
    return len({job.id for job in jobs}) == len(jobs) and len(set(keys)) == len(keys)


def plain_form(job: NewJob) -> Form:
    """The form of jobs like this one."""
    about = describe(job)
    rest: tuple[Any, ...] = ()
    if job.unique is not None or job.keep is not None:
        rest = (job.delay, job.max_attempts, job.crash_limit, _or(job.keep, -1))
    elif job.crash_limit != 3 or job.max_attempts != 20:
        rest = (job.delay, job.max_attempts, job.crash_limit)
    elif job.delay:
        rest = (job.delay,)
    if job.unique is not None:
        started = int(job.unique.until is Until.STARTED)
        rest += (0, job.unique.key, started, _or(job.unique.within, -1))
    state = code_of(State.SCHEDULED if job.delay else State.WAITING)
    fixed = b"".join(map(pack, (state, job.queue, job.priority)))
    head = b"%c%b\xcf" % (0x94 + len(rest), fixed)
    tail = b"".join(map(pack, rest))
    size = len(head) + 8 + len(tail)
    return size.to_bytes(3) + len(about).to_bytes(3), head, tail + about


def job_args(jobs: Iterable[NewJob]) -> list[bytes]:
    """New jobs as the scripts read them."""
    args: list[bytes] = []
    for job in jobs:
        about = describe(job)
        if len(job.payload) > ASIDE_BYTES:
            args += (pack_id(job.id), terms_of(job, len(about), "p"), about, job.payload)
        else:
            args += (pack_id(job.id), terms_of(job, len(about), ""), about + job.payload)
    return args


def terms_of(job: NewJob, about: int, aside: str) -> bytes:
    """The order is that of intake.lua; what trails at its default is left out."""
    if (
        job.unique is None
        and not (job.delay or aside or job.fields)
        and job.run_at is None
        and job.expires_in is None
        and job.keep is None
    ):
        if job.max_attempts == 20 and job.crash_limit == 3:
            return pack((job.queue, about, job.priority))
        limits = (job.max_attempts, job.crash_limit)
        return pack((job.queue, about, job.priority, 0, -1, *limits))
    unique: tuple[Any, ...] = ("", 0, -1, 0)
    if job.unique is not None:
        unique = (
            job.unique.key,
            int(job.unique.until is Until.STARTED),
            _or(job.unique.within, -1),
            _CONFLICTS[job.unique.on_conflict],
        )
    times = (job.delay, _or(job.run_at, -1))
    ends = (job.max_attempts, job.crash_limit, _or(job.keep, -1), _or(job.expires_in, -1))
    letters = f"{aside}f" if job.fields else aside
    return pack((job.queue, about, job.priority, *times, *ends, *unique, letters))


def _or(value: int | None, otherwise: int) -> int:
    return otherwise if value is None else value


def answers_of(jobs: Sequence[NewJob], reply: Sequence[Any]) -> tuple[Enqueued, ...]:
    """The script's answers in words."""
    if len(reply) > 1 and reply.count(reply[0]) == len(reply) and isinstance(reply[0], int):
        alike = answer_of("", reply[0])  # mostly all are new and wait
        return tuple([Enqueued(job.id, alike.verdict, alike.state) for job in jobs])
    return tuple(answer_of(job.id, given) for job, given in zip(jobs, reply, strict=True))


def answer_of(job_id: str, given: Any) -> Enqueued:
    """The script's answer for one job in words."""
    if isinstance(given, list):
        given, packed = given
        job_id = unpack_id(packed)
    verdict = _VERDICTS[given // 10]
    assert verdict is not None  # noqa: S101 - the script knows no other
    return Enqueued(id=job_id, verdict=verdict, state=STATES[given % 10])
