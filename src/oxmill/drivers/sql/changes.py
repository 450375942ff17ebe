"""What one operation changes about jobs: decided in memory, then written in few statements."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from oxmill.drivers.sql.departing import Departures
from oxmill.drivers.sql.flow_rows import IN_FLOW, Ripple
from oxmill.drivers.sql.lanes import join_lanes
from oxmill.drivers.sql.limits import load_settings
from oxmill.drivers.sql.rows import Standing, extras_in, failure_text, json_text, labels
from oxmill.drivers.sql.steps import Draw, Many, Statement
from oxmill.drivers.sql.tally import Tally
from oxmill.drivers.sql.uniques import Keys, load_keys
from oxmill.model.rule import Scope
from oxmill.model.settings import QueueSettings
from oxmill.model.settlement import Failure, Outcome
from oxmill.model.state import State
from oxmill.model.value import Micros
from oxmill.store.plan import Steps, ask


class Changes:
    """The jobs that an operation changes, with everything that follows from it.

    The rules of the contract that several operations share stand here: what it means for a job to
    end, to line up, to be removed.
    """

    def __init__(self, now: Micros, keys: Keys, settings: dict[str, QueueSettings]) -> None:
        self.now = now
        self.keys = keys
        self.tally = Tally()
        self.gained: dict[str, None] = {}
        """Queues that have gained waiting jobs."""
        self.news: list[Standing | Ripple] = []
        """Jobs of flows that have ended, and what else was set off in flows, in order."""
        self.gates = Departures(now, settings)
        self.heirs: list[str] = []
        """Queues in which jobs wait that were held behind others."""
        self._changed: dict[int, Standing] = {}
        self._joining: dict[int, Standing] = {}
        self._removed: list[Standing] = []
        self._attempts: list[tuple[Any, ...]] = []
        self._undone: list[tuple[int, int]] = []
        self._events: list[tuple[Micros, str, str, str, str]] = []

    def tell(self, kind: str, target: str, *, author: str = "", detail: str = "") -> None:
        """Record an event."""
        self._events.append((self.now, kind, target, author, detail))

    def move(self, job: Standing, state: State) -> None:
        """The job is in another state from now on."""
        self.gates.leave(job)
        self.tally.move(job.queue, job.state, state)
        job.state = state
        self.touch(job)

    def touch(self, job: Standing) -> None:
        """Something about the job has changed."""
        self._changed[job.seq] = job

    def line_up(self, job: Standing, due_at: Micros, place: int | None = None) -> None:
        """To the end of the line, or among the scheduled if it is not due yet. The place is drawn
        when everything is written, unless the caller has drawn one."""
        self.move(job, State.SCHEDULED if due_at > self.now else State.WAITING)
        job.due_at = due_at
        if due_at > self.now:
            return
        if place is None:
            self._joining[job.seq] = job
        else:
            job.place = place
        self.gained[job.queue] = None

    def try_again(self, job: Standing, due_at: Micros) -> None:
        """Another run then. In an ordered group the job keeps its place, and the others wait too:
        until then, or until it leaves."""
        if job.group is not None and self.gates.settings_of(job).ordered_groups:
            self.gates.close(job, Scope.GROUP, due_at)
            self.move(job, State.WAITING)
            job.due_at = due_at
        else:
            self.line_up(job, due_at)

    def finish_attempt(
        self, job: Standing, outcome: str, error: Failure | None = None, *, goes_on: bool = False
    ) -> None:
        """The newest attempt has ended; a later end of the same attempt replaces an earlier. One
        that ended well is recorded only if the job goes on: else the job itself tells of it."""
        if outcome == Outcome.COMPLETE and error is None and not goes_on:
            if job.last_outcome is not None:
                self._undone.append((job.seq, job.attempt))
        else:
            self._attempts.append(
                (
                    job.seq,
                    job.attempt,
                    job.worker or "",
                    job.claimed_at or 0,
                    self.now,
                    outcome,
                    failure_text(error),
                )
            )
        job.last_outcome = outcome

    def end(self, job: Standing, state: State, reason: str | None) -> None:
        """A job ends: its key goes on, its end is counted, and its retention starts."""
        self.gates.leave(job)
        self.tally.add(job.queue, job.state, -1)
        self.tally.add(job.queue, state, 1, 1)
        job.state = state
        job.reason = reason
        job.ended_at = self.now
        if state is State.FAILED:
            self.tell("failed", job.id, detail=reason or "")
        self._pass_key_on(job)
        if job.keep == IN_FLOW:
            self.news.append(job)
            self.touch(job)
            return
        keep = self._keep(job)
        job.prune_at = self.now + keep
        if keep == 0:
            self.remove(job)
        else:
            self.touch(job)

    def purge(self, job: Standing) -> None:
        """A job goes, whatever it was about to do, and lets go of its key altogether."""
        self._pass_key_on(job)
        self.keys.forget(job)
        self.remove(job)

    def remove(self, job: Standing) -> None:
        """A job goes, with its history and fields."""
        self.gates.leave(job)
        self.tally.add(job.queue, job.state, -1)
        self._removed.append(job)

    def _pass_key_on(self, job: Standing) -> None:
        heir = self.keys.inherit(job, self.now)
        if heir is not None:
            heir.reason = None
            self.line_up(heir, heir.due_at)
            if heir.state is State.WAITING:
                self.heirs.append(heir.queue)

    def _keep(self, job: Standing) -> Micros:
        if job.keep is not None:
            return job.keep
        settings = self.gates.settings_of(job)
        if job.state is State.SUCCEEDED:
            return settings.keep_succeeded
        return settings.keep_failed if job.state is State.FAILED else settings.keep_cancelled

    def write(self) -> Steps[None]:
        """Write everything down."""
        for job in self._removed:
            self._changed.pop(job.seq, None)
            self._joining.pop(job.seq, None)
        joining = [job for job in self._joining.values() if job.state is State.WAITING]
        if joining:
            for job, place in zip(joining, (yield from ask(Draw(len(joining)))), strict=True):
                job.place = place
        if self._undone:
            yield from ask(Many("drop_attempt", self._undone))
        if self._attempts:
            yield from ask(Many("add_attempts", self._attempts))
        if self._changed:
            rows = [job.written() for job in self._changed.values()]
            yield from ask(Many("write_standing", rows))
            waiting = [job for job in self._changed.values() if job.state is State.WAITING]
            yield from join_lanes(
                (job.group, job.queue, job.priority, job.place) for job in waiting
            )
        yield from self.gates.write()
        yield from delete(self._removed)
        yield from self.keys.write()
        yield from self.tally.write()
        if self._events:
            yield from ask(Many("add_events", self._events))


def delete(jobs: Iterable[Standing]) -> Steps[None]:
    """Jobs go from the table, with their history and fields."""
    jobs = list(jobs)
    if not jobs:
        return
    # A job that was claimed once, has not lapsed and has no children has no recorded attempts.
    past = [
        job.seq
        for job in jobs
        if job.attempt > 1 or job.last_outcome != Outcome.COMPLETE or job.keep == IN_FLOW
    ]
    found = [row for job in jobs if job.extras for row in labels(extras_in(job.extras), job.seq)]
    if past:
        yield from ask(Statement("drop_attempts", {"jobs": json_text(past)}))
    if found:
        yield from ask(Many("drop_fields", found))
    yield from ask(Statement("delete_jobs", {"seqs": json_text(job.seq for job in jobs)}))


def changes_to(jobs: Iterable[Standing], now: Micros) -> Steps[Changes]:
    """A place to gather changes to these jobs, with the keys and settings that matter to them."""
    jobs = list(jobs)
    keyed = [job.unique_key for job in jobs if job.unique_key is not None]
    keys = (yield from load_keys(keyed, jobs)) if keyed else Keys()
    settings = yield from load_settings({job.queue for job in jobs})
    return Changes(now, keys, settings)
