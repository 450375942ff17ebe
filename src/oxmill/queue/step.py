"""Steps: tasks over the shared state of a flow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from oxmill.errors import BadArguments, WrongContext
from oxmill.model.bounds import MAX_PRIORITY
from oxmill.model.flow import FlowStep
from oxmill.model.job import LeasedJob, NewJob
from oxmill.model.value import Value
from oxmill.queue.codec import ENCODE
from oxmill.queue.context import PARENT
from oxmill.queue.continuation import Arguments, Body, read_resume
from oxmill.queue.inputs import Inputs
from oxmill.queue.options import TaskOptions
from oxmill.queue.task import BaseTask


class Stop(Value, frozen=True, array_like=True):
    """One step on the way of a pipeline."""

    step: str
    shift: int = 0
    """Added to the priority on the way to it."""


class Itinerary(Value, frozen=True, omit_defaults=True):
    """What a step's job carries instead of arguments: the way, and where on it the job is. It is
    fixed at the start, so a change of the definition does not upset flows under way."""

    pipeline: str
    way: tuple[Stop, ...]
    at: int = 0
    number: int = 0
    """Hand-overs so far; it makes the next job's id."""


Leg = tuple[Stop, int, bytes]
"""The next stop, the number of the hand-over, and the way as the job there carries it."""

_READ: Final = msgspec.json.Decoder(Itinerary).decode
_LIKES: Final = 128
"""Ways and priorities that a step remembers."""
_FIELDS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


class Next:
    """Returned by a step: go on in this step, or end here if it is `None`, whatever the pipeline
    says. The fields are merged as if they had been returned alone.

    A step of the pipeline goes on from its place there; any other is a detour, after which the
    pipeline goes on where it was left. Where a pipeline has a step several times, a step that names
    itself is repeated; any other goes on at its next place ahead, or else at the nearest behind.
    """

    def __init__(self, step: Step | str | None, fields: Any = None) -> None:
        self.step = None if step is None else step if isinstance(step, str) else step.name
        self.fields = fields


class Step(BaseTask[[], Any]):
    """A function over the shared state of a flow: its parameters name the fields that it reads. It
    gets exactly those, `None` (or the default) for what is not there. The fields that it returns
    are merged into the state in the same step that hands over to the next one."""

    stands_alone = False

    find: Callable[[str], BaseTask[..., Any]]
    """The task of a name, declared in the same app."""
    _likes: dict[tuple[bytes, int], NewJob]
    """What its jobs have in common, by the way that they carry and their priority."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The fields of the state that it, or a function in which it goes on, reads."""
        if not self.continuations:
            return self._codec.names
        more = (name for each in self.continuations.values() for name in each.reads)
        return tuple(dict.fromkeys((*self._codec.names, *more)))

    def _take(self, options: TaskOptions) -> None:
        super()._take(options)
        self._likes = {}

    def new_job(self, args: tuple[Any, ...], kwargs: dict[str, Any], job_id: str) -> NewJob:  # noqa: ARG002
        """Refused: a step has no life of its own."""
        raise WrongContext(
            f"step {self.name} works on the state of a flow; start a pipeline that it is part of, "
            f"as in app.pipeline('import', {self.fn.__name__}).start({{...}})"
        )

    def flow_job(self, args: Any, kwargs: Any, job_id: str) -> Any:
        """Refused as well."""
        return self.new_job(args, kwargs, job_id)

    def next_job(self, job_id: str, flow: str, payload: bytes, priority: int) -> NewJob:
        """The same for flows of which nothing else is carried along: what such jobs have in common is made
        once."""
        if self.continuations:  # which may still be declared, and tell what it reads
            return self.step_job(job_id, flow, payload, priority=priority)
        like = self._likes.get((payload, priority))
        if like is None:
            if len(self._likes) >= _LIKES:
                self._likes.clear()
            like = self.step_job("", "", payload, priority=priority)
            self._likes[payload, priority] = like
        return replace(like, id=job_id, flow=flow)

    def step_job(self, job_id: str, flow: str, payload: bytes, **changes: Any) -> NewJob:
        """The job of this step in a flow, with the way that it carries."""
        return replace(
            self._template, id=job_id, payload=payload, flow=flow, reads=self.reads, **changes
        )

    def prepare(self, job: LeasedJob, inputs: Inputs) -> tuple[Body, Arguments]:
        """The function and the fields that it reads."""
        state = job.flow_state or {}
        if job.resume is not None:
            resume = read_resume(job.resume)
            body = self.continuation_named(resume.name)
            return body, body.arguments_of_state(resume, job.joined, inputs, state)
        return self, ((), self._codec.unpack_some(state))

    def ends(self, job: LeasedJob, value: Any) -> tuple[bytes | None, FlowStep | None]:
        """The fields to merge, and the next step."""
        if isinstance(value, Next):
            chosen, value = value.step, value.fields
            follows = None if chosen is None else _chosen(job, chosen)
        else:
            follows = _onwards(job)
        then = () if follows is None else (self._next_job(job, follows),)
        return None, FlowStep(merge=fields_of(value, self.name), then=then)

    def _next_job(self, job: LeasedJob, follows: Leg) -> NewJob:
        stop, number, payload = follows
        step = self.find(stop.step)
        if not isinstance(step, Step):
            raise BadArguments(
                f"{stop.step} is a task, not a step: it cannot be part of a pipeline"
            )
        headers, flow, priority = job.headers, job.flow or "", job.priority
        if stop.shift:
            priority = max(-MAX_PRIORITY, min(MAX_PRIORITY, priority + stop.shift))
        new = step.next_job(f"{flow}.{number}", flow, payload, priority)
        if headers:
            carried = {name: text for name, text in headers.items() if name != PARENT}
            new = replace(new, headers={**carried, **step.options.headers})
        return self.client.admit(new)


def fields_of(value: Any, what: str) -> Mapping[str, bytes]:
    """The fields of a mapping, a dataclass or a model, each as JSON."""
    if value is None:
        return {}
    try:
        if type(value) is dict:
            for name in value:
                if type(name) is not str:
                    break
            else:
                return {name: ENCODE(part) for name, part in value.items()}
        return {name: bytes(raw) for name, raw in _FIELDS(ENCODE(value)).items()}
    except (TypeError, ValueError, msgspec.MsgspecError) as error:
        raise BadArguments(
            f"{what}: the state takes fields by name, as a dict, a dataclass or a model; {error}"
        ) from error


def _chosen(job: LeasedJob, step: str) -> Leg:
    """Onwards to a step that the last one has chosen."""
    way = _read_way(job)
    return _leg(way, *_to(way, step))


def _onwards(job: LeasedJob) -> Leg | None:
    """Onwards to the next stop on the way."""
    try:
        return _next_leg(job.payload)
    except msgspec.MsgspecError:
        _read_way(job)  # says what is wrong
        raise


@lru_cache(maxsize=128)
def _next_leg(payload: bytes) -> Leg | None:
    """All flows of a pipeline carry the same bytes from stop to stop: they are read once."""
    way = _READ(payload)
    at = way.at + 1
    return _leg(way, way.way[at], at) if at < len(way.way) else None


def _leg(way: Itinerary, stop: Stop, at: int) -> Leg:
    onwards = Itinerary(pipeline=way.pipeline, way=way.way, at=at, number=way.number + 1)
    return stop, onwards.number, ENCODE(onwards)


def _read_way(job: LeasedJob) -> Itinerary:
    try:
        return _READ(job.payload)
    except msgspec.MsgspecError as error:
        raise BadArguments(f"the way of job {job.id} cannot be read: {error}") from error


def _to(way: Itinerary, step: str) -> tuple[Stop, int]:
    """A step that the last one has chosen: from its place on the way, or as a detour. Of several
    places it is the present one, else the next ahead, else the nearest behind."""
    here, ahead = way.at, range(way.at + 1, len(way.way))
    for at in (here, *ahead, *reversed(range(here))):
        if way.way[at].step == step:
            return way.way[at], at
    return Stop(step=step), here
