"""Declared functions whose calls become jobs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine, Iterable
from functools import update_wrapper
from typing import Any, ClassVar, Final, Generic, ParamSpec, Self, TypeVar, Unpack

from msgspec.structs import replace

from oxmill.errors import BadConfig
from oxmill.model.job import NewJob
from oxmill.queue.bulk import enqueue_all
from oxmill.queue.call import Call
from oxmill.queue.client import Client
from oxmill.queue.codec import CANONICAL, Codec
from oxmill.queue.context import CURRENT, PARENT, current
from oxmill.queue.continuation import Continuation
from oxmill.queue.enqueueing import Receipt, store_one
from oxmill.queue.gaps import Path
from oxmill.queue.handle import Job
from oxmill.queue.options import Declaration, Options, TaskOptions, with_options
from oxmill.queue.runnable import Runnable
from oxmill.queue.stand_in import StandIn
from oxmill.rules.unique import argument_key, given_key, unique_key
from oxmill.store.roles.enqueueing import Enqueueing, Prepared

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)


class BaseTask(Runnable[R_co], Generic[P, R_co]):
    """A function whose calls can be enqueued, with the function's own signature."""

    stands_alone: ClassVar[bool] = True
    """Whether it can be enqueued by itself."""

    def __init__(
        self, fn: Callable[..., Any], name: str, declaration: Declaration, client: Client
    ) -> None:
        if inspect.isgeneratorfunction(fn) or inspect.isasyncgenfunction(fn):
            raise BadConfig(f"{name} is a generator function; a task returns one value")
        update_wrapper(self, fn)  # type: ignore[arg-type]
        self.fn = fn
        self.name = name
        self.aliases = declaration.aliases
        self.is_async = inspect.iscoroutinefunction(fn)
        self.takes_context = declaration.takes_context
        self.client = client
        self.continuations: dict[str, Continuation[Any]] = {}
        self._codec = Codec(
            fn,
            name,
            skip=1 if self.takes_context else 0,
            lenient=declaration.options.extra == "ignore",
        )
        self._take(declaration.options)

    # -- enqueue -----------------------------------------------------------------------------------

    def using(self, **options: Unpack[Options]) -> Self:
        """The same task with other options for the calls made on it."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin._take(with_options(self.options, options))
        return twin

    def enqueue(self, *args: P.args, **kwargs: P.kwargs) -> Job[R_co]:
        """Store the call as a job. Once this returns, the job is not lost, whatever crashes."""
        client = self.client
        if not self._usual or client.on_enqueue or CURRENT.get(None) is not None:
            job = client.admit(self.new_job(args, kwargs, client.new_id()))
            return self.handle(client.store(job, self.options.connection))
        payload = self._codec.write(args, kwargs)
        driver, new_id = client.reach("aenqueue"), client.new_id
        role, prepared = self._prepared
        if role is not driver.enqueueing or prepared is None:
            prepared = driver.enqueueing.prepare(self._template)
            self._prepared = driver.enqueueing, prepared
        receipt = store_one(driver, prepared.enqueue(new_id(), payload))
        answer = receipt.answer
        return Job(answer.id, client, self, answer.state, receipt.created)

    async def aenqueue(self, *args: P.args, **kwargs: P.kwargs) -> Job[R_co]:
        """The same without blocking the event loop."""
        client = self.client
        job = client.admit(self.new_job(args, kwargs, client.new_id()))
        return self.handle(await client.astore(job, self.options.connection))

    def bind(self, *args: P.args, **kwargs: P.kwargs) -> Call[R_co]:
        """The call as a value: its arguments are checked, nothing is enqueued yet."""
        return Call(self, self.new_job(args, kwargs, ""))

    def map(self, items: Iterable[tuple[Any, ...]]) -> list[Job[R_co]]:
        """Enqueue one job per tuple of arguments, in batches."""
        calls = (Call(self, self.new_job(item, {}, "")) for item in items)
        return self.client.blocking(
            "amap",
            lambda driver: enqueue_all(driver, self.client, calls),
            self.options.connection,
        )

    async def amap(self, items: Iterable[tuple[Any, ...]]) -> list[Job[R_co]]:
        """The same without blocking the event loop."""
        calls = (Call(self, self.new_job(item, {}, "")) for item in items)
        return await self.client.awaiting(
            lambda driver: enqueue_all(driver, self.client, calls), self.options.connection
        )

    def job(self, job_id: str) -> Job[R_co]:
        """The handle of a job of this task, by its id."""
        return Job(job_id, self.client, self)

    # -- for the app and the worker ----------------------------------------------------------------

    def new_job(self, args: tuple[Any, ...], kwargs: dict[str, Any], job_id: str) -> NewJob:
        """The call as the store takes it. An id among the options goes before `job_id`."""
        options = self.options
        payload, proof = self._codec.pack(args, kwargs)
        job = replace(self._template, id=options.id or job_id, payload=payload)
        if options.unique is not None:
            text = given_key(options.unique, self.name, args, kwargs)
            if text is None:
                arguments = self._codec.complete(proof)
                text = argument_key(options.unique, self.name, arguments, CANONICAL)
            job = replace(job, unique=unique_key(options.unique, text))
        context = CURRENT.get(None)
        if context is not None:
            job = replace(job, headers={PARENT: context.id, **options.headers})
        return job

    def flow_job(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], job_id: str
    ) -> tuple[NewJob, list[tuple[Path, StandIn]]]:
        """The call as a job of a flow, and where in its arguments results are to be filled in."""
        payload, gaps = self._codec.pack_gapped(args, kwargs)
        options, context = self.options, CURRENT.get(None)
        job = replace(self._template, id=options.id or job_id, payload=payload)
        if context is not None:
            job = replace(job, headers={PARENT: context.id, **options.headers})
        return job, gaps

    def handle(self, receipt: Receipt) -> Job[R_co]:
        """The handle of a job just enqueued."""
        answer = receipt.answer
        return Job(answer.id, self.client, self, answer.state, receipt.created)

    @property
    def home(self) -> str | None:
        """`module:qualname` under which the task can be imported."""
        return f"{self.fn.__module__}:{self.fn.__qualname__}"

    def _take(self, options: TaskOptions) -> None:
        self.options = options
        self._template = NewJob(id="", payload=b"", **terms(self.name, options))
        """What all its jobs have in common."""
        given = options.id, options.unique, options.connection
        self._usual = self.stands_alone and all(each is None for each in given)
        """Whether its jobs have nothing more of their own than their id and their arguments."""
        self._prepared: tuple[Enqueueing | None, Prepared | None] = None, None
        """What stores such jobs, and the role that it is of: drivers change with forks, and in tests."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"


class Task(BaseTask[P, R_co]):
    """A declared plain function. Calling it runs it here and now; nothing is queued."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Run the function."""
        if self.takes_context:
            return self.fn(current(), *args, **kwargs)  # type: ignore[no-any-return]
        return self.fn(*args, **kwargs)  # type: ignore[no-any-return]


class AsyncTask(BaseTask[P, R_co]):
    """A declared coroutine function. Awaiting a call runs it here and now; nothing is queued."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R_co]:
        """Run the coroutine function."""
        if self.takes_context:
            return self.fn(current(), *args, **kwargs)  # type: ignore[no-any-return]
        return self.fn(*args, **kwargs)  # type: ignore[no-any-return]


def terms(task: str, options: TaskOptions) -> dict[str, Any]:
    """What all jobs of these options share, without what is left at its default."""
    shared: dict[str, Any] = {
        "priority": options.priority or 0,
        "delay": options.delay,
        "run_at": options.run_at,
        "expires_in": options.expires,
        "max_attempts": options.max_attempts,
        "crash_limit": options.crash_limit,
        "timeout": options.timeout,
        "keep": options.keep,
        "group": options.group,
        "fields": options.fields,
        "tags": options.tags,
        "headers": options.headers,
    }
    changed = {name: value for name, value in shared.items() if value != _DEFAULTS[name]}
    return {"queue": options.queue, "task": task, **changed}


_DEFAULTS: Final = {
    name: getattr(NewJob(id="-", queue="-", task="-", payload=b""), name)
    for name in NewJob.__struct_fields__
}
