"""Declaring tasks and schedules. It registers them, and does nothing else."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from inspect import iscoroutinefunction
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Literal,
    ParamSpec,
    Protocol,
    TypedDict,
    TypeVar,
    Unpack,
    overload,
)

from msgspec.structs import replace

from oxmill.errors import BadConfig
from oxmill.model.schedule import CatchUp, Overlap, Schedule
from oxmill.queue.call import Call
from oxmill.queue.client import Client
from oxmill.queue.context import Context
from oxmill.queue.naming import task_name
from oxmill.queue.options import Declared, TaskOptions, declaration
from oxmill.queue.registry import Registry
from oxmill.queue.task import AsyncTask, BaseTask, Task
from oxmill.rules.duration import Duration, micros

if TYPE_CHECKING:
    from oxmill.queue.pipeline import Pipeline, PipelineTerms
    from oxmill.queue.step import Step

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")


class Bindable(Protocol):
    """A task that can be called without arguments, as a clock does."""

    def bind(self) -> Call[Any]:
        """The call as a value."""
        ...


AnyTask = TypeVar("AnyTask", bound=Bindable)


class Declarator(Protocol):
    """`@app.task(...)`."""

    @overload
    def __call__(self, fn: Callable[P, Coroutine[Any, Any, R]], /) -> AsyncTask[P, R]: ...  # type: ignore[overload-overlap]
    @overload
    def __call__(self, fn: Callable[P, R], /) -> Task[P, R]: ...


class ContextDeclarator(Protocol):
    """`@app.task(takes_context=True, ...)`: the first parameter is filled in by the worker."""

    @overload
    def __call__(  # type: ignore[overload-overlap]
        self, fn: Callable[Concatenate[Context, P], Coroutine[Any, Any, R]], /
    ) -> AsyncTask[P, R]: ...
    @overload
    def __call__(self, fn: Callable[Concatenate[Context, P], R], /) -> Task[P, R]: ...


class Timing(TypedDict, total=False):
    """Options of a schedule."""

    name: str
    """Names it in the store; the task's name unless given."""
    catch_up: Literal["skip", "one", "all"]
    """What to do about ticks that fell due while no scheduler ran; the default is one."""
    window: Duration
    """How far back a missed tick still counts; an hour unless given."""
    overlap: Literal["allow", "skip", "queue_one"]
    """What to do when the last tick's job is still live; the default is to allow it."""
    jitter: Duration
    """Each tick's job is delayed by up to this."""


class CronTiming(Timing, total=False):
    """Options of a cron schedule."""

    tz: str
    """An IANA time zone; UTC unless given."""


class Declaring:
    """Tasks and schedules of one app."""

    def __init__(self, client: Client, defaults: TaskOptions) -> None:
        self._client = client
        self._defaults = defaults
        self._schedules: dict[str, Schedule] = {}
        self.registry = Registry()

    @property
    def schedules(self) -> tuple[Schedule, ...]:
        """The schedules declared in code. A worker puts them into the store when it starts."""
        return tuple(self._schedules.values())

    @overload
    def task(self, fn: Callable[P, Coroutine[Any, Any, R]], /) -> AsyncTask[P, R]: ...  # type: ignore[overload-overlap]
    @overload
    def task(self, fn: Callable[P, R], /) -> Task[P, R]: ...
    @overload
    def task(
        self, fn: None = None, /, *, takes_context: Literal[True], **options: Unpack[Declared]
    ) -> ContextDeclarator: ...
    @overload
    def task(
        self,
        fn: None = None,
        /,
        *,
        takes_context: Literal[False] = False,
        **options: Unpack[Declared],
    ) -> Declarator: ...
    def task(
        self,
        fn: Callable[..., Any] | None = None,
        /,
        *,
        takes_context: bool = False,
        **options: Unpack[Declared],
    ) -> Any:
        """Declare a function as a task: `@app.task`, or `@app.task(queue="mail", retry=5)`.

        The function can still be called as before. `takes_context=True` gives it a `Context` as
        first argument, which callers do not pass.
        """
        told = declaration(self._defaults, options, takes_context=takes_context)

        def declare(fn: Callable[..., Any]) -> BaseTask[..., Any]:
            _check_function(fn)
            kind: type[BaseTask[..., Any]] = AsyncTask if iscoroutinefunction(fn) else Task
            task = kind(fn, told.name or task_name(fn), told, self._client)
            self.registry.add(task)
            return task

        return declare if fn is None else declare(fn)

    @overload
    def step(self, fn: Callable[..., Any], /) -> Step: ...
    @overload
    def step(
        self, fn: None = None, /, **options: Unpack[Declared]
    ) -> Callable[[Callable[..., Any]], Step]: ...
    def step(self, fn: Callable[..., Any] | None = None, /, **options: Unpack[Declared]) -> Any:
        """Declare a function as a step over the shared state of a flow: `@app.step`, or
        `@app.step(queue="check", retry=3)`. Its parameters name the fields that it reads."""
        from oxmill.queue.step import Step  # noqa: PLC0415 - many programs need no flows

        told = declaration(self._defaults, options)

        def declare(fn: Callable[..., Any]) -> Step:
            _check_function(fn)
            step = Step(fn, told.name or task_name(fn), told, self._client)
            step.find = self.registry.get
            self.registry.add(step)
            return step

        return declare if fn is None else declare(fn)

    @overload
    def pipeline(
        self, name: str, /, *steps: Step, state: type[S], **terms: Unpack[PipelineTerms]
    ) -> Pipeline[S]: ...
    @overload
    def pipeline(
        self, name: str, /, *steps: Step, state: None = None, **terms: Unpack[PipelineTerms]
    ) -> Pipeline[dict[str, Any]]: ...
    def pipeline(
        self, name: str, /, *steps: Step, state: Any = None, **terms: Unpack[PipelineTerms]
    ) -> Any:
        """Steps in their order over one shared state, whose type may be given as a `TypedDict`:
        `app.pipeline("access", prepare, check, state=Access).start({"user_id": 62})`."""
        from oxmill.queue.pipeline import Pipeline  # noqa: PLC0415 - as above

        return Pipeline(name, self._client, steps, dict if state is None else state, terms)

    @overload
    def cron(self, expr: str, call: Call[Any], **timing: Unpack[CronTiming]) -> Schedule: ...
    @overload
    def cron(self, expr: str, **timing: Unpack[CronTiming]) -> Callable[[AnyTask], AnyTask]: ...
    def cron(self, expr: str, call: Call[Any] | None = None, **timing: Any) -> Any:
        """Make a job of the call at every tick of a cron expression, or, as a decorator above
        `@app.task`, a job of that task. A tick makes at most one job, however many workers run.

            app.cron("0 3 * * *", report.bind("daily"), tz="Europe/London")
        """
        zone = timing.pop("tz", "UTC")
        return self._schedule(call, timing, cron=expr, zone=zone)

    @overload
    def every(self, interval: Duration, call: Call[Any], **timing: Unpack[Timing]) -> Schedule: ...
    @overload
    def every(
        self, interval: Duration, **timing: Unpack[Timing]
    ) -> Callable[[AnyTask], AnyTask]: ...
    def every(self, interval: Duration, call: Call[Any] | None = None, **timing: Any) -> Any:
        """The same at a fixed interval, such as `"90s"`, counted from the epoch."""
        return self._schedule(call, timing, every=micros(interval))

    def _schedule(self, call: Call[Any] | None, timing: dict[str, Any], **when: Any) -> Any:
        if call is not None:
            _check_call(call)
            return self._add(call, timing, when)

        def declare(task: AnyTask) -> AnyTask:
            _check_task(task)
            self._add(task.bind(), timing, when)
            return task

        return declare

    def _add(self, call: Call[Any], timing: dict[str, Any], when: dict[str, Any]) -> Schedule:
        from oxmill.rules.cron import check_schedule  # noqa: PLC0415 - only if there is a schedule

        schedule = _as_schedule(call, timing, when)
        check_schedule(schedule)
        if self._schedules.setdefault(schedule.name, schedule) != schedule:
            raise BadConfig(
                f"two schedules are named {schedule.name!r}; give one of them a name of its own, "
                f"as in app.cron(..., name=...)"
            )
        return schedule


def _check_function(fn: object) -> None:
    if not callable(fn):
        raise BadConfig(
            f"{fn!r} is not a function; write @app.task above one, with options by name: "
            f"@app.task(queue='mail')"
        )


def _check_task(task: object) -> None:
    if not callable(getattr(task, "bind", None)):
        name = getattr(task, "__name__", repr(task))
        raise BadConfig(
            f"{name} is no task; write @app.task below @app.cron(...) or @app.every(...)"
        )


def _check_call(call: object) -> None:
    if isinstance(call, BaseTask):
        raise BadConfig(f"the task {call.name} is scheduled without arguments; write .bind(...)")
    if not isinstance(call, Call):
        raise BadConfig(f"{call!r} is no call of a task; give one, such as report.bind('daily')")


def _as_schedule(call: Call[Any], timing: dict[str, Any], when: dict[str, Any]) -> Schedule:
    how = dict(timing)
    name = how.pop("name", call.template.task)
    try:
        terms = {key: _TERMS[key](value) for key, value in how.items()}
    except (KeyError, ValueError) as error:
        raise BadConfig(f"schedule {name!r}: {error} cannot be used; see Timing") from None
    # The id is set per tick; until then the schedule's name stands for it.
    return Schedule(name=name, job=replace(call.template, id=name), **when, **terms)


_TERMS: dict[str, Callable[[Any], Any]] = {
    "catch_up": CatchUp,
    "overlap": Overlap,
    "window": micros,
    "jitter": micros,
}
