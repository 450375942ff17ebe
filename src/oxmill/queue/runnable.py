"""The side of a task that a worker sees: what a run calls, and what its end means."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, Generic, TypeVar

from oxmill.errors import BadConfig, TaskNotFound
from oxmill.model.flow import FlowStep
from oxmill.model.job import Job as Record
from oxmill.model.job import LeasedJob
from oxmill.queue.codec import Codec
from oxmill.queue.continuation import Arguments, Body, Continuation, read_resume
from oxmill.queue.gaps import GAPPED, filled, read_gapped
from oxmill.queue.inputs import Inputs
from oxmill.queue.options import TaskOptions

C = TypeVar("C")
R_co = TypeVar("R_co", covariant=True)


class Runnable(Generic[R_co]):
    """A function that runs as a job, and the functions in which it goes on."""

    name: str
    fn: Callable[..., Any]
    is_async: bool
    takes_context: bool
    options: TaskOptions
    continuations: dict[str, Continuation[Any]]
    _codec: Codec

    def continuation(
        self, fn: Callable[Concatenate[list[C], ...], R_co | Coroutine[Any, Any, R_co]], /
    ) -> Continuation[C]:
        """Declare a function in which the task goes on when the jobs that it has spawned have ended:
        `raise Spawn([...], then=fn)`. It is given their results, in order, and by name those of the
        task's own arguments that it asks for. What it returns is the job's result."""
        made: Continuation[C] = Continuation(fn, self)
        known = self.continuations.setdefault(made.name, made)
        if (known.fn.__module__, known.fn.__qualname__) != (fn.__module__, fn.__qualname__):
            raise BadConfig(
                f"{self.name} has two continuations named {made.name!r}: {known.fn.__qualname__} and "
                f"{fn.__qualname__}. Give one of the functions another name"
            )
        self.continuations[made.name] = made  # declared again, as in a notebook
        return made

    def prepare(self, job: LeasedJob, inputs: Inputs) -> tuple[Body, Arguments]:
        """What is to be called in a run of this job, and with which arguments; `BadArguments` if
        they do not fit, `TaskNotFound` if it is to go on in a function that is not there. `inputs` are the jobs that it has waited for, as far as it needs them."""
        payload = job.payload
        if job.content_type == GAPPED:
            payload = filled(read_gapped(payload), inputs)
        if job.resume is None:
            return self, self._codec.unpack(payload)
        resume = read_resume(job.resume)
        body = self.continuation_named(resume.name)
        return body, body.arguments(resume, job.joined, inputs, payload)

    def ends(self, _job: LeasedJob, value: Any) -> tuple[bytes | None, FlowStep | None]:
        """What the end of a run with this value means: the result to store, and what happens to
        the job's flow in the same step."""
        return self.encode_result(value), None

    def continuation_named(self, name: str) -> Continuation[Any]:
        """The continuation of this name; else `TaskNotFound`."""
        found = self.continuations.get(name)
        if found is None:
            near = [f"{self.name}.{known}" for known in self.continuations]
            raise TaskNotFound(f"{self.name}.{name}", near)
        return found

    def decode_arguments(self, payload: bytes) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments to run the function with; `BadArguments` if they do not fit it."""
        return self._codec.unpack(payload)

    def encode_result(self, value: Any) -> bytes | None:
        """The result as stored, nothing for `None`; `BadArguments` if it cannot be."""
        return None if value is None else self._codec.pack_result(value)

    def read_result(self, record: Record) -> Any:
        """A job's result, by the function's return annotation."""
        return None if record.result is None else self._codec.unpack_result(record.result)
