"""New flows and new jobs of flows, as rows."""

from __future__ import annotations

from typing import Any

import msgspec

from oxmill.drivers.sql.arriving import due_of
from oxmill.drivers.sql.flow_rows import Node, StageRow, join_text, names_text
from oxmill.drivers.sql.rows import Standing
from oxmill.drivers.sql.weaving import arm, begin
from oxmill.drivers.sql.web import Web
from oxmill.model.flow import NewFlow
from oxmill.model.job import NewJob, Reason
from oxmill.model.state import State
from oxmill.model.value import Micros


def flow_row(flow: NewFlow, now: Micros) -> tuple[Any, ...]:
    """The parameters of `add_flow`."""
    fields = msgspec.json.encode(flow.fields).decode()
    return (flow.id, flow.name, now, flow.keep, fields)


def create(web: Web, job: NewJob, stage: StageRow | None) -> Standing:
    """A new job of a flow: held by its stage or for what it is after, or in line."""
    held = stage is not None and not stage.published
    due = due_of(job, web.now) <= web.now
    after = tuple(dict.fromkeys(job.after))
    state = State.HELD if held or after else State.WAITING if due else State.SCHEDULED
    made = web.admit(job, state, Reason.STAGED if held else None)
    assert job.flow is not None  # noqa: S101 - only jobs of flows come here
    node = Node(
        made.seq,
        job.id,
        job.flow,
        job.parent,
        reads=names_text(job.reads),
        after_ids=names_text(after) if after else None,
        after_join=join_text(job.join),
    )
    if stage is not None and held:
        node.stage, node.staged = stage.name, 1
    if stage is not None and job.parent is not None:
        node.member, node.member_no = stage.name, made.seq
    web.put_node(node)
    web.enter(node)
    if after:
        node.wait_join = node.after_join
        arm(web, node, after)
    if after and not held:
        begin(web, made, node)
    return made
