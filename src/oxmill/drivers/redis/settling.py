"""Settling on Redis."""

from __future__ import annotations

from typing import Any, Final

from oxmill.drivers.redis.claiming import nonce_text
from oxmill.drivers.redis.record import STATES, error_text, pack, pack_id
from oxmill.drivers.redis.script import SETTLE
from oxmill.drivers.redis.space import Space
from oxmill.model.settlement import Ruling, Settle, Settled
from oxmill.store.admission import check_settlements, clip, need
from oxmill.store.capabilities import Capability
from oxmill.store.plan import Plan, Steps, plan

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
                item.reason or "",
                int(item.result is not None),
                int(error is not None),
            )
            args += (pack_id(item.id), pack(terms))
            if item.result is not None:
                args.append(item.result)
            if error is not None:
                args.append(error_text(error))
        return args
