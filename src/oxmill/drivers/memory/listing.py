"""Looking up flows in memory."""

from __future__ import annotations

from collections import Counter

from oxmill.drivers.memory.flows import FlowRecord
from oxmill.drivers.memory.matching import has_fields
from oxmill.drivers.memory.world import World
from oxmill.model.flow import FlowInfo, Flows, ListFlows
from oxmill.model.state import State
from oxmill.store.flow_admission import check_list_flows


def list_flows(world: World, request: ListFlows) -> Flows:
    """Published flows that match everything given, the newest first."""
    below = check_list_flows(request)
    limit = min(request.limit, world.bounds.page_jobs)
    flows = world.book.flows
    named = [flows[i] for i in set(request.ids) if i in flows] if request.ids else flows.values()
    found = [
        flow
        for flow in sorted(named, key=lambda flow: -flow.seq)
        if flow.published and _matches(flow, request) and (below is None or flow.seq < below)
    ]
    return Flows(
        items=tuple(_info(world, flow) for flow in found[:limit]),
        now=world.clock(),
        next=str(found[limit - 1].seq) if len(found) > limit else None,
    )


def _matches(flow: FlowRecord, wanted: ListFlows) -> bool:
    return (
        (wanted.name is None or flow.name == wanted.name)
        and (wanted.status is None or flow.status is wanted.status)
        and has_fields(flow.fields, wanted.fields)
    )


def _info(world: World, flow: FlowRecord) -> FlowInfo:
    counts = Counter(record.state for record in world.of_flow.get(flow.id, {}).values())
    return FlowInfo(
        id=flow.id,
        name=flow.name,
        status=flow.status,
        started_at=flow.started_at,
        ended_at=flow.ended_at,
        state=dict(flow.state),
        fields=dict(flow.fields),
        counts={state: n for state in State if (n := counts[state])},
    )
