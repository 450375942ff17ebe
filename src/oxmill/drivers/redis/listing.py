"""Pages of flows, newest first, over any number of shards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from oxmill.drivers.redis.record import STATES, field_words, fields_of, pack
from oxmill.drivers.redis.script import FLOWS
from oxmill.drivers.redis.space import Space
from oxmill.errors import BadInput
from oxmill.model.flow import FlowInfo, Flows, FlowStatus, ListFlows
from oxmill.store.flow_admission import check_list_flows
from oxmill.store.plan import Steps, Together, ask

_LOOKS: Final = 64
"""Bounded steps that one page takes at most; it may then be short."""
_NUMBER_BYTES: Final = 6
_BOTTOM: Final = 1
"""The first number of arrival: nothing is below it."""
_MARK: Final = "-"
_flow: Final = msgspec.msgpack.Decoder(
    tuple[int, str, int, int, int, int, int, int, int, int, tuple[str, ...]]
).decode

Found = list[tuple[int, FlowInfo]]
"""Flows of one shard with their numbers of arrival there, newest first."""


def check_page(request: ListFlows, shards: int) -> list[int]:
    """Where each shard goes on, 0 at its newest; refuses a cursor that no page gave."""
    if shards == 1 or request.after is None:
        return [check_list_flows(request) or 0] * shards
    check_list_flows(msgspec.structs.replace(request, after=None))
    parts = request.after.split(_MARK)
    if len(parts) != shards or not all(p.isascii() and p.isdigit() and len(p) < 16 for p in parts):
        raise BadInput(
            f"{request.after[:40]!r} is not the cursor of a page; use the `next` of the last"
        )
    return list(map(int, parts))


def list_flows(space: Space, request: ListFlows) -> Steps[Flows]:
    """One page, and where the next one starts."""
    limit = min(request.limit, space.bounds.page_jobs)
    edges = check_page(request, space.shards)
    found: list[Found] = [[] for _ in edges]
    now = 0
    for _ in range(_LOOKS):
        dry = [n for n, edge in enumerate(edges) if edge != _BOTTOM and len(found[n]) < limit + 1]
        if not dry and now:
            break
        looks = tuple(_look(space, request, edges[n], limit + 1, n) for n in dry)
        for shard, reply in zip(dry, (yield from ask(Together(looks))), strict=True):
            now = max(now, reply[0])
            found[shard] += [_told(each) for each in reply[3]]
            edges[shard] = _edge_of(reply, found[shard])
    return _page(found, edges, limit, now)


def _look(space: Space, request: ListFlows, edge: int, limit: int, shard: int) -> Any:
    words = field_words(request.fields)
    wanted = pack((request.name or "", request.status or "", words))
    below = b"" if edge == 0 else edge.to_bytes(_NUMBER_BYTES)
    return space.call(FLOWS, wanted, below, limit, *dict.fromkeys(request.ids), shard=shard)


def _edge_of(reply: Any, found: Found) -> int:
    """Below which number to look on."""
    _, more, edge, _ = reply
    if more:
        return found[-1][0]
    return int.from_bytes(edge) or _BOTTOM


def _page(found: Sequence[Found], edges: list[int], limit: int, now: int) -> Flows:
    """The newest of what all shards have found; each shard keeps its own order."""
    items: list[FlowInfo] = []
    taken = [0] * len(found)
    while len(items) < limit:
        heads = [
            (some[at][1].started_at, some[at][0], -shard)
            for shard, (some, at) in enumerate(zip(found, taken, strict=True))
            if at < len(some)
        ]
        if not heads:
            break
        shard = -max(heads)[2]
        items.append(found[shard][taken[shard]][1])
        taken[shard] += 1
    positions = [
        some[at][0] + 1 if at < len(some) else edge
        for some, at, edge in zip(found, taken, edges, strict=True)
    ]
    if all(position == _BOTTOM for position in positions):
        return Flows(items=tuple(items), now=now)
    return Flows(items=tuple(items), now=now, next=_MARK.join(map(str, positions)))


def _told(each: Sequence[Any]) -> tuple[int, FlowInfo]:
    packed_id, packed, counts, state = each
    seq, name, started, _, _, _, _, failed, ended, _, words = _flow(packed)
    status = FlowStatus.FAILED if failed else FlowStatus.SUCCEEDED
    info = FlowInfo(
        id=packed_id.decode(),
        name=name,
        status=status if ended else FlowStatus.RUNNING,
        started_at=started,
        ended_at=ended or None,
        state={k.decode(): v for k, v in zip(state[::2], state[1::2], strict=True)},
        fields=fields_of(words),
        counts={state: n for state, n in zip(STATES[1:], counts, strict=True) if state and n},
    )
    return seq, info
