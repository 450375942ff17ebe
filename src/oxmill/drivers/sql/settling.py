"""Settling in a SQL database."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from oxmill.drivers.sql.changes import Changes, changes_to
from oxmill.drivers.sql.completing import complete
from oxmill.drivers.sql.rows import Standing, failure_text, json_text, standings
from oxmill.drivers.sql.steps import NOW, Statement, operation
from oxmill.drivers.sql.tending import LAPSE
from oxmill.model.bounds import Bounds
from oxmill.model.job import Reason
from oxmill.model.settlement import Outcome, Ruling, Settle, Settled, Settlement
from oxmill.model.state import State
from oxmill.model.value import Micros
from oxmill.store.admission import check_settlements, clip, need, storable
from oxmill.store.capabilities import Capability
from oxmill.store.plan import Plan, Steps, ask


class SqlSettling:
    """Records how leases ended."""

    def __init__(self, bounds: Bounds, able: Capability) -> None:
        self._bounds = bounds
        self._able = able

    def settle(self, request: Settle) -> Plan[tuple[Settled, ...]]:
        """One answer per settlement, in order; each is judged by its token alone."""
        check_settlements(request.items, self._bounds)
        if any(item.flow is not None for item in request.items):
            need(self._able, Capability.FLOWS, "flows")
        return self._settle(request)

    @operation("settle")
    def _settle(self, request: Settle) -> Steps[tuple[Settled, ...]]:
        now = yield from ask(NOW)
        answers: list[Settled] = []
        for items in rounds(request.items):
            answers += yield from self._settle_round(items, now)
        return tuple(answers)

    def _settle_round(self, items: list[Settlement], now: Micros) -> Steps[list[Settled]]:
        answers = yield from complete(items, now)
        rest = [item for item in items if item.id not in answers]
        if rest:
            answers |= yield from self._judge_all(rest, now)
        return [answers[item.id] for item in items]

    def _judge_all(self, items: list[Settlement], now: Micros) -> Steps[dict[str, Settled]]:
        ids = json_text(item.id for item in items)
        rows = yield from ask(Statement("standings_by_id", {"ids": ids}, locks=True))
        jobs = {job.id: job for job in standings(rows)}
        changes = yield from changes_to(jobs.values(), now)
        answers = {item.id: self._judge(changes, jobs.get(item.id), item) for item in items}
        yield from changes.write()
        return answers

    def _judge(self, changes: Changes, job: Standing | None, item: Settlement) -> Settled:
        if job is None:
            return Settled(id=item.id, ruling=Ruling.GONE, state=None)
        ruling = Ruling.LOST
        gained: tuple[str, ...] = ()
        if job.held_under(item.token):
            if job.state is State.RUNNING or (
                job.state is State.WAITING and job.last_outcome == LAPSE
            ):
                changes.heirs.clear()
                self._apply(changes, job, item)
                room = [job.queue] if changes.gates.makes_room(job) else []
                gained = tuple(dict.fromkeys([*changes.heirs, *room]))
                ruling = Ruling.WON
            elif job.last_outcome == item.outcome:
                ruling = Ruling.WON
        return Settled(id=item.id, ruling=ruling, state=job.state, queue=job.queue, gained=gained)

    def _apply(self, changes: Changes, job: Standing, item: Settlement) -> None:
        error = clip(item.error, self._bounds.error_bytes)
        reason = storable(item.reason, self._bounds.error_bytes)
        changes.finish_attempt(job, item.outcome.value, error)
        job.error = failure_text(error)
        if item.outcome in (Outcome.RETRY, Outcome.FAIL):
            job.failures += 1
        if item.outcome is Outcome.RELEASE and item.closes is not None:
            changes.gates.close(job, item.closes, changes.now + item.delay)
        match item.outcome:
            case Outcome.COMPLETE:
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
