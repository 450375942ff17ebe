"""Pipelines: named steps, each on its queue, over one shared state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Generic, TypedDict, TypeVar, Unpack, get_type_hints

import msgspec
from msgspec.structs import replace

from oxmill.errors import BadArguments, BadConfig
from oxmill.model.fields import as_fields
from oxmill.model.flow import NewFlow
from oxmill.model.job import NewJob
from oxmill.queue.client import Client
from oxmill.queue.flow import Flow, plain_state
from oxmill.queue.graph import enqueue_flow
from oxmill.queue.hooks import from_plain
from oxmill.queue.step import Itinerary, Step, Stop, fields_of
from oxmill.rules.duration import Duration, micros

S = TypeVar("S")


class PipelineTerms(TypedDict, total=False):
    """Options of a pipeline."""

    lookup: Sequence[str]
    """Fields of the state, at the start, to look flows up by."""
    shift: Mapping[Step, int]
    """What the hand-over to a step adds to the priority; a smaller number runs first."""
    keep: Duration
    """How long to keep a flow and its jobs once it has ended."""


class StartOptions(TypedDict, total=False):
    """Options of one flow through a pipeline."""

    id: str
    """Its id. Starting one of the same id again makes nothing new."""
    fields: Mapping[str, str | int | Sequence[str | int]]
    """Business attributes to look it up by, besides those of `lookup`."""
    steps: Sequence[Step]
    """Another way for this flow."""
    priority: int
    delay: Duration
    headers: Mapping[str, str]
    """Carried along from step to step: correlation id, trace context."""
    connection: Any
    """Start it in the open transaction of this connection or session."""


class Pipeline(Generic[S]):
    """Steps in their order; `S` is the type of the state. A step may be part of several."""

    def __init__(
        self, name: str, client: Client, steps: Sequence[Step], state: type[S], terms: PipelineTerms
    ) -> None:
        self.name = name
        self._client = client
        self._state = state
        self._terms = terms
        self._steps = tuple(steps)
        self._read = partial(read_state, _hints(state))
        self._check(steps)

    def start(self, state: S, **options: Unpack[StartOptions]) -> Flow[S]:
        """Start a flow with this state. Once this returns it is not lost, and will run."""
        flow, job = self._new(state, options)
        self._client.blocking(
            "astart",
            lambda driver: enqueue_flow(driver, flow, (job,)),
            options.get("connection"),
        )
        return self.flow(flow.id)

    async def astart(self, state: S, **options: Unpack[StartOptions]) -> Flow[S]:
        """The same without blocking the event loop."""
        flow, job = self._new(state, options)
        await self._client.awaiting(
            lambda driver: enqueue_flow(driver, flow, (job,)), options.get("connection")
        )
        return self.flow(flow.id)

    def flow(self, flow_id: str) -> Flow[S]:
        """The handle of one of its flows, by its id."""
        return Flow(flow_id, self._client, self._read)

    def __repr__(self) -> str:
        return f"<Pipeline {self.name}: {' → '.join(step.name for step in self._steps)}>"

    def _new(self, state: S, options: StartOptions) -> tuple[NewFlow, NewJob]:
        stored = fields_of(state, self.name)
        self._read(stored)
        keep = self._terms.get("keep")
        flow = NewFlow(
            id=options.get("id") or self._client.new_id(),
            name=self.name,
            state=stored,
            fields=as_fields({**self._looked_up(stored), **options.get("fields", {})}),
            keep=None if keep is None else micros(keep),
        )
        steps = tuple(options.get("steps", self._steps))
        self._check(steps)
        first = steps[0]
        shift = {step.name: by for step, by in self._terms.get("shift", {}).items()}
        way = tuple(Stop(step=step.name, shift=shift.get(step.name, 0)) for step in steps)
        job = first.step_job(
            f"{flow.id}.0",
            flow.id,
            Itinerary(pipeline=self.name, way=way),
            priority=options.get("priority", first.options.priority or 0),
            delay=micros(options.get("delay", 0)),
        )
        headers = {**options.get("headers", {}), **job.headers}
        return flow, self._client.admit(replace(job, headers=headers))

    def _looked_up(self, stored: Mapping[str, bytes]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name in self._terms.get("lookup", ()):
            value = msgspec.json.decode(stored[name]) if name in stored else None
            if value is None:
                continue
            for each in value if isinstance(value, list) else (value,):
                if not isinstance(each, str | int) or isinstance(each, bool):
                    raise BadArguments(
                        f"{self.name}: flows are looked up by text, whole numbers, or lists of such, "
                        f"but {name} {'is' if each is value else 'holds'} {type(each).__name__}"
                    )
            found[name] = value
        return found

    def _check(self, steps: Sequence[Step]) -> None:
        if not steps:
            raise BadConfig(f"pipeline {self.name!r} has no steps")
        known = _hints(self._state)
        for step in steps:
            if not isinstance(step, Step):
                raise BadConfig(f"{step!r} is not a step; declare it with @app.step")
            if step.client is not self._client:
                raise BadConfig(f"step {step.name} belongs to another app")
            unknown = set(step.reads) - set(known) if known else ()
            if unknown:
                raise BadConfig(
                    f"step {step.name} reads {', '.join(sorted(unknown))}, which the state of "
                    f"pipeline {self.name!r} does not have"
                )
        for step in self._terms.get("shift", ()):
            if step not in self._steps:
                raise BadConfig(f"pipeline {self.name!r}: {step!r} of shift is not among its steps")


def read_state(hints: Mapping[str, Any], state: Mapping[str, bytes]) -> Any:
    """The state with its fields read by their annotations; what is not there is left out."""
    if not hints:
        return plain_state(state)
    try:
        return {
            name: msgspec.json.decode(value, type=hints.get(name, Any), dec_hook=from_plain)
            for name, value in state.items()
        }
    except (msgspec.MsgspecError, ValueError) as error:
        raise BadArguments(f"the state does not fit its type: {error}") from error


def _hints(state: Any) -> dict[str, Any]:
    return {} if state is dict else get_type_hints(state)
