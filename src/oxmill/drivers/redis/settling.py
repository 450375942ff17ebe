"""Settling on Redis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from oxmill.drivers.redis.claiming import nonce_text
from oxmill.drivers.redis.record import STATES, error_text, pack, pack_id
from oxmill.drivers.redis.script import SETTLE, SETTLE_PLAIN
from oxmill.drivers.redis.space import Space
from oxmill.model.settlement import Outcome, Ruling, Settle, Settled, Settlement
from oxmill.model.state import State
from oxmill.store.admission import check_settlements, clip, need, storable
from oxmill.store.capabilities import Capability
from oxmill.store.plan import Plan, Steps, ask, plan

_PLAIN: Final = 1_000
"""How many the short way takes at once."""
_RULINGS: Final = (Ruling.GONE, Ruling.LOST, Ruling.WON)


class RedisSettling:
    """Records how leases ended."""

    def __init__(self, space: Space) -> None:
        self._space = space

    def settle(self, request: Settle) -> Plan[tuple[Settled, ...]]:
        """One answer per settlement, in order; each is judged by its token alone."""
        check_settlements(request.items, self._space.bounds)
        if any(item.flow is not None for item in request.items):
            need(self._space.able, Capability.FLOWS, "flows")
        return self._settle(request)

    @plan("settle")
    def _settle(self, request: Settle) -> Steps[tuple[Settled, ...]]:
        plain = _plain(request.items) if self._space.shards == 1 else None
        if plain is not None:
            queues = yield from ask(self._space.call(SETTLE_PLAIN, *plain))
            if queues:
                return _won(request.items, queues)
        replies = yield from self._space.everywhere(SETTLE, *self._args(request))
        answers: list[Settled] = []
        for place, item in enumerate(request.items):
            # Only one shard knows the job; to the others it is gone.
            code, queue = max(reply[2 * place : 2 * place + 2] for reply in replies)
            answers.append(
                Settled(
                    id=item.id,
                    ruling=_RULINGS[code // 10],
                    state=STATES[code % 10],
                    queue=queue.decode() or None,
                )
            )
        return tuple(answers)

    def _args(self, request: Settle) -> list[Any]:
        args: list[Any] = []
        limit = self._space.bounds.error_bytes
        for item in request.items:
            error = clip(item.error, limit)
            terms = (
                item.token.attempt,
                nonce_text(item.token.nonce),
                item.outcome,
                item.delay,
                storable(item.reason, limit) or "",
                int(item.result is not None),
                int(error is not None),
            )
            args += (pack_id(item.id), pack(terms))
            if item.result is not None:
                args.append(item.result)
            if error is not None:
                args.append(error_text(error))
        return args


def _plain(items: Sequence[Settlement]) -> list[Any] | None:
    """Completions as the short way takes them; `None` if there is anything else."""
    args: list[Any] = []
    if len(items) > _PLAIN:
        return None
    for item in items:
        if item.outcome is not Outcome.COMPLETE or item.error is not None:
            return None
        result = item.result
        marked = b"" if result is None else b"n" if result == b"null" else b"r" + result
        args += (pack_id(item.id), item.token.attempt, nonce_text(item.token.nonce), marked)
    return args or None


def _won(items: Sequence[Settlement], queues: Sequence[bytes]) -> tuple[Settled, ...]:
    names = {queue: queue.decode() for queue in set(queues)}
    return tuple(
        Settled(id=item.id, ruling=Ruling.WON, state=State.SUCCEEDED, queue=names[queue])
        for item, queue in zip(items, queues, strict=True)
    )
