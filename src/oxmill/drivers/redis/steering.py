"""Steering on Redis."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from oxmill.drivers.redis.record import code_of, field_words, pack, pack_id, settings_in, unpack_id
from oxmill.drivers.redis.script import (
    CANCEL,
    EDIT,
    PURGE,
    PUT_RULES,
    PUT_SETTINGS,
    REDRIVE,
    Command,
    Script,
)
from oxmill.drivers.redis.space import Space
from oxmill.model.job import Reason
from oxmill.model.query import Cancel, Edit, Filter, Purge, Redrive, Steered
from oxmill.model.rule import PutRules, Rule, RuleKey, RuleKind, RulesPut
from oxmill.model.settings import PutSettings, QueueSettings
from oxmill.rules.rate import rate
from oxmill.store.admission import check_edit, check_rules, check_settings, storable
from oxmill.store.plan import Plan, Steps, ask, plan

_SETTING: Final = {RuleKind.PAUSE: "pause", RuleKind.BLOCK: "block", RuleKind.THROTTLE: "throttle"}
_AT_ONCE: Final = 100
"""Jobs that one script changes at most."""
_LIFTING: Final = {
    RuleKind.PAUSE: "resume",
    RuleKind.BLOCK: "unblock",
    RuleKind.THROTTLE: "unthrottle",
}


class RedisSteering:
    """Rules, settings, and changes to jobs by id or by filter, the oldest first.

    A call that has to look at very many jobs does so in bounded steps, each atomic.
    """

    def __init__(self, space: Space) -> None:
        self._space = space

    def put_rules(self, request: PutRules) -> Plan[RulesPut]:
        """Once this returns, no claim that starts later gives a job that a rule keeps back."""
        check_rules(request, self._space.bounds, self._space.able)
        return self._put_rules(request)

    @plan("put_rules")
    def _put_rules(self, request: PutRules) -> Steps[RulesPut]:
        args: list[Any] = [request.author]
        for rule in request.set:
            args += _setting(rule, rule.author or request.author)
        for key in request.lift:
            args += (_field(key), _LIFTING[key.kind], key.title, "", -1, "", "", 0, 0)
        changed, opened = (yield from self._space.everywhere(PUT_RULES, *args))[0]
        return RulesPut(changed=changed, queues=tuple(queue.decode() for queue in opened))

    def put_settings(self, request: PutSettings) -> Plan[QueueSettings]:
        """Holds for every settlement and claim that starts later."""
        check_settings(request, self._space.bounds, self._space.able)
        return self._put_settings(request)

    @plan("put_settings")
    def _put_settings(self, request: PutSettings) -> Steps[QueueSettings]:
        while True:
            before = (yield from self._kept_before(request.queue)) if request.only else None
            settings = request.onto(settings_in(before) if before else QueueSettings())
            args = (request.queue, _kept(settings), request.author, settings.summary)
            expected = () if before is None else (before,)
            # Else others have changed them meanwhile, or many lanes are still being opened.
            if all((yield from self._space.everywhere(PUT_SETTINGS, *args, *expected))):
                return settings

    def _kept_before(self, queue: str) -> Steps[bytes]:
        """The settings of a queue as the first shard keeps them; empty if there are none."""
        key = self._space.key(0, "settings")
        kept: bytes | None = yield from ask(Command(0, ("HGET", key, queue)))
        return kept or b""

    @plan("cancel")
    def cancel(self, request: Cancel) -> Steps[Steered]:
        """Idle jobs end as cancelled at once; running ones are asked to stop."""
        bound = self._space.bounds.cleanup_jobs
        reason = storable(request.reason, self._space.bounds.error_bytes) or Reason.CANCELLED
        return (yield from self._steer(CANCEL, request, reason, request.author, bound))

    @plan("redrive")
    def redrive(self, request: Redrive) -> Steps[Steered]:
        """Failed and cancelled jobs wait again, with fresh counts."""
        bound = self._space.bounds.cleanup_jobs
        return (yield from self._steer(REDRIVE, request, request.author, bound))

    def edit(self, request: Edit) -> Plan[Steered]:
        """Idle jobs change priority, queue or due time."""
        check_edit(request, self._space.bounds)
        return self._edit(request)

    @plan("edit")
    def _edit(self, request: Edit) -> Steps[Steered]:
        changes = (request.priority, request.queue, request.due_in)
        given = ("" if change is None else change for change in changes)
        return (yield from self._steer(EDIT, request, request.author, *given))

    @plan("purge")
    def purge(self, request: Purge) -> Steps[Steered]:
        """Matching jobs that are not running are gone."""
        bound = self._space.bounds.cleanup_jobs
        return (yield from self._steer(PURGE, request, request.author, bound))

    def _steer(
        self, script: Script, request: Cancel | Redrive | Edit | Purge, *args: Any
    ) -> Steps[Steered]:
        """Shard after shard, each in bounded steps, until the limit or the end is reached."""
        wanted = filter_of(request.filter)
        changed: list[bytes] = []
        asked: list[bytes] = []
        queues: dict[bytes, None] = {}
        more = False
        for shard in range(self._space.shards):
            edge = b""
            while not more:
                left = request.limit - len(changed) - len(asked)
                step = min(left, _AT_ONCE)
                call = self._space.call(script, wanted, edge, step, *args, shard=shard)
                found_more, edge, some, gained, some_asked = yield from ask(call)
                changed += some
                asked += some_asked
                queues.update(dict.fromkeys(gained))
                more = bool(found_more) and step == left
                if not edge:
                    break
        return Steered(
            ids=tuple(map(unpack_id, changed)),
            more=more,
            queues=tuple(queue.decode() for queue in queues),
            asked=tuple(map(unpack_id, asked)),
        )


def filter_of(wanted: Filter) -> bytes:
    """A filter as the scripts read it; ids follow it, since they need not be text."""
    parts: dict[str, Any] = {
        "queues": wanted.queues,
        "tasks": wanted.tasks,
        "states": [code_of(state) for state in wanted.states],
        "fields": field_words(wanted.fields),
    }
    given = {name: part for name, part in parts.items() if part}
    for name in ("group", "tag", "flow", "since", "before"):
        if (part := getattr(wanted, name)) is not None:
            given[name] = part
    ids = (pack_id(each) for each in dict.fromkeys(wanted.ids))
    return pack(given) + b"".join(bytes((len(each),)) + each for each in ids)


def _kept(given: QueueSettings) -> bytes:
    """Settings as the scripts read them; limits as numbers, what is not set as -1 or 0."""
    keeps = (given.keep_succeeded, given.keep_failed, given.keep_cancelled)
    limits = (
        *(_or(given.concurrency, -1), *_rate(given.rate)),
        *(_or(given.group_concurrency, -1), *_rate(given.group_rate)),
        *(int(given.ordered_groups), _or(given.ageing, 0), given.group_weights),
    )
    return pack((*keeps, msgspec.json.encode(given).decode(), *limits, int(given.limits)))


def _rate(text: str | None) -> tuple[int, int]:
    """Interval and burst."""
    if text is None:
        return (0, 0)
    read = rate(text)
    return (read.interval, read.burst)


def _or(value: int | None, otherwise: int) -> int:
    return otherwise if value is None else value


def _setting(rule: Rule, author: str) -> tuple[Any, ...]:
    kept = msgspec.json.encode(msgspec.structs.replace(rule, author=author, set_at=0))
    kind, expires = _SETTING[rule.kind], _or(rule.expires_at, -1)
    about = (_field(rule.key), kind, rule.key.title, author, expires, rule.summary, kept)
    return (*about, *_rate(rule.rate))


def _field(key: RuleKey) -> str:
    return f"{key.kind}:{key.scope}:{key.target}"
