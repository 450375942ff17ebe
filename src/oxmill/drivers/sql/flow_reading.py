"""What leases and readers are told about flows, from a SQL database."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from oxmill.drivers.sql.flow_rows import Node, join_in, names_in, nodes
from oxmill.drivers.sql.rows import (
    ATTEMPT_OF_LEASE,
    EXTRAS_OF_LEASE,
    ID_OF_LEASE,
    Extras,
    extras_in,
    json_text,
    leased,
)
from oxmill.drivers.sql.steps import NOW, Rows, Statement
from oxmill.model.bounds import Bounds
from oxmill.model.fields import Fields
from oxmill.model.flow import FlowInfo, Flows, FlowStatus, ListFlows
from oxmill.model.job import Job, LeasedJob
from oxmill.model.state import State
from oxmill.model.token import Token
from oxmill.store.flow_admission import check_list_flows
from oxmill.store.plan import Steps, ask

_BEGINNING = 2**62


def leased_in_flows(
    rows: Rows, nonce: int, fields: Sequence[tuple[Any, ...]] = ()
) -> Steps[tuple[LeasedJob, ...]]:
    """Rows read just before they were granted, as their holder gets them: jobs of flows with what
    they read and what was joined. `fields` is what they read as far as their rows tell that, if it
    is known: flow, name, value."""
    leases = [(row, extras_in(row[EXTRAS_OF_LEASE])) for row in rows]
    tokens = _tokens(rows, nonce)
    in_flows = [lease for lease in leases if lease[1].flow is not None]
    if not in_flows:
        at = ATTEMPT_OF_LEASE
        return tuple([leased(row, extras, tokens[row[at]]) for row, extras in leases])
    # Of a job that has run before, more may be to be told than what it was stored with.
    going_on = [
        row[ID_OF_LEASE]
        for row, extras in in_flows
        if row[ATTEMPT_OF_LEASE] > 0 or extras.reads is None
    ]
    found = (yield from _nodes(going_on)) if going_on else {}
    joined = (yield from _joined(found.values())) if found else {}
    states = yield from _fields(_wanted(in_flows, found, known=bool(fields)))
    for flow, name, value in fields:
        states[flow][name] = value
    told: list[LeasedJob] = []
    for row, extras in leases:
        node = found.get(row[ID_OF_LEASE]) if found else None
        names = extras.reads if node is None else node.reads_names
        read: dict[str, bytes] | None = None
        if names is not None and extras.flow is not None:
            read = _read(states[extras.flow], names)
        job = leased(row, extras, tokens[row[ATTEMPT_OF_LEASE]], read)
        if node is not None and node.resume is not None:
            job = msgspec.structs.replace(job, resume=node.resume, joined=joined[node.job])
        told.append(job)
    return tuple(told)


def _tokens(rows: Rows, nonce: int) -> dict[int, Token]:
    """The tokens of these leases by how often each job was claimed before: most have the same."""
    return {
        attempt: Token(attempt + 1, nonce) for attempt in {row[ATTEMPT_OF_LEASE] for row in rows}
    }


def _read(state: Mapping[str, bytes], names: tuple[str, ...]) -> dict[str, bytes]:
    """The fields of these names, as far as they are there."""
    if len(names) == 1:  # as most steps do
        (name,) = names
        return {name: state[name]} if name in state else {}
    return {name: state[name] for name in names if name in state}


Found = Mapping[str, Node]
States = defaultdict[str, dict[str, bytes]]


def _wanted(
    leases: Sequence[tuple[Sequence[Any], Extras]], found: Found, *, known: bool
) -> list[tuple[str | None, tuple[str, ...]]]:
    """What these jobs read of which flow; `known` if that is known as far as their rows tell it."""
    if not found:
        return [] if known else [(each.flow, each.reads) for _, each in leases if each.reads]
    return [
        (extras.flow, names)
        for row, extras in leases
        if (not known or row[ID_OF_LEASE] in found)
        and (names := _reads(extras, found.get(row[ID_OF_LEASE])))
    ]


def _reads(extras: Extras, node: Node | None) -> tuple[str, ...] | None:
    return extras.reads if node is None else node.reads_names


def told_in_flows(jobs: Sequence[Job], *, whole: bool) -> Steps[tuple[Job, ...]]:
    """Jobs as readers get them; `whole` with what they waited for."""
    if not any(job.flow is not None for job in jobs):
        return tuple(jobs)
    found = yield from _nodes([job.id for job in jobs if job.flow is not None])
    joined = (yield from _joined(found.values())) if whole else {}
    told: list[Job] = []
    for job in jobs:
        node = found.get(job.id)
        if node is None:
            told.append(job)
            continue
        waited: dict[str, Any] = {}
        if whole:
            waited = {"after": names_in(node.after_ids), "joined": joined[node.job]}
        if whole and node.waiting and job.state is State.HELD:
            waited |= {"join": join_in(node.wait_join), "join_until": node.deadline_at}
        told.append(msgspec.structs.replace(job, resume=node.resume, **waited))
    return tuple(told)


def _nodes(ids: Sequence[str]) -> Steps[dict[str, Node]]:
    if not ids:
        return {}
    rows = yield from ask(Statement("nodes_by_id", {"ids": json_text(dict.fromkeys(ids))}))
    return {node.id: node for node in nodes(rows)}


def _joined(found: Iterable[Node]) -> Steps[defaultdict[int, tuple[str, ...]]]:
    """The children that each job spawned last, in order."""
    children: defaultdict[int, tuple[str, ...]] = defaultdict(tuple)
    rounds = [(node.job, node.round) for node in found if node.resume is not None]
    if rounds:
        rows = yield from ask(Statement("joined", {"rounds": json_text(rounds)}))
        for job, upstream in rows:
            children[job] += (upstream,)
    return children


def _fields(wanted: Sequence[tuple[str | None, tuple[str, ...]]]) -> Steps[States]:
    """At least these fields of these flows' states, as far as they are there."""
    states: States = defaultdict(dict)
    if wanted:
        # In the order in which the jobs came, which is nearly that in which the fields are stored.
        flows = dict.fromkeys([flow for flow, _ in wanted])
        names = {name for each in {names for _, names in wanted} for name in each}
        asked = {"ids": json_text(flows), "names": json_text(sorted(names))}
        for flow, name, value in (yield from ask(Statement("state_fields", asked, alone=True))):
            states[flow][name] = value
    return states


def _states(flows: Iterable[str]) -> Steps[defaultdict[str, dict[str, bytes]]]:
    states: defaultdict[str, dict[str, bytes]] = defaultdict(dict)
    names = sorted(flows)
    if names:
        rows = yield from ask(Statement("flow_states", {"ids": json_text(names)}))
        for flow, name, value in rows:
            states[flow][name] = value
    return states


_fields_in: Final = msgspec.json.Decoder(Fields).decode


def list_flows(bounds: Bounds, request: ListFlows) -> Steps[Flows]:
    """Published flows that match everything given, the newest first."""
    now = yield from ask(NOW)
    below = check_list_flows(request)
    limit = min(request.limit, bounds.page_jobs)
    wanted = [(name, json_text([value])[1:-1]) for name, value in request.fields.items()]
    name, value = wanted[0] if wanted else (None, None)
    asked = {
        "below": _BEGINNING if below is None else below,
        "ids": json_text(request.ids) if request.ids else None,
        "name": request.name,
        "status": None if request.status is None else request.status.value,
        "field_name": name,
        "field_value": value,
        "fields": json_text(wanted) if wanted else None,
        "most": limit + 1,
    }
    rows = yield from ask(Statement("flows_page", asked))
    ids = [row[1] for row in rows[:limit]]
    states = yield from _states(ids)
    counts: defaultdict[str, dict[State, int]] = defaultdict(dict)
    if ids:
        for flow, state, n in (yield from ask(Statement("flow_counts", {"ids": json_text(ids)}))):
            counts[flow][State(state)] = n
    items = tuple(_info(row, states[row[1]], counts[row[1]]) for row in rows[:limit])
    return Flows(items=items, now=now, next=str(rows[limit - 1][0]) if len(rows) > limit else None)


def _info(row: Sequence[Any], state: dict[str, bytes], counts: dict[State, int]) -> FlowInfo:
    _, flow, name, started_at, ended_at, failed, fields = row
    status = FlowStatus.FAILED if failed else FlowStatus.SUCCEEDED
    return FlowInfo(
        id=flow,
        name=name,
        status=FlowStatus.RUNNING if ended_at is None else status,
        started_at=started_at,
        ended_at=ended_at,
        state=state,
        fields=_fields_in(fields),
        counts=counts,
    )
