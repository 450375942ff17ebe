"""A fresh start for jobs of flows that failed or were cancelled, in a SQL database."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from oxmill.drivers.sql.flow_rows import Node, names_in
from oxmill.drivers.sql.lanes import join_lanes
from oxmill.drivers.sql.rows import Standing, json_text
from oxmill.drivers.sql.steps import Many, Statement
from oxmill.drivers.sql.weaving import start_afresh
from oxmill.drivers.sql.web import Web
from oxmill.model.state import State
from oxmill.store.plan import Steps, ask


def revive(web: Web, jobs: Sequence[tuple[Standing, Node]]) -> Steps[None]:
    """Behind the line, with fresh counts; then held again, if there is something to wait for. The
    caller has numbers at hand for their places."""
    places = [next(web.numbers) for _ in jobs]
    rows = [(web.now, place, job.seq) for place, (job, _) in zip(places, jobs, strict=True)]
    yield from ask(Many("redrive_job", rows))
    for place, (job, _) in zip(places, jobs, strict=True):
        web.changes.tally.move(job.queue, job.state, State.WAITING)
        fresh(job, place, web.now)
    yield from hold_again(web, jobs)
    yield from join_lanes(
        (job.group, job.queue, job.priority, job.place)
        for job, _ in jobs
        if job.state is State.WAITING
    )


def fresh(job: Standing, place: int, now: int) -> None:
    """The standing of a job that was just redriven."""
    job.state, job.place, job.due_at = State.WAITING, place, now
    job.failures = job.crashes = job.cancel_requested = 0
    job.reason = job.last_outcome = job.expires_at = job.ended_at = job.prune_at = None
    job.error = job.result = None


def hold_again(web: Web, jobs: Sequence[tuple[Standing, Node]]) -> Steps[None]:
    """Redriven jobs of flows are held for what they are after. Whoever has not learnt of their last
    end waits for the next one."""
    ids = {"ids": json_text(node.id for _, node in jobs)}
    yield from ask(Statement("drop_closing", ids))
    after = [node for _, node in jobs if node.after_ids is not None]
    known: defaultdict[int, dict[str, int]] = defaultdict(dict)
    if after:
        yield from web.load(name for node in after for name in names_in(node.after_ids))
        seqs = {"seqs": json_text(node.job for node in after)}
        for dependent, upstream in (yield from ask(Statement("won_before", seqs))):
            known[dependent][upstream] = 1
    for job, node in jobs:
        start_afresh(web, job, node, known[node.job])
