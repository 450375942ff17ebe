"""What may happen in a story of the state machine, role by role.

Names are few, limits are low and lengths of time are whole seconds, so that jobs meet in queues and
keys, limits are reached, and moments meet exactly.
"""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, MultipleResults, multiple, precondition, rule

from oxmill.model.claim import Claim, Claimed, ClaimIds, Renew, Renewal
from oxmill.model.info import Beat, Command, Order, Prune, Sweep, WorkerInfo
from oxmill.model.job import Enqueue, NewJob
from oxmill.model.query import Cancel, Edit, Filter, Find, Get, Purge, Redrive
from oxmill.model.rule import PutRules, Rule, RuleKey, RuleKind
from oxmill.model.schedule import Fire, ListSchedules, PutSchedules, Schedule
from oxmill.model.settings import SECOND, PutSettings, QueueSettings
from oxmill.model.settlement import Failure, Outcome, Settle, Settlement
from oxmill.model.state import State
from oxmill.model.token import Token
from oxmill.model.unique import OnConflict, UniqueKey, Until
from oxmill.model.value import Micros
from oxmill.store.capabilities import Capability
from oxmill.store.plan import together
from oxmill.testing.lockstep import Lockstep

Lease = tuple[str, Token]
Content = dict[str, Any]

jobs = Bundle[NewJob]("jobs")
"""Every job ever asked for."""
leases = Bundle[Lease]("leases")
"""Every lease ever granted: most of them are stale, which is the point."""

QUEUES = ("a", "b")
SCHEDULES = ("hourly", "nightly")
WORKERS = ("w1", "w2")

ORDINARY: Content = {"task": "t", "payload": b"{}", "max_attempts": 2, "crash_limit": 2}
TRAITS: tuple[tuple[str, Any], ...] = (
    ("payload", b"a\x00"),
    ("priority", -1),
    ("priority", 1),
    ("delay", SECOND),
    ("delay", 3 * SECOND),
    ("run_at", 1),
    ("expires_in", 2 * SECOND),
    ("max_attempts", 1),
    ("crash_limit", 1),
    ("keep", 0),
    ("keep", 2 * SECOND),
    ("group", "g"),
    ("group", "g"),
    ("group", "h"),
    ("task", "u"),
    ("fields", {"user": 1}),
    ("fields", {"user": "1", "x": -5}),
    ("fields", {"user": (2, 1, 1), "x": ()}),
    ("tags", ("x", "y")),
)
FILTERS: tuple[Content, ...] = (
    {},
    {"queues": ("a",)},
    {"states": (State.FAILED, State.CANCELLED)},
    {"states": (State.WAITING, State.SCHEDULED)},
    {"states": (State.RUNNING, State.HELD)},
    {"tag": "x"},
    {"fields": {"user": 1}},
    {"group": "g", "tasks": ("t",)},
)


def seconds(*choices: int) -> st.SearchStrategy[Micros]:
    """Lengths of time that meet each other exactly."""
    return st.sampled_from([n * SECOND for n in choices])


queue_names = st.sampled_from(QUEUES)
unique_keys = st.builds(
    UniqueKey,
    key=st.sampled_from(("k", "l")),
    until=st.sampled_from((Until.FINISHED, Until.FINISHED, Until.STARTED)),
    within=st.sampled_from((None, None, 3 * SECOND)),
    on_conflict=st.sampled_from(OnConflict),
)


def contents(unique: st.SearchStrategy[UniqueKey | None]) -> st.SearchStrategy[Content]:
    """What a new job is like, apart from its id."""
    return st.builds(
        lambda queue, traits, unique: ORDINARY | dict(traits) | {"queue": queue, "unique": unique},
        queue_names,
        st.lists(st.sampled_from(TRAITS), max_size=3),
        unique,
    )


ends = st.builds(
    lambda outcome, delay, **more: {"outcome": outcome, "delay": delay} | more,
    st.sampled_from(Outcome),
    seconds(0, 0, 1, 2),
    error=st.none() | st.just(Failure(type="E", message="boom")),
    reason=st.none() | st.just("why"),
    result=st.none() | st.just(b"r\x00"),
)
filters = st.sampled_from(FILTERS)
MANY = (
    *(Redrive(filter=Filter(**wanted)) for wanted in FILTERS),
    Redrive(filter=Filter(), limit=2),
    *(Cancel(filter=Filter(**wanted)) for wanted in FILTERS[1:]),
    Cancel(filter=Filter(), limit=2),
    Purge(filter=Filter(states=(State.SUCCEEDED, State.FAILED)), limit=2),
    Purge(filter=Filter(tag="x")),
)
rules = st.builds(
    RuleKey, kind=st.sampled_from((RuleKind.PAUSE, RuleKind.BLOCK)), target=queue_names
)


def made_of(story: Lockstep, content: Content) -> NewJob:
    """A new job with an id of its own; without a group where groups make no difference."""
    if not story.able(Capability.GROUPS):
        content = content | {"group": None}
    return NewJob(id=f"j{story.fresh_nonce()}", **content)


class Enqueueing(Lockstep):
    """Jobs come in, new ones and known ones."""

    def taken_in(self, batch: list[Content]) -> MultipleResults[NewJob]:
        """Enqueue a batch of jobs with ids of their own."""
        made = tuple(made_of(self, content) for content in batch)
        self.ask(Enqueue(jobs=made))
        return multiple(*made)

    @rule(target=jobs, batch=st.lists(contents(st.none()), min_size=1, max_size=3))
    def enqueue(self, batch: list[Content]) -> MultipleResults[NewJob]:
        """New jobs."""
        return self.taken_in(batch)

    @rule(target=jobs, batch=st.lists(contents(unique_keys), min_size=1, max_size=2))
    def enqueue_unique(self, batch: list[Content]) -> MultipleResults[NewJob]:
        """New jobs with unique keys."""
        return self.taken_in(batch)

    @rule(known=jobs, content=contents(st.none()), other=st.booleans())
    def enqueue_again(self, known: NewJob, content: Content, *, other: bool) -> None:
        """A new job beside one that was asked for before, with the same content or another."""
        fresh = made_of(self, content)
        if other:
            known = NewJob(id=known.id, queue=known.queue, task=known.task, payload=b"other")
        self.ask(Enqueue(jobs=(fresh, known)))


class Claiming(Lockstep):
    """Leases are granted and prolonged."""

    def __init__(self) -> None:
        self.newest: dict[str, Token] = {}
        """job → its newest token."""
        super().__init__()

    def granted(self, claimed: Claimed | None) -> MultipleResults[Lease]:
        """The leases of a claim, to be used and misused later."""
        held = [(job.id, job.token) for job in claimed.jobs] if claimed else []
        self.newest.update(held)
        return multiple(*held)

    def claim_of(self, queues: tuple[str, ...], limit: int, lease: Micros) -> Claim:
        """A claim with a nonce of its own."""
        nonce = self.fresh_nonce()
        return Claim(queues=queues, limit=limit, lease=lease, worker=WORKERS[0], nonce=nonce)

    @rule(
        target=leases,
        queues=st.sampled_from((QUEUES, QUEUES, QUEUES[:1], QUEUES[1:])),
        limit=st.integers(1, 4),
        lease=seconds(1, 2, 5),
    )
    def claim(self, queues: tuple[str, ...], limit: int, lease: Micros) -> MultipleResults[Lease]:
        """What is next."""
        return self.granted(self.ask(self.claim_of(queues, limit, lease)))

    @rule(target=leases, one=jobs, two=jobs, lease=seconds(1, 2, 5))
    def claim_ids(self, one: NewJob, two: NewJob, lease: Micros) -> MultipleResults[Lease]:
        """These very jobs."""
        nonce = self.fresh_nonce()
        claim = ClaimIds(ids=(one.id, two.id), lease=lease, worker=WORKERS[1], nonce=nonce)
        return self.granted(self.ask(claim))

    @rule(held=leases, lease=seconds(1, 2, 5), progress=st.sampled_from((None, b"", b"p")))
    def renew(self, held: Lease, lease: Micros, progress: bytes | None) -> None:
        """A lease that may be stale, beside the newest one of its job and one with a wrong nonce."""
        job_id, token = held
        tokens = (Token(token.attempt, -token.nonce), token, self.newest[job_id])
        items = tuple(Renewal(id=job_id, token=each, progress=progress) for each in tokens)
        self.ask(Renew(items=items, lease=lease))

    @rule(target=leases, lease=seconds(1, 2), swept=st.booleans())
    def crash(self, lease: Micros, *, swept: bool) -> MultipleResults[Lease]:
        """A worker claims and is never heard of again, or too late."""
        claimed = self.ask(self.claim_of(QUEUES, 2, lease))
        self.clock.advance(lease)
        if swept:
            self.ask(Sweep())
        return self.granted(claimed)


class Settling(Claiming):
    """Leases end."""

    @rule(held=leases, how=ends)
    def settle(self, held: Lease, how: Content) -> None:
        """A lease that may be stale, twice, as after a lost answer."""
        items = (Settlement(id=held[0], token=held[1], **how),)
        self.ask(Settle(items=items))
        self.ask(Settle(items=items))

    @rule(target=leases, hows=st.lists(ends, min_size=1, max_size=3), lease=seconds(1, 5))
    def work(self, hows: list[Content], lease: Micros) -> MultipleResults[Lease]:
        """A worker claims some jobs, and each of them ends somehow."""
        claimed = self.ask(self.claim_of(QUEUES, len(hows), lease))
        held = [(job.id, job.token) for job in claimed.jobs]
        items = tuple(
            Settlement(id=job_id, token=token, **how)
            for (job_id, token), how in zip(held, hows, strict=False)
        )
        self.ask(Settle(items=items))
        return self.granted(claimed)

    @precondition(lambda self: self.newest)
    @rule(nth=st.integers(0, 5), how=ends, then=ends)
    def settle_newest(self, nth: int, how: Content, then: Content) -> None:
        """The newest lease of some job, a wrong nonce before it, and a second thought after it."""
        job_id, token = list(self.newest.items())[-1 - nth % len(self.newest)]
        forged = Token(token.attempt, -token.nonce)
        steps = ((forged, how), (token, how), (token, then))
        items = tuple(Settlement(id=job_id, token=each, **what) for each, what in steps)
        self.ask(Settle(items=items))

    @rule(target=leases, held=leases, how=ends, limit=st.integers(1, 4))
    def settle_and_claim(self, held: Lease, how: Content, limit: int) -> MultipleResults[Lease]:
        """The step of a busy worker."""
        settle = Settle(items=(Settlement(id=held[0], token=self.newest[held[0]], **how),))
        claim = self.claim_of(QUEUES, limit, 2 * SECOND)
        both = self.compare(
            (settle, claim),
            lambda hand: together(
                hand.driver.settling.settle(settle), hand.driver.claiming.claim(claim)
            ),
        )
        return self.granted(both[1] if both else None)


class Steering(Lockstep):
    """People change what happens."""

    @rule(
        kind=st.sampled_from((Cancel, Redrive, Purge)),
        one=jobs,
        two=jobs,
    )
    def steer_some(self, kind: Any, one: NewJob, two: NewJob) -> None:
        """These jobs."""
        self.ask(kind(filter=Filter(ids=(one.id, two.id)), author="ann"))

    @rule(request=st.sampled_from(MANY))
    def steer_many(self, request: Any) -> None:
        """All that match."""
        self.ask(request)

    @rule(
        wanted=jobs.map(lambda job: {"ids": (job.id,)}) | filters,
        priority=st.sampled_from((None, None, -1, 1)),
        queue=st.sampled_from((None, None, *QUEUES)),
        due_in=st.sampled_from((None, 0, SECOND)),
    )
    def edit(self, wanted: Content, **how: Any) -> None:
        """By id or by filter."""
        self.ask(Edit(filter=Filter(**wanted), author="ann", **how))

    @rule(key=rules, lasts=st.none() | seconds(1, 2), operator=st.booleans(), lift=st.booleans())
    def open_and_close(
        self, key: RuleKey, lasts: Micros | None, *, operator: bool, lift: bool
    ) -> None:
        """Lift a pause or a block, or set one, perhaps for a while."""
        expires = None if lasts is None else self.clock.now + lasts
        closed = Rule(kind=key.kind, target=key.target, author="ann", expires_at=expires)
        change = PutRules(lift=(key,)) if lift else PutRules(set=(closed,))
        self.ask(msgspec.structs.replace(change, operator=operator))


class Scheduling(Lockstep):
    """Ticks become jobs."""

    @rule(
        name=st.sampled_from(SCHEDULES),
        verb=st.sampled_from(("put", "put", "drop", "pause", "resume")),
        every=seconds(1, 2),
    )
    def change_schedule(self, name: str, verb: str, every: Micros) -> None:
        """A new schedule, a changed one, or the same again; or one that is dropped or paused."""
        job = NewJob(id="template", queue=QUEUES[0], **ORDINARY)
        put = Schedule(name=name, job=job, every=every)
        self.ask(PutSchedules(**{verb: (put if verb == "put" else name,)}))  # type: ignore[arg-type]

    @rule(
        target=jobs,
        name=st.sampled_from(SCHEDULES),
        next_in=st.none() | seconds(1, 3),
        content=contents(st.none() | unique_keys),
    )
    def fire(self, name: str, next_in: Micros | None, content: Content) -> NewJob:
        """The tick that is next, twice, as two schedulers would."""
        infos = self.ask(ListSchedules()).items
        job = made_of(self, content)
        request = Fire(
            name=name,
            expected={info.schedule.name: info.next_at for info in infos}.get(name),
            next_at=None if next_in is None else self.clock.now + next_in,
            jobs=(job,),
            tick=self.clock.now,
        )
        self.ask(request)
        self.ask(request)
        self.ask(ListSchedules(due_only=True))
        return job


class Housekeeping(Lockstep):
    """Time passes, something unattended sweeps, and people look."""

    @rule(length=seconds(0, 1, 2, 3, 1, 2, 3, -9))
    def pass_time(self, length: Micros) -> None:
        """The store's clock goes on, or, rarely, is stepped back."""
        self.clock.advance(length)

    @rule(request=st.sampled_from((Sweep(), Sweep(limit=1), Prune(), Prune(limit=1))))
    def tidy(self, request: Any) -> None:
        """See to what nobody claims, and forget what has been kept long enough."""
        self.ask(request)

    @rule(
        worker=st.sampled_from(WORKERS),
        gone=st.sampled_from((False, False, True)),
        command=st.sampled_from((None, *Command)),
    )
    def beat(self, worker: str, *, gone: bool, command: Command | None) -> None:
        """A worker says that it is there or that it leaves, and may be asked to do something."""
        info = WorkerInfo(id=worker, host="h", pid=1, version="1", queues=QUEUES, slots=1)
        if command is not None:
            self.ask(Order(workers=WORKERS, command=command))
        self.ask(Beat(worker=info, ttl=3 * SECOND, gone=gone))

    @rule(wanted=filters, limit=st.integers(1, 4), known=jobs, keep=st.none() | seconds(0, 2, 5))
    def look(self, wanted: Content, limit: int, known: NewJob, keep: Micros | None) -> None:
        """A page and a job; the dump after each step looks at everything else."""
        self.ask(Find(filter=Filter(**wanted), limit=limit))
        self.ask(Get(ids=(known.id, "none-such", known.id)))
        if keep is not None:
            settings = QueueSettings(keep_succeeded=keep, keep_cancelled=keep)
            self.ask(PutSettings(queue=known.queue, settings=settings))


class Plain(Enqueueing, Settling, Steering, Scheduling, Housekeeping):
    """Everything that may happen without flows, limits and groups."""
