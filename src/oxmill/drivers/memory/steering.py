"""Steering in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice

import msgspec

from oxmill.drivers.memory.gates import opened_by, settings_of
from oxmill.drivers.memory.matching import matching
from oxmill.drivers.memory.record import Record
from oxmill.drivers.memory.redriving import start_afresh
from oxmill.drivers.memory.retiring import forget
from oxmill.drivers.memory.ripples import ripple
from oxmill.drivers.memory.transport import Call
from oxmill.drivers.memory.world import World
from oxmill.model.job import Reason
from oxmill.model.query import Cancel, Edit, Filter, Purge, Redrive, Steered
from oxmill.model.rule import PutRules, RuleKind, RulesPut
from oxmill.model.settings import PutSettings, QueueSettings
from oxmill.model.state import IDLE, Change, State
from oxmill.store.admission import check_edit, check_rules, check_settings
from oxmill.store.capabilities import Capability
from oxmill.store.plan import Plan, Steps, ask, plan

_SETTING = {RuleKind.PAUSE: "pause", RuleKind.BLOCK: "block", RuleKind.THROTTLE: "throttle"}
_LIFTING = {RuleKind.PAUSE: "resume", RuleKind.BLOCK: "unblock", RuleKind.THROTTLE: "unthrottle"}


class MemorySteering:
    """Rules, settings, and changes to jobs by id or by filter."""

    def __init__(self, world: World, able: Capability) -> None:
        self._world = world
        self._able = able

    def put_rules(self, request: PutRules) -> Plan[RulesPut]:
        """Once this returns, no claim that starts later gives a job that a rule keeps back."""
        check_rules(request, self._world.bounds, self._able)
        return self._put_rules(request)

    @plan("put_rules")
    def _put_rules(self, request: PutRules) -> Steps[RulesPut]:
        return (yield from ask(Call(lambda: _put_rules(self._world, request))))

    def put_settings(self, request: PutSettings) -> Plan[QueueSettings]:
        """Holds for every settlement and claim that starts later."""
        check_settings(request, self._world.bounds, self._able)
        return self._put_settings(request)

    @plan("put_settings")
    def _put_settings(self, request: PutSettings) -> Steps[QueueSettings]:
        def act() -> QueueSettings:
            settings = request.onto(settings_of(self._world, request.queue))
            self._world.settings[request.queue] = settings
            self._world.tell(
                "settings", request.queue, author=request.author, detail=settings.summary
            )
            return settings

        return (yield from ask(Call(act)))

    @plan("cancel")
    def cancel(self, request: Cancel) -> Steps[Steered]:
        """Idle jobs end as cancelled at once; running ones are asked to stop."""
        return (yield from ask(Call(lambda: _cancel(self._world, request))))

    @plan("redrive")
    def redrive(self, request: Redrive) -> Steps[Steered]:
        """Failed and cancelled jobs wait again, with fresh counts."""
        return (yield from ask(Call(lambda: _redrive(self._world, request))))

    def edit(self, request: Edit) -> Plan[Steered]:
        """Idle jobs change priority, queue or due time."""
        check_edit(request, self._world.bounds)
        return self._edit(request)

    @plan("edit")
    def _edit(self, request: Edit) -> Steps[Steered]:
        return (yield from ask(Call(lambda: _edit(self._world, request))))

    @plan("purge")
    def purge(self, request: Purge) -> Steps[Steered]:
        """Matching jobs that are not running are gone."""
        return (yield from ask(Call(lambda: _purge(self._world, request))))


def _put_rules(world: World, request: PutRules) -> RulesPut:
    now = world.clock()
    changed = 0
    opened: list[str] = []
    for rule in request.set:
        author = rule.author or request.author
        before = world.rules.get(rule.key)
        rule_now = msgspec.structs.replace(rule, author=author, set_at=now)
        if before is not None and rule_now == msgspec.structs.replace(before, set_at=now):
            continue
        world.rules[rule.key] = rule_now
        world.tell(_SETTING[rule.kind], rule.key.title, author=author, detail=rule.summary)
        changed += 1
    for key in request.lift:
        if world.rules.pop(key, None) is not None:
            world.tell(_LIFTING[key.kind], key.title, author=request.author)
            changed += 1
            opened += opened_by(world, key)
    return RulesPut(changed=changed, queues=tuple(dict.fromkeys(opened)))


def _candidates(
    world: World, wanted: Filter, limit: int, fit: Callable[[Record], bool]
) -> tuple[list[Record], bool]:
    """The oldest matching records that the call is about, and whether there are more."""
    found = list(islice((r for r in matching(world, wanted) if fit(r)), limit + 1))
    return found[:limit], len(found) > limit


def _tell(world: World, kind: str, author: str, count: int) -> None:
    if count:
        world.tell(kind, "jobs", author=author, detail=str(count))


def _cancel(world: World, request: Cancel) -> Steered:
    def fit(record: Record) -> bool:
        asked = record.state is State.RUNNING and not record.cancel_requested
        return asked or record.state in IDLE

    world.book.forget_news()
    found, more = _candidates(world, request.filter, request.limit, fit)
    reason = request.reason or Reason.CANCELLED
    ended: list[str] = []
    asked: list[str] = []
    gained: list[str | None] = []
    for record in found:
        if record.state is State.RUNNING:
            record.cancel_requested = True
            record.reason = reason
            asked.append(record.id)
        else:
            gained += _opening(record, world.clock())
            gained.append(world.end(record, Change.CANCEL, State.CANCELLED, reason))
            ended.append(record.id)
    _tell(world, "cancel", request.author, len(found))
    ripple(world)
    gained += world.book.take_gained()
    return Steered(
        ids=tuple(ended),
        more=more,
        asked=tuple(asked),
        queues=_named(gained),
        news=world.book.take_news(),
    )


def _redrive(world: World, request: Redrive) -> Steered:
    now = world.clock()

    def fit(record: Record) -> bool:
        return record.state in (State.FAILED, State.CANCELLED) and _key_free(world, record)

    world.book.forget_news()
    found, more = _candidates(world, request.filter, request.limit, fit)
    driven = [record for record in found if _redrive_one(world, record, now)]
    _tell(world, "redrive", request.author, len(driven))
    ripple(world)
    waiting = [record.queue for record in driven if record.state is State.WAITING]
    queues = tuple(dict.fromkeys((*waiting, *world.book.take_gained())))
    news = world.book.take_news()
    return Steered(ids=tuple(record.id for record in driven), more=more, queues=queues, news=news)


def _key_free(world: World, record: Record) -> bool:
    if record.unique is None:
        return True
    claimant = world.keys.get(record.unique.key)
    if claimant is None or not claimant.taken(world.clock()):
        return True
    return claimant.holder == record.id and claimant.successor is None


def _redrive_one(world: World, record: Record, now: int) -> bool:
    # Another job of this very call may have taken the key meanwhile.
    if not _key_free(world, record):
        return False
    start_afresh(world, record, now)
    if record.unique is not None:
        before = world.keys.get(record.unique.key)
        world.take_key(record, record.unique, now)
        if before is not None and before.holder == record.id:
            world.keys[record.unique.key].hold_until = before.hold_until
    return True


def _edit(world: World, request: Edit) -> Steered:
    now = world.clock()
    found, more = _candidates(
        world, request.filter, request.limit, lambda record: record.state in IDLE
    )
    opened: list[str] = []
    for record in found:
        if request.queue is not None or request.due_in is not None:
            opened += _opening(record, now)
        _edit_one(world, record, request, now)
    _tell(world, "edit", request.author, len(found))
    opened += [record.queue for record in found if record.state is State.WAITING]
    return Steered(ids=tuple(record.id for record in found), more=more, queues=_named(opened))


def _opening(record: Record, now: int) -> list[str]:
    """The queue in which others of an ordered group may start once this job need not be tried again
    before them."""
    later = record.state is State.WAITING and record.group is not None and record.due_at > now
    return [record.queue] if later else []


def _edit_one(world: World, record: Record, request: Edit, now: int) -> None:
    moved = request.queue is not None and request.queue != record.queue
    due_at = record.due_at if request.due_in is None else now + request.due_in
    if moved or request.due_in is not None:
        world.reopen(record)

    def change(each: Record) -> None:
        each.priority = each.priority if request.priority is None else request.priority
        each.queue = each.queue if request.queue is None else request.queue

    world.rewrite(record, change)
    waiting = record.state is State.WAITING
    if record.state is State.HELD:
        record.due_at = due_at
    elif waiting and due_at <= now:
        record.due_at = min(record.due_at, due_at)
        if moved:
            world.line_up_anew(record, Change.POSTPONE, record.due_at, now)
    elif request.due_in is not None or (waiting and moved):
        world.line_up_anew(record, Change.POSTPONE, due_at, now)
    world.stand_in_lane(record)


def _purge(world: World, request: Purge) -> Steered:
    found, more = _candidates(
        world, request.filter, request.limit, lambda record: record.state is not State.RUNNING
    )
    now = world.clock()
    gained: list[str | None] = []
    world.book.forget_news()
    for record in found:
        gained += _opening(record, now)
        if record.flow is None:
            world.remove(record)
        else:
            forget(world, record)
        gained.append(world.forget_key(record, now))
    _tell(world, "purge", request.author, len(found))
    ripple(world)
    ids = tuple(record.id for record in found)
    gained += world.book.take_gained()
    return Steered(ids=ids, more=more, queues=_named(gained), news=world.book.take_news())


def _named(gained: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(queue for queue in gained if queue is not None))
