"""Looking up flows in memory."""

from __future__ import annotations

from collections import Counter

from oxmill.drivers.memory.flows import FlowRecord
from oxmill.drivers.memory.matching import same
from oxmill.drivers.memory.world import World
from oxmill.model.flow import FlowInfo, Flows, ListFlows
from oxmill.model.state import State
from oxmill.store.flow_admission import check_list_flows


def list_flows(world: World, request: ListFlows) -> Flows:
    """Published flows that match everything given, the newest first."""
    below = check_list_flows(request)
    limit = min(request.limit, world.bounds.page_jobs)
    found = [
        flow
        for flow in sorted(world.book.flows.values(), key=lambda flow: -flow.seq)
        if flow.published and _matches(flow, request) and (below is None or flow.seq < below)
    ]
    counts = _counts(world)
    return Flows(
        items=tuple(_info(flow, counts) for flow in found[:limit]),
        now=world.clock(),
        next=str(found[limit - 1].seq) if len(found) > limit else None,
    )


def _matches(flow: FlowRecord, wanted: ListFlows) -> bool:
    return (
        (not wanted.ids or flow.id in wanted.ids)
        and (wanted.name is None or flow.name == wanted.name)
        and (wanted.status is None or flow.status is wanted.status)
        and all(same(flow.fields.get(name), value) for name, value in wanted.fields.items())
    )


def _counts(world: World) -> Counter[tuple[str | None, State]]:
    return Counter((record.flow, record.state) for record in world.jobs.values())


def _info(flow: FlowRecord, counts: Counter[tuple[str | None, State]]) -> FlowInfo:
    return FlowInfo(
        id=flow.id,
        name=flow.name,
        status=flow.status,
        started_at=flow.started_at,
        ended_at=flow.ended_at,
        state=dict(flow.state),
        fields=dict(flow.fields),
        counts={state: n for state in State if (n := counts[flow.id, state])},
    )
