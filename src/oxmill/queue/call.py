"""A task with its arguments, not enqueued yet."""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar

import msgspec
from msgspec.structs import replace

from oxmill.model.job import NewJob
from oxmill.queue.client import Client
from oxmill.queue.enqueueing import Receipt
from oxmill.queue.handle import Job
from oxmill.queue.options import TaskOptions

R_co = TypeVar("R_co", covariant=True)


class Caller(Protocol[R_co]):
    """The task that a call is of."""

    @property
    def client(self) -> Client:
        """The way to the store of the task's app."""
        ...

    @property
    def options(self) -> TaskOptions:
        """The task's options, with those of `using`."""
        ...

    def handle(self, receipt: Receipt) -> Job[R_co]:
        """The handle of a job just enqueued."""
        ...


class Call(msgspec.Struct, Generic[R_co], frozen=True, gc=False):
    """One call of a task as a value: for `enqueue_many`, `load`, `cron` and `every`.

    Its arguments are checked and written; each enqueue of it makes a job of its own.
    """

    task: Caller[R_co]
    template: NewJob
    """The job but for its id, unless the options gave one."""

    def new_job(self) -> NewJob:
        """The job to store, with a new id."""
        client = self.task.client
        job = self.template
        return client.admit(job if job.id else replace(job, id=client.new_id()))
