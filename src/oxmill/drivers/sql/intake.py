"""Judges a batch of new jobs one after the other, before anything is written.

Only batches with unique keys or with ids that are taken come here; the rest are simply stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from oxmill.drivers.sql.arriving import due_of
from oxmill.drivers.sql.flow_rows import IN_FLOW
from oxmill.drivers.sql.meters import MeterKey, group_key
from oxmill.drivers.sql.rows import Standing, extras_of
from oxmill.drivers.sql.tally import Tally
from oxmill.drivers.sql.uniques import Holding, Keys
from oxmill.model.job import Enqueued, NewJob, Reason, Verdict
from oxmill.model.state import IDLE, TERMINAL, State
from oxmill.model.unique import OnConflict, UniqueKey
from oxmill.model.value import Micros

REFUSED = frozenset({Verdict.CONFLICT, Verdict.ID_CONFLICT})
Content = tuple[str, str, bytes]


def standing_of(job: NewJob, seq: int, now: Micros) -> Standing:
    """A new job as others of its batch see it."""
    due_at = due_of(job, now)
    return Standing(
        seq=seq,
        id=job.id,
        queue=job.queue,
        state=State.SCHEDULED if due_at > now else State.WAITING,
        priority=job.priority,
        place=seq,
        due_at=due_at,
        enqueued_at=now,
        expires_at=None if job.expires_in is None else now + job.expires_in,
        attempt=0,
        nonce=0,
        failures=0,
        crashes=0,
        max_attempts=job.max_attempts,
        crash_limit=job.crash_limit,
        claimed_at=None,
        worker=None,
        reason=None,
        cancel_requested=0,
        last_outcome=None,
        keep=job.keep,
        unique_key=None if job.unique is None else job.unique.key,
        extras=extras_of(job),
        group=job.group,
    )


@dataclass(slots=True)
class Replacement:
    """A job that takes over the content of another."""

    job: Standing
    content: NewJob
    extras_before: str | None


@dataclass(slots=True)
class Intake:
    """One batch on its way in."""

    now: Micros
    numbers: Iterator[int]
    """Drawn for this batch, one for each of its jobs: of arrival, or a place in line."""
    keys: Keys
    contents: dict[str, Content]
    """What the jobs that are there are about, by id."""
    jobs: dict[str, Standing]
    """The jobs that are there, by id."""
    tally: Tally = field(default_factory=Tally)
    created: list[tuple[NewJob, Standing]] = field(default_factory=list)
    replaced: dict[int, Replacement] = field(default_factory=dict)
    joining: list[tuple[str | None, str, int, int]] = field(default_factory=list)
    """Group, queue, priority and place of jobs that wait in line, one after the other."""
    leaving: list[tuple[str, str]] = field(default_factory=list)
    """Group and queue of jobs that had other content before."""
    reopened: dict[MeterKey, Micros] = field(default_factory=dict)
    """Groups that were shut until such a job was to be tried again."""

    def judge_all(self, jobs: Sequence[NewJob]) -> tuple[Enqueued, ...]:
        """One answer per job; if any is refused nothing may be written."""
        return tuple([self._judge(job) for job in jobs])

    def _judge(self, job: NewJob) -> Enqueued:
        there = self.jobs.get(job.id)
        if there is not None:
            same = self.contents[job.id] == (job.queue, job.task, job.payload)
            return _answer(there, Verdict.DUPLICATE if same else Verdict.ID_CONFLICT)
        unique = job.unique
        if unique is None:
            return _answer(self._create(job), Verdict.CREATED)
        holding = self.keys.held.get(unique.key)
        if holding is not None and holding.taken(self.now):
            return self._contest(job, unique, holding)
        created = self._create(job)
        self.keys.put(unique.key, Holding(job.id, live=True, hold_until=self._hold(unique)))
        return _answer(created, Verdict.CREATED)

    def _hold(self, unique: UniqueKey) -> Micros | None:
        return None if unique.within is None else self.now + unique.within

    def _contest(self, job: NewJob, unique: UniqueKey, holding: Holding) -> Enqueued:
        """The key is taken."""
        holder = self.keys.job(unique.key, holding.holder)
        state = None if holder is None else holder.state
        if unique.on_conflict is OnConflict.RAISE:
            return Enqueued(id=holding.holder, verdict=Verdict.CONFLICT, state=state)
        if unique.on_conflict is OnConflict.SKIP or holder is None or holder.state in TERMINAL:
            return Enqueued(id=holding.holder, verdict=Verdict.DUPLICATE, state=state)
        if holder.state not in IDLE or holder.keep == IN_FLOW:
            return self._follow(job, unique, holding)
        if unique.on_conflict is OnConflict.RERUN:
            return _answer(holder, Verdict.DUPLICATE)
        self._replace(holder, job)
        holding.hold_until = self._hold(unique)
        self.keys.put(unique.key, holding)
        return _answer(holder, Verdict.REPLACED)

    def _follow(self, job: NewJob, unique: UniqueKey, holding: Holding) -> Enqueued:
        """The holder runs: at most one job follows it."""
        next_one = self.keys.job(unique.key, holding.successor)
        if next_one is None:
            created = self._create(job, held=True)
            holding.successor = job.id
            self.keys.put(unique.key, holding)
            return _answer(created, Verdict.CREATED)
        if unique.on_conflict is OnConflict.RERUN:
            return _answer(next_one, Verdict.DUPLICATE)
        self._replace(next_one, job)
        return _answer(next_one, Verdict.REPLACED)

    def _create(self, job: NewJob, *, held: bool = False) -> Standing:
        created = standing_of(job, next(self.numbers), self.now)
        if held:
            created.state = State.HELD
            created.reason = Reason.RERUN
        self.tally.add(job.queue, created.state, 1)
        self.created.append((job, created))
        self.jobs[job.id] = self.keys.jobs[job.id] = created
        self.contents[job.id] = (job.queue, job.task, job.payload)
        self._join(created)
        return created

    def _replace(self, there: Standing, job: NewJob) -> None:
        """The job takes over everything but identity and arrival."""
        new = standing_of(job, there.seq, self.now)
        if there.group is not None:
            self.leaving.append((there.group, there.queue))
            if there.state is State.WAITING and there.due_at > self.now:
                self.reopened[group_key(there.queue, there.group)] = there.due_at
        queue, state = there.queue, there.state
        there.state = State.HELD if state is State.HELD else new.state
        stays = state is State.WAITING and queue == new.queue
        if there.state is State.WAITING and not stays:
            there.place = next(self.numbers)
        before = self.replaced.get(there.seq)
        self.replaced[there.seq] = Replacement(
            job=there,
            content=job,
            extras_before=there.extras if before is None else before.extras_before,
        )
        self.tally.add(queue, state, -1)
        self.tally.add(new.queue, there.state, 1)
        there.queue, there.priority, there.due_at = new.queue, new.priority, new.due_at
        there.expires_at, there.keep, there.extras = new.expires_at, new.keep, new.extras
        there.group = new.group
        there.max_attempts, there.crash_limit = new.max_attempts, new.crash_limit
        self.contents[there.id] = (job.queue, job.task, job.payload)
        self._join(there)

    def _join(self, job: Standing) -> None:
        if job.group is not None and job.state is State.WAITING:
            self.joining.append((job.group, job.queue, job.priority, job.place))


def _answer(job: Standing, verdict: Verdict) -> Enqueued:
    return Enqueued(id=job.id, verdict=verdict, state=job.state)
