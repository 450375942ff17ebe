"""What the tests of the worker share."""

import asyncio
import time
from contextlib import suppress

from oxmill.model.job import Enqueue, NewJob
from oxmill.model.query import Cancel, Filter, Get
from oxmill.model.state import State
from oxmill.observe.events import Happening
from oxmill.queue.client import Client
from oxmill.queue.declaring import Declaring
from oxmill.queue.ids import IdSource
from oxmill.queue.options import TaskOptions
from oxmill.worker.config import worker_config
from oxmill.worker.worker import Worker

BOUND = 8.0
"""Seconds after which something that should happen has not."""


class World:
    """One store with tasks, jobs and workers."""

    def __init__(self, driver):
        self.driver = driver
        self.ids = IdSource()
        self.app = Declaring(Client(lambda: driver, self.ids), TaskOptions())
        self.task = self.app.task
        self.heard = []
        self._serving = []

    # -- jobs --------------------------------------------------------------------------------------

    async def enqueue(self, task, *args, **kwargs):
        """A job of this task; its id."""
        job = await task.aenqueue(*args, **kwargs)
        return job.id

    async def add(self, **changes):
        """A job as the store takes it; its id."""
        values = {"id": self.ids(), "queue": "default", "task": "t", "payload": b"{}"} | changes
        request = Enqueue(jobs=(NewJob(**values),))
        (answer,) = await self.driver.arun(self.driver.enqueueing.enqueue(request))
        return answer.id

    async def job(self, job_id):
        """The job as recorded; `None` if it is not there."""
        found = await self.driver.arun(self.driver.inspecting.get(Get(ids=(job_id,))))
        return found[0] if found else None

    async def ended(self, job_id):
        """The job, once it has ended."""
        return await self.in_state(job_id, State.SUCCEEDED, State.FAILED, State.CANCELLED)

    async def in_state(self, job_id, *states):
        """The job, once it is in one of these states."""

        async def look():
            job = await self.job(job_id)
            return job if job is not None and job.state in states else None

        return await self.until(look)

    async def cancel(self, job_id):
        """Ask for the job to be cancelled."""
        request = Cancel(filter=Filter(ids=(job_id,)))
        return await self.driver.arun(self.driver.steering.cancel(request))

    async def until(self, look, bound=BOUND):
        """What `look` gives, once it gives something; asks again and again until the bound."""
        end = time.monotonic() + bound
        while True:
            found = look()
            if asyncio.iscoroutine(found):
                found = await found
            if found:
                return found
            assert time.monotonic() < end, "it did not happen in time"
            await asyncio.sleep(0.005)

    # -- workers -----------------------------------------------------------------------------------

    def worker(self, driver=None, *, extras=None, **options):
        """A worker that has not started."""
        given = {"grace": 2, "beat_every": 0.2, "sweep_every": 0.2} | options
        worker = Worker(
            driver or self.driver, self.app.registry, worker_config(**given), **(extras or {})
        )
        worker.bus.subscribe(self.heard.append, *Happening.__subclasses__())
        return worker

    async def start(self, worker=None, **options):
        """A worker at work."""
        worker = worker or self.worker(**options)
        serving = asyncio.create_task(worker.serve())
        self._serving.append((worker, serving))
        await self.until(lambda: worker.ready or serving.done())
        return worker

    async def code_of(self, worker):
        """The exit code, once it has ended."""
        serving = next(serving for each, serving in self._serving if each is worker)
        return await asyncio.wait_for(serving, BOUND)

    def events(self, kind):
        """The events of this kind that were heard so far."""
        return [event for event in self.heard if type(event) is kind]

    async def hear(self, kind):
        """The first event of this kind, once it was heard."""
        return (await self.until(lambda: self.events(kind)))[0]

    async def close(self):
        """Stop all workers."""
        for worker, serving in self._serving:
            worker.stop()
            worker.stop()
            with suppress(asyncio.CancelledError):
                await asyncio.wait_for(serving, BOUND)
