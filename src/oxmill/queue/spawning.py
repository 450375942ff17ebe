"""Fan-out at run time: a running job makes others, and goes on when they have ended."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Generic, TypeVar, Unpack

from msgspec.structs import replace

from oxmill.errors import BadFlow, BadInput, ForeignNode
from oxmill.model.flow import FlowStep, NewFlow, OnFailure
from oxmill.model.job import LeasedJob, NewJob
from oxmill.model.outcome import Signal
from oxmill.queue.call import Call
from oxmill.queue.client import Client
from oxmill.queue.context import PARENT
from oxmill.queue.continuation import Continuation, Resume, read_resume
from oxmill.queue.joining import JoinTerms, as_join
from oxmill.queue.runnable import Runnable

C = TypeVar("C")

_LONGEST_ID: Final = 120
"""Ids of children grow with each generation; a longer one is replaced by its hash."""


class Spawn(Signal, Generic[C]):
    """Raised by a task: make these jobs, give slot and lease back, and go on in `then` when they
    have ended, with their results.

        raise Spawn([fetch.bind(url) for url in urls], then=merge)

    The children's ids follow from the job's own, so a job that is run again after a crash finds the
    children that it has made. They inherit its priority and headers unless told otherwise.

    What cannot be spawned, such as a task without `.bind(...)`, or a `then` that is no continuation
    of the task itself, fails the job at once, before any child is made.
    """

    def __init__(
        self,
        calls: Iterable[Call[C]],
        then: Continuation[C],
        **join: Unpack[JoinTerms],
    ) -> None:
        # What is wrong about them is found when the run has ended: raised here, it would be an error
        # of the task's like any other, and tried again.
        self.calls: tuple[Call[C], ...] = tuple(calls) if isinstance(calls, Iterable) else (calls,)
        self.then = then
        self.join = as_join(**join)
        super().__init__(f"spawn {len(self.calls)} jobs, then {_called(then)}")


def spawned(job: LeasedJob, task: Runnable[Any], client: Client, spawn: Spawn[Any]) -> FlowStep:
    """The step in which a job of this task makes its children and is held until they have ended."""
    _check_then(task, spawn.then)
    if spawn.join.quorum > len(spawn.calls):
        raise BadFlow(
            f"a quorum of {spawn.join.quorum} of {len(spawn.calls)} spawned jobs is never met"
        )
    before = 0 if job.resume is None else read_resume(job.resume).round
    resume = Resume(spawn.then.name, before + 1, spawn.join.on_failure is OnFailure.COLLECT)
    children = tuple(
        _child(job, client, call, child_id(job.id, resume.round, number))
        for number, call in enumerate(spawn.calls)
    )
    if len({child.id for child in children}) < len(children):
        raise BadFlow("two spawned jobs have the same id; give each its own, or none")
    return FlowStep(spawn=children, join=spawn.join, resume=resume.text())


def child_id(parent: str, spawn_round: int, number: int) -> str:
    """The id of a child, the same whenever its parent is run again."""
    text = f"{parent}.{spawn_round}.{number}"
    if len(text) <= _LONGEST_ID:
        return text
    from hashlib import blake2b  # noqa: PLC0415 - idle workers do without

    return blake2b(text.encode(), digest_size=16).hexdigest()


def stage_of(job: LeasedJob) -> str:
    """The name under which children are staged that are too many for one step: each attempt has its
    own, so that what a dead one has staged is published by none but the one that follows it."""
    return f"{job.id[:150]}.stage.{job.token.attempt}.{job.token.nonce:x}"


def flow_of(job: LeasedJob) -> NewFlow:
    """The flow that the job is in, or founds by spawning: then it has the job's own id."""
    return NewFlow(id=job.flow or job.id, name=job.task)


def _check_then(task: Runnable[Any], then: object) -> None:
    """Only a continuation of the job's own task is found again when its children have ended."""
    if isinstance(then, Continuation):
        own = then.owner == task.name and then.name in task.continuations
        if own:
            return
    known = [f"then={name}" for name in task.continuations]
    choice = f"use {' or '.join(known)}, or " if known else ""
    raise BadFlow(
        f"{task.name} cannot go on in {_called(then)}, which is no continuation of its own; {choice}declare "
        f"one with @{task.fn.__name__}.continuation above a function that takes the results"
    )


def _called(what: object) -> str:
    match what:
        case Continuation():
            return f"{what.owner}.{what.name}"
        case Runnable():
            return f"task {what.name}"
        case _:
            return repr(what)


def _check_call(call: object) -> None:
    if isinstance(call, Call):
        return
    if isinstance(call, Runnable):
        raise BadFlow(
            f"task {call.name} is spawned without its arguments; write {call.fn.__name__}.bind(...)"
        )
    raise BadFlow(
        f"{call!r} cannot be spawned; give calls of tasks, as in Spawn([fetch.bind(url)], then=...)"
    )


def _child(job: LeasedJob, client: Client, call: Call[Any], own_id: str) -> NewJob:
    _check_call(call)
    new, task = call.template, call.task
    if task.client is not client:
        raise ForeignNode(f"the call of {new.task} belongs to another app; a job spawns its own")
    if new.unique is not None:
        raise BadFlow(
            f"{new.task} is unique, which a spawned job cannot be: its id follows from its "
            f"parent's; spawn task.using(unique=False)"
        )
    if task.options.connection is not None:
        raise BadInput(f"the call of {new.task} has a connection, which a spawned job cannot use")
    headers = {name: value for name, value in job.headers.items() if name != PARENT}
    return client.admit(
        replace(
            new,
            id=new.id or own_id,
            flow=job.flow or job.id,
            parent=job.id,
            priority=job.priority if task.options.priority is None else new.priority,
            headers={**headers, **new.headers},
        )
    )
