"""Hooks around runs: one page of empty methods. Override what you need; the rest costs nothing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any

from oxmill.model.job import NewJob
from oxmill.queue.context import Context

Lifespan = Callable[[], AbstractAsyncContextManager[Any] | AbstractContextManager[Any]]
"""Gives a context manager, async or plain, that is open as long as the worker: for a pool, a client,
a model in memory. What it yields is `current().resources` in every run."""


class Middleware:
    """Hears of every run. Hooks run on the event loop, in the order given, inwards and back out.

    What `before_run` and `around` raise counts as raised by the task, so they may refuse a run with
    `Snooze`, `Cancel`, `Fail` or an error. What `after_run` and `on_error` raise is logged and changes
    nothing: the run is over. Context variables set here are seen by the task, in threads too.
    """

    def on_enqueue(self, job: NewJob) -> NewJob:
        """Before a job is stored, on the producing side. Give back the job, changed or not."""
        return job

    async def on_start(self) -> None:
        """The worker starts, before its first claim. Raising keeps it from starting."""

    async def on_stop(self) -> None:
        """The worker has settled everything and goes."""

    async def before_run(self, context: Context) -> None:
        """A run is about to start."""

    async def after_run(self, context: Context, value: Any) -> None:
        """A run has returned this value. After a run in a child process the value is not known
        here and `None` is given."""

    async def on_error(self, context: Context, error: BaseException) -> None:
        """A run has raised this. Signals such as `Retry` and `Snooze` come here as well."""

    def around(self, context: Context) -> AbstractAsyncContextManager[Any] | None:
        """A context manager to run the task inside of: a trace span, a transaction, a lock."""
