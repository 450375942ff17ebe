"""Checks about flows that every driver makes before its first write."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from oxmill.errors import BadInput, TooBig
from oxmill.model.bounds import Bounds
from oxmill.model.flow import FlowStep, Join, JoinPolicy, ListFlows, NewFlow
from oxmill.model.job import Enqueue, NewJob
from oxmill.model.settlement import Outcome, Settlement
from oxmill.store.admission import (
    MAX_MICROS,
    check_fields,
    check_name,
    check_new_job,
    check_new_jobs,
    need,
)
from oxmill.store.capabilities import Capability
from oxmill.store.kinds import check_kinds


def concerns_flows(request: Enqueue) -> bool:
    """Whether an enqueue is about a flow; all others go the plain way."""
    return request.flow is not None or request.stage is not None or request.publish is not None


def check_enqueue(request: Enqueue, bounds: Bounds, able: Capability) -> None:
    """Refuse a batch that cannot be stored faithfully, or a flow that does not hold together."""
    if not concerns_flows(request):
        check_new_jobs(request.jobs, bounds, able)
        return
    need(able, Capability.FLOWS, "flows")
    check_new_jobs(request.jobs, bounds, able, in_flow=True)
    for name in (request.stage, request.publish):
        if name is not None:
            check_name("stage name", name, bounds.id_bytes)
    if request.flow is None:
        if request.stage is not None or request.jobs:
            raise BadInput("jobs that are staged or published belong to a flow; give it with them")
        return
    _check_flow(request.flow, bounds)
    if not request.jobs and request.publish is None:
        raise BadInput(f"the flow {request.flow.id} has no jobs; add at least one")
    _check_members(request.jobs, request.flow.id, bounds)


def _check_flow(flow: NewFlow, bounds: Bounds) -> None:
    check_kinds(flow, f"flow {flow.id}")
    check_name("flow id", flow.id, bounds.id_bytes)
    check_name("flow name", flow.name, bounds.name_bytes)
    check_fields(flow.fields, bounds)
    _check_state(flow.state.items(), "flow", flow.id, bounds)
    if flow.keep is not None and not 0 <= flow.keep < MAX_MICROS:
        raise BadInput(f"flow {flow.id}: keep of {flow.keep} microseconds is out of range")


def _check_state(items: Iterable[tuple[str, bytes]], kind: str, whose: str, bounds: Bounds) -> None:
    for name, value in items:
        if not (name.isascii() and name.isprintable() and 0 < len(name) <= bounds.name_bytes):
            check_name("name of a state's field", name, bounds.name_bytes)
        if not isinstance(value, bytes):
            raise BadInput(f"{kind} {whose}: the field {name!r} of the state must be bytes")
        if len(value) > bounds.payload_bytes:
            raise TooBig(
                f"{kind} {whose}: the field {name!r} of the state takes {len(value):,} bytes; the "
                f"limit is {bounds.payload_bytes:,}. Store the data elsewhere and keep a reference"
            )


def _check_members(jobs: Sequence[NewJob], flow: str | None, bounds: Bounds) -> None:
    """The jobs of one flow: `flow` is its id, or `None` where the store writes it itself."""
    waits = False
    for job in jobs:
        if flow is not None and job.flow != flow:
            raise BadInput(
                f"job {job.id} names the flow {job.flow!r}, not {flow!r}, to which its batch "
                f"belongs; enqueue each flow by itself"
            )
        if job.unique is not None:
            raise BadInput(
                f"job {job.id} of a flow has a unique key; give the flow an id of your own "
                f"instead, so that the flow as a whole is made once"
            )
        for name in job.reads or ():
            check_name("job id or field that a job names", name, bounds.id_bytes)
        if job.parent is not None:
            check_name("parent's id", job.parent, bounds.id_bytes)
        if job.after or job.join is not None:
            _check_edges(job, bounds)
            waits = True
    if waits:
        _check_order(jobs)


def _check_order(jobs: Sequence[NewJob]) -> None:
    """Whoever waits for others of its batch comes after them."""
    batch = {job.id for job in jobs}
    seen: set[str] = set()
    for job in jobs:
        seen.add(job.id)
        for upstream in job.after:
            if upstream == job.id or (upstream in batch and upstream not in seen):
                raise BadInput(
                    f"job {job.id} is after {upstream}, which comes later in the batch or is the "
                    f"job itself; list jobs after those they wait for, without a circle"
                )


def _check_edges(job: NewJob, bounds: Bounds) -> None:
    for name in job.after:
        check_name("job id or field that a job names", name, bounds.id_bytes)
    edges = len(set(job.after))
    if edges > bounds.edges:
        raise TooBig(
            f"job {job.id} is after {edges:,} jobs; the limit is {bounds.edges:,}. Let jobs "
            f"in between gather parts of them"
        )
    if job.join is not None:
        if not edges:
            raise BadInput(f"job {job.id} has a join but is after nothing; name the jobs to join")
        _check_join(job.join, edges, f"job {job.id}")


def _check_join(join: Join, edges: int | None, whose: str) -> None:
    """`edges` is `None` where the number is not known yet."""
    if join.policy is JoinPolicy.QUORUM and not 1 <= join.quorum <= (edges or join.quorum):
        raise BadInput(
            f"{whose}: a quorum of {join.quorum} cannot be met by {edges} jobs; use a number from "
            f"1 to how many are joined"
        )
    if join.deadline is not None and not 0 <= join.deadline < MAX_MICROS:
        raise BadInput(f"{whose}: a deadline of {join.deadline} microseconds is out of range")


def check_steps(items: Iterable[Settlement], bounds: Bounds, able: Capability) -> None:
    """Refuse what a completion asks of its flow, if it cannot be done as asked."""
    asked = False
    known: NewJob | None = None
    """The next job looked at last, which is sound: most others are like it."""
    for item in items:
        if item.flow is None:
            continue
        if not asked:
            need(able, Capability.FLOWS, "flows")
            asked = True
        if item.outcome is not Outcome.COMPLETE:
            raise BadInput(
                f"job {item.id}: only a completion changes the flow, not {item.outcome}; leave "
                f"the step out"
            )
        step = item.flow
        try:
            if not hands_over(step):
                _check_step(item.id, step, bounds, able)
                continue
            if step.merge:
                _check_state(step.merge.items(), "job", item.id, bounds)
            if step.then:
                new = step.then[0]
                sound = known is not None and is_like(new, known)
                if not (sound and _sound_id(new.id, item.id, bounds.id_bytes)):
                    _check_next(item.id, new, bounds, able)
                    known = new
        except (AttributeError, TypeError):
            for new in (*step.then, *step.spawn):
                check_kinds(new, f"job {new.id}")  # says what is of a wrong type
                if isinstance(new.reads, list):
                    raise BadInput(
                        f"job {new.id}: give what it reads as a tuple, not a list"
                    ) from None
            raise


def _check_next(job_id: str, new: NewJob, bounds: Bounds, able: Capability) -> None:
    """The usual step makes one job that waits for nothing: it is looked at by the shortest way."""
    check_new_job(new, bounds, able, in_flow=True)
    if (
        new.id == job_id
        or new.unique is not None
        or new.parent is not None
        or new.after
        or new.join is not None
        or not _sound_names(new.reads, bounds.id_bytes)
    ):
        _check_members((new,), None, bounds)
        _check_children(job_id, (new,), ())


def hands_over(step: FlowStep) -> bool:
    """Whether a step only merges fields and goes on in at most one job."""
    return not step.spawn and step.publish is None and step.resume is None and len(step.then) <= 1


def is_like(new: NewJob, known: NewJob) -> bool:
    """Whether two jobs of flows are made from one mold: then all they have is the very same but for the id and the flow."""
    return (
        new.payload is known.payload
        and new.queue is known.queue
        and new.task is known.task
        and new.content_type is known.content_type
        and new.priority is known.priority
        and new.max_attempts is known.max_attempts
        and new.crash_limit is known.crash_limit
        and new.delay is known.delay
        and new.run_at is known.run_at
        and new.expires_in is known.expires_in
        and new.keep is known.keep
        and new.timeout is known.timeout
        and new.group is known.group
        and new.fields is known.fields
        and new.tags is known.tags
        and new.headers is known.headers
        and new.unique is known.unique
        and new.parent is known.parent
        and new.after is known.after
        and new.join is known.join
        and new.reads is known.reads
    )


def _sound_id(name: str, job_id: str, id_bytes: int) -> bool:
    """Whether the id of a next step needs no closer look."""
    return name.isascii() and name.isprintable() and 0 < len(name) <= id_bytes and name != job_id


@lru_cache(maxsize=256)
def _sound_names(names: tuple[str, ...] | None, limit: int) -> bool:
    """Whether these need no closer look. Jobs of one task read the same fields."""
    return all(
        isinstance(name, str) and name.isascii() and name.isprintable() and 0 < len(name) <= limit
        for name in names or ()
    )


def _check_step(job_id: str, step: FlowStep, bounds: Bounds, able: Capability) -> None:
    if step.merge:
        _check_state(step.merge.items(), "job", job_id, bounds)
    made = (*step.then, *step.spawn) if step.spawn else step.then
    most = min(bounds.batch_jobs, bounds.heavy_jobs)
    if len(made) > most:
        raise TooBig(
            f"job {job_id} makes {len(made):,} jobs with its end; the limit is {most:,}. Stage them in "
            f"batches and publish the stage"
        )
    if made:
        check_new_jobs(made, bounds, able, in_flow=True)
        _check_members(made, None, bounds)
        _check_children(job_id, made, step.spawn)
    if step.publish is not None:
        check_name("stage name", step.publish, bounds.id_bytes)
    if step.resume is None:
        return
    check_name("continuation's name", step.resume, bounds.id_bytes)
    if step.spawn or step.publish:
        known = None if step.publish is not None else len({job.id for job in step.spawn})
        _check_join(step.join, known, f"job {job_id}")


def _check_children(job_id: str, made: Sequence[NewJob], spawned: Sequence[NewJob]) -> None:
    themselves = [job for job in made if job.id == job_id]
    if themselves or (spawned and any(job_id in job.after for job in spawned)):
        raise BadInput(
            f"job {job_id} cannot wait for itself: one of the jobs it makes is the job itself, or a "
            f"child that is after it; children start without waiting for their parent"
        )


def check_list_flows(request: ListFlows) -> int | None:
    """The number of arrival below which the page starts, if it is not the first."""
    if request.limit < 1:
        raise BadInput(f"a page holds at least 1 flow, not {request.limit}")
    cursor = request.after
    if cursor is None:
        return None
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 19):
        raise BadInput(f"{cursor[:40]!r} is not the cursor of a page; use the `next` of the last")
    return int(cursor)
