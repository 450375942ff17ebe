"""Jobs, queues, workers and schedules as programs read them: plain data, times in ISO 8601."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import Any

import msgspec

from oxmill.cli.output import Record
from oxmill.cli.times import iso
from oxmill.model.flow import FlowInfo
from oxmill.model.info import Event, Finding, GateInfo, QueueInfo, WorkerInfo
from oxmill.model.job import JSON, Attempt, Job
from oxmill.model.rule import Rule
from oxmill.model.schedule import ScheduleInfo
from oxmill.model.settings import QueueSettings
from oxmill.queue.tree import FlowTree


def brief(job: Job) -> dict[str, Any]:
    """A job in a list."""
    return {
        "id": job.id,
        "queue": job.queue,
        "task": job.task,
        "state": job.state,
        "reason": job.reason,
        "priority": job.priority,
        "attempt": job.attempt,
        "failures": job.failures,
        "max_attempts": job.max_attempts,
        "enqueued_at": iso(job.enqueued_at),
        "due_at": iso(job.due_at),
        "ended_at": iso(job.ended_at),
        "worker": job.worker,
        "error": job.error.type if job.error is not None else None,
    }


def full(job: Job) -> dict[str, Any]:
    """A job with everything the store knows."""
    return brief(job) | {
        "crashes": job.crashes,
        "crash_limit": job.crash_limit,
        "expires_at": iso(job.expires_at),
        "claimed_at": iso(job.claimed_at),
        "lease_until": iso(job.lease_until),
        "cancel_requested": job.cancel_requested,
        "timeout_seconds": None if job.timeout is None else job.timeout / 1e6,
        "group": job.group,
        "fields": dict(job.fields),
        "tags": list(job.tags),
        "headers": dict(job.headers),
        "unique": job.unique,
        "flow": job.flow,
        "parent": job.parent,
        "after": list(job.after),
        "joined": list(job.joined),
        "join": msgspec.to_builtins(job.join),
        "join_until": iso(job.join_until),
        "resume": job.resume,
        "content_type": job.content_type,
        "payload": content(job.payload, job.content_type),
        "result": content(job.result, JSON),
        "progress": content(job.progress, JSON),
        "error": msgspec.to_builtins(job.error),
        "history": [attempt(item) for item in job.history],
    }


def attempt(item: Attempt) -> dict[str, Any]:
    """One lease of a job."""
    return {
        "attempt": item.attempt,
        "worker": item.worker,
        "claimed_at": iso(item.claimed_at),
        "ended_at": iso(item.ended_at),
        "outcome": item.outcome,
        "error": msgspec.to_builtins(item.error),
    }


def content(data: bytes | None, content_type: str) -> Any:
    """Stored bytes, readable where they can be: JSON as it is, the rest in base 64."""
    if data is None:
        return None
    if content_type == JSON or content_type.endswith("+json"):
        try:
            msgspec.json.decode(data)
        except msgspec.MsgspecError:
            pass
        else:
            return msgspec.Raw(data)
    return {"base64": b64encode(data).decode()}


def flow(info: FlowInfo) -> dict[str, Any]:
    """A flow in a list."""
    return {
        "id": info.id,
        "name": info.name,
        "status": info.status,
        "started_at": iso(info.started_at),
        "ended_at": iso(info.ended_at),
        "fields": dict(info.fields),
        "state": {name: msgspec.Raw(value) for name, value in info.state.items()},
        "counts": {str(state): number for state, number in info.counts.items()},
    }


def flow_tree(tree: FlowTree) -> Record:
    """A flow with its jobs and their edges."""
    handed_over = tree.handed_over()
    jobs = [
        brief(job)
        | {
            "parent": job.parent,
            "after": list(job.after),
            "joined": list(job.joined),
            "handed_over_by": handed_over.get(job.id),
        }
        for job in tree.jobs
    ]
    return flow(tree.flow) | {"jobs": jobs}


def queue(info: QueueInfo) -> Record:
    """A queue with its counts, rules and settings."""
    return {
        "name": info.name,
        "counts": {str(state): number for state, number in info.counts.items()},
        "totals": {str(state): number for state, number in info.totals.items()},
        "oldest_waiting": iso(info.oldest_waiting),
        "rules": [rule(item) for item in info.rules],
        "settings": settings(info.settings),
    }


def rule(item: Rule) -> Record:
    """A pause, block or throttle."""
    return {
        "kind": item.kind,
        "scope": item.scope,
        "target": item.target,
        "reason": item.reason,
        "author": item.author,
        "rate": item.rate,
        "set_at": iso(item.set_at),
        "expires_at": iso(item.expires_at),
    }


def gate(item: GateInfo) -> Record:
    """What the limits of a queue, or of a group in it, leave now."""
    return {
        "group": item.group,
        "running": item.running,
        "waiting": item.waiting,
        "room": item.room,
        "opens_at": iso(item.opens_at),
    }


def event(item: Event) -> Record:
    """What somebody did, or what went wrong."""
    return {
        "seq": item.seq,
        "at": iso(item.at),
        "kind": item.kind,
        "target": item.target,
        "author": item.author,
        "detail": item.detail,
    }


def settings(item: QueueSettings) -> Mapping[str, Any]:
    """Settings of a queue; lengths of time in seconds."""
    known = {
        name: getattr(item, name)
        for name in item.__struct_fields__
        if not name.startswith("keep") and name != "ageing"
    }
    if item.ageing is not None:
        known["ageing_seconds"] = item.ageing / 1e6
    return {
        "keep_succeeded_seconds": item.keep_succeeded / 1e6,
        "keep_failed_seconds": item.keep_failed / 1e6,
        "keep_cancelled_seconds": item.keep_cancelled / 1e6,
        **{name: value for name, value in known.items() if value},
    }


def worker(info: WorkerInfo) -> Record:
    """A worker process."""
    return {
        "id": info.id,
        "host": info.host,
        "pid": info.pid,
        "version": info.version,
        "phase": info.phase,
        "queues": list(info.queues),
        "slots": info.slots,
        "running": info.running,
        "done": info.done,
        "rss": info.rss,
        "started_at": iso(info.started_at),
        "beat_at": iso(info.beat_at),
        "tasks": list(info.tasks),
    }


def schedule(info: ScheduleInfo) -> Record:
    """A schedule and its next tick."""
    plan = info.schedule
    return {
        "name": plan.name,
        "cron": plan.cron,
        "every_seconds": None if plan.every is None else plan.every / 1e6,
        "zone": plan.zone,
        "catch_up": plan.catch_up,
        "window_seconds": plan.window / 1e6,
        "overlap": plan.overlap,
        "jitter_seconds": plan.jitter / 1e6,
        "task": plan.job.task,
        "queue": plan.job.queue,
        "payload": content(plan.job.payload, plan.job.content_type),
        "paused": info.paused,
        "next_at": iso(info.next_at),
        "last_at": iso(info.last_at),
        "last_job": info.last_job,
        "error": info.error,
        "source": plan.source,
    }


def finding(item: Finding) -> Record:
    """One of the doctor's findings."""
    known: Record = msgspec.to_builtins(item)
    return known
