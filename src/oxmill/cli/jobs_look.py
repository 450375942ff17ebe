"""`oxmill jobs list | show | explain | wait`."""

from __future__ import annotations

import time
from collections.abc import Iterator

import click

from oxmill.cli import records
from oxmill.cli.exits import Exit
from oxmill.cli.framework import Command
from oxmill.cli.output import Column, Listing, Record, encode, pairs, show_one, tint
from oxmill.cli.paging import Piece, paged, show_pages
from oxmill.cli.selection import selecting
from oxmill.cli.session import Session
from oxmill.cli.times import ago, clock, here, iso, span
from oxmill.errors import JobNotFound, ResultTimeout
from oxmill.model.job import JSON, Attempt, Job, Reason
from oxmill.model.query import Filter, Find, Get
from oxmill.model.settlement import Outcome
from oxmill.model.state import TERMINAL, State
from oxmill.model.value import Micros
from oxmill.queue.explaining import situation_of
from oxmill.queue.talk import hold
from oxmill.rules.duration import spell
from oxmill.rules.explain import Explanation, explain
from oxmill.rules.situation import Gate
from oxmill.store.doorbell import ended

POLL_SECONDS = 1.0
"""How long a wait trusts the doorbell before it looks again."""


def job_listing(now: Micros) -> Listing[Job]:
    """Jobs as a table."""
    return Listing(
        columns=(
            Column("id", lambda job: job.id),
            Column("queue", lambda job: job.queue),
            Column("task", lambda job: job.task),
            Column("state", lambda job: str(job.state)),
            Column("tries", lambda job: f"{job.failures}/{job.max_attempts}", right=True),
            Column("enqueued", lambda job: ago(job.enqueued_at, now)),
            Column("due / ended", lambda job: ago(job.ended_at or job.due_at, now)),
            Column("why", _why),
        ),
        record=records.brief,
        empty="no job matches. Enqueue one with: oxmill enqueue TASK",
    )


def _why(job: Job) -> str:
    error = f"{job.error.type}: {job.error.message}".split("\n")[0] if job.error else ""
    return " ".join(part for part in (job.reason or "", error[:60]) if part)


@click.command(
    cls=Command,
    examples=(
        "oxmill jobs list -q mail -s failed",
        "oxmill jobs list --since 1h -f user_id=62 -o json",
    ),
)
@selecting
@paged
@click.pass_obj
def list_jobs(session: Session, *, chosen: Filter, limit: int, after: str | None) -> None:
    """List jobs, the newest first."""

    def look(most: int, at: str | None) -> Piece:
        find = Find(filter=chosen, limit=most, after=at)
        page = session.run(session.driver.inspecting.find(find))
        return Piece(page.jobs, page.next)

    show_pages(session, job_listing(here()), look, limit, after)


@click.command(
    cls=Command,
    examples=(
        "oxmill jobs show 0199c3f2a4b57c1d8e9f00112233aabb",
        "oxmill jobs show 0199c3f2a4b57c1d8e9f00112233aabb -o json",
    ),
)
@click.argument("job_id", metavar="ID")
@click.pass_obj
def show_job(session: Session, *, job_id: str) -> None:
    """Show everything the store knows about a job.

    Content, times, result, error, and every attempt while the job is kept.
    """
    job = get_job(session, job_id)
    show_one(records.full(job), lambda: _lines(job), session.output)


def get_job(session: Session, job_id: str) -> Job:
    """The job, or the error that says that there is none."""
    found = session.run(session.driver.inspecting.get(Get(ids=(job_id,))))
    if not found:
        raise JobNotFound(
            job_id,
            f"there is no job {job_id}; it was never enqueued here, or is already removed. "
            f"Look with: oxmill jobs list",
        )
    return found[0]


def _lines(job: Job) -> str:
    text = pairs(
        (
            ("id", job.id),
            ("task", job.task),
            ("queue", job.queue),
            ("state", tint(job.state) + (f" ({job.reason})" if job.reason else "")),
            ("priority", str(job.priority)),
            ("tries", f"{job.failures} failed of {job.max_attempts}; claimed {job.attempt}x"),
            ("crashes", f"{job.crashes} of {job.crash_limit}" if job.crashes else ""),
            ("enqueued", clock(job.enqueued_at)),
            ("due", clock(job.due_at)),
            ("expires", clock(job.expires_at)),
            ("claimed", clock(job.claimed_at)),
            ("ended", clock(job.ended_at)),
            ("worker", job.worker or ""),
            ("group", job.group or ""),
            ("fields", encode(dict(job.fields)) if job.fields else ""),
            ("tags", ", ".join(job.tags)),
            ("unique", job.unique or ""),
            ("flow", job.flow or ""),
            ("parent", job.parent or ""),
            ("after", ", ".join(job.after)),
            ("spawned", ", ".join(job.joined)),
            ("goes on in", job.resume or ""),
            ("payload", _readable(job.payload, job.content_type)),
            ("result", _readable(job.result, JSON)),
            ("progress", _readable(job.progress, JSON)),
            ("error", f"{job.error.type}: {job.error.message}" if job.error else ""),
        )
    )
    if job.history:
        text += "\n\nattempts\n" + "\n".join(_attempts(job))
    if job.error and job.error.traceback:
        text += "\n\ntraceback\n" + job.error.traceback.rstrip()
    return text


def _readable(data: bytes | None, content_type: str) -> str:
    return "" if data is None else encode(records.content(data, content_type))


def _attempts(job: Job) -> Iterator[str]:
    for item in job.history:
        ran = f", ran {spell(item.ended_at - item.claimed_at)}" if item.ended_at else ""
        error = f": {item.error.type}: {item.error.message}" if item.error else ""
        yield f"  {item.attempt}  {clock(item.claimed_at)}  {_ended_in(job, item)}{ran}{error}"


def _ended_in(job: Job, item: Attempt) -> str:
    """What an attempt asked for; for the last one of a job whose attempts are used up, what came of it."""
    last = item is job.history[-1] and job.reason == Reason.EXHAUSTED
    if last and item.outcome == Outcome.RETRY:
        return "failed, no attempt left"
    return item.outcome or "running"


@click.command(
    cls=Command,
    examples=(
        "oxmill jobs explain 0199c3f2a4b57c1d8e9f00112233aabb",
        "oxmill jobs explain 0199c3f2a4b57c1d8e9f00112233aabb -o json",
    ),
)
@click.argument("job_id", metavar="ID")
@click.pass_obj
def explain_job(session: Session, *, job_id: str) -> None:
    """Say why a job is where it is.

    Every gate before it is listed: closed ones with the command that opens them.
    """
    situation = hold(session.driver, situation_of(session.driver, job_id))
    job, told = situation.job, explain(situation)
    record = {
        "id": job.id,
        "summary": told.summary,
        "remedy": told.remedy,
        "runs_at": iso(told.runs_at),
        "gates": told.gates,
    }
    show_one(record, lambda: _explained(job, told), session.output)


def _explained(job: Job, told: Explanation) -> str:
    lines = [f"{job.task} {job.id}", told.summary]
    if told.gates:
        lines.append("")
    for gate in told.gates:
        lines.extend(_gate(gate))
    if told.closed and told.runs_at is not None:
        lines.append(f"can run at {clock(told.runs_at)}, as far as is known")
    if told.remedy:
        lines.append(f"try: {told.remedy}")
    return "\n".join(lines)


def _gate(gate: Gate) -> Iterator[str]:
    mark = tint("open") if gate.open else tint("closed")
    pad = "  " if gate.open else ""
    until = f" (opens at {clock(gate.opens_at)})" if gate.opens_at and not gate.open else ""
    yield f"  {mark}{pad}  {gate.name}: {gate.detail}{until}"
    if gate.remedy:
        yield f"          try: {gate.remedy}"


@click.command(
    cls=Command,
    examples=(
        "oxmill jobs wait 0199c3f2a4b57c1d8e9f00112233aabb --timeout 30s",
        'oxmill jobs wait $(oxmill enqueue app:send \'{"to": "a@x"}\')',
    ),
)
@click.argument("ids", nargs=-1, required=True)
@click.option("--timeout", callback=span, metavar="DURATION", help="Give up after this; exit 5.")
@click.pass_obj
def wait_for_jobs(session: Session, *, ids: tuple[str, ...], timeout: Micros | None) -> int:
    """Wait until jobs have ended. Exits 0 if all succeeded, 1 if not, 5 if time ran out.

    With -o json one job is an object and several are an array; -o ndjson has a line for each.
    """
    deadline = None if timeout is None else time.monotonic() + timeout / 1e6
    worst = Exit.OK
    told: list[Record] = []
    whole = session.output == "json" and len(ids) > 1  # one array, of what has ended by then
    try:
        for job_id in ids:
            job = _wait(session, job_id, deadline)
            told.append(records.full(job))
            if not whole:
                show_one(told[-1], lambda job=job: _outcome(job), session.output)  # type: ignore[misc]
            if job.state is not State.SUCCEEDED:
                worst = Exit.FAILED
    finally:
        if whole:
            click.echo(encode(told, indent=True))
    return worst


def _wait(session: Session, job_id: str, deadline: float | None) -> Job:
    with session.driver.doorbell.listen([ended(job_id)]) as bell:
        while True:
            job = get_job(session, job_id)
            if job.state in TERMINAL:
                return job
            left = POLL_SECONDS if deadline is None else deadline - time.monotonic()
            if left <= 0:
                raise ResultTimeout(
                    job_id,
                    f"job {job_id} is still {job.state} after the time given; it goes on. "
                    f"See why with: oxmill jobs explain {job_id}",
                )
            bell.wait(min(left, POLL_SECONDS))


def _outcome(job: Job) -> str:
    detail = _readable(job.result, JSON)
    if job.state is State.FAILED and job.error is not None:
        detail = f"{job.error.type}: {job.error.message}"
    return f"{job.id}  {tint(job.state)}  {detail or job.reason or ''}".rstrip()
