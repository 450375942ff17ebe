"""The app: what user code declares its tasks on and speaks to."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, TypedDict, TypeVar, Unpack, get_args

from oxmill.connect import Mode, connect, store_url, without_secrets
from oxmill.errors import BadConfig
from oxmill.model.job import NewJob
from oxmill.queue.bulk import Loaded, enqueue_all, load_all, with_connection
from oxmill.queue.call import Call
from oxmill.queue.client import Client
from oxmill.queue.declaring import Declaring
from oxmill.queue.handle import Job
from oxmill.queue.ids import IdSource
from oxmill.queue.looking import Looking
from oxmill.queue.naming import place_of
from oxmill.queue.options import Defaults, TaskOptions, with_options
from oxmill.store.driver import Driver
from oxmill.store.roles.installing import Version

if TYPE_CHECKING:
    from oxmill.queue.control import Control
    from oxmill.queue.draft import Draft, FlowOptions
    from oxmill.queue.flows import FlowBook
    from oxmill.queue.work import Queue
    from oxmill.testing.harness import Testing
    from oxmill.worker.config import WorkerOptions
    from oxmill.worker.middleware import Lifespan, Middleware
    from oxmill.worker.worker import Worker

R = TypeVar("R")


class AppOptions(TypedDict, total=False):
    """Options of an app."""

    mode: Mode
    """What an acknowledged write survives: power loss (`durable`), only the end of every process
    (`process`), or neither (`volatile`)."""
    doorbell: bool
    """Whether waiting workers are woken; without it they look at intervals."""
    defaults: Defaults
    """Options for all tasks that do not say otherwise."""
    middleware: Sequence[Middleware]
    """Wrapped around every run in a worker, the first one outermost."""
    lifespan: Lifespan
    """Set up before a worker's first job and torn down after its last."""


class App(Declaring, Looking):
    """Tasks and the store they are queued in.

    `App()` uses the URL in `OXMILL_URL`, or else the file `oxmill.db` in the current folder. The
    store is opened at the first use, not before. Any number of apps may live side by side.
    """

    def __init__(self, url: str | None = None, **options: Unpack[AppOptions]) -> None:
        _check_options(options)
        self.url = store_url(url)
        self.middleware: tuple[Middleware, ...] = tuple(options.get("middleware", ()))
        self.lifespan: Lifespan | None = options.get("lifespan")
        self._mode: Mode = options.get("mode", "durable")
        self._doorbell = options.get("doorbell", True)
        client = Client(self._open, IdSource().new)
        client.on_enqueue = _enqueue_hooks(self.middleware)
        Declaring.__init__(self, client, with_options(TaskOptions(), options.get("defaults", {})))
        Looking.__init__(self, client)

    @property
    def driver(self) -> Driver:
        """The store's driver, opened if it was not: for tools that speak the contract."""
        return self._client.driver

    @cached_property
    def control(self) -> Control:
        """What people do to queues and jobs while everything runs."""
        from oxmill.queue.control import Control  # noqa: PLC0415 - idle workers do without

        return Control(self._client)

    # -- jobs --------------------------------------------------------------------------------------

    def enqueue_many(self, calls: Iterable[Call[R]]) -> list[Job[R]]:
        """Enqueue any number of calls in batches of about a thousand; their handles, in order.

        Each batch is stored whole or not at all; an error leaves the batches before it stored. The
        calls are read one batch at a time, and of each job only its handle is kept, about 200 bytes:
        `load` keeps none.
        """
        calls, connection = with_connection(calls)
        return self._client.blocking(
            "aenqueue_many", lambda driver: enqueue_all(driver, self._client, calls), connection
        )

    async def aenqueue_many(
        self, calls: Iterable[Call[R]] | AsyncIterable[Call[R]]
    ) -> list[Job[R]]:
        """The same without blocking the event loop. An async iterator is read like any other, one
        batch at a time."""
        if not isinstance(calls, Iterable):
            from oxmill.queue.streaming import aenqueue_stream  # noqa: PLC0415 - few need it

            return await aenqueue_stream(self._client, calls)
        calls, connection = with_connection(calls)
        return await self._client.awaiting(
            lambda driver: enqueue_all(driver, self._client, calls), connection
        )

    def load(self, calls: Iterable[Call[Any]]) -> Loaded:
        """Enqueue any number of calls in constant memory: a generator is read one batch at a time,
        and only the counts are kept."""
        calls, connection = with_connection(calls)
        return self._client.blocking(
            "aload", lambda driver: load_all(driver, self._client, calls), connection
        )

    async def aload(self, calls: Iterable[Call[Any]] | AsyncIterable[Call[Any]]) -> Loaded:
        """The same without blocking the event loop, from any iterator, async ones included."""
        if not isinstance(calls, Iterable):
            from oxmill.queue.streaming import aload_stream  # noqa: PLC0415 - as above

            return await aload_stream(self._client, calls)
        calls, connection = with_connection(calls)
        return await self._client.awaiting(
            lambda driver: load_all(driver, self._client, calls), connection
        )

    def job(self, job_id: str) -> Job[Any]:
        """The handle of a job by its id. `task.job(id)` gives one that knows its result's type."""
        return Job(job_id, self._client, self.registry)

    def flow(self, name: str, **options: Unpack[FlowOptions]) -> Draft:
        """Jobs that depend on each other: `with app.flow("import") as f:` add them with `f.add`;
        at the end of the block all of them are enqueued, or none. `async with` works as well."""
        from oxmill.queue.draft import Draft  # noqa: PLC0415 - many programs need no flows

        return Draft(name, self._client, options)

    @property
    def flows(self) -> FlowBook:
        """The flows of the store: `app.flows.find(name="import")`, `app.flows[id]`."""
        from oxmill.queue.flows import FlowBook  # noqa: PLC0415 - as above

        return FlowBook(self._client)

    def queue(self, name: str) -> Queue:
        """A queue as a plain work queue of bytes and leases."""
        from oxmill.queue.work import Queue  # noqa: PLC0415 - idle workers do without

        return Queue(name, self._client)

    # -- running -----------------------------------------------------------------------------------

    def testing(self, start: datetime | None = None) -> Testing:
        """For tests: inside `with app.testing() as t:` the app uses a fresh store in memory, with
        a clock that stands still until `t.advance(...)`, and runs jobs when told to."""
        from oxmill.testing.harness import Subject, Testing  # noqa: PLC0415 - for tests only

        subject = Subject(
            client=self._client,
            registry=self.registry,
            schedules=self.schedules,
            middleware=self.middleware,
            lifespan=self.lifespan,
            open_store=lambda clock: connect("memory://", clock=clock),
        )
        return Testing(subject, start)

    def worker(self, **options: Unpack[WorkerOptions]) -> Worker:
        """A worker for this app's tasks and schedules; `.run()` blocks until it is stopped."""
        from oxmill.worker.config import worker_config  # noqa: PLC0415 - producers need no worker
        from oxmill.worker.worker import Worker  # noqa: PLC0415

        children = any(task.options.pool == "process" for task in self.registry)
        return Worker(
            self.driver,
            self.registry,
            worker_config(**options),
            schedules=self.schedules,
            middleware=self.middleware,
            lifespan=self.lifespan,
            app_spec=place_of(self) if children else None,
        )

    @contextmanager
    def running(self, **options: Unpack[WorkerOptions]) -> Iterator[Worker]:
        """A worker in a thread of this process, for scripts, notebooks and small programs: it works
        while the block runs, and has drained when it is left."""
        from oxmill.observe.events import WorkerStarted  # noqa: PLC0415 - as above

        worker = self.worker(**options)
        thread = Background(worker.run)
        worker.bus.subscribe(lambda _: thread.started.set(), WorkerStarted)
        with thread:
            try:
                yield worker
            finally:
                worker.stop("the block has ended")

    # -- life --------------------------------------------------------------------------------------

    def close(self) -> None:
        """Let go of the store. The next use opens it again; `memory://` starts empty then."""
        self._client.close()

    async def aclose(self) -> None:
        """The same without blocking the event loop."""
        await _in_thread(self._client.close)

    def __enter__(self) -> Self:
        # A store that cannot be used is told here, not at the first enqueue.
        self.driver.run(self.driver.installing.version(Version()))
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        await _in_thread(self.__enter__)
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"<App {without_secrets(self.url)}, {len(self.registry)} tasks>"

    def _open(self) -> Driver:
        return connect(self.url, doorbell=self._doorbell, mode=self._mode)


class Background:
    """A call in a thread: entering waits until it has started, leaving until it has ended. What it
    raises is raised here."""

    def __init__(self, call: Callable[[], object]) -> None:
        self.started = threading.Event()
        self._call = call
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="oxmill-worker", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self.started.wait()
        self._raise()
        return self

    def __exit__(self, *exc: object) -> None:
        self._thread.join()
        self._raise()

    def _run(self) -> None:
        try:
            self._call()
        except BaseException as error:  # noqa: BLE001 - raised in the thread that waits for it
            self._error = error
        finally:
            self.started.set()

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error


def _check_options(options: AppOptions) -> None:
    """Refuse what would otherwise be left out without a word."""
    unknown = sorted(set(options) - AppOptions.__optional_keys__)
    if unknown:
        known = ", ".join(sorted(AppOptions.__optional_keys__))
        raise BadConfig(f"App has no option {unknown[0]!r}; the options are {known}")
    if (mode := options.get("mode", "durable")) not in get_args(Mode):
        raise BadConfig(f"mode={mode!r}: use one of {', '.join(get_args(Mode))}")


def _enqueue_hooks(middleware: Sequence[Middleware]) -> list[Callable[[NewJob], NewJob]]:
    """The hooks that do something: the others would cost every enqueue a call."""
    if not middleware:
        return []
    from oxmill.worker.middleware import Middleware  # noqa: PLC0415 - its users have imported it

    return [
        each.on_enqueue for each in middleware if type(each).on_enqueue is not Middleware.on_enqueue
    ]


async def _in_thread(act: Callable[[], Any]) -> None:
    import asyncio  # noqa: PLC0415 - whoever awaits this has imported it

    await asyncio.to_thread(act)
