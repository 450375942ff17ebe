"""Steering in a SQL database."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from oxmill.drivers.sql.changes import Changes
from oxmill.drivers.sql.flow_rows import IN_FLOW
from oxmill.drivers.sql.lanes import join_lanes
from oxmill.drivers.sql.limits import limits_of, load_settings
from oxmill.drivers.sql.opening import look_again, open_queue, rules_ended
from oxmill.drivers.sql.retiring import forget
from oxmill.drivers.sql.reviving import fresh, hold_again
from oxmill.drivers.sql.rippling import ripple
from oxmill.drivers.sql.rows import Standing, extras_in, json_text
from oxmill.drivers.sql.rulebook import named, row_of, rule_of
from oxmill.drivers.sql.searching import matching
from oxmill.drivers.sql.steps import NOW, Draw, Guard, Many, Statement, operation
from oxmill.drivers.sql.uniques import Holding, Keys
from oxmill.drivers.sql.web import Web
from oxmill.model.bounds import Bounds
from oxmill.model.job import Reason
from oxmill.model.query import Cancel, Edit, Filter, Purge, Redrive, Steered
from oxmill.model.rule import PutRules, Rule, RuleKey, RuleKind, RulesPut, Scope
from oxmill.model.settings import PutSettings, QueueSettings
from oxmill.model.state import IDLE, State
from oxmill.model.value import Micros
from oxmill.store.admission import check_edit, check_rules, check_settings
from oxmill.store.capabilities import Capability
from oxmill.store.plan import Plan, Steps, ask

_SETTING = {RuleKind.PAUSE: "pause", RuleKind.BLOCK: "block", RuleKind.THROTTLE: "throttle"}
_LIFTING = {RuleKind.PAUSE: "resume", RuleKind.BLOCK: "unblock", RuleKind.THROTTLE: "unthrottle"}

_STOPPABLE = IDLE | {State.RUNNING}
_REDRIVABLE = frozenset({State.FAILED, State.CANCELLED})
_PURGEABLE = frozenset(State) - {State.RUNNING}


class SqlSteering:
    """Rules, settings, and changes to jobs by id or by filter."""

    def __init__(self, bounds: Bounds, able: Capability) -> None:
        self._bounds = bounds
        self._able = able

    def put_rules(self, request: PutRules) -> Plan[RulesPut]:
        """Once this returns, no claim that starts later gives a job that a rule keeps back."""
        check_rules(request, self._bounds, self._able)
        return self._put_rules(request)

    @operation("put_rules")
    def _put_rules(self, request: PutRules) -> Steps[RulesPut]:
        if any(key.scope is not Scope.QUEUE for key in _touched(request)):
            yield from ask(Guard(None))
        now = yield from ask(NOW)
        changes = Changes(now, Keys(), {})
        changed = 0
        for rule in request.set:
            author = rule.author or request.author
            new = msgspec.structs.replace(rule, author=author, set_at=now)
            changed += yield from _set_rule(changes, new)
        lifted: list[RuleKey] = []
        for key in request.lift:
            if (yield from ask(Statement("lift_rule", named(key)))):
                changes.tell(_LIFTING[key.kind], key.title, author=request.author)
                lifted.append(key)
        opened = yield from rules_ended(lifted)
        yield from look_again(rule.key for rule in request.set)
        yield from changes.write()
        return RulesPut(changed=changed + len(lifted), queues=tuple(opened))

    def put_settings(self, request: PutSettings) -> Plan[QueueSettings]:
        """Holds for every settlement and claim that starts later."""
        check_settings(request, self._bounds, self._able)
        return self._put_settings(request)

    @operation("put_settings")
    def _put_settings(self, request: PutSettings) -> Steps[QueueSettings]:
        queue = request.queue
        yield from ask(Guard([queue]))
        changes = Changes((yield from ask(NOW)), Keys(), {})
        before = (yield from load_settings({queue})) if request.only else {}
        settings = request.onto(before.get(queue, QueueSettings()))
        text = msgspec.json.encode(settings).decode()
        put = {"queue": queue, "settings": text, "limits": limits_of(settings)}
        yield from ask(Statement("put_settings", put))
        yield from open_queue(queue)
        changes.tell("settings", queue, author=request.author, detail=settings.summary)
        yield from changes.write()
        return settings

    @operation("cancel")
    def cancel(self, request: Cancel) -> Steps[Steered]:
        """Idle jobs end as cancelled at once; running ones are asked to stop."""
        found, more = yield from _candidates(request, _STOPPABLE, {"unasked": 1})
        web = Web((yield from ask(NOW)))
        changes = yield from web.begin(found)
        reason = request.reason or Reason.CANCELLED
        asked = [job for job in found if job.state is State.RUNNING]
        ended = [job for job in found if job.state is not State.RUNNING]
        for job in ended:
            changes.end(job, State.CANCELLED, reason)
        if asked:
            seqs = json_text(job.seq for job in asked)
            yield from ask(Statement("ask_to_stop", {"seqs": seqs, "reason": str(reason)}))
        _tell(changes, "cancel", request.author, len(found))
        yield from ripple(web, self._bounds.cleanup_jobs)
        opened = changes.gates.reopened
        queues = tuple({**opened, **changes.gained, **dict.fromkeys(sorted(web.gained))})
        return Steered(ids=_ids(ended), more=more, asked=_ids(asked), queues=queues, news=web.told)

    @operation("redrive")
    def redrive(self, request: Redrive) -> Steps[Steered]:
        """Failed and cancelled jobs wait again, with fresh counts."""
        now = yield from ask(NOW)
        extra = {"key_free": 1, "now": now}
        found, more = yield from _candidates(request, _REDRIVABLE, extra)
        web = Web(now)
        changes = yield from web.begin(found)
        driven = [job for job in found if _takes_key(changes.keys, job, now)]
        if driven:
            places = yield from ask(Draw(len(driven)))
            rows = [(now, place, job.seq) for place, job in zip(places, driven, strict=True)]
            yield from ask(Many("redrive_job", rows))
            for job, place in zip(driven, places, strict=True):
                changes.tally.move(job.queue, job.state, State.WAITING)
                fresh(job, place, now)
        members = [job for job in driven if job.keep == IN_FLOW]
        if members:
            yield from web.know(members)
            yield from hold_again(web, [(job, web.nodes[job.id]) for job in members])
        yield from join_lanes(
            (job.group, job.queue, job.priority, job.place)
            for job in driven
            if job.state is State.WAITING
        )
        _tell(changes, "redrive", request.author, len(driven))
        yield from ripple(web, self._bounds.cleanup_jobs)
        waiting = [job.queue for job in driven if job.state is State.WAITING]
        queues = tuple(dict.fromkeys((*waiting, *sorted(web.gained))))
        return Steered(ids=_ids(driven), more=more, queues=queues, news=web.told)

    def edit(self, request: Edit) -> Plan[Steered]:
        """Idle jobs change priority, queue or due time."""
        check_edit(request, self._bounds)
        return self._edit(request)

    @operation("edit")
    def _edit(self, request: Edit) -> Steps[Steered]:
        now = yield from ask(NOW)
        found, more = yield from _candidates(request, IDLE, {})
        changes = Changes(now, Keys(), {})
        for job in found:
            _edit_one(changes, job, request)
        _tell(changes, "edit", request.author, len(found))
        yield from changes.write()
        waiting = [job.queue for job in found if job.state is State.WAITING]
        queues = tuple({**changes.gates.reopened, **dict.fromkeys(waiting)})
        return Steered(ids=_ids(found), more=more, queues=queues)

    @operation("purge")
    def purge(self, request: Purge) -> Steps[Steered]:
        """Matching jobs that are not running are gone."""
        found, more = yield from _candidates(request, _PURGEABLE, {})
        web = Web((yield from ask(NOW)))
        changes = yield from web.begin(found)
        yield from forget(web, changes, found)
        for job in found:
            changes.purge(job)
        _tell(changes, "purge", request.author, len(found))
        yield from ripple(web, self._bounds.cleanup_jobs)
        opened = changes.gates.reopened
        queues = tuple({**opened, **changes.gained, **dict.fromkeys(sorted(web.gained))})
        return Steered(ids=_ids(found), more=more, queues=queues, news=web.told)


def _touched(request: PutRules) -> list[RuleKey]:
    return [*(rule.key for rule in request.set), *request.lift]


def _set_rule(changes: Changes, new: Rule) -> Steps[int]:
    """Set one rule; 0 if it stands like this already."""
    rows = yield from ask(Statement("rule_by_key", named(new.key), locks=True))
    if rows and msgspec.structs.replace(rule_of(rows[0]), set_at=new.set_at) == new:
        return 0
    yield from ask(Many("put_rule", [row_of(new)]))
    changes.tell(_SETTING[new.kind], new.key.title, author=new.author, detail=new.summary)
    return 1


def _candidates(
    request: Cancel | Redrive | Edit | Purge, states: frozenset[State], extra: dict[str, Any]
) -> Steps[tuple[list[Standing], bool]]:
    """Matching jobs that the call is about, and whether there are more."""
    wanted: Filter = request.filter
    found = yield from matching(wanted, states, request.limit + 1, extra, locks=True)
    return found[: request.limit], len(found) > request.limit


def _ids(jobs: Iterable[Standing]) -> tuple[str, ...]:
    return tuple([job.id for job in jobs])


def _tell(changes: Changes, kind: str, author: str, count: int) -> None:
    if count:
        changes.tell(kind, "jobs", author=author, detail=str(count))


def _takes_key(keys: Keys, job: Standing, now: Micros) -> bool:
    """Give the job its unique key again; whether that is possible. Another job of the same call
    may have taken it."""
    if job.unique_key is None:
        return True
    within = extras_in(job.extras).within
    hold = None if within is None else now + within
    held = keys.held.get(job.unique_key)
    if held is not None and held.taken(now):
        if held.holder != job.id or held.successor is not None:
            return False
        hold = held.hold_until
    keys.put(job.unique_key, Holding(job.id, live=True, hold_until=hold))
    return True


def _edit_one(changes: Changes, job: Standing, request: Edit) -> None:
    now = changes.now
    moved = request.queue is not None and request.queue != job.queue
    due_at = job.due_at if request.due_in is None else now + request.due_in
    if moved or request.due_in is not None:
        changes.gates.leave(job)
    else:
        changes.gates.look_again(job)
    if request.priority is not None:
        job.priority = request.priority
    if request.queue is not None and moved:
        changes.tally.add(job.queue, job.state, -1)
        changes.tally.add(request.queue, job.state, 1)
        job.queue = request.queue
    waiting = job.state is State.WAITING
    if job.state is State.HELD:
        job.due_at = due_at
        changes.touch(job)
    elif waiting and due_at <= now:
        job.due_at = min(job.due_at, due_at)
        if moved:
            changes.line_up(job, job.due_at)
        changes.touch(job)
    elif request.due_in is not None or (waiting and moved):
        changes.line_up(job, due_at)
    else:
        changes.touch(job)
