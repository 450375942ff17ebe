"""The function in which a task goes on when the jobs that it has spawned have ended."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import msgspec

from oxmill.errors import BadArguments, BadConfig
from oxmill.queue.codec import Codec
from oxmill.queue.inputs import MISSING, Inputs, value_of
from oxmill.queue.options import TaskOptions

C = TypeVar("C")
Arguments = tuple[tuple[Any, ...], dict[str, Any]]

_COLLECT = "collect"


class Body(Protocol):
    """What is called in a run: a task's own function, or one in which it goes on."""

    fn: Callable[..., Any]
    is_async: bool
    takes_context: bool

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    @property
    def options(self) -> TaskOptions:
        """The options of its task."""
        ...


class Owner(Protocol):
    """The task that a continuation belongs to."""

    @property
    def name(self) -> str:
        """The task's name."""
        ...

    @property
    def options(self) -> TaskOptions:
        """The task's options."""
        ...


class Resume(NamedTuple):
    """Where a job goes on: the continuation, how often it has spawned, and whether failures are
    given along. The store keeps it as one text."""

    name: str
    round: int
    collect: bool

    def text(self) -> str:
        """As stored."""
        return f"{self.name}#{self.round}{'+' + _COLLECT if self.collect else ''}"


def read_resume(text: str) -> Resume:
    """What `Resume.text` wrote."""
    name, _, rest = text.rpartition("#")
    number, _, collect = rest.partition("+")
    return Resume(name, int(number), collect == _COLLECT)


class Continuation(Generic[C]):
    """A named place to go on in; `C` is the type of the results that it is given."""

    takes_context = False

    def __init__(self, fn: Callable[..., Any], task: Owner) -> None:
        self.fn = fn
        self.name = fn.__name__
        self.is_async = inspect.iscoroutinefunction(fn)
        self._task = task
        self._codec = Codec(fn, f"{task.name}.{self.name}", skip=0, lenient=True)
        if not self._codec.names:
            raise BadConfig(f"{self.name} must take the list of results as its first parameter")

    @property
    def owner(self) -> str:
        """The name of its task."""
        return self._task.name

    @property
    def options(self) -> TaskOptions:
        """It runs where its task does."""
        return self._task.options

    @property
    def reads(self) -> tuple[str, ...]:
        """The parameters beyond the results: arguments of the task, or fields of a flow's state."""
        return self._codec.names[1:]

    def arguments(
        self, resume: Resume, joined: tuple[str, ...], inputs: Inputs, payload: bytes
    ) -> Arguments:
        """The results, and the task's own arguments as far as it asks for them."""
        given = _read(payload)
        wanted = {name: given[name] for name in self.reads if name in given}
        return self._codec.unpack(
            msgspec.json.encode(self._with_results(resume, joined, inputs, wanted))
        )

    def arguments_of_state(
        self,
        resume: Resume,
        joined: tuple[str, ...],
        inputs: Inputs,
        state: Mapping[str, bytes],
    ) -> Arguments:
        """The same over the fields of a flow's state; those that are not there are `None`."""
        wanted = {name: msgspec.Raw(state[name]) for name in self.reads if name in state}
        whole = self._with_results(resume, joined, inputs, wanted)
        data = {name: msgspec.json.encode(value) for name, value in whole.items()}
        return (), self._codec.unpack_some(data)

    def _with_results(
        self, resume: Resume, joined: tuple[str, ...], inputs: Inputs, rest: dict[str, msgspec.Raw]
    ) -> dict[str, Any]:
        found = (value_of(inputs, job_id, collect=resume.collect) for job_id in joined)
        results = [value for value in found if value is not MISSING]
        return {self._codec.names[0]: results, **rest}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function here and now."""
        return self.fn(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<Continuation {self._task.name}.{self.name}>"


def _read(payload: bytes) -> dict[str, msgspec.Raw]:
    try:
        return _PLAIN(payload)
    except msgspec.MsgspecError as error:
        raise BadArguments(f"stored arguments cannot be read: {error}") from error


_PLAIN = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
