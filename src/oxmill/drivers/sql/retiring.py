"""Jobs of flows go from a SQL database: purged, kept long enough, or staged and never published."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from oxmill.drivers.sql.changes import Changes
from oxmill.drivers.sql.flow_rows import IN_FLOW, Kind, Ripple
from oxmill.drivers.sql.rippling import ripple
from oxmill.drivers.sql.rows import Standing, json_text
from oxmill.drivers.sql.steps import Statement
from oxmill.drivers.sql.web import Web
from oxmill.model.settings import DAY
from oxmill.model.state import LIVE, State
from oxmill.store.plan import Steps, ask


def forget(web: Web, changes: Changes, jobs: Iterable[Standing]) -> Steps[None]:
    """Jobs of flows are deleted: for those that wait for them, that is a failed end."""
    members = [job for job in jobs if job.keep == IN_FLOW]
    if not members:
        return
    yield from web.know(members)
    below: defaultdict[str, dict[int, int | None]] = defaultdict(dict)
    ids = {"ids": json_text(job.id for job in members)}
    for upstream, dependent, ok in (yield from ask(Statement("edges_from", ids))):
        below[upstream][dependent] = ok
    gone: set[int] = set()
    for job in members:
        node = web.nodes[job.id]
        awaited = {i: ok for i, ok in below[job.id].items() if i not in gone}
        if job.state is not State.SUCCEEDED and not awaited:
            web.ledger.lose(node.flow)
        if job.state in LIVE:
            if any(ok is None for ok in awaited.values()):
                changes.news.append(Ripple(Kind.CLOSE, job.id, ok=0))
            web.leave(node)
        gone.add(job.seq)
    seqs = {"seqs": json_text(gone)}
    yield from ask(Statement("drop_edges", seqs))
    yield from ask(Statement("drop_nodes", seqs))


def retire(web: Web, limit: int, bound: int) -> Steps[tuple[int, bool]]:
    """Delete flows past their retention, then stages that nobody published within a day.

    At most `limit` jobs: gives how many went, and whether more are left.
    """
    asked = {"now": web.now, "before": web.now - DAY, "most": limit + 1}
    flows = yield from ask(Statement("old_flows", asked, locks=True))
    stages = yield from ask(Statement("old_stages", asked, locks=True))
    gone, left = 0, False
    for (flow,) in flows:
        n, all_gone = yield from _delete(web, "jobs_of_flow", flow, limit - gone, bound)
        gone += n
        left = left or not all_gone
        if all_gone:
            yield from _drop_flows([flow])
    for (name,) in stages:
        n, all_gone = yield from _delete(web, "jobs_of_stage", name, limit - gone, bound)
        gone += n
        left = left or not all_gone
        if all_gone:
            yield from _drop_stage(web, name)
    return gone, left or len(flows) > limit or len(stages) > limit


def _delete(web: Web, what: str, name: str, limit: int, bound: int) -> Steps[tuple[int, bool]]:
    """Delete so many jobs of a flow or stage; how many went, and whether that was all of them."""
    rows = yield from ask(Statement(what, {"name": name, "most": max(limit, 0) + 1}))
    ids = [job_id for (job_id,) in rows[: max(limit, 0)]]
    if ids:
        yield from web.load(ids)
        jobs = [web.jobs[i] for i in ids]
        changes = yield from web.begin(jobs)
        yield from forget(web, changes, jobs)
        for job in jobs:
            changes.remove(job)
        yield from ripple(web, bound)
    return len(ids), len(rows) <= max(limit, 0)


def _drop_stage(web: Web, name: str) -> Steps[None]:
    """An abandoned stage of which no job is left goes, and its flow if that was all of it."""
    yield from web.load_stages([name])
    yield from ask(Statement("drop_stages", {"names": json_text([name])}))
    stage = web.stages.pop(name, None)
    if stage is not None:
        rows = yield from ask(Statement("bare_flows", {"ids": json_text([stage.flow])}))
        yield from _drop_flows([flow for (flow,) in rows])


def _drop_flows(flows: list[str]) -> Steps[None]:
    if not flows:
        return
    ids = {"ids": json_text(flows)}
    for name in ("drop_flow_stages", "drop_flow_state", "drop_flow_fields", "drop_flows"):
        yield from ask(Statement(name, ids))
