"""Jobs of flows come in, in a SQL database."""

from __future__ import annotations

from collections.abc import Sequence

from oxmill.drivers.sql.arriving import due_of
from oxmill.drivers.sql.flow_making import create, flow_row
from oxmill.drivers.sql.flow_rows import StageRow
from oxmill.drivers.sql.reviving import revive
from oxmill.drivers.sql.rippling import ripple
from oxmill.drivers.sql.rows import json_text
from oxmill.drivers.sql.stepping import publish
from oxmill.drivers.sql.steps import NOW, Many, Statement
from oxmill.drivers.sql.web import Web
from oxmill.errors import BadInput
from oxmill.model.fields import pairs_of
from oxmill.model.flow import NewFlow
from oxmill.model.job import Enqueue, Enqueued, NewJob, Verdict
from oxmill.model.news import NO_NEWS
from oxmill.model.state import LIVE, State
from oxmill.store.plan import Steps, ask

Content = tuple[str, str, bytes]


def take_in_flow(bound: int, request: Enqueue) -> Steps[tuple[Enqueued, ...]]:
    """The flow, its jobs and its stage, all or nothing. `bound` is that of a step's ripples."""
    web = Web((yield from ask(NOW)))
    names = [name for name in (request.stage, request.publish) if name is not None]
    yield from web.load_stages(names)
    _check_stage(web, request)
    yield from web.load(name for job in request.jobs for name in (job.id, *job.after))
    verdicts = yield from _verdicts(web, request.jobs)
    if Verdict.ID_CONFLICT in verdicts:
        return tuple(
            _as_it_would_be(web, request, job, verdict)
            for job, verdict in zip(request.jobs, verdicts, strict=True)
        )
    yield from web.begin(web.jobs[job.id] for job in request.jobs if job.id in web.jobs)
    if request.flow is not None:
        yield from _store(web, request, request.flow, verdicts)
    if request.publish is not None:
        publish(web, request.publish)
    yield from ripple(web, bound)
    return _answers(web, request, verdicts)


def _check_stage(web: Web, request: Enqueue) -> None:
    name = request.publish
    if name is not None and name != request.stage and name not in web.stages:
        raise BadInput(
            f"there is no stage {name!r} to publish: nothing was staged under it, or it was dropped "
            f"because nobody published it within a day; enqueue its jobs again"
        )


def _verdicts(web: Web, jobs: Sequence[NewJob]) -> Steps[list[Verdict]]:
    there: dict[str, Content] = {}
    known = [job.id for job in jobs if job.id in web.jobs]
    if known:
        rows = yield from ask(Statement("contents_by_id", {"ids": json_text(dict.fromkeys(known))}))
        there = {job_id: (queue, task, payload) for job_id, queue, task, payload in rows}
    verdicts: list[Verdict] = []
    for job in jobs:
        content = (job.queue, job.task, job.payload)
        if job.id not in there:
            there[job.id] = content
            verdicts.append(Verdict.CREATED)
        else:
            same = there[job.id] == content
            verdicts.append(Verdict.DUPLICATE if same else Verdict.ID_CONFLICT)
    return verdicts


def _as_it_would_be(web: Web, request: Enqueue, job: NewJob, verdict: Verdict) -> Enqueued:
    """The answer for a job of a batch that was refused."""
    there = web.jobs.get(job.id)
    if there is not None:
        return Enqueued(id=job.id, verdict=verdict, state=there.state)
    held = request.stage is not None or job.after
    due = due_of(job, web.now) <= web.now
    state = State.HELD if held else State.WAITING if due else State.SCHEDULED
    return Enqueued(id=job.id, verdict=verdict, state=state)


def _store(web: Web, request: Enqueue, flow: NewFlow, verdicts: Sequence[Verdict]) -> Steps[None]:
    new = (yield from ask(Many("add_flow", [flow_row(flow, web.now)]))) > 0
    if new and flow.state:
        state = [(flow.id, name, value) for name, value in flow.state.items()]
        yield from ask(Many("put_state", state))
    if new and flow.fields:
        yield from ask(Many("add_flow_fields", field_rows(flow)))
    stage = None if request.stage is None else _stage(web, request.stage, flow.id)
    # One for each new job and one to line it up; two for each that is staged again.
    yield from web.draw(2 * len(request.jobs))
    for job, verdict in zip(request.jobs, verdicts, strict=True):
        if verdict is Verdict.CREATED:
            create(web, job, stage)
        elif stage is not None:
            yield from _stage_again(web, stage, job)


def field_rows(flow: NewFlow) -> list[tuple[str, str, str]]:
    """The parameters of `add_flow_fields`: values as JSON, which tells 1 from "1"."""
    return [(name, _json(value), flow.id) for name, value in pairs_of(flow.fields)]


def _json(value: str | int) -> str:
    return json_text([value])[1:-1]


def _stage(web: Web, name: str, flow: str) -> StageRow:
    stage = web.stages.get(name) or StageRow(name, flow, 0)
    stage.touched_at = web.now
    web.put_stage(stage)
    return stage


def _stage_again(web: Web, stage: StageRow, job: NewJob) -> Steps[None]:
    """A job that is there already is staged once more, as by a parent that is tried again.

    It comes along from another stage that nobody published. A child that failed or was cancelled
    gets a fresh start with this stage; one that is live or has succeeded counts as it is.
    """
    there, node = web.jobs[job.id], web.nodes.get(job.id)
    if node is None or node.flow != stage.flow or node.member == stage.name:
        return
    if node.staged and node.stage == stage.name:
        return
    other = web.unpublished(node)
    if other is not None and not stage.published:
        if there.state in LIVE:
            other.live -= 1
            web.put_stage(other)
            stage.live += 1
            web.put_stage(stage)
            web.hold(there, node, stage)
        node.stage, node.member = stage.name, None
    elif job.parent is not None and there.state in (State.FAILED, State.CANCELLED):
        node.stage = stage.name
        yield from revive(web, [(there, node)])
    if job.parent is not None:
        node.member, node.member_no = stage.name, next(web.numbers)
    web.put_node(node)


def _answers(web: Web, request: Enqueue, verdicts: Sequence[Verdict]) -> tuple[Enqueued, ...]:
    gained = tuple(sorted(web.gained))
    last = len(request.jobs) - 1
    return tuple(
        Enqueued(
            id=job.id,
            verdict=verdict,
            state=web.jobs[job.id].state,
            gained=gained if nth == last else (),
            news=web.told if nth == last else NO_NEWS,
        )
        for nth, (job, verdict) in enumerate(zip(request.jobs, verdicts, strict=True))
    )
