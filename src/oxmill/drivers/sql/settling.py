"""Settling in a SQL database."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from oxmill.drivers.sql.changes import Changes, changes_to
from oxmill.drivers.sql.completing import complete
from oxmill.drivers.sql.handing_over import HandedOver, hand_over, leave_by_ledger
from oxmill.drivers.sql.rows import Standing, failure_text, json_text, standings
from oxmill.drivers.sql.stepping import InFlows, Step
from oxmill.drivers.sql.steps import NOW, Statement, operation
from oxmill.drivers.sql.tending import LAPSE
from oxmill.model.bounds import Bounds
from oxmill.model.job import Reason
from oxmill.model.settlement import Outcome, Ruling, Settle, Settled, Settlement
from oxmill.model.state import State
from oxmill.model.value import Micros
from oxmill.store.admission import check_settlements, clip, storable
from oxmill.store.capabilities import Capability
from oxmill.store.flow_admission import check_steps
from oxmill.store.plan import Plan, Steps, ask


class SqlSettling:
    """Records how leases ended."""

    leave = staticmethod(leave_by_ledger)
    """How the flows of last steps are left."""
    steps_way: type[HandedOver] = HandedOver
    """How usual steps are written."""

    def __init__(self, bounds: Bounds, able: Capability) -> None:
        self._bounds = bounds
        self._able = able

    def settle(self, request: Settle) -> Plan[tuple[Settled, ...]]:
        """One answer per settlement, in order; each is judged by its token alone."""
        check_settlements(request.items, self._bounds)
        check_steps(request.items, self._bounds, self._able)
        return self._settle(request)

    @operation("settle")
    def _settle(self, request: Settle) -> Steps[tuple[Settled, ...]]:
        now = yield from ask(NOW)
        answers: list[Settled] = []
        flows = InFlows()
        for items in rounds(request.items):
            answers += yield from self._settle_round(items, now, flows)
        return (yield from flows.told(answers, self._bounds.cleanup_jobs))

    def _settle_round(
        self, items: list[Settlement], now: Micros, flows: InFlows
    ) -> Steps[list[Settled]]:
        answers = yield from complete(items, now)
        rest = [item for item in items if item.id not in answers]
        if rest:
            answers |= yield from self.settle_rest(rest, flows, now)
        return [answers[item.id] for item in items]

    def settle_rest(
        self, items: list[Settlement], flows: InFlows, now: Micros
    ) -> Steps[dict[str, Settled]]:
        """Settle what is not a plain success: the usual steps of flows together, and all else the
        long way."""
        steps = [item for item in items if item.flow is not None]
        others = [item for item in items if item.flow is None]
        answers: dict[str, Settled] = {}
        if others:
            answers |= yield from self.judge_all(others, now, flows)
        if steps:
            handed_over = yield from hand_over(steps, now, flows, self.leave, self.steps_way)
            if handed_over is None:
                handed_over = yield from self.judge_all(steps, now, flows)
            answers |= handed_over
        return answers

    def judge_all(
        self, items: list[Settlement], now: Micros, flows: InFlows
    ) -> Steps[dict[str, Settled]]:
        """Settle the long way; what that sets off in flows is gathered there."""
        ids = json_text(item.id for item in items)
        rows = yield from ask(Statement("standings_by_id", {"ids": ids}, locks=True))
        jobs = {job.id: job for job in standings(rows)}
        changes = yield from changes_to(jobs.values(), now)
        stepping: list[Step] = []
        answers = {
            item.id: self._judge(changes, jobs.get(item.id), item, stepping) for item in items
        }
        yield from changes.write()
        yield from flows.gather(now, changes.news, stepping)
        for job, _, _ in stepping:
            answers[job.id] = msgspec.structs.replace(answers[job.id], state=job.state)
        return answers

    def _judge(
        self, changes: Changes, job: Standing | None, item: Settlement, stepping: list[Step]
    ) -> Settled:
        if job is None:
            return Settled(id=item.id, ruling=Ruling.GONE, state=None)
        ruling = Ruling.LOST
        gained: tuple[str, ...] = ()
        if job.held_under(item.token):
            if job.state is State.RUNNING or (
                job.state is State.WAITING and job.last_outcome == LAPSE
            ):
                changes.heirs.clear()
                if not self._apply(changes, job, item) and item.flow is not None:
                    stepping.append((job, item, item.flow))
                room = [job.queue] if changes.gates.makes_room(job) else []
                gained = tuple(dict.fromkeys([*changes.heirs, *room]))
                ruling = Ruling.WON
            elif job.last_outcome == item.outcome:
                ruling = Ruling.WON
        return Settled(id=item.id, ruling=ruling, state=job.state, queue=job.queue, gained=gained)

    def _apply(self, changes: Changes, job: Standing, item: Settlement) -> bool:
        """The lease ends. False if the job is still to do something to its flow."""
        error = clip(item.error, self._bounds.error_bytes)
        reason = storable(item.reason, self._bounds.error_bytes)
        changes.finish_attempt(job, item.outcome.value, error)
        job.error = failure_text(error)
        if item.outcome in (Outcome.RETRY, Outcome.FAIL):
            job.failures += 1
        if item.outcome is Outcome.RELEASE and item.closes is not None:
            changes.gates.close(job, item.closes, changes.now + item.delay)
        goes_on = item.flow is not None and item.flow.resume is not None
        if item.flow is not None and not (goes_on and job.cancel_requested):
            return False
        self._move_on(changes, job, item, reason, goes_on=goes_on)
        return True

    def _move_on(
        self,
        changes: Changes,
        job: Standing,
        item: Settlement,
        reason: str | None,
        *,
        goes_on: bool,
    ) -> None:
        match item.outcome:
            case Outcome.COMPLETE if not goes_on:
                job.result = item.result
                changes.end(job, State.SUCCEEDED, None)
            case Outcome.FAIL:
                changes.end(job, State.FAILED, reason or Reason.REFUSED)
            case Outcome.CANCEL:
                changes.end(job, State.CANCELLED, reason or job.reason or Reason.CANCELLED)
            case _ if job.cancel_requested:
                changes.end(job, State.CANCELLED, job.reason)
            case Outcome.RETRY if job.failures >= job.max_attempts:
                changes.end(job, State.FAILED, Reason.EXHAUSTED)
            case Outcome.RETRY | Outcome.SNOOZE:
                changes.try_again(job, changes.now + item.delay)
            case Outcome.RELEASE:
                changes.move(job, State.WAITING)


def rounds(items: Iterable[Settlement]) -> Iterator[list[Settlement]]:
    """The settlements in order, cut so that no job comes twice in a round: the second must see
    what the first has done."""
    items = list(items)
    if len({item.id for item in items}) == len(items):
        if items:
            yield items
        return
    seen: set[str] = set()
    part: list[Settlement] = []
    for item in items:
        if item.id in seen:
            yield part
            part, seen = [], set()
        part.append(item)
        seen.add(item.id)
    yield part
