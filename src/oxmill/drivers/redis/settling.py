"""Settling on Redis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from oxmill.drivers.redis.claiming import nonce_text
from oxmill.drivers.redis.flow_enqueueing import flow_job_args, join_text
from oxmill.drivers.redis.record import STATES, error_text, pack, pack_id
from oxmill.drivers.redis.script import SETTLE, Call
from oxmill.drivers.redis.seeking import seek
from oxmill.drivers.redis.space import Space
from oxmill.drivers.redis.stepping import ShortSteps, StepForms
from oxmill.model.flow import FlowStep
from oxmill.model.settlement import Outcome, Ruling, Settle, Settled, Settlement
from oxmill.store.admission import check_settlements, clip, storable
from oxmill.store.flow_admission import check_steps, hands_over
from oxmill.store.plan import Plan, Steps, plan

_RULINGS: Final = (Ruling.GONE, Ruling.LOST, Ruling.WON)
_GONE: Final = (0, b"")
_FORMS_KEPT: Final = 1_000
_LONG_WAY: Final = 4
_HERE: Final = "~"
"""Tells that all who listen to the bells do so at the server that settles."""
_FREED: Final = 100
"""Added to the code of a settlement after which others of its queue may start."""


class RedisSettling:
    """Records how leases ended."""

    def __init__(self, space: Space) -> None:
        self._space = space
        self._forms: StepForms = {}

    def settle(self, request: Settle) -> Plan[tuple[Settled, ...]]:
        """One answer per settlement, in order; each is judged by its token alone."""
        check_settlements(request.items, self._space.bounds)
        check_steps(request.items, self._space.bounds, self._space.able)
        return self._settle(request)

    @plan("settle")
    def _settle(self, request: Settle) -> Steps[tuple[Settled, ...]]:
        items = request.items
        if not items:
            return ()

        def call(shard: int, places: Sequence[int]) -> Call:
            some = [items[place] for place in places]
            form, args = self._short(some) or ("", self._args(some))
            bound = (
                f"{form}{self._space.bounds.cleanup_jobs}{_HERE if self._space.gathered else ''}"
            )
            return self._space.call(SETTLE, bound, *args, shard=shard)

        ids = [item.id for item in items]
        told = yield from seek(
            self._space, ids, call, _rulings, lambda place: _weight(items[place])
        )
        return tuple(
            _settled(item.id, answer or _GONE) for item, answer in zip(items, told, strict=True)
        )

    def _short(self, items: Sequence[Settlement]) -> tuple[str, list[Any]] | None:
        """Completions as the short way takes them; `None` if there is anything else."""
        if any(item.outcome is not Outcome.COMPLETE or item.error is not None for item in items):
            return None
        if any(item.flow is not None for item in items):
            return self._stepped(items)
        args: list[Any] = []
        for item in items:
            result, (attempt, nonce) = item.result, item.token
            if result is None:
                args += (pack_id(item.id), f"{attempt} {nonce:x} ")
            elif result == b"null":
                args += (pack_id(item.id), f"{attempt} {nonce:x} n")
            else:
                args += (pack_id(item.id), f"{attempt} {nonce:x} r", result)
        return "p", args

    def _stepped(self, items: Sequence[Settlement]) -> tuple[str, list[Any]] | None:
        if len(self._forms) > _FORMS_KEPT:
            self._forms = {}
        steps = ShortSteps(self._forms)
        return ("s", steps.args()) if all(map(steps.add, items)) else None

    def _args(self, items: Sequence[Settlement]) -> list[Any]:
        args: list[Any] = []
        limit = self._space.bounds.error_bytes
        for item in items:
            error = clip(item.error, limit)
            terms = (
                item.token.attempt,
                nonce_text(item.token.nonce),
                item.outcome,
                item.delay,
                storable(item.reason, limit) or "",
                int(item.result is not None),
                int(error is not None),
                item.closes or "",
                int(item.flow is not None),
            )
            args += (pack_id(item.id), pack(terms))
            if item.result is not None:
                args.append(item.result)
            if error is not None:
                args.append(error_text(error))
            if item.flow is not None:
                args += _step(item.flow)
        return args


def _weight(item: Settlement) -> int:
    """How many completions it costs as much as: so that no script is long, fewer of what takes the long way go
    together, and fewer of what makes many jobs."""
    if item.outcome is not Outcome.COMPLETE or item.error is not None:
        return _LONG_WAY
    step = item.flow
    if step is None or hands_over(step):
        return 1
    return _LONG_WAY + 2 * (len(step.then) + len(step.spawn))


def _step(step: FlowStep) -> list[Any]:
    """The order is that of steps.lua."""
    counts = (len(step.merge), len(step.then), len(step.spawn))
    args: list[Any] = [pack((step.resume or "", step.publish or "", *counts)), join_text(step.join)]
    for name, value in step.merge.items():
        args += (name, value)
    return args + flow_job_args((*step.then, *step.spawn))


def _rulings(reply: Sequence[Any]) -> list[tuple[int, Any] | None]:
    """Code and queue, or queues, of each job that is there."""
    if reply and reply[0] < 0:
        less, code, queue, last = reply
        return [*[(code, queue)] * (-less - 1), (code, last)]
    pairs = zip(reply[::2], reply[1::2], strict=True)
    return [(code, queue) if code else None for code, queue in pairs]


def _settled(job_id: str, told: tuple[int, Any]) -> Settled:
    """Given by place: by name it takes several times as long."""
    code, queues = told
    if code < _FREED and not isinstance(queues, list):
        return Settled(job_id, _RULINGS[code // 10], STATES[code % 10], queues.decode() or None)
    queue, *gained = queues if isinstance(queues, list) else (queues,)
    if code > _FREED:
        gained.append(queue)
        code -= _FREED
    filled = tuple(dict.fromkeys(each.decode() for each in gained))
    return Settled(job_id, _RULINGS[code // 10], STATES[code % 10], queue.decode() or None, filled)
