"""Settling on Redis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from oxmill.drivers.redis.claiming import nonce_text
from oxmill.drivers.redis.record import STATES, error_text, pack, pack_id
from oxmill.drivers.redis.script import SETTLE
from oxmill.drivers.redis.space import Space
from oxmill.model.settlement import Outcome, Ruling, Settle, Settled, Settlement
from oxmill.store.admission import check_settlements, clip, need, storable
from oxmill.store.capabilities import Capability
from oxmill.store.plan import Plan, Steps, plan

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
        if not request.items:
            return ()
        plain = _plain(request.items)
        args = ("", *self._args(request)) if plain is None else ("plain", *plain)
        first, *others = yield from self._space.everywhere(SETTLE, *args)
        for other in others:
            # Only one shard knows a job; to the others it is gone.
            for place in range(0, len(first), 2):
                if other[place]:
                    first[place : place + 2] = other[place : place + 2]
        names = {queue: queue.decode() or None for queue in set(first[1::2])}
        return tuple(
            Settled(
                id=item.id,
                ruling=_RULINGS[code // 10],
                state=STATES[code % 10],
                queue=names[queue],
            )
            for item, code, queue in zip(request.items, first[::2], first[1::2], strict=True)
        )

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
    return args
